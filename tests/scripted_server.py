"""The scripted model server for the tests: a process of its own, spoken to over real HTTP.

`scripted` (one per test run) starts it on a free port and points this process, and every process that a test starts, at it.
`script` gives each test the same server with nothing told to it and nothing counted.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from django.conf import settings


@dataclass(frozen=True)
class Scripted:
    """A running scripted server. `url` ends in `/v1`; `root` does not."""

    url: str

    @property
    def root(self) -> str:
        return self.url.removesuffix("/v1")

    def reset(self) -> None:
        httpx.post(f"{self.root}/script/reset").raise_for_status()

    def set(self, **values: Any) -> None:
        """Delays and lengths: `first_token_ms`, `token_ms`, `embedding_ms`, `tokens`, `requests_per_s`, `seed`, `refuses_schemas`, `prefix_cache`."""
        httpx.put(f"{self.root}/script/settings", json=values).raise_for_status()

    def fail(self, kind: str, **values: Any) -> None:
        """The next request (`count`, `purpose`, `session`, `share`) meets `kind`: see `scripts.Fault`."""
        httpx.post(f"{self.root}/script/faults", json={"kind": kind, **values}).raise_for_status()

    def heal(self) -> None:
        httpx.delete(f"{self.root}/script/faults").raise_for_status()

    def answer(self, text: str, **values: Any) -> None:
        """What the model says to the next request (`count`, `purpose`, `contains`): see `scripts.Answer`."""
        httpx.post(f"{self.root}/script/answers", json={"text": text, **values}).raise_for_status()

    def record(self, session_code: str, bot: list[str]) -> None:
        """The bot's utterances of one session: the opener first."""
        httpx.put(f"{self.root}/script/recordings/{session_code}", json=bot).raise_for_status()

    def counts(self) -> dict[str, dict[str, int]]:
        """Requests, faults and tokens by purpose."""
        counts: dict[str, dict[str, int]] = httpx.get(f"{self.root}/script/state").raise_for_status().json()["counts"]
        return counts

    def requests(self, purpose: str | None = None) -> list[dict[str, Any]]:
        """The last chat requests, oldest first: tag, messages, answer."""
        asked: list[dict[str, Any]] = httpx.get(f"{self.root}/script/requests").raise_for_status().json()["requests"]
        return [r for r in asked if purpose in (None, r["tag"]["purpose"])]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start(port: int) -> "subprocess.Popen[bytes]":
    """The server on `port`, answering."""
    process = subprocess.Popen([sys.executable, "-m", "studyplatform.scripted", "--port", str(port)], cwd=settings.BASE_DIR)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            httpx.get(f"http://127.0.0.1:{port}/health", timeout=1).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.05)
        else:
            return process
    process.kill()
    raise RuntimeError("the scripted server did not start within 30 s")


@pytest.fixture(scope="session")
def scripted() -> Iterator[Scripted]:
    port = free_port()
    process = start(port)
    url = f"http://127.0.0.1:{port}/v1"
    before, os.environ["SCRIPTED_URL"] = os.environ.get("SCRIPTED_URL"), url
    told, settings.ENV.SCRIPTED_URL = settings.ENV.SCRIPTED_URL, url
    yield Scripted(url)
    settings.ENV.SCRIPTED_URL = told
    if before is None:
        del os.environ["SCRIPTED_URL"]
    else:
        os.environ["SCRIPTED_URL"] = before
    process.terminate()
    process.wait(10)


@pytest.fixture
def script(scripted: Scripted) -> Scripted:
    scripted.reset()
    return scripted
