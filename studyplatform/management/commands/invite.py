"""`manage.py invite SLUG --count N`: personal links."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from studyplatform.study import joining, links
from studyplatform.study.models import Participant, Study
from studyplatform.study.studies import Refused


class Command(BaseCommand):
    help = "Invite people into a study and print their personal links."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--count", type=int, default=1, help="how many people (default 1)")
        parser.add_argument("--external-id", action="append", default=[], help="an id of theirs; may be given several times")
        parser.add_argument("--pilot", action="store_true", help="pilot people: they never count and never freeze the study")
        parser.add_argument("--renew", metavar="CODE", help="a new link for this participant; earlier links and browsers are shut out")
        parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")

    def handle(self, *args: Any, slug: str, **options: Any) -> None:
        study = Study.objects.filter(slug=slug).first()
        if study is None:
            raise CommandError(f"There is no study {slug}. Load one with manage.py load_study FILE.toml.")
        if options["renew"]:
            self.stdout.write(self._renew(study, options["renew"]))
            return
        if options["count"] < 1:
            raise CommandError("--count must be at least 1.")
        try:
            people = invited(study, count=options["count"], ids=options["external_id"], pilot=options["pilot"])
        except Refused as refused:
            raise CommandError(str(refused)) from refused
        rows = [{"code": p.code, "external_id": p.external_id, "pilot": p.pilot, "link": links.personal_url(p)} for p in people]
        if options["json"]:
            self.stdout.write(json.dumps(rows, ensure_ascii=False, indent=1))
            return
        for row in rows:
            self.stdout.write(f"{row['code']}  {row['link']}" + (f"  ({row['external_id']})" if row["external_id"] else ""))
        if study.state not in (Study.State.RUNNING, Study.State.PILOT):
            self.stderr.write(f"The study is {study.state}: the links open once it runs (manage.py study {slug} --state running).")

    def _renew(self, study: Study, code: str) -> str:
        participant = Participant.objects.filter(study=study, code=code).first()
        if participant is None:
            raise CommandError(f"There is no participant {code} in {study.slug}.")
        return f"{code}  {links.renew(participant)}"


def invited(study: Study, *, count: int, ids: list[str], pilot: bool) -> list[Participant]:
    """New participants; one for each external id, the known ones as they are."""
    if ids:
        return [known_or_new(study, external_id, pilot=pilot) for external_id in ids]
    return [joining.new_participant(study, simulated=study.simulated, pilot=pilot) for _ in range(count)]


def known_or_new(study: Study, external_id: str, *, pilot: bool) -> Participant:
    known = Participant.objects.filter(study=study, external_id=external_id).first()
    return known or joining.new_participant(study, simulated=study.simulated, pilot=pilot, external_id=external_id)
