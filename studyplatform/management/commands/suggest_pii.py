"""`manage.py suggest_pii`: what of each text may identify a person, and how much of the gold spans was found."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotation.deid.reading import BadFile, Sample, read
from annotation.deid.recognisers.evaluating import Shares, evaluate
from annotation.deid.recognisers.finding import find
from annotation.deid.recognisers.found import Found


class Command(BaseCommand):
    help = "Suggest identifiers in a file of texts; with gold spans, print recall and precision too."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--file", type=Path, required=True, help='JSON lines of {"text", "spans": [[start, end, type]]}')
        parser.add_argument("--json", action="store_true", help="one JSON document and nothing else")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            samples = read(options["file"])
        except BadFile as error:
            raise CommandError(str(error)) from None
        found = [find(sample.text, sample.profile) for sample in samples]
        judged = [(f, s.spans) for f, s in zip(found, samples, strict=True) if s.spans is not None]
        overall, by_type = evaluate(judged) if judged else (None, {})
        if options["json"]:
            self.stdout.write(json.dumps(_document(samples, found, overall, by_type), ensure_ascii=False))
        else:
            self.stdout.write(_table(samples, found, overall, by_type))


def _document(samples: list[Sample], found: list[list[Found]], overall: Shares | None, by_type: dict[str, Shares]) -> dict[str, Any]:
    texts = [
        {
            "text": sample.text,
            "spans": [[f.start, f.end, f.kind] for f in spans],
            "found": [{"quote": sample.text[f.start : f.end], "by": f.by, "inside_word": f.inside_word} for f in spans],
        }
        for sample, spans in zip(samples, found, strict=True)
    ]
    head: dict[str, Any] = {"recognisers": ["rules"], "texts": texts}
    if overall is not None:
        head |= {"overall": asdict(overall), "by_type": {kind: asdict(shares) for kind, shares in by_type.items()}}
    return head


def _table(samples: list[Sample], found: list[list[Found]], overall: Shares | None, by_type: dict[str, Shares]) -> str:
    lines = []
    for sample, spans in zip(samples, found, strict=True):
        lines.append(sample.text)
        lines += [f"    {f.kind:9} {sample.text[f.start : f.end]}   ({f.by}{', inside a word' if f.inside_word else ''})" for f in spans]
    if overall is not None:
        lines += ["", f"{'type':10} {'recall':>7} {'precision':>10} {'gold':>6} {'suggested':>10}"]
        lines += [
            f"{kind:10} {_share(s.recall):>7} {_share(s.precision):>10} {s.n_gold:>6} {s.n_suggested:>10}"
            for kind, s in [*by_type.items(), ("overall", overall)]
        ]
    return "\n".join(lines)


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
