"""A lease is held for as long as the work takes."""

import threading

import pytest
from django.db import OperationalError

from studyplatform.jobs import Heartbeat
from studyplatform.study import stages


def test_a_lease_is_renewed_again_after_the_database_was_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "RENEW_S", 0.01)
    beats: list[str] = []
    renewed = threading.Event()

    def renew() -> None:
        beats.append("tried")
        if len(beats) == 1:
            raise OperationalError("the server closed the connection")
        renewed.set()

    with Heartbeat(renew):
        assert renewed.wait(10)
