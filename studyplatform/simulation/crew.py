"""Processes started for one run: the scripted model server, and, where no stack runs, web, worker and beat of our own.

They are the same commands that the local stack and production run; only the ports are picked here. Killing and restarting one
by name is what the chaos tests do.
"""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType

import httpx

from studyplatform.env import ROOT
from studyplatform.stack import plan
from studyplatform.study.enqueue import QUEUE_OF_STAGE

PATIENCE_S = 60.0
PYTHON = (sys.executable, "-m")


class CrewFault(Exception):
    """A process did not start, or ended by itself; the message holds the end of its log."""


def free_port() -> int:
    """A port that nothing listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def answers(url: str) -> bool:
    """Whether an HTTP server there answers without an error of its own."""
    try:
        return httpx.get(url, timeout=3).status_code < 500
    except httpx.HTTPError:
        return False


class Crew:
    """Named processes with one environment. Used as a context, it stops them all at the end."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self.environ = {**os.environ, **(environ or {})}
        self.folder = tempfile.TemporaryDirectory(prefix="crew-")
        self._commands: dict[str, tuple[tuple[str, ...], Callable[[], bool]]] = {}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._killed: set[str] = set()

    def __enter__(self) -> "Crew":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def scripted(self, port: int | None = None) -> str:
        """The scripted model server; its address, which ends in `/v1`."""
        port = port or free_port()
        url = f"http://127.0.0.1:{port}/v1"
        self.environ["SCRIPTED_URL"] = url
        self.start("scripted", (*PYTHON, "studyplatform.scripted", "--port", str(port)), lambda: answers(f"http://127.0.0.1:{port}/health"))
        return url

    def web(self, *, name: str = "web", port: int | None = None) -> str:
        """A web process; its address."""
        port = port or free_port()
        url = f"http://127.0.0.1:{port}"
        self.environ["PUBLIC_URL"] = url
        command = (*PYTHON, "uvicorn", "studyplatform.asgi:application", "--host", "127.0.0.1", "--port", str(port), *plan.WEB_OPTIONS)
        self.start(name, (*command, "--log-level", "warning"), lambda: answers(url + "/accounts/login/"))
        return url

    def workers(self, *, name: str = "worker", concurrency: int = 2) -> None:
        """One worker for all queues."""
        queues = ",".join(sorted({"default", *QUEUE_OF_STAGE.values()}))
        command = (*PYTHON, "celery", *plan.CELERY, "worker", "-Q", queues, "-c", str(concurrency), "-n", f"{name}-{os.getpid()}@%h")
        self.start(name, (*command, *plan.WORKER_OPTIONS), lambda: b" ready." in self.log_of(name).read_bytes())

    def beat(self) -> None:
        """The process that sends the sweep every five seconds."""
        schedule = str(Path(self.folder.name) / "beat")
        self.start("beat", (*PYTHON, "celery", *plan.SCHEDULE, "beat", "-s", schedule, "--pidfile", "", "--loglevel", "WARNING"))

    def start(self, name: str, command: tuple[str, ...], ready: Callable[[], bool] = lambda: True) -> None:
        """Start a process and wait until it is ready.

        Raises:
            CrewFault: it ended, or is not ready after a minute.
        """
        self._commands[name] = command, ready
        with self.log_of(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(  # noqa: S603 - our own commands
                command, cwd=ROOT, env=self.environ, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, start_new_session=True
            )
        give_up = time.monotonic() + PATIENCE_S
        while not ready():
            if self._processes[name].poll() is not None or time.monotonic() > give_up:
                raise CrewFault(f"{name} did not start:\n{self.tail(name)}")
            time.sleep(0.05)

    def running(self) -> list[str]:
        """Names of the processes that live."""
        return [name for name, process in self._processes.items() if process.poll() is None]

    def pid(self, name: str) -> int:
        return self._processes[name].pid

    def kill(self, name: str) -> None:
        """SIGKILL to the process and its children, without a word."""
        process = self._processes[name]
        self._killed.add(name)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)

    def restart(self, name: str) -> None:
        """Start again what was killed, with the same command."""
        self.start(name, *self._commands[name])
        self._killed.discard(name)

    def revive(self) -> list[str]:
        """Start again what ended by itself, as a supervisor does (a worker may end when its broker goes away twice): their names."""
        ended = [name for name, process in self._processes.items() if process.poll() is not None and name not in self._killed]
        for name in ended:
            with contextlib.suppress(CrewFault):  # what it needs may be away as well: the next time
                self.restart(name)
        return ended

    def log_of(self, name: str) -> Path:
        return Path(self.folder.name) / f"{name}.log"

    def tail(self, name: str, size: int = 3000) -> str:
        """The end of a process's log."""
        log = self.log_of(name)
        return log.read_text("utf-8", "replace")[-size:] if log.exists() else ""

    def stop(self) -> None:
        """Ask all to end, the last started first; kill what does not."""
        for process in reversed(list(self._processes.values())):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in self._processes.values():
            try:
                process.wait(8)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait(5)
        self._processes.clear()
        self.folder.cleanup()
