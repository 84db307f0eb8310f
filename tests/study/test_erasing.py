"""Leaving: what goes, what stays, and that nobody else loses anything."""

import pytest
from django.core.management import CommandError, call_command

from studyplatform.study import erasing, sessions, stages
from studyplatform.study.models import Arm, Participant, QAPair, Session, StageRun
from tests.cast import Cast, session_of

PLANTED = "Quentin Zuckerbrot"


def plant(two: Cast) -> None:
    """Ana has said something, asked something, and is known by an id."""
    Participant.objects.filter(pk=two.ana.pk).update(external_id=PLANTED, time_zone="Pacific/Chatham")
    session = session_of(two.ana)
    sessions.begin(session)
    sessions.end_chat(session.pk, "participant")
    QAPair.objects.create(session=session, number=1, question=f"Who is {PLANTED}?", answer=PLANTED)


def test_erasing_leaves_nothing_that_says_who_ana_was(two: Cast) -> None:
    plant(two)
    erasing.withdraw(two.ana, keep_until_now=False)
    ana = Participant.objects.get(pk=two.ana.pk)
    assert (ana.state, ana.external_id, ana.time_zone) == ("withdrawn", None, "UTC")
    assert not QAPair.objects.filter(session__participant=ana).exists()
    assert not StageRun.objects.filter(session__participant=ana).exists()


def test_that_ana_agreed_and_when_stays_as_proof(two: Cast) -> None:
    plant(two)
    erasing.withdraw(two.ana, keep_until_now=False)
    assert two.ana.consents.count() == 1
    assert Participant.objects.get(pk=two.ana.pk).number == 0


def test_keeping_until_now_keeps_it_and_ends_all(two: Cast) -> None:
    plant(two)
    receipt = erasing.withdraw(two.ana, keep_until_now=True)
    assert receipt.kept
    assert QAPair.objects.count() == 1
    assert set(Session.objects.filter(participant=two.ana).values_list("state", flat=True)) == {"closed", "missed"}


def test_the_conversation_in_which_ana_stopped_is_worked_on_as_any_other(two: Cast) -> None:
    session = session_of(two.ana)
    sessions.begin(session)
    erasing.withdraw(two.ana, keep_until_now=True)
    session.refresh_from_db()
    assert (session.state, session.end_reason) == ("closed", "left")
    assert session.chat_ended_at is not None
    assert set(StageRun.objects.filter(session=session).values_list("stage", flat=True)) == set(stages.STAGES)
    assert not Session.objects.filter(participant=two.ana, state="open").exists()
    two.ana.refresh_from_db()
    assert two.ana.state == "stopped"


def test_nothing_is_worked_on_once_ana_has_had_it_erased(two: Cast) -> None:
    sessions.begin(session_of(two.ana))
    erasing.withdraw(two.ana, keep_until_now=False)
    assert not StageRun.objects.filter(session__participant=two.ana).exists()


def test_ben_loses_nothing_when_ana_leaves(two: Cast) -> None:
    plant(two)
    before = (two.ben.arms.count(), two.ben.sessions.count(), two.ben.consents.count())
    erasing.withdraw(two.ana, keep_until_now=False)
    assert (two.ben.arms.count(), two.ben.sessions.count(), two.ben.consents.count()) == before
    assert session_of(two.ben).state == "open"


def test_erasing_twice_finds_nothing_more(two: Cast) -> None:
    plant(two)
    erasing.withdraw(two.ana, keep_until_now=False)
    again = erasing.withdraw(two.ana, keep_until_now=False)
    assert again.rows["question pairs"] == 0
    assert Participant.objects.get(pk=two.ana.pk).state == "withdrawn"


def test_every_eraser_says_where_its_data_hides() -> None:
    assert {"identity", "question pairs", "stage runs"} <= set(erasing.ERASERS)
    assert all(eraser.where for eraser in erasing.ERASERS.values())


def test_an_arm_keeps_its_place_so_that_balance_can_be_told(two: Cast) -> None:
    erasing.withdraw(two.ana, keep_until_now=False)
    assert Arm.objects.filter(participant=two.ana).count() == 3


def test_the_command_needs_the_code_twice(two: Cast) -> None:
    with pytest.raises(CommandError, match="repeat"):
        call_command("withdraw", two.ana.code, "--confirm", two.ben.code)
    two.ana.refresh_from_db()
    assert two.ana.state == "active"


def test_the_command_prints_a_receipt(two: Cast, capsys: pytest.CaptureFixture[str]) -> None:
    plant(two)
    call_command("withdraw", two.ana.code, "--confirm", two.ana.code)
    printed = capsys.readouterr().out
    assert f"Receipt for {two.ana.code}" in printed
    assert PLANTED not in printed
