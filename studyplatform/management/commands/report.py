"""`manage.py report --study SLUG --out DIR`: every table of a study as JSON and CSV, with where the numbers come from."""

import csv
import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from studyplatform.analysis import reports
from studyplatform.analysis.tables.table import as_json, as_text, records
from studyplatform.reporting import gathering
from studyplatform.study.models import AuditEvent, Study


class Command(BaseCommand):
    help = "Make every table of a study; conditions are codes until it is unblinded."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--out", required=True, type=Path, metavar="DIR")
        parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the intervals (default: %(default)s)")
        parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']}.")
        made = reports.tables(gathering.gather(study), seed=options["seed"])
        document = {key: as_json(table) for key, table in made.items()}
        origin = {
            "study": study.slug,
            "config_sha256": study.config_sha256,
            "seed": options["seed"],
            "blinded": study.unblinded_at is None and study.replay is None,
        }
        folder: Path = options["out"]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.json").write_text(json.dumps({"provenance": origin, **document}, ensure_ascii=False, indent=1) + "\n", "utf-8")
        for key, table in made.items():
            if rows := list(records(table)):
                with (folder / f"{key}.csv").open("w", encoding="utf-8", newline="") as out:
                    writer = csv.DictWriter(out, list(rows[0]))
                    writer.writeheader()
                    writer.writerows(rows)
        AuditEvent.objects.create(study=study, act="made a report", detail=f"state {study.state}, seed {options['seed']}")
        if options["json"]:
            self.stdout.write(json.dumps(document, ensure_ascii=False))
            return
        for table in made.values():
            self.stdout.write("\n".join([*as_text(table), ""]))
