"""A local stack of real processes in a folder of its own, small enough to start and stop within a second or two."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from studyplatform.envfile import ROOT

OURS = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "PUBLIC_URL", "LOCAL_LLM_URL", "LOCAL_EMBEDDINGS_URL", "SCRIPTED_URL", "STACK_DIR")


class Stack:
    """`python -m studyplatform.stack` on one state folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.environ = {k: v for k, v in os.environ.items() if k not in OURS} | {"STACK_DIR": str(folder)}

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "studyplatform.stack", *arguments]

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(self.command(*arguments), cwd=ROOT, env=self.environ, capture_output=True, text=True, timeout=120)

    def up(self, groups: str = "redis") -> "subprocess.CompletedProcess[str]":
        done = self.run("up", "--only", groups, "--detach", "--no-migrate")
        assert done.returncode == 0, done.stdout + done.stderr
        return done

    def down(self) -> "subprocess.CompletedProcess[str]":
        return self.run("down")

    def status(self) -> dict:
        return json.loads(self.run("status", "--json").stdout)

    def pid(self, name: str) -> int:
        return json.loads((self.folder / "run" / f"{name}.child.json").read_text())["pid"]

    @property
    def supervisor(self) -> int:
        return json.loads((self.folder / "run" / "supervisor.json").read_text())["pid"]

    @property
    def settings(self) -> dict[str, str]:
        lines = (self.folder / "stack.env").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if not line.startswith("#"))

    def remember_port(self, name: str, port: int) -> None:
        (self.folder / "run").mkdir(parents=True, exist_ok=True)
        (self.folder / "run" / "ports.json").write_text(json.dumps({name: port}))


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    stack = Stack(tmp_path / "state")
    yield stack
    stack.down()
    home = stack.folder / "postgres-home"
    if home.exists():
        shutil.rmtree(home.read_text().strip(), ignore_errors=True)


def runs(pid: int) -> bool:
    """Whether a process with this id lives (a zombie does not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def await_that(condition: Callable[[], bool], seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.05)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def stranger() -> Iterator[int]:
    """A process that has nothing to do with the stack."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process.pid
    with contextlib.suppress(ProcessLookupError):
        os.kill(process.pid, signal.SIGKILL)
    process.wait()
