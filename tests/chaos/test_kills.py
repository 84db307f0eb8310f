"""kill -9 of web, worker and broker at random moments while people chat. What was promised must be true afterwards.

Five people and a few kills by default; `CHAOS=full` for the numbers of the requirements (ten people, web 50, worker 20, broker 5), or
`CHAOS_WEB`, `CHAOS_WORKER`, `CHAOS_VALKEY`, `CHAOS_SEED`. Each test prints one line of what it counted.
"""

import asyncio
import os
from collections.abc import Iterator

import pytest
from django.conf import settings

from studyplatform.simulation.crew import Crew
from tests.chaos import scenario
from tests.scripted_server import Scripted
from tests.simulation.conftest import database_url

pytestmark = [pytest.mark.chaos, pytest.mark.stack]
FULL = {"web": 50, "worker": 20, "valkey": 5}
SMALL = {"web": 5, "worker": 3, "valkey": 1}
SEED = int(os.environ.get("CHAOS_SEED", "20261130"))


PEOPLE = 10 if os.environ.get("CHAOS") == "full" else 5


def times(name: str) -> int:
    numbers = FULL if os.environ.get("CHAOS") == "full" else SMALL
    return int(os.environ.get(f"CHAOS_{name.upper()}", numbers[name]))


@pytest.fixture
def stage(transactional_db: None, script: Scripted) -> Iterator[tuple[Crew, str]]:
    """Web, worker, beat and a broker of their own; the web's address."""
    script.set(first_token_ms=40, token_ms=12)
    with Crew({"DATABASE_URL": database_url(), "SECRET_KEY": settings.SECRET_KEY, "SCRIPTED_URL": script.url}) as crew:
        crew.environ["REDIS_URL"] = scenario.start_valkey(crew)
        site = crew.web()
        crew.workers(concurrency=3)
        crew.beat()
        yield crew, site


@pytest.mark.parametrize("name", ["web", "worker", "valkey"])
def test_nothing_that_was_promised_is_lost_when_a_process_is_killed(
    stage: tuple[Crew, str], script: Scripted, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    crew, site = stage
    study, outcome = asyncio.run(scenario.walk_through(crew, site, name, times(name), people=PEOPLE, seed=SEED, scripted_url=script.url))
    scenario.count(study, outcome)
    with capsys.disabled():
        print(f"\n  {outcome.line()}")
    assert outcome.broken == [], crew.tail("web")
    assert outcome.kills[name] == times(name)
    assert outcome.acked == outcome.messages > 0
