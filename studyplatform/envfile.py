"""The settings file of the local stack and the folder that it lies in; plain Python, so that the supervisor stays small."""

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def stack_dir() -> Path:
    """Folder that holds all state of the local stack (`STACK_DIR`, default `var/` of the checkout)."""
    return Path(os.environ.get("STACK_DIR") or ROOT / "var").resolve()


def read_env_file(path: Path) -> dict[str, str]:
    """Lines `NAME=value` of a file, `#` comments ignored; an absent file is an empty one."""
    if not path.exists():
        return {}
    pairs = (line.split("=", 1) for line in path.read_text("utf-8").splitlines() if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, value in pairs}
