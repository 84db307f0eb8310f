"""A whole simulated study: invite, walk, wait for the work after the sessions."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

import httpx
from django.db import connection

from memory.models import MemoryWrite, Summary
from studyplatform.simulation.pages import Browser
from studyplatform.simulation.people import Person
from studyplatform.simulation.walking import Journal, Walk
from studyplatform.study import joining, links
from studyplatform.study.models import Participant, Session, StageRun, Study

POLL_S = 0.5
STALL_S = 300.0  # without any progress of the work after the sessions
Result = TypeVar("Result")


@dataclass
class Run:
    """What a simulated study was like from the participants' side. `unfinished`: stages or writes that were not done in the end."""

    study: Study
    journals: list[Journal] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)


async def in_thread(act: Callable[[], Result]) -> Result:
    """A database call, in a thread that gives its connection back."""

    def call() -> Result:
        try:
            return act()
        finally:
            connection.close()

    return await asyncio.to_thread(call)


class Guide:
    """Knows what a participant does not: which number a session has. Tells the scripted server a session's recorded replies."""

    def __init__(self, person: Person, scripted_url: str | None) -> None:
        self.person = person
        self.scripted = scripted_url.removesuffix("/v1") if scripted_url else None

    async def number_of(self, session_code: str) -> int:
        """The arm's own number of a session."""
        return await in_thread(lambda: Session.objects.values_list("number", flat=True).get(code=session_code))

    async def prepare(self, session_code: str) -> None:
        """Before the chat's page is opened: what the bot is to say in it."""
        part = self.person.parts[await self.number_of(session_code) - 1]
        if self.person.recorded and self.scripted:
            async with httpx.AsyncClient(timeout=30) as http:
                (await http.put(f"{self.scripted}/script/recordings/{session_code}", json=part.bot)).raise_for_status()


def invite(study: Study, count: int) -> list[Participant]:
    """So many more simulated participants."""
    return [joining.new_participant(study, simulated=True) for _ in range(count)]


def link_of(participant: Participant) -> str:
    """The path of the personal link."""
    return urlsplit(links.personal_url(participant)).path


async def walk_all(
    study: Study,
    invited: Sequence[tuple[Participant, Person]],
    *,
    site: str,
    scripted_url: str | None,
    think: Callable[[], float] = lambda: 0.0,
) -> Run:
    """Everybody walks the study at the same time. `site`: the web's address; `scripted_url`: where recorded replies are told to."""
    walks = [Walk(Browser(site), link_of(who), person, Guide(person, scripted_url), think=think) for who, person in invited]
    run = Run(study, list(await asyncio.gather(*(walk.go() for walk in walks))))
    run.unfinished = await wait_for_work(study)
    return run


async def wait_for_work(study: Study) -> list[str]:
    """Wait until every stage and every memory write of the study is done; what is not, if for minutes nothing moves."""
    loop = asyncio.get_running_loop()
    before, since = None, loop.time()
    while True:
        open_work = await in_thread(lambda: _open_work(study))
        if not open_work:
            return []
        if open_work != before:
            before, since = open_work, loop.time()
        if loop.time() - since > STALL_S:
            return open_work
        await asyncio.sleep(POLL_S)


def _open_work(study: Study) -> list[str]:
    """One line per stage and per arm's writes that are not over; a failed stage is over."""
    over = (StageRun.State.DONE, StageRun.State.FAILED)
    runs = StageRun.objects.filter(session__participant__study=study).exclude(state__in=over)
    stages = [f"{r.stage} of session {r.session.code}: {r.state}, attempt {r.attempt}" for r in runs.select_related("session")]
    writes = MemoryWrite.objects.filter(arm__participant__study=study, state=MemoryWrite.State.OPEN).count()
    stale = Summary.objects.filter(arm__participant__study=study, stale=True).count()
    left = [f"{count} {what}" for count, what in ((writes, "memory writes are open"), (stale, "summaries are to be made anew")) if count]
    return sorted(stages) + left
