"""Where the local stack keeps its state, its logs and its records."""

import json
import os
import secrets
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studyplatform.stack.faults import StackFault

ROOM_MB = 400  # below this nothing is started: Postgres alone writes 100 MB of journal
LOG_MB = 8  # a log longer than this is set aside


@dataclass(frozen=True)
class Places:
    """The folders under `STACK_DIR`. What can hold personal data or a secret is for its owner only."""

    root: Path

    @property
    def run(self) -> Path:
        return self.root / "run"

    @property
    def log(self) -> Path:
        return self.root / "log"

    @property
    def env_file(self) -> Path:
        return self.root / "stack.env"

    @property
    def status_file(self) -> Path:
        return self.run / "status.json"

    def log_of(self, name: str) -> Path:
        return self.log / f"{name}.log"

    def make(self) -> None:
        """Create the folders.

        Raises:
            StackFault: the folder cannot be written to, or its disk is nearly full.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            for private in (self.run, self.log):
                private.mkdir(mode=0o700, exist_ok=True)
            check_room(self.root)
            write_private(self.run / "probe", "x")
        except PermissionError as error:
            raise StackFault(f"Cannot write to {self.root}: give yourself that folder, or set STACK_DIR to one of yours.") from error
        except OSError as error:
            raise StackFault(f"Cannot use {self.root} ({error.strerror}): set STACK_DIR to a folder on another disk.") from error


def check_room(folder: Path, need_mb: int = ROOM_MB) -> None:
    """Raises StackFault when the disk of `folder` has less than `need_mb` megabytes left."""
    free_mb = shutil.disk_usage(folder).free // 2**20
    if free_mb < need_mb:
        raise StackFault(
            f"Only {free_mb} MB are free on the disk of {folder}, {need_mb} are needed: free some space, or set STACK_DIR to another disk."
        )


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step; only its owner may read it."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
    draft.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a file of ours; None when it is absent or was cut short."""
    try:
        document = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def write_env(path: Path, values: Mapping[str, str]) -> None:
    """Write the settings file that every process of the platform falls back to."""
    lines = ["# Written by `manage.py stack up`. Variables of the environment win over these.", *(f"{k}={v}" for k, v in values.items())]
    write_private(path, "\n".join(lines) + "\n")


def secrets_of(places: Places) -> dict[str, str]:
    """The stack's own secrets, made once: Django's key and the passwords of Postgres and Valkey."""
    path = places.root / "secrets.json"
    known = read_json(path)
    if known is None:
        known = {name: secrets.token_urlsafe(40) for name in ("secret_key", "postgres", "valkey")}
        write_private(path, json.dumps(known))
    return known


def set_aside(log: Path, limit_mb: float = LOG_MB) -> None:
    """Keep a long log as `NAME.log.1` and empty it in place, so that a process that appends to it goes on."""
    if log.exists() and log.stat().st_size > limit_mb * 2**20:
        shutil.copyfile(log, log.with_name(log.name + ".1"))
        log.with_name(log.name + ".1").chmod(0o600)
        os.truncate(log, 0)


def tail(log: Path, size: int = 4000) -> str:
    """The last characters of a log; empty when there is none."""
    if not log.exists():
        return ""
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - size))
        return file.read().decode("utf-8", "replace")
