"""Processes named by id *and* start time, so that a reused id is never taken for one of ours."""

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from studyplatform.stack.places import read_json, write_private


@dataclass(frozen=True)
class Record:
    """A process that was started: enough to find it again after the supervisor died.

    `started` identifies the start: on Linux the boot's id and the clock tick, elsewhere the creation time.
    """

    pid: int
    started: str
    stop_signal: int

    def write(self, path: Path) -> None:
        write_private(path, json.dumps(asdict(self)))

    @classmethod
    def read(cls, path: Path) -> "Record | None":
        document = read_json(path)
        return cls(**document) if document and set(document) == {"pid", "started", "stop_signal"} else None

    @property
    def runs(self) -> bool:
        return start_of(self.pid) == self.started


def start_of(pid: int) -> str | None:
    """What identifies the start of the process that has this id now; None if there is none, or only a zombie."""
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rsplit(")", 1)[1].split()
        except (OSError, IndexError):
            return None
        return None if fields[0] in "ZX" else f"{_boot()}:{fields[19]}"
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"{process.create_time():.2f}"
    except psutil.NoSuchProcess:
        return None


def _boot() -> str:
    boot = Path("/proc/sys/kernel/random/boot_id")
    return boot.read_text().strip() if boot.exists() else ""


def record_of(pid: int, stop_signal: int) -> Record | None:
    started = start_of(pid)
    return Record(pid, started, stop_signal) if started else None


def stop(records: Sequence[Record], grace_s: float) -> list[bool]:
    """Ask processes to stop, all at once, then end those that go on and what is left of their sessions.

    Returns for each whether it still ran.
    """
    ran = [record.runs for record in records]
    _send(records, None)
    _await(lambda: not any(record.runs for record in records), grace_s)
    _send(records, signal.SIGKILL)
    _await(lambda: not any(record.runs for record in records), 5)
    for record in records:
        end_session(record.pid)
    return ran


def _send(records: Sequence[Record], number: int | None) -> None:
    for record in records:
        if record.runs:
            with contextlib.suppress(ProcessLookupError):
                os.kill(record.pid, number or record.stop_signal)


def listens(pid: int, port: int) -> bool:
    """Whether this very process accepts connections there: what answers might be somebody else's server."""
    try:
        found = psutil.Process(pid).net_connections("tcp")
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return False
    return any(one.status == psutil.CONN_LISTEN and one.laddr.port == port for one in found)


def end_session(leader: int) -> None:
    """Kill what a dead leader left behind in its session.

    An id cannot be given to a new process while a session bears it, so members without a living leader are the dead one's.
    """
    if start_of(leader) is not None:
        return
    for pid in psutil.pids():
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if pid != leader and os.getsid(pid) == leader:
                os.kill(pid, signal.SIGKILL)


def _await(condition: Callable[[], bool], timeout_s: float) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.03)
