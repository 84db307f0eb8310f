"""Real services for the tests: when the environment names no database, the local stack of `var/test` is started.

Loaded with `-p tests.stack_services` (pyproject.toml), before Django reads its settings. The services go on running for
the next run; `make test` stops them, and so does `STACK_DIR=var/test python -m studyplatform.stack down`.
"""

import os
import subprocess
import sys
from pathlib import Path

from studyplatform.envfile import ROOT, read_env_file

SERVICES = "postgres,redis,llm"
_STATE = Path(os.environ.get("STACK_DIR") or ROOT / "var" / "test").resolve()


def _start() -> None:
    os.environ["STACK_DIR"] = str(_STATE)
    command = [sys.executable, "-m", "studyplatform.stack", "up", "--only", SERVICES, "--detach", "--no-migrate"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"The tests' services do not start.\n{done.stdout}{done.stderr}")
    os.environ.update(read_env_file(_STATE / "stack.env"))


_ours = "DATABASE_URL" not in os.environ
if _ours:
    _start()


def pytest_report_header() -> str:
    return f"services: {SERVICES} of {_STATE}" if _ours else "services: those of the environment"
