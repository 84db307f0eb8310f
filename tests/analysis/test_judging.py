"""The lexical judge, and that the analysis runs without Django."""

import subprocess
import sys

import pytest

from studyplatform.analysis.judging import holds
from tests.house.source import ROOT


@pytest.mark.parametrize(
    ("text", "answer", "half", "all_"),
    [
        ("My dog is called Biscuit", "Biscuit", True, True),
        ("We climbed Mount Fuji", "Mount Fuji in August", True, False),
        ("I like trains", "Mount Fuji in August", False, False),
        ("Yes, I do", "yes", True, True),
        ("I was 30 then", "3", False, False),
        ("", "Biscuit", False, False),
        ("Biscuit", "", False, False),
    ],
)
def test_a_text_holds_an_answer_by_its_content_words(text, answer, half, all_):
    assert (holds(text, answer, "half"), holds(text, answer, "all")) == (half, all_)


def test_the_tables_can_be_computed_without_django():
    modules = "answer_scores, importance_agreement, question_sets, retention, top_k"
    code = f"from studyplatform.analysis import judging\nfrom studyplatform.analysis.tables import {modules}\nimport sys\nassert 'django' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
