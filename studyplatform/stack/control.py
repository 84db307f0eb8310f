"""Up, down and status: what `manage.py stack` and `manage.py demo` do."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Container
from dataclasses import asdict
from typing import Any

from studyplatform.envfile import ROOT, read_env_file, stack_dir
from studyplatform.stack import postgres
from studyplatform.stack.faults import PortTaken, StackFault
from studyplatform.stack.places import Places, read_json, tail, write_private
from studyplatform.stack.plan import Plan, Wanted, groups_of
from studyplatform.stack.processes import Record
from studyplatform.stack.service import nothing
from studyplatform.stack.supervisor import TRIES, AlreadyRunning, Say, Supervisor, holding, stop_orphans

START_TIMEOUT_S = 240
PORT_TRIES = 4


def places() -> Places:
    return Places(stack_dir())


def supervise(wanted: Wanted, say: Say, watcher: Callable[[], Callable[[], None]] = lambda: nothing) -> None:
    """Be the supervisor until asked to stop. If another one runs here, have it start what is wanted and return.

    `watcher()` is called at each start and gives what to do after each look at the services.

    Raises:
        StackFault: something that the rest needs does not come up.
    """
    here = places()
    here.make()
    try:
        with holding(here):
            for more in range(PORT_TRIES, -1, -1):
                try:
                    _supervise(here, wanted, say, watcher())
                    return
                except PortTaken as taken:
                    if not more:
                        raise
                    say(f"{str(taken).split(':')[0]}: another program took its port meanwhile: starting over with another.")
    except AlreadyRunning:
        _ask_running(here, wanted)
        wait_until_up(here, wanted, say)


def _supervise(here: Places, wanted: Wanted, say: Say, after_tick: Callable[[], None]) -> None:
    supervisor = Supervisor(here, say)
    signal.signal(signal.SIGUSR1, lambda *_: supervisor.later(lambda: _widen(supervisor)))
    with supervisor:
        _take_on(supervisor, wanted)
        supervisor.run(after_tick=after_tick)
        say("Stopping.")
    say("Everything is stopped.")


def _take_on(supervisor: Supervisor, wanted: Wanted) -> None:
    here, running = supervisor.places, groups_of(supervisor.children)
    if "postgres" in wanted.groups and "postgres" not in running and postgres.stop_owner(postgres.locate(here)):
        supervisor.say("Postgres still ran without a supervisor: stopped it.")
    plan = Plan(here, wanted, running)
    for line in plan.moved:
        supervisor.say(line)
    plan.write()
    supervisor.add(plan.services())


def start_detached(wanted: Wanted, say: Say) -> None:
    """Start a supervisor in the background, unless one runs, and wait until everything wanted is ready.

    Raises:
        StackFault
    """
    here = places()
    here.make()
    if supervisor_of(here):
        _ask_running(here, wanted)
        wait_until_up(here, wanted, say)
        return
    log = here.log / "supervisor.log"
    log.touch(mode=0o600)
    said_before = log.stat().st_size
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "studyplatform.stack", "supervise", json.dumps(asdict(wanted))],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    wait_until_up(here, wanted, say, process)
    for line in tail(log, log.stat().st_size - said_before).splitlines():
        say(line)


def wait_until_up(here: Places, wanted: Wanted, say: Say, process: "subprocess.Popen[bytes] | None" = None) -> None:
    """Wait for the supervisor's services.

    Raises:
        StackFault: it gave up, or took longer than five minutes.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if process is not None and process.poll() is not None:
            last = tail(here.log / "supervisor.log").strip().splitlines()
            raise StackFault(last[-1] if last else "The supervisor ended at once: see its log.")
        if process is None and not supervisor_of(here):
            raise StackFault("The supervisor ended meanwhile: run `manage.py stack up` again.")
        services = status(here)["services"]
        waited = [s for s in services.values() if s["state"] not in ("ready", "done")]
        if services and supervisor_of(here) and _covers(services, wanted):
            failed = [s["message"] for s in waited if s["state"] == "failed" or s["restarts"] >= TRIES]
            if failed:
                raise StackFault(failed[0])
            if not waited:
                return
        time.sleep(0.1)
    raise StackFault(f"The stack did not come up in {START_TIMEOUT_S} s: `manage.py stack status` says what is missing.")


def _covers(services: Container[str], wanted: Wanted) -> bool:
    migrates = wanted.migrate and not wanted.demo and "postgres" in wanted.groups
    steps = [name for name, asked in (("migrate", migrates), ("demo-people", wanted.demo)) if asked]
    return set(wanted.groups) <= groups_of(services) and all(step in services for step in steps)


def _ask_running(here: Places, wanted: Wanted) -> None:
    """Have the running supervisor take on what it does not run yet."""
    supervisor = supervisor_of(here)
    if supervisor and not _covers(status(here)["services"], wanted):
        write_private(here.run / "wanted.json", json.dumps(asdict(wanted)))
        os.kill(supervisor.pid, signal.SIGUSR1)


def _widen(supervisor: Supervisor) -> None:
    document = read_json(supervisor.places.run / "wanted.json")
    if document:
        _take_on(supervisor, Wanted.of(document))


def supervisor_of(here: Places) -> Record | None:
    """The running supervisor of this folder; a record of a dead one counts for nothing."""
    record = Record.read(here.run / "supervisor.json")
    return record if record and record.runs else None


def stop_running(say: Say) -> None:
    """Stop the supervisor and with it everything; without one, stop what it left behind."""
    here = places()
    record = supervisor_of(here)
    if record:
        os.kill(record.pid, signal.SIGTERM)
        deadline = time.monotonic() + 60
        while record.runs and time.monotonic() < deadline:
            time.sleep(0.05)
        if record.runs:
            raise StackFault(
                f"The supervisor (process {record.pid}) does not stop: end it with `kill -9 {record.pid}`, then run `down` again."
            )
        say("Everything is stopped.")
        return
    if not here.run.exists():
        say("Nothing runs here.")
        return
    left = _stop_left_over(here)
    say(f"Stopped what a killed supervisor had left: {', '.join(left)}." if left else "Nothing runs here.")


def _stop_left_over(here: Places) -> list[str]:
    with holding(here):
        return stop_orphans(here)


def status(here: Places | None = None) -> dict[str, Any]:
    """`{running, state_dir, supervisor, services: {name: {title, state, pid, port, restarts, message, log}}}`.

    What the supervisor wrote, corrected by what really runs.
    """
    here = here or places()
    supervisor = supervisor_of(here)
    document = read_json(here.status_file) or {}
    of_another = supervisor is not None and document.get("supervisor") != supervisor.pid  # it has only just begun
    written = {} if of_another else document.get("services", {})
    services = {}
    for name, service in written.items():
        record = Record.read(here.run / f"{name}.child.json")
        services[name] = {**service, "state": _real_state(service["state"], bool(supervisor), bool(record and record.runs))}
    ok = bool(supervisor and services) and all(s["state"] in ("ready", "done") for s in services.values())
    return {"running": ok, "state_dir": str(here.root), "supervisor": supervisor.pid if supervisor else None, "services": services}


def _real_state(written: str, supervised: bool, runs: bool) -> str:
    if supervised:
        return "restarting" if written == "ready" and not runs else written
    return "left over" if runs else "stopped"


def status_lines(document: dict[str, Any]) -> list[str]:
    """One line per service."""
    if not document["services"]:
        return [f"Nothing has run in {document['state_dir']} yet: `manage.py stack up` starts it."]
    lines = [_line(service) for service in document["services"].values()]
    if document["supervisor"] is None:
        lines.append("No supervisor runs: `manage.py stack up` starts the stack, `down` ends what is left over.")
    return lines


def _line(service: dict[str, Any]) -> str:
    where = f"127.0.0.1:{service['port']}" if service["port"] else ""
    note = service["message"] if service["state"] not in ("ready", "done", "stopped") else ""
    return f"  {service['title']:<18}{service['state']:<14}{where:<18}{note}".rstrip()


def postgres_lines() -> list[str]:
    """Shell settings: where `pg_dump` and the others are, and the database's address.

    Raises:
        StackFault: there is no local Postgres.
    """
    here = places()
    address = read_env_file(here.env_file).get("DATABASE_URL")
    if address is None:
        raise StackFault("There is no local Postgres yet: run `manage.py stack up --only postgres`.")
    return [f"export PGBIN={shlex.quote(str(postgres.locate(here).binaries))}", f"export DATABASE_URL={shlex.quote(address)}"]
