"""Command line of the platform: see `manage.py help`."""

import os
import sys


def run_stack(arguments: list[str]) -> int:
    """`stack` and `demo` start what Django needs, so they do without it: at once, and small for as long as they run."""
    try:
        from studyplatform.stack.__main__ import main
    except ModuleNotFoundError as missing:
        sys.exit(f"The package {missing.name} is missing: run `make setup`.")
    return main(arguments)


def run_django() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyplatform.settings")
    from django.core.management import execute_from_command_line

    from studyplatform.env import BadEnvironment

    try:
        execute_from_command_line(sys.argv)
    except BadEnvironment as refused:
        sys.exit(str(refused))


if __name__ == "__main__":
    if sys.argv[1:2] == ["stack"]:
        sys.exit(run_stack(sys.argv[2:]))
    if sys.argv[1:2] == ["demo"] and "--people" not in sys.argv:
        sys.exit(run_stack(sys.argv[1:]))
    run_django()
