"""Stage runs: claimed by lease, finished by attempt, found again by the sweep, whoever was killed."""

import threading

import pytest
from django.db import connection, transaction

from memory.models import MemoryEvent, Summary
from studyplatform import jobs
from studyplatform.study import enqueue, scheduling, sessions, stages
from studyplatform.study.models import StageRun
from tests import cast as people
from tests.memory.telling import remembered, states, tell, work


@pytest.fixture
def talk(model, two):
    """Ana's shared session, ended, with everything still to do."""
    session = people.session_of(two.ana)
    tell(session, "I live in Leeds.", "My dog is called Biscuit.", "I am allergic to peanuts.")
    sessions.end_chat(session.pk, "finished")
    return session


def run_of(session, stage: str) -> StageRun:
    return StageRun.objects.filter(session=session, stage=stage).order_by("pk")[0]


def killed(run: StageRun) -> None:
    """Its worker was killed a while ago."""
    StageRun.objects.filter(pk=run.pk).update(lease_until="2020-01-01T00:00Z")


def test_ending_a_session_twice_makes_its_runs_once(talk):
    before = StageRun.objects.count()
    stages.start(talk)
    assert StageRun.objects.count() == before == 2 + 2 * 3


def test_a_run_is_claimed_by_one_worker(talk):
    run = run_of(talk, "score")
    assert stages.claim(run.pk, "first") is not None
    assert stages.claim(run.pk, "second") is None


def test_what_waits_for_an_earlier_stage_cannot_be_claimed(talk):
    assert stages.claim(run_of(talk, "summarise").pk, "me") is None


def test_a_killed_workers_run_is_found_by_the_sweep_and_taken_over(talk):
    run = stages.claim(run_of(talk, "score").pk, "killed")
    assert (run.pk, "score") not in stages.due()
    killed(run)
    assert (run.pk, "score") in stages.due()
    again = stages.claim(run.pk, "other")
    assert again.attempt == run.attempt + 1


def test_a_worker_that_was_taken_for_dead_cannot_finish(talk):
    run = stages.claim(run_of(talk, "score").pk, "slow")
    killed(run)
    stages.claim(run.pk, "other")
    with pytest.raises(stages.LeaseLost), transaction.atomic():
        stages.finish(run)
    assert run_of(talk, "score").state == "running"
    assert run_of(talk, "summarise").state == "waiting"


def test_a_worker_that_was_taken_for_dead_leaves_no_result(talk):
    work(talk, only=("score",))
    run = stages.claim(run_of(talk, "summarise").pk, "slow")
    killed(run)
    jobs.run_stage(run.pk)
    assert Summary.objects.filter(session=talk).count() == 1
    with pytest.raises(stages.LeaseLost):
        jobs._summarise(run)
    assert Summary.objects.filter(session=talk).count() == 1


def test_a_worker_killed_half_way_through_scoring_is_resumed_where_it_stopped(talk, model):
    run = stages.claim(run_of(talk, "score").pk, "killed")
    from chat import exchanges
    from memory import scoring

    scoring.score(run.session, exchanges.of_session(talk.pk)[:2])
    asked = model.counts()["importance"]["requests"]
    killed(run)
    jobs.run_stage(run.pk)
    assert run_of(talk, "score").state == "done"
    assert model.counts()["importance"]["requests"] == asked + 1


@pytest.mark.parametrize("stage", ["fork", "forget", "answer"])
def test_a_stage_that_is_killed_and_run_again_changes_no_result(talk, two, stage):
    sessions.close(talk.pk)
    work(talk, only=stages.STAGES[: stages.STAGES.index(stage)])
    run = run_of(talk, stage)
    stages.claim(run.pk, "killed")
    killed(run)
    jobs.run_stage(run.pk)
    jobs.run_stage(run.pk)
    work(talk)
    assert set(states(talk).values()) == {"done"}
    assert len(remembered(people.arm_of(two.ana, "naive_rag").pk)) == 3
    events = MemoryEvent.objects.filter(arm=people.arm_of(two.ana, "lufy"), what__in=["kept", "forgotten"])
    assert events.count() == 4


def test_a_defect_stops_the_stage_and_shows_its_error_until_somebody_retries(talk, monkeypatch):
    def breaks(run: StageRun) -> None:
        raise ZeroDivisionError("a defect")

    run = run_of(talk, "score")
    with monkeypatch.context() as patch:
        patch.setitem(jobs._STAGES, "score", breaks)
        jobs.run_stage(run.pk)
    run.refresh_from_db()
    assert (run.state, run.error) == ("failed", "ZeroDivisionError: a defect")
    assert stages.retry(run.pk)
    assert not stages.retry(run.pk)
    work(talk)
    assert run_of(talk, "score").state == "done"


def test_the_researcher_sees_how_far_scoring_is(talk):
    work(talk, only=("score",))
    run = run_of(talk, "score")
    assert (run.progress_done, run.progress_total) == (9, 9)


def test_a_lease_can_be_renewed_by_its_holder_only(talk):
    run = stages.claim(run_of(talk, "score").pk, "slow")
    assert stages.renew(run)
    killed(run)
    stages.claim(run.pk, "other")
    assert not stages.renew(run)


@pytest.mark.django_db(transaction=True)
def test_four_workers_racing_for_one_run_do_it_once(script):
    ana = people.person(people.make_study("two"))
    session = people.session_of(ana)
    tell(session, "I live in Leeds.")
    sessions.end_chat(session.pk, "finished")
    work(session, only=("score", "summarise"))
    run = run_of(session, "fork")
    gate = threading.Barrier(4)

    def race() -> None:
        gate.wait(20)
        jobs.run_stage(run.pk)
        connection.close()

    threads = [threading.Thread(target=race) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    run.refresh_from_db()
    assert (run.state, run.attempt) == ("done", 1)
    assert len(remembered(run.arm_id)) == 1


def test_what_fails_in_a_sweep_is_logged_and_holds_nothing_else_up(talk, caplog, monkeypatch):
    swept = []

    def broken() -> None:
        raise ValueError("this part is broken")

    monkeypatch.setattr(stages, "promote", broken)
    monkeypatch.setattr(scheduling, "sweep", lambda: swept.append("people"))
    monkeypatch.setattr(enqueue, "stage", lambda run_id, name: swept.append(name))
    jobs.sweep()
    assert swept == ["score", "people"]
    assert "this part is broken" in caplog.text
