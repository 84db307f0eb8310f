"""What a researcher sees of a running study."""

import re

import pytest
from django.urls import reverse
from django.utils import timezone

from studyplatform.console import monitoring
from studyplatform.study.models import Session, StageRun
from tests.cast import logged_in, session_of


def page_of(cast, name="console:monitor", **query):
    response = logged_in(cast.rae).get(reverse(name, args=[cast.study.slug]), query)
    assert response.status_code == 200
    return response.content.decode()


def board_of(cast, **options):
    return monitoring.board(cast.study, now=timezone.now(), **options)


def row_of(cast, person):
    return next(row for row in board_of(cast).rows if row.code == person.code)


def fail_a_stage(session, stage="score", error="The scorer ran out of memory."):
    return StageRun.objects.create(session=session, stage=stage, state="failed", attempt=3, error=error)


def test_rae_sees_everybody_of_the_study_and_nobody_of_another(two):
    page = page_of(two)
    assert two.ana.code in page
    assert two.ben.code in page
    assert two.noa.code not in page


def test_pilot_people_are_not_among_those_who_count(two):
    assert two.pia.code not in page_of(two)


def test_somebody_who_chats_is_shown_where_she_is_and_first(two):
    Session.objects.filter(participant=two.ben, position=1).update(state="chatting", started_at=timezone.now())
    board = board_of(two)
    assert board.rows[0].code == two.ben.code
    assert board.rows[0].where == "chatting in 1, shared"
    assert board.figures.chatting == 1


def test_a_conversation_with_an_assistant_is_named_by_its_code_only(two):
    Session.objects.filter(participant=two.ana, position=1).update(state="closed")
    Session.objects.filter(participant=two.ana, position=2).update(state="chatting")
    code = session_of(two.ana, 2).arm.condition.code
    assert row_of(two, two.ana).where == f"chatting in 2, {code}"


def test_a_failed_stage_asks_for_the_researcher_in_words(two):
    fail_a_stage(session_of(two.ana))
    page = page_of(two)
    assert "The scorer ran out of memory." in page
    assert "Retry" in page
    assert row_of(two, two.ana).where == "after 1, scoring failed"


def test_the_stages_of_arms_after_a_shared_session_show_the_worst(two):
    session = session_of(two.ana)
    for arm, state in zip(two.ana.arms.exclude(condition=None), ("done", "running"), strict=True):
        StageRun.objects.create(session=session, arm=arm, stage="forget", state=state)
    marks = dict(zip(StageRun.Stage.values, row_of(two, two.ana).stages, strict=True))
    assert marks["forget"].word == "running"


def test_a_closed_session_is_being_prepared_until_forgetting_is_done(two):
    session = session_of(two.ana)
    Session.objects.filter(pk=session.pk).update(state="closed", closed_at=timezone.now())
    run = StageRun.objects.create(session=session, stage="summarise", state="ready")
    assert row_of(two, two.ana).marks[0].word == "being prepared"
    StageRun.objects.filter(pk=run.pk).update(state="done")
    assert row_of(two, two.ana).marks[0].word == "done"


def test_progress_is_told_in_steps(two):
    StageRun.objects.create(session=session_of(two.ana), stage="score", state="running", progress_done=7, progress_total=29)
    assert "7 of 29" in page_of(two)


def test_the_live_part_is_sent_again_only_when_something_changed(two):
    have = board_of(two).version
    client, url = logged_in(two.rae), reverse("console:live", args=[two.study.slug])
    assert client.get(url, {"have": have}).status_code == 204
    fail_a_stage(session_of(two.ana))
    changed = client.get(url, {"have": have})
    assert changed.status_code == 200
    assert "The scorer ran out of memory." in changed.content.decode()


def test_the_monitor_asks_a_fixed_number_of_queries(two, django_assert_num_queries):
    from tests.cast import person

    with django_assert_num_queries(9):
        board_of(two)
    for _ in range(4):
        person(two.study)
    with django_assert_num_queries(9):
        board_of(two)


def test_finished_work_of_earlier_sessions_is_not_fetched_and_changes_nothing_on_the_board(two, monkeypatch):
    moment = timezone.now()
    for person in (two.ana, two.ben):
        for position in (1, 2, 3):
            session = session_of(person, position)
            Session.objects.filter(pk=session.pk).update(state="closed", closed_at=moment)
            for stage in ("score", "summarise"):
                StageRun.objects.create(session=session, stage=stage, state="done", finished_at=moment)
    StageRun.objects.filter(session=session_of(two.ben, 1), stage="score").update(state="failed", finished_at=None)
    monkeypatch.setattr(monitoring, "RUNS_SHOWN", 1)
    few = monitoring._worth_showing(two.study)
    assert len(few) <= 2 + 2 + 1 + 1
    board = monitoring.board(two.study, now=moment)
    monkeypatch.setattr(monitoring, "_worth_showing", lambda study: list(monitoring.runs_of(study)))
    assert monitoring.board(two.study, now=moment).rows == board.rows
    assert monitoring.board(two.study, now=moment).figures == board.figures
    assert [row.where for row in board.rows if row.code == two.ben.code] == ["after 1, scoring failed"]


def test_a_long_list_is_cut_and_can_be_shown_whole(two, monkeypatch):
    monkeypatch.setattr(monitoring, "SHOWN", 2)
    assert board_of(two).hidden == 1
    assert board_of(two, everyone=True).hidden == 0


def test_the_balance_counts_people_by_place_of_the_arm(two):
    assert sum(sum(arm.places) for arm in board_of(two).arms) == 4  # ana and ben, two arms each


@pytest.mark.parametrize("address", ["console:monitor", "console:people", "console:design", "console:record"])
def test_while_blinded_no_page_ties_a_code_to_a_condition(two, address):
    page = page_of(two, address)
    for condition in two.study.conditions.all():
        assert not re.search(rf"{condition.code}[^<]{{0,200}}{condition.name}", page)
        if address != "console:design":
            assert condition.name not in page
            assert condition.preset not in page
