"""What a service of the local stack is: how it is started, when it is ready, how it is stopped."""

import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from studyplatform.stack.ports import HOST


def always() -> bool:
    return True


def nothing() -> None:
    """For services with nothing to prepare."""


@dataclass(frozen=True)
class Service:
    """One process that the supervisor keeps running, or, with `once`, a step that it runs to its end.

    It is ready when `ready()` says so and its log holds `ready_line`. `prepare` runs before each start; `needs` are services that must be ready first, `ready_after` those that it may start beside;
    `essential`: without it the stack
    does not come up at all; `store`: the others keep data in it, so it stops last; `patience_s`: how long it may take to become ready.
    """

    name: str
    title: str
    command: tuple[str, ...]
    ready: Callable[[], bool] = always
    ready_line: str = ""
    prepare: Callable[[], None] = nothing
    needs: tuple[str, ...] = ()
    ready_after: tuple[str, ...] = ()
    once: bool = False
    essential: bool = False
    store: bool = False
    port: int | None = None
    environ: Mapping[str, str] = field(default_factory=dict)
    cwd: Path | None = None
    user: str | None = None
    stop_signal: int = signal.SIGTERM
    grace_s: float = 6
    patience_s: float = 60


def spawn(service: Service, log: Path) -> "subprocess.Popen[bytes]":
    """Start a service in a session of its own (Ctrl-C in a terminal does not reach it), its output appended to `log`."""
    log.touch(mode=0o600)
    with log.open("ab") as output:
        return subprocess.Popen(
            service.command,
            env=dict(service.environ),
            cwd=service.cwd,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            user=service.user,
            group=None if service.user is None else _group_of(service.user),
            extra_groups=None if service.user is None else (),
        )


def _group_of(user: str) -> int:
    import pwd

    return pwd.getpwnam(user).pw_gid


def says_healthy(port: int, path: str = "/health", host: str = HOST) -> bool:
    """Whether the HTTP server on this port answers at all, with anything but an error of its own."""
    try:
        with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=2):
            return True
    except urllib.error.HTTPError as error:
        return error.code < 500
    except (OSError, ValueError):
        return False
