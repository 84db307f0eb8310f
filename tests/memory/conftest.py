"""The scripted model server for every test of this folder that touches the database."""

import pytest

from tests.scripted_server import Scripted


@pytest.fixture
def model(db: None, script: Scripted) -> Scripted:
    """A database and a model server with nothing told to it."""
    return script
