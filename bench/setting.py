"""Where a benchmark runs: the services under it, the machine, the revision of the code."""

import os
import platform
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def prepare() -> None:
    """Services and Django. Without a database in the environment, the local stack's own, in `var/bench`."""
    if "DATABASE_URL" not in os.environ:
        os.environ["STACK_DIR"] = str(ROOT / "var" / "bench")
        command = [sys.executable, "-m", "studyplatform.stack", "up", "--only", "postgres,redis,llm", "--detach"]
        subprocess.run(command, cwd=ROOT, check=True)
        from studyplatform.envfile import read_env_file

        os.environ.update(read_env_file(ROOT / "var" / "bench" / "stack.env"))  # the floor's process reads nothing else
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyplatform.settings")
    django.setup()


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
