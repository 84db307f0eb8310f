"""`manage.py stack up|down|status`: the local stack. The work is in `studyplatform.stack`."""

import os
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser


class Command(BaseCommand):
    help = "Start, stop or look at the local stack: Postgres, Valkey, the local models, web and workers."
    requires_system_checks: list[str] = []  # noqa: RUF012  # Django's own type

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("arguments", nargs="*")

    def run_from_argv(self, argv: list[str]) -> None:
        """Become the stack's own program, which needs no Django and stays small for as long as the stack runs."""
        os.execv(sys.executable, [sys.executable, "-m", "studyplatform.stack", *argv[2:]])  # noqa: S606  # no shell wanted

    def handle(self, *args: Any, **options: Any) -> None:
        raise CommandError("Run it from the command line: manage.py stack up, down or status.")
