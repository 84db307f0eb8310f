"""A small study from the personal link to the end page, through real web and worker processes."""

import asyncio

import pytest

from chat.models import Turn
from memory.models import QAAnswer
from studyplatform.simulation import casting, designs, run, showing, tallying
from studyplatform.simulation.casting import Wish
from studyplatform.simulation.recordings import BadRecording
from studyplatform.simulation.tallying import Tally
from studyplatform.study.models import Participant, QAPair, Session, StageRun, Study
from tests.scripted_server import Scripted
from tests.simulation.test_recordings import SAMPLE, needs_sample

pytestmark = pytest.mark.stack


def simulate(wish: Wish, site: str, script: Scripted) -> tuple[Study, casting.Cast, Tally]:
    cast = casting.cast(wish, designs.design_of("demo").config)
    study = designs.new_study("demo", cast.changes)
    invited = list(zip(run.invite(study, wish.participants), cast.people, strict=True))
    finished = asyncio.run(run.walk_all(study, invited, site=site, scripted_url=script.url))
    return study, cast, tallying.tally(finished)


def test_two_people_walk_a_study_of_two_sessions_to_its_end(site: str, script: Scripted) -> None:
    study, _, tally = simulate(Wish(participants=2, sessions=2, messages=4), site, script)

    assert tally.errors == ()
    assert (tally.participants, tally.sessions, tally.messages) == (2, 10, 40)  # a shared session and one per arm
    assert set(study.participants.values_list("state", flat=True)) == {Participant.State.FINISHED}
    assert set(Session.objects.filter(participant__study=study).values_list("state", flat=True)) == {Session.State.CLOSED}

    runs = StageRun.objects.filter(session__participant__study=study)
    assert set(runs.values_list("state", flat=True)) == {StageRun.State.DONE}
    assert set(runs.values_list("stage", flat=True)) == set(StageRun.Stage.values)

    assert QAPair.objects.filter(session__participant__study=study).count() == 30
    asked = QAAnswer.objects.filter(arm__participant__study=study)
    assert asked.count() == 2 * 4 * (3 + 6)  # after session 1 its pairs, after session 2 those of both, in every arm

    keeps_all = [cell for cell in tally.by if cell.policy == "naive_rag"]
    assert [(c.session, c.exchanges, c.kept, c.retention) for c in keeps_all] == [(1, 8, 8, 1.0), (2, 8, 16, 1.0)]
    assert all(cell.answered + cell.abstained == 6 * cell.session for cell in tally.by)
    assert all(cell.kept < cell.exchanges * cell.session for cell in tally.by if cell.policy in ("lufy", "memory_bank"))

    document = showing.as_json(tally)
    assert set(document) == {"participants", "sessions", "messages", "by", "latency", "errors"}
    shown = ["arm", "policy", "session", "exchanges", "kept", "retention", "used", "passed_over", "answered", "abstained"]
    assert all(list(row) == shown for row in document["by"])
    assert document["latency"]["ack"]["n"] == 40


@needs_sample
def test_alexander_says_again_in_every_arm_what_he_said_then(site: str, script: Scripted) -> None:
    wish = Wish(participants=1, replay=f"lufy:{SAMPLE}", sessions=2, messages=6)
    study, cast, tally = simulate(wish, site, script)

    assert tally.errors == ()
    assert tally.messages == 6 * 5
    for session in Session.objects.filter(participant__study=study):
        part = cast.people[0].parts[session.number - 1]
        turns = list(Turn.objects.filter(session=session, state=Turn.State.DONE).order_by("seq"))
        assert [t.text for t in turns if t.role == Turn.Role.USER] == list(part.lines)
        assert [t.text for t in turns if t.role == Turn.Role.BOT] == list(part.bot)
        pairs = QAPair.objects.filter(session=session).order_by("number")
        assert [(p.question, p.answer) for p in pairs] == [(p.question.strip(), p.answer.strip()) for p in part.pairs]
        assert all(pair.evidence for pair in pairs)


@needs_sample
def test_more_people_than_recordings_is_an_error(db: None) -> None:
    wish = Wish(participants=9, replay=f"lufy:{SAMPLE}", system="LUFY")
    with pytest.raises(BadRecording, match="9 participants were asked for, and there are 8 recordings"):
        casting.cast(wish, designs.design_of("demo").config)
