"""Rae fits weights from a file and gives the result to a condition; a bad file names all its faults."""

import csv
import json
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from django.core.management import CommandError, call_command

from memory import registry
from memory.policies.lufy import Lufy
from studyplatform.analysis.fitting import fit
from studyplatform.management.commands.fit_weights import COLUMNS, read
from tests.analysis.test_fitting import people


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    path = tmp_path / "labels.csv"
    with path.open("w", newline="") as file:
        out = csv.writer(file)
        out.writerow(COLUMNS)
        for r in people(5, 600):
            out.writerow([r.important, r.arousal, r.perplexity, r.importance, r.r1 or "", r.r2 or ""])
    return path


def test_the_result_as_a_conditions_overrides_gives_the_fitted_strength(labelled: Path) -> None:
    printed = StringIO()
    call_command("fit_weights", csv=labelled, json=True, stdout=printed)
    policy = registry.build("lufy", json.loads(printed.getvalue())["overrides"])
    assert isinstance(policy, Lufy)
    rows = read(labelled)
    measured = [
        policy.strength(
            {"arousal": r.arousal, "perplexity": r.perplexity, "importance": r.importance}, int(r.r1), int(r.r2), policy.d_retain
        )["strength"]
        for r in rows
    ]
    assert np.allclose(measured, fit(rows).strength(rows))


def test_all_faults_of_a_file_are_named_at_once(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("important,arousal,perplexity,importance,r1,r2\n1,9,20,3,,\nyes,2,20,3,,\n0,2,20,nan,-1,\n")
    with pytest.raises(CommandError) as told:
        call_command("fit_weights", csv=path)
    for fault in ("row 2, arousal", "row 3, important", "row 4, importance", "row 4, r1"):
        assert fault in str(told.value)


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text("important,arousal\n1,2\n")
    with pytest.raises(CommandError, match="perplexity, importance, r1, r2"):
        call_command("fit_weights", csv=path)
