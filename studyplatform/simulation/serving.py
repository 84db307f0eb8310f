"""What a simulated study needs to run: model server, web, workers. What runs already is used; the rest is started for the run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
from django.conf import settings

from studyplatform.celery import app
from studyplatform.simulation.crew import Crew, answers
from studyplatform.simulation.designs import Llm

Say = Callable[[str], None]


class NotServed(Exception):
    """Something is missing that cannot be started here; the message says what to do."""


@contextmanager
def served(link: str, llm: Llm, *, seed: int, say: Say) -> Iterator[str]:
    """The web's address, with everything behind it up. `link`: a personal link, by which a web process of this database is known.

    Raises:
        NotServed: the local models do not run.
        CrewFault: a process could not be started.
    """
    with Crew() as crew:
        if llm == "scripted":
            scripted(crew, seed, say)
        elif not answers(_health(settings.ENV.LOCAL_LLM_URL)) or not answers(_health(settings.ENV.LOCAL_EMBEDDINGS_URL)):
            raise NotServed("The local models do not run. Start them: manage.py stack up --detach --only llm")
        if not _has_workers():
            say("No worker runs: starting one for this run.")
            crew.workers(concurrency=3)
            crew.beat()
        if _knows(settings.PUBLIC_URL, link):
            yield settings.PUBLIC_URL
            return
        say("No web process of this database runs: starting one for this run.")
        yield crew.web()


def scripted_url(llm: Llm) -> str | None:
    """Where recorded replies are told to; none where another model answers."""
    return settings.ENV.SCRIPTED_URL if llm == "scripted" else None


def scripted(crew: Crew, seed: int, say: Say) -> None:
    """Have the scripted model server answer at its address, with this seed.

    Raises:
        NotServed: it is to be on another machine, and does not answer.
    """
    url = settings.ENV.SCRIPTED_URL
    if not answers(_health(url)):
        place = urlsplit(url)
        if place.hostname not in ("127.0.0.1", "localhost") or place.port is None:
            raise NotServed(f"The scripted server at {url} does not answer. Start it there: python -m studyplatform.scripted")
        say(f"Starting the scripted model server on port {place.port}.")
        crew.scripted(place.port)
    httpx.put(url.removesuffix("/v1") + "/script/settings", json={"seed": seed}, timeout=10).raise_for_status()


def _health(url: str) -> str:
    return url.removesuffix("/v1") + "/health"


def _has_workers() -> bool:
    return bool(app.control.ping(timeout=1.5))


def _knows(site: str, link: str) -> bool:
    """Whether the web process there opens this link: it may be another installation's."""
    try:
        return httpx.get(site + link, timeout=5).status_code == 302
    except httpx.HTTPError:
        return False
