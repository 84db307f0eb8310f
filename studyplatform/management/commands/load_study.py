"""`manage.py load_study FILE.toml`: validate, hash, store, and say what the design means."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from memory import registry
from studyplatform.llm import providers
from studyplatform.study import estimating, links, loading
from studyplatform.study.models import Study
from studyplatform.study.studies import Refused


class Command(BaseCommand):
    help = "Validate, hash and store a study file, and print what the design means."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--json", action="store_true", help="print one JSON document and nothing else")
        parser.add_argument("--check", action="store_true", help="store nothing")
        parser.add_argument("--amend", action="store_true", help="change what may be changed in a frozen study")
        parser.add_argument("--reason", default="", help="why it is amended")
        parser.add_argument("--reference", default="", help="for example the ethics board's number of the amendment")

    def handle(self, *args: Any, file: Path, **options: Any) -> None:
        loaded = self._read(file, as_json=options["json"])
        study = None
        try:
            if options["amend"]:
                study = self._amend(loaded, options["reason"], options["reference"])
            elif not options["check"]:
                study = loading.store(loaded)
        except Refused as refused:
            raise CommandError(str(refused)) from refused
        meaning = estimating.meaning(loaded.config, price)
        if options["json"]:
            self.stdout.write(json.dumps(document(loaded, study, meaning), ensure_ascii=False, indent=1))
        else:
            self.stdout.write("\n".join(lines(loaded, study, meaning)))

    def _read(self, file: Path, *, as_json: bool) -> loading.Loaded:
        try:
            return loading.parse(file.read_text("utf-8"), checks=[registry.faults])
        except (OSError, UnicodeDecodeError) as error:
            raise CommandError(f"{file} cannot be read: {error}") from error
        except loading.BadStudyFile as bad:
            if as_json:
                faults = [{"line": f.line, "path": f.path, "message": f.message} for f in bad.faults]
                self.stdout.write(json.dumps({"faults": faults}, ensure_ascii=False, indent=1))
                sys.exit(1)
            said = "\n".join(f"{file}:{f.line}: {f.path + ': ' if f.path else ''}{f.message}" for f in bad.faults)
            count = f"{len(bad.faults)} faults" if len(bad.faults) > 1 else "One fault"
            raise CommandError(f"{count}; nothing was stored.\n{said}") from bad

    def _amend(self, loaded: loading.Loaded, reason: str, reference: str) -> Study:
        study = Study.objects.filter(slug=loaded.config.study.slug).first()
        if study is None:
            raise Refused(f"There is no study {loaded.config.study.slug} to amend.")
        amendment = loading.amend(study, loaded, reason=reason, reference=reference)
        self.stderr.write(f"Amendment {amendment.number} is stored.")
        return study


def price(model: str) -> tuple[float, float] | None:
    """A model's prices per million tokens, None if its provider is not known here."""
    try:
        found = providers.resolve(model)
    except providers.UnknownProvider:
        return None
    return found.price_in, found.price_out


def document(loaded: loading.Loaded, study: Study | None, meaning: estimating.Meaning) -> dict[str, Any]:
    """What `--json` prints."""
    stored = {"state": study.state, "frozen": study.frozen_at is not None, "general_link": links.general_url(study)} if study else {}
    return {"slug": loaded.config.study.slug, "sha256": loaded.sha256, "stored": study is not None, **stored, **meaning.as_dict()}


def lines(loaded: loading.Loaded, study: Study | None, m: estimating.Meaning) -> list[str]:
    """What a person is told."""
    config = loaded.config
    kind = "each person meets every condition" if m.design == "within" else "each person meets one condition"
    shared = ", the first conversation shared" if config.sessions.shared_first else ""
    cost = f"{m.model_cost:.2f} {m.currency}" if m.model_cost is not None else "not known (no price for the model)"
    said = [
        f"{config.study.title} ({config.study.slug}), config {loaded.sha256[:12]}",
        f"  {m.conditions} conditions, {kind}{shared}",
        f"  per person      {m.visits} visits of about {m.minutes_per_visit:.0f} minutes: {m.hours:.1f} hours, {m.pay:.2f} {m.currency}",
        f"  {m.participants:>4} people      {m.total_hours:.1f} hours, {m.total_pay:.2f} {m.currency} of pay",
        f"  models          about {m.messages} messages: {cost}",
        f"  to label        {m.transcripts_to_label} transcripts, about {m.utterances_to_label} utterances",
        f"  to grade        {m.answers_to_grade} answers, to {m.question_pairs} questions",
        *(f"  warning         {warning}" for warning in m.warnings),
    ]
    if study is None:
        return said
    return [
        *said,
        f"Stored. The study is {study.state}{', and frozen' if study.frozen_at else ''}.",
        f"  general link    {links.general_url(study)} (followed by an id of the person, 200 characters at most)",
        f"  personal links  manage.py invite {study.slug} --count N",
        f"  begin           manage.py study {study.slug} --state pilot (or running)",
    ]
