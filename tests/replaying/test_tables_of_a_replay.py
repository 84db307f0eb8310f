"""From a replay's rows to records, tables and files; and the command itself."""

import csv
import json

import pytest
from django.core.management import CommandError, call_command

from memory.models import Memory
from studyplatform.env import ROOT
from studyplatform.replaying import labels, reporting, running
from studyplatform.replaying.gathering import EVIDENCE, gather
from studyplatform.replaying.sources import read
from studyplatform.simulation import recordings
from studyplatform.study.models import QAPair, Study
from tests.replaying.conftest import begin, go_on, wish
from tests.simulation.test_recordings import ASKED, write_session

SAMPLE = ROOT.parent / "shared" / "data" / "lufy-sample"
needs_sample = pytest.mark.skipif(not SAMPLE.is_dir(), reason="the released sample is not beside the checkout (../shared/data/lufy-sample)")


@pytest.fixture
def done(model, source) -> Study:
    return go_on(begin(wish(source)))


def test_what_is_held_is_what_the_store_holds(done):
    found = gather(done, running.wish_of(done))
    held = {(h.condition, h.session): (h.exchanges, h.kept) for h in found.held}
    assert held["naive_rag", 1] == (6, 6)
    assert held["naive_rag", 2] == (7, 13)
    active = Memory.objects.filter(arm__condition__name="lufy", arm__participant__study=done, status="active").count()
    assert held["lufy", 2] == (7, active)


def test_naive_rag_lets_every_exchange_survive_and_a_summary_is_none(done):
    found = gather(done, running.wish_of(done))
    survived = {(s.condition, s.session): s.kept for s in found.survived}
    assert survived["naive_rag", 2] == frozenset(range(7))
    exchanges = Memory.objects.filter(arm__condition__name="lufy", arm__participant__study=done, status="active", kind="exchange")
    assert len(survived["lufy", 2]) == exchanges.filter(session_number=2).count()


def test_a_question_s_place_is_that_of_the_nearest_memory_with_the_answer(done):
    found = gather(done, running.wish_of(done))
    mine = [p for p in found.placed if p.condition == "naive_rag" and "green tea" not in p.question and p.judge == EVIDENCE]
    pairs = QAPair.objects.filter(session__participant__study=done, session__arm__condition=None).count()
    assert len([p for p in mine if p.question.startswith("1 ")]) == pairs
    assert all(p.held == 6 and p.right >= 1 and 1 <= p.rank <= 6 for p in mine if p.question.startswith("1 "))


def test_answers_are_judged_by_their_words(done):
    found = gather(done, running.wish_of(done))
    assert {a.after for a in found.answered} == {1, 2}
    assert all(a.answered for a in found.answered if a.correct)


def test_a_study_of_this_database_can_be_replayed(done):
    found = read(f"study:{done.slug}", system="lufy", seed=1)
    assert [len(s.user) for s in found[0].sessions] == [6, 7]
    assert found[0].sessions[0].pairs[0].turns
    again = go_on(begin(wish(f"study:{done.slug}", "naive_rag", system="lufy")))
    assert gather(again, running.wish_of(again)).held[1].kept == 13
    with pytest.raises(recordings.BadRecording, match="no such study"):
        read("study:nothing", system=None, seed=1)


def test_the_command_replays_writes_its_files_and_says_where_the_numbers_come_from(model, source, tmp_path, capsys):
    out = tmp_path / "tables"
    call_command("replay", source, policies=["naive_rag", "lufy"], sweep=["alpha=0,0.5"], out=out, json=True)
    shown = json.loads(capsys.readouterr().out)
    assert {row["system"] for row in shown["by"]} == {"naive_rag", "lufy", "lufy alpha=0", "lufy alpha=0.5"}
    assert shown == json.loads((out / "replay.json").read_text("utf-8"))
    origin = shown["provenance"]
    assert origin["systems"]["lufy alpha=0.5"]["alpha"] == 0.5
    assert origin["encoder"]["name"] == "scripted/hash"
    assert origin["source"] == "locomo:talk.json"
    assert len(origin["source_sha256"]) == len(origin["config_sha256"]) == 64
    rows = list(csv.DictReader((out / "table11.csv").open(encoding="utf-8")))
    assert {row["system"] for row in rows} == {"naive_rag", "lufy", "lufy alpha=0", "lufy alpha=0.5"}
    assert shown["table9"]["missing"] == ["annotators' marks of what is important"]


def test_a_finished_replay_shows_its_tables_again_without_saying_anything_again(done, capsys):
    call_command("replay", resume=done.slug, json=True)
    first = json.loads(capsys.readouterr().out)
    call_command("replay", resume=done.slug, json=True)
    assert json.loads(capsys.readouterr().out) == first
    done.refresh_from_db()
    assert done.state == Study.State.CLOSED


def test_ablations_come_as_tables_14_and_15(model, source, capsys):
    call_command("replay", source, policies=["lufy"], ablate=["lufy"], sessions=1, json=True)
    shown = json.loads(capsys.readouterr().out)
    assert {row["system"] for row in shown["table14"]["rows"]} >= {"lufy", "lufy -A", "lufy -P", "lufy -L", "lufy -R1", "lufy -R2"}
    assert {row["system"] for row in shown["table8"]["rows"]} == {"lufy"}
    assert "table15" in shown


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"resume": "nothing"}, "no replay nothing"),
        ({}, "what is to be replayed"),
        ({"policies": ["mem0"]}, "no memory system mem0"),
    ],
)
def test_what_cannot_be_replayed_is_refused_with_a_reason(db, options, message):
    with pytest.raises(CommandError, match=message):
        call_command("replay", *([] if "policies" not in options else ["locomo:nowhere.json"]), **options)


def test_a_replay_that_has_begun_keeps_its_options(done):
    with pytest.raises(CommandError, match="leave out sessions"):
        call_command("replay", resume=done.slug, sessions=1)


def test_annotators_marks_are_read_from_the_participant_s_rows(tmp_path):
    talk = [
        (0, "Luke", "Hi"),
        (1, "Ava", "One"),
        (None, None, None),
        (None, "Luke", "So?"),
        (None, "Ava", "Two"),
        (None, "Luke", None),
        (1.0, "Ava", "Three"),
    ]
    folder = tmp_path / "LUFY" / "Ava" / "Session1"
    write_session(folder, talk, ASKED)
    found, left_out = labels.read(tmp_path, recordings.read(f"lufy:{tmp_path}", system=None, seed=1), 1)
    assert [dict(m.raters) for m in found] == [{"Annotator0": frozenset({0, 2})}]
    assert (found[0].exchanges, left_out) == (3, [])


def test_an_annotator_who_saw_other_utterances_is_left_out_and_named(tmp_path):
    folder = tmp_path / "LUFY" / "Ava" / "Session1"
    write_session(folder, [(None, "Luke", "Hi"), (1, "Ava", "One")], ASKED).rename(folder / "Annotator1.xlsx")
    write_session(folder, [(None, "Luke", "Hi"), (1, "Ava", "One"), (None, "Luke", "So?"), (0, "Ava", "Two")], ASKED)
    found, left_out = labels.read(tmp_path, recordings.read(f"lufy:{tmp_path}", system=None, seed=1), 1)
    assert set(found[0].raters) == {"Annotator0"}
    assert "LUFY/Ava/Session1/Annotator1.xlsx: 1 utterances of Ava, and 2" in left_out[0]


@needs_sample
def test_the_sample_s_annotators_agree_more_than_chance():
    source = f"lufy:{SAMPLE}"
    marked, _ = reporting.marks(wish(source, system="LUFY"), read(source, system="LUFY", seed=1))
    table = reporting.importance_agreement.table(marked, [])
    assert table.value("average", system="annotators", what="agreement") > table.value("average", system="annotators", what="random")


@needs_sample
def test_keep_counts_on_the_sample_s_real_exchanges(model):
    """LUFY's rule on one real person's first two conversations: 10 % of what is held, and a place for the earlier summary."""
    study = go_on(begin(wish(f"lufy:{SAMPLE}", "lufy", system="LUFY", recordings=1, sessions=2)))
    held = {h.session: (h.exchanges, h.kept) for h in gather(study, running.wish_of(study)).held}
    assert held == {1: (19, 2), 2: (29, 5)}
