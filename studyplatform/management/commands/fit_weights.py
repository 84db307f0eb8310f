"""Fit LUFY's weights to labels by Levenberg-Marquardt, from a CSV file; prints weights, standard errors, rescaling constants and loss."""

import csv
import json
import math
from argparse import ArgumentParser
from dataclasses import asdict
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from studyplatform.analysis import fitting
from studyplatform.analysis.fitting import Fit, FitRow

COLUMNS = ("important", *fitting.NAMES)
RANGES = {
    "important": (0.0, 1.0),
    "arousal": (1.0, 5.0),
    "perplexity": (1.0, math.inf),
    "importance": (1.0, 10.0),
    "r1": (0.0, math.inf),
    "r2": (0.0, math.inf),
}


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--csv", type=Path, required=True, help=f"columns {', '.join(COLUMNS)}; empty r1 and r2: no counts")
        parser.add_argument("--rescaling", choices=("reference", "three_point"), default="reference")
        parser.add_argument("--penalty", type=float, default=0.0, help="λ of λ‖w‖²")
        parser.add_argument("--perplexity-cap", type=float, default=fitting.PERPLEXITY_CAP)
        parser.add_argument("--perplexity-divisor", type=float, default=fitting.DIVISORS["perplexity"])
        parser.add_argument("--json", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["penalty"] < 0:
            raise CommandError("--penalty is λ of λ‖w‖²: give 0 or more.")
        rows = read(options["csv"])
        try:
            found = fitting.fit(
                rows,
                rescaling=options["rescaling"],
                penalty=options["penalty"],
                perplexity_cap=options["perplexity_cap"],
                perplexity_divisor=options["perplexity_divisor"],
            )
        except fitting.CannotFit as error:
            raise CommandError(str(error)) from error
        told = document(found)
        self.stdout.write(json.dumps(told, indent=None if options["json"] else 2, allow_nan=False))


def read(path: Path) -> list[FitRow]:
    """The rows of a CSV file.

    Raises:
        CommandError: with every fault of the file and its row number (the header is row 1).
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            table = csv.DictReader(file)
            missing = [name for name in COLUMNS if name not in (table.fieldnames or ())]
            if missing:
                raise CommandError(f"{path} has no column {', '.join(missing)}; it needs {', '.join(COLUMNS)}.")
            faults: list[str] = []
            rows = [_row(number, cells, faults) for number, cells in enumerate(table, start=2)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise CommandError(f"{path} cannot be read as CSV in UTF-8: {error}") from error
    if faults:
        raise CommandError(f"{path}: {len(faults)} faults\n" + "\n".join(faults))
    return rows


def _row(number: int, cells: dict[str, Any], faults: list[str]) -> FitRow:
    values = {}
    for name in COLUMNS:
        raw = (cells[name] or "").strip()
        low, high = RANGES[name]
        try:
            value = 0.0 if not raw and name in fitting.COUNTS else float(raw)
        except ValueError:
            faults.append(f"row {number}, {name}: “{raw}” is no number.")
            continue
        if not (math.isfinite(value) and low <= value <= high):
            faults.append(f"row {number}, {name}: {raw} is not {f'from {low:g} to {high:g}' if high < math.inf else f'{low:g} or more'}.")
        values[name] = value
    return FitRow(**values) if len(values) == len(COLUMNS) else FitRow(0, 1, 1, 1)


def document(found: Fit) -> dict[str, Any]:
    """What is printed; `overrides` are the parameters of a `lufy` condition that give this S, for the linear rescaling."""
    return {
        "weights": {
            name: {"value": w.value, "standard_error": w.standard_error, "ci95": list(w.ci95)} for name, w in found.weights.items()
        },
        "rescaling": found.rescaling,
        "constants": {name: {k: v for k, v in asdict(c).items() if v is not None} for name, c in found.constants.items()},
        "penalty": found.penalty,
        "perplexity_cap": found.perplexity_cap,
        "stages": [asdict(stage) for stage in found.stages],
        "overrides": overrides(found),
    }


def overrides(found: Fit) -> dict[str, float] | None:
    """Parameters of the policy `lufy` that give the fitted S; None for `three_point`, which the policy cannot express."""
    if found.rescaling != "reference":
        return None
    given = {f"w_{name}": found.weights[name].value if name in found.weights else 0.0 for name in fitting.NAMES}
    given |= {f"a_{name}": found.constants[name].a for name in fitting.NAMES}
    d = found.constants["perplexity"].d
    return {
        **given,
        "d_importance": found.constants["importance"].d,
        "d_arousal": found.constants["arousal"].d,
        "d_recall": d,
        "d_retain": d,
        "perplexity_cap": found.perplexity_cap,
        "floor": fitting.FLOOR,
    }
