"""`python -m bench`: the chat under load, beside the floor of the same machine in the same run.

Response model and encoder are the scripted server's endpoints at 0 ms, in a process of their own. One web process. The memory's workers do
not run while web is measured, and recall does not wait for them; once more with them, and once more with the local encoder.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).resolve().parent.parent


def _services() -> None:
    """Without a database in the environment, the local stack's own, in `var/bench`."""
    if "DATABASE_URL" in os.environ:
        return
    os.environ["STACK_DIR"] = str(ROOT / "var" / "bench")
    command = [sys.executable, "-m", "studyplatform.stack", "up", "--only", "postgres,redis,llm", "--detach"]
    subprocess.run(command, cwd=ROOT, check=True)
    from studyplatform.envfile import read_env_file

    os.environ.update(read_env_file(ROOT / "var" / "bench" / "stack.env"))  # the floor's process reads nothing else


def _commit() -> str:
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def _machine() -> dict[str, object]:
    import psutil

    return {
        "cores": os.cpu_count(),
        "memory_gb": round(psutil.virtual_memory().total / 2**30, 1),
        "python": platform.python_version(),
        "system": platform.system(),
        "load_before": round(os.getloadavg()[0], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--short", action="store_true", help="a tenth of the time, for a look; its figures are not to be quoted")
    parser.add_argument("--only", help="comma-separated: floor, closed, open, workers, encoder")
    parser.add_argument("--preset", default="lufy")
    parser.add_argument("--out", type=Path, help="where the JSON goes; default: bench/results/")
    arguments = parser.parse_args()
    _services()
    machine = _machine()
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyplatform.settings")
    django.setup()
    from bench import chat

    parts = set(arguments.only.split(",")) if arguments.only else {"floor", "closed", "open", "workers", "encoder"}
    result = {"commit": _commit(), "short": arguments.short, "preset": arguments.preset, "machine": machine}
    result |= chat.measure(parts, preset=arguments.preset, short=arguments.short)
    for line in chat.in_words(result):
        print(line)
    out = arguments.out or RESULTS / ("chat-short.json" if arguments.short else "chat.json")
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(result, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
