"""Where a benchmark runs: the services under it, the machine, the revision of the code."""

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

ROOT = Path(__file__).resolve().parent.parent


def prepare() -> None:
    """Services and Django."""
    prepare_services()
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyplatform.settings")
    django.setup()


def prepare_services() -> None:
    """Without a database in the environment, the local stack's own services, in `var/bench`."""
    if "DATABASE_URL" not in os.environ:
        os.environ["STACK_DIR"] = str(ROOT / "var" / "bench")
        command = [sys.executable, "-m", "studyplatform.stack", "up", "--only", "postgres,redis,llm", "--detach"]
        subprocess.run(command, cwd=ROOT, check=True)
        from studyplatform.envfile import read_env_file

        os.environ.update(read_env_file(ROOT / "var" / "bench" / "stack.env"))  # the floor's process reads nothing else


def provenance() -> dict[str, object]:
    """The revision of the code, and the machine with the load that it has now."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return {"commit": found.stdout.strip() or "unknown", "machine": _machine()}


def _machine() -> dict[str, object]:
    import psutil

    return {
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "system": platform.system(),
        "load_before": round(os.getloadavg()[0], 2),
    }


@contextmanager
def own_database() -> Iterator[None]:
    """A database of its own on the same server, with the product's schema, dropped at the end; Django is set up on it."""
    prepare_services()
    import psycopg

    given = os.environ["DATABASE_URL"]
    name = f"bench_{uuid4().hex[:12]}"
    with psycopg.connect(given, autocommit=True) as server:
        server.execute(f'CREATE DATABASE "{name}"')
    os.environ["DATABASE_URL"] = urlsplit(given)._replace(path=f"/{name}").geturl()
    try:
        prepare()
        from django.core.management import call_command
        from django.db import connections

        call_command("migrate", verbosity=0)
        yield
        connections.close_all()
    finally:
        with psycopg.connect(given, autocommit=True) as server:
            server.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')
