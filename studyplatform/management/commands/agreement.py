"""`manage.py agreement`: the coefficients of a study's labels, overall and by condition, session and transcript."""

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from annotation import agreement
from studyplatform.analysis.agreement_report import PUBLISHED, document_of
from studyplatform.study.models import Study

WIDTH = 10


class Command(BaseCommand):
    help = "Print the agreement on a study's labels: coefficients, counts, a 95 % interval of Fleiss' kappa, and why a value is missing."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--round", type=int, default=1, help="1 (default): the independent first round")
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            known = ", ".join(Study.objects.values_list("slug", flat=True)) or "none"
            raise CommandError(f"There is no study {options['study']}. There are: {known}.")
        report = agreement.report_for(study, round=options["round"])
        document = document_of(report)
        document["by"]["condition"] = _named(study, document["by"]["condition"])
        if options["json"]:
            self.stdout.write(json.dumps(document, ensure_ascii=False, indent=1))
            return
        self._table(document)
        standing = agreement.standing_of(study, report, round=options["round"])
        self.stdout.write("")
        for reason in standing.gate.study.reasons:
            self.stdout.write(reason)
        self.stdout.write("The gate is passed." if standing.passed else f"The gate is not passed: {len(standing.open)} open.")

    def _table(self, document: dict[str, Any]) -> None:
        lines = [("", "overall", document["overall"])]
        lines += [(kind, name, values) for kind, groups in document["by"].items() for name, values in groups.items()]
        wide = max(len(f"{kind} {name}") for kind, name, _ in lines) + 2
        heads = ("kappa", "95 %", "alpha", "AC1", "agree", "positive", "prevalence", "n", "excluded")
        self.stdout.write(" " * wide + "".join(head.rjust(16 if head == "95 %" else WIDTH + 1) for head in heads))
        for kind, name, values in lines:
            kappa, *others = (_number(values[key]) for key in PUBLISHED)
            interval = f"{values['ci95'][0]:.3f}, {values['ci95'][1]:.3f}" if values["ci95"] else "-"
            cells = [kappa.rjust(WIDTH + 1), interval.rjust(16), *(cell.rjust(WIDTH + 1) for cell in others)]
            counts = "".join(str(values[key]).rjust(WIDTH + 1) for key in ("n_items", "n_excluded"))
            self.stdout.write(f"{kind} {name}".strip().ljust(wide) + "".join(cells) + counts)


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _named(study: Study, groups: dict[str, Any]) -> dict[str, Any]:
    """Conditions by their names once the study is unblinded, by their codes before."""
    if study.unblinded_at is None:
        return groups
    names = dict(study.conditions.values_list("code", "name"))
    return {names.get(code, code): values for code, values in groups.items()}
