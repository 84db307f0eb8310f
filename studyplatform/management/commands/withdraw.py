"""`manage.py withdraw CODE --confirm CODE`: take a participant out of their study, and print a receipt."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from studyplatform.study import erasing
from studyplatform.study.models import Participant


class Command(BaseCommand):
    help = "Remove what a participant gave (or stop and keep it), and print a receipt."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("code")
        parser.add_argument("--confirm", required=True, metavar="CODE", help="the same code again")
        parser.add_argument("--keep-until-now", action="store_true", help="stop, and keep what was given until now")
        parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")

    def handle(self, *args: Any, code: str, confirm: str, **options: Any) -> None:
        if code != confirm:
            raise CommandError("--confirm must repeat the participant's code. Nothing was changed.")
        participant = Participant.objects.filter(code=code).first()
        if participant is None:
            raise CommandError(f"There is no participant {code}. Nothing was changed.")
        receipt = erasing.withdraw(participant, keep_until_now=options["keep_until_now"])
        if options["json"]:
            self.stdout.write(
                json.dumps(
                    {"participant": receipt.participant, "at": receipt.at.isoformat(), "kept": receipt.kept, "rows": dict(receipt.rows)}
                )
            )
            return
        self.stdout.write(f"Receipt for {receipt.participant}, {receipt.at:%Y-%m-%d %H:%M:%S} UTC")
        if receipt.kept:
            self.stdout.write("  stopped; what was given until now stays in the study")
        for name, rows in receipt.rows.items():
            self.stdout.write(f"  {name:<20} {rows:>7} rows erased  ({erasing.ERASERS[name].where})")
