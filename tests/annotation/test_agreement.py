"""rae asks how far her annotators agree, in the console and by a command."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from annotation import agreement
from annotation.decisions import Waiver
from studyplatform.study.models import Study
from tests.annotation.judging import judge
from tests.cast import Cast, session_of

pytestmark = pytest.mark.django_db

GOOD = {seq: [int(seq in (2, 8))] * 3 for seq in range(2, 24, 2)}
BAD = {seq: [int(seq == 2), int(seq == 4), int(seq == 6)] for seq in range(2, 24, 2)}


def printed(study: Study, *arguments: str) -> str:
    out = StringIO()
    call_command("agreement", "--study", study.slug, *arguments, stdout=out)
    return out.getvalue()


def test_the_command_prints_one_document_of_the_agreed_shape(two: Cast) -> None:
    judge(two.study, session_of(two.ana), GOOD)
    judge(two.study, session_of(two.ben), BAD)
    document = json.loads(printed(two.study, "--json"))
    assert document["overall"]["n_items"] == 22
    assert set(document["by"]["conversation"]) == {session_of(two.ana).code, session_of(two.ben).code}
    assert document["by"]["conversation"][session_of(two.ana).code]["fleiss_kappa"] == 1
    assert list(document["by"]["condition"]) == ["shared"]


def test_without_labels_it_says_so_and_prints_no_number(two: Cast) -> None:
    document = json.loads(printed(two.study, "--json"))
    assert document["overall"]["fleiss_kappa"] is None
    assert "nothing was rated" in document["overall"]["reason"]
    assert "The gate is not passed" in printed(two.study)


def test_an_unknown_study_is_refused_with_the_known_ones(two: Cast) -> None:
    with pytest.raises(CommandError, match=two.study.slug):
        call_command("agreement", "--study", "nowhere")


def test_drafts_and_surplus_do_not_count(two: Cast) -> None:
    judge(two.study, session_of(two.ana), GOOD)
    judge(two.study, session_of(two.ben), BAD, state="surplus")
    assert json.loads(printed(two.study, "--json"))["overall"]["n_items"] == 11


def test_a_later_round_is_a_report_of_its_own(two: Cast) -> None:
    judge(two.study, session_of(two.ana), BAD)
    judge(two.study, session_of(two.ana), GOOD, round=2)
    first, second = (json.loads(printed(two.study, "--json", "--round", number)) for number in ("1", "2"))
    assert first["overall"]["fleiss_kappa"] < 0 < second["overall"]["fleiss_kappa"]
    assert agreement.rounds_of(two.study) == [1, 2]


def test_a_transcript_below_the_gate_keeps_it_closed_until_it_is_waived_with_a_reason(two: Cast) -> None:
    judge(two.study, session_of(two.ana), GOOD)
    judge(two.study, session_of(two.ben), BAD)
    report = agreement.report_for(two.study)
    standing = agreement.standing_of(two.study, report)
    assert not standing.passed
    assert standing.open == (session_of(two.ben).code,)
    Waiver.objects.create(study=two.study, session=session_of(two.ben), threshold=0.4, kappa=-0.1, reason="Three marks in three places.")
    assert agreement.standing_of(two.study, report).passed


def test_a_waiver_of_the_study_does_not_reach_another_round(two: Cast) -> None:
    judge(two.study, session_of(two.ana), BAD)
    judge(two.study, session_of(two.ana), BAD, round=2)
    Waiver.objects.create(study=two.study, round=2, threshold=0.4, reason="The second round was for training.")
    assert not agreement.standing_of(two.study, agreement.report_for(two.study)).passed
    assert agreement.standing_of(two.study, agreement.report_for(two.study, round=2), round=2).passed
