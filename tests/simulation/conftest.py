"""Real processes for a simulated study: web, worker and beat over the test database, and the scripted server."""

from collections.abc import Iterator
from urllib.parse import quote

import pytest
from django.conf import settings
from django.db import connection

from studyplatform.simulation.crew import Crew
from tests.scripted_server import Scripted


def database_url() -> str:
    """The address of the database that this test run uses."""
    wanted = connection.settings_dict
    secret = f":{quote(wanted['PASSWORD'])}" if wanted["PASSWORD"] else ""
    return f"postgresql://{quote(wanted['USER'])}{secret}@{wanted['HOST']}:{wanted['PORT']}/{wanted['NAME']}"


@pytest.fixture
def crew(transactional_db: None, script: Scripted) -> Iterator[Crew]:
    """Nobody yet: a test starts whom it needs."""
    with Crew(
        {"DATABASE_URL": database_url(), "REDIS_URL": settings.ENV.REDIS_URL, "SECRET_KEY": settings.SECRET_KEY, "SCRIPTED_URL": script.url}
    ) as started:
        yield started


@pytest.fixture
def site(crew: Crew) -> str:
    """Web, worker and beat; the web's address."""
    crew.workers(concurrency=3)
    crew.beat()
    return crew.web()
