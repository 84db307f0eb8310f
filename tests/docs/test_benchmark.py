"""What the benchmark's page says is what its command takes and gives."""

import hashlib
import json
import re

from django.core.management.base import BaseCommand

from memory.benchmark import metrics
from memory.benchmark.metrics import Found, Wrote
from studyplatform.management.commands.amu_benchmark import Command
from tests.house.source import ROOT

PAGE = (ROOT / "docs" / "benchmark.md").read_text("utf-8")
RESULTS = ROOT / "bench" / "results"


def test_every_option_is_on_the_page_and_no_other():
    parser = Command().create_parser("manage.py", "amu_benchmark")
    common = {option for action in BaseCommand().create_parser("", "")._actions for option in action.option_strings}
    taken = {option for action in parser._actions for option in action.option_strings} - common
    assert set(re.findall(r"--[a-z][a-z-]*", PAGE)) == taken


def test_every_figure_of_the_page_is_in_a_row():
    given = {**metrics.retrieval([Found(frozenset("a"), (frozenset("a"),))]), **metrics.writing([Wrote("store", "store")])}
    named = {"action_accuracy", "target_accuracy", "parse_failures", "fallbacks", "errors", "silent"}
    assert [name for name in named if name not in PAGE or name not in given] == []


def test_committed_results_say_where_they_come_from_and_are_of_the_committed_data():
    files = sorted(RESULTS.glob("amu*.json"))
    assert files
    for file in files:
        origin = json.loads(file.read_text("utf-8"))["provenance"]
        assert {"commit", "data", "encoder", "model", "seeds", "device", "precision"} <= set(origin)
        for name, digest in origin["data"].items():
            assert hashlib.sha256((ROOT / "bench" / "amu" / name).read_bytes()).hexdigest() == digest


def test_the_figures_that_the_page_quotes_are_the_committed_ones():
    """Every row of presets in the table under “What was found”, in per cent, as the results have it."""
    rows = json.loads((RESULTS / "amu.json").read_text("utf-8"))["rows"]
    figures = ("p_at_3", "r_at_3", "f1_at_3", "hit_at_3", "redundancy_at_3", "silent", "action_accuracy")
    quoted = dict(re.findall(r"^\| `([a-z_]+)`(?: \(bound\)|, prototype)? \| (.*) \|$", PAGE.split("## What was found")[1], re.M))
    given = {r["preset"]: " | ".join(f"{100 * r[name]:.1f}" for name in figures) for r in rows if not r["closed"]}
    assert len(quoted) >= 10
    assert {name: given[name] for name in quoted} == quoted
