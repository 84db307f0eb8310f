"""`manage.py stack`: the local stack. `manage.py` itself hands it to `studyplatform.stack`, before Django is loaded."""

from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError


class Command(BaseCommand):
    help = "Start, stop or look at the local stack: Postgres, Valkey, the local models, web and workers."

    def handle(self, *args: Any, **options: Any) -> NoReturn:
        raise CommandError("Run it from the command line: manage.py stack up, down or status.")
