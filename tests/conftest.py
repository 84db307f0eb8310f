"""What every test may ask for: the cast (see `tests.cast`), each over its own fresh study."""

import pytest
from django.conf import settings

from tests.cast import Cast, stage_cast

pytest_plugins = ["tests.scripted_server"]


def pytest_configure() -> None:
    """A quick password hash: everybody of the cast would else cost a third of a second."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The browser's tests come last: its driver leaves an event loop running, which other tests must not find."""
    items.sort(key=lambda item: item.get_closest_marker("browser") is not None)


@pytest.fixture
def two(db: None) -> Cast:
    """A running study with two conditions, a shared first session and everybody in it."""
    return stage_cast("two")


@pytest.fixture
def four(db: None) -> Cast:
    """A running study with the four memory systems."""
    return stage_cast("four")
