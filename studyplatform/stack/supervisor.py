"""Starts the services in order, watches them, restarts what dies, stops all.

One process per state folder, which it proves by a lock that the system releases when it dies. Everything that another
process needs to know is in `run/status.json`; every child has a record in `run/`, by which the next start finds what a
killed supervisor left behind.
"""

import fcntl
import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen
from typing import Any

from studyplatform.stack.faults import TAKEN, PortTaken, StackFault, explain
from studyplatform.stack.places import Places, check_room, set_aside, tail, write_private
from studyplatform.stack.processes import Record, end_session, listens, record_of, stop
from studyplatform.stack.service import Service, nothing, spawn

BACK_OFF_S = (0.5, 1, 2, 4, 8, 15, 30)
STEADY_S = 60  # after running this long, a failure counts as the first again
TRIES = 3  # an essential service that fails this often before it was ever ready stops the start
TIDY_S = 15
ROOM_WARNING_MB = 200

Say = Callable[[str], None]


class AlreadyRunning(Exception):
    """Another supervisor holds this state folder."""


@dataclass
class Child:
    """A service and where it stands: waiting, starting, ready, backing off, done (a step that has run), failed."""

    service: Service
    state: str = "waiting"
    process: "Popen[bytes] | None" = None
    log_from: int = 0
    since: float = 0.0
    failures: int = 0
    restarts: int = 0
    was_ready: bool = False
    message: str = ""

    @property
    def satisfied(self) -> bool:
        return self.state in ("ready", "done")


class Supervisor:
    """Use as a context manager, holding the folder: it stops every child on the way out."""

    def __init__(self, places: Places, say: Say) -> None:
        self.places = places
        self.say = say
        self.children: dict[str, Child] = {}
        self._stopping = False
        self._acts: list[Callable[[], None]] = []
        self._tidied = time.monotonic()
        self._published = ""
        self._short_of_room = False

    def __enter__(self) -> "Supervisor":
        own = record_of(os.getpid(), signal.SIGTERM)
        if own:
            own.write(self.places.run / "supervisor.json")
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, lambda *_: self.ask_to_stop())
        for name in stop_orphans(self.places):
            self.say(f"{name} was left over from a supervisor that was killed: stopped it.")
        return self

    def __exit__(self, *_: object) -> None:
        self.stop_all()
        (self.places.run / "supervisor.json").unlink(missing_ok=True)

    def ask_to_stop(self) -> None:
        self._stopping = True

    @property
    def stopping(self) -> bool:
        return self._stopping

    def later(self, act: Callable[[], None]) -> None:
        """Do this before the next tick; for signal handlers, which may run in the middle of one."""
        self._acts.append(act)

    def add(self, services: Iterable[Service]) -> None:
        """Take on services that are not there yet."""
        for service in services:
            self.children.setdefault(service.name, Child(service))

    def tick(self) -> None:
        """Look at every child once and do what is due.

        Raises:
            StackFault: an essential service does not come up.
            PortTaken: a service found its port taken when it was first started.
        """
        while self._acts:
            self._acts.pop(0)()
        now = time.monotonic()
        for child in self.children.values():
            if not self._stopping:
                self._attend(child, now)
        if now - self._tidied > TIDY_S:
            self._tidied = now
            self._tidy()
        self.publish()

    def run(self, *, after_tick: Callable[[], None] = nothing) -> None:
        """Tick until asked to stop."""
        while not self._stopping:
            self.tick()
            after_tick()
            settled = all(child.satisfied for child in self.children.values())
            time.sleep(0.4 if settled else 0.05)

    # -- one child

    def _attend(self, child: Child, now: float) -> None:
        if child.state == "waiting":
            if self._are_satisfied(child.service.needs):
                self._start(child, now)
        elif child.state == "backing off":
            if now - child.since >= BACK_OFF_S[min(child.failures, len(BACK_OFF_S)) - 1]:
                self._start(child, now)
        elif child.process is not None:
            self._watch(child, child.process, now)

    def _start(self, child: Child, now: float) -> None:
        service, log = child.service, self.places.log_of(child.service.name)
        service.prepare()
        set_aside(log)
        child.log_from = log.stat().st_size if log.exists() else 0
        child.process = spawn(service, log)
        child.since, child.state = now, "starting"
        record = record_of(child.process.pid, service.stop_signal)
        if record:
            record.write(self._record_path(service.name))

    def _watch(self, child: Child, process: "Popen[bytes]", now: float) -> None:
        if _has_ended(process.pid):
            end_session(process.pid)  # before it is reaped: until then nobody else can get its id
            self._ended(child, process.wait(), now)
        elif child.state == "starting" and not child.service.once:
            if self._is_ready(child):
                child.state, child.was_ready, child.message = "ready", True, ""
                self.say(f"{child.service.title}: ready{_at(child.service)}.")
            elif now - child.since > child.service.patience_s:
                self._stop([child])
                self._failed(child, None, now)
        elif child.state == "ready" and now - child.since > STEADY_S:
            child.failures = 0

    def _are_satisfied(self, names: Iterable[str]) -> bool:
        return all(self.children[name].satisfied for name in names if name in self.children)

    def _is_ready(self, child: Child) -> bool:
        service = child.service
        return (
            self._are_satisfied(service.ready_after)
            and (not service.ready_line or service.ready_line in self._said_since(child))
            and (service.port is None or child.process is None or listens(child.process.pid, service.port))
            and service.ready()
        )

    def _ended(self, child: Child, code: int, now: float) -> None:
        self._record_path(child.service.name).unlink(missing_ok=True)
        child.process = None
        if child.service.once and code == 0:
            child.state = "done"
        else:
            self._failed(child, code, now)

    def _failed(self, child: Child, code: int | None, now: float) -> None:
        child.process = None
        child.failures += 1
        said = self._said_since(child)
        log = self.places.log_of(child.service.name)
        child.message = explain(child.service.title, code, said, str(log))
        if child.service.port and not child.was_ready and re.search(TAKEN, said):
            raise PortTaken(child.message)
        hopeless = child.service.once or (child.service.essential and not child.was_ready and child.failures >= TRIES)
        if hopeless and child.service.essential:
            child.state = "failed"
            raise StackFault(child.message)
        if hopeless:
            child.state = "failed"
            self.say(child.message)
            return
        child.state, child.since = "backing off", now
        child.restarts += 1
        self.say(f"{child.message}; starting it again in {BACK_OFF_S[min(child.failures, len(BACK_OFF_S)) - 1]:g} s.")

    def _said_since(self, child: Child) -> str:
        """The end of what it logged since it was last started."""
        log = self.places.log_of(child.service.name)
        size = log.stat().st_size if log.exists() else 0
        return tail(log, min(4000, max(size - child.log_from, 0)))

    def _record_path(self, name: str) -> Path:
        return self.places.run / f"{name}.child.json"

    # -- all of them

    def stop_all(self) -> None:
        """Stop every child: those that use the stores first, the stores last."""
        self._stopping = True
        children = list(self.children.values())
        self._stop([child for child in children if not child.service.store])
        self._stop([child for child in children if child.service.store])
        self.publish()

    def _stop(self, children: list[Child]) -> None:
        running = [child for child in children if child.process is not None]
        records = [record_of(child.process.pid, child.service.stop_signal) for child in running if child.process]
        stop([record for record in records if record], max((child.service.grace_s for child in running), default=0))
        for child in running:
            if child.process is not None:
                end_session(child.process.pid)
                child.process.wait()
            child.process = None
            self._record_path(child.service.name).unlink(missing_ok=True)
        for child in children:
            child.state = "stopped"

    def publish(self) -> None:
        """Write `status.json` when something changed."""
        document = {
            "supervisor": os.getpid(),
            "services": {name: _describe(child, self.places) for name, child in self.children.items()},
        }
        text = json.dumps(document, indent=1)
        if text != self._published:
            try:
                write_private(self.places.status_file, text)
                self._published = text
            except OSError as error:
                self.say(f"Cannot write {self.places.status_file} ({error.strerror}): free some space on that disk.")

    def _tidy(self) -> None:
        for child in self.children.values():
            set_aside(self.places.log_of(child.service.name), limit_mb=32)
        try:
            check_room(self.places.root, ROOM_WARNING_MB)
            self._short_of_room = False
        except StackFault as fault:
            if not self._short_of_room:
                self.say(str(fault))
            self._short_of_room = True


@contextmanager
def holding(places: Places) -> Iterator[None]:
    """Hold the folder's lock: the open file is the lock, and no child inherits it.

    Raises:
        AlreadyRunning
    """
    descriptor = os.open(places.run / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning from None
        yield
    finally:
        os.close(descriptor)


def stop_orphans(places: Places, grace_s: float = 8) -> list[str]:
    """Stop children that a killed supervisor left running; their names. Only the lock's holder may call this."""
    found = {path: Record.read(path) for path in places.run.glob("*.child.json")}
    known = {path: record for path, record in found.items() if record}
    ran = stop(list(known.values()), grace_s)
    for path in found:
        path.unlink(missing_ok=True)
    return [path.name.removesuffix(".child.json") for path, alive in zip(known, ran, strict=True) if alive]


def _has_ended(pid: int) -> bool:
    """Whether a child has ended, leaving it unreaped."""
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _describe(child: Child, places: Places) -> dict[str, Any]:
    service = child.service
    return {
        "title": service.title,
        "state": child.state,
        "pid": child.process.pid if child.process else None,
        "port": service.port,
        "restarts": child.restarts,
        "message": child.message,
        "log": str(places.log_of(service.name)),
    }


def _at(service: Service) -> str:
    return f" on port {service.port}" if service.port else ""
