"""Reading recorded conversations: small files written here with the oddities of real ones, and the released sample where it is there."""

import json
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook

from studyplatform.env import ROOT
from studyplatform.simulation import evidence, recordings
from studyplatform.simulation.recordings import BadRecording

DATA = ROOT.parent / "shared" / "data"
SAMPLE, LOCOMO = DATA / "lufy-sample", DATA / "locomo-4.json"
needs_sample = pytest.mark.skipif(not SAMPLE.is_dir(), reason="the released sample is not beside the checkout (../shared/data/lufy-sample)")
needs_locomo = pytest.mark.skipif(not LOCOMO.is_file(), reason="LoCoMo is not beside the checkout (../shared/data/locomo-4.json)")

TALK = [
    (None, "Luke", "Hi Ava!"),
    (0, "Ava", "Hello. "),
    (None, None, None),
    (None, "Luke", None),
    (1, "Ava", "Mt. Fuji was cold"),
    (None, None, None),
]
ASKED = [("Q1", "Which mountain was cold?"), ("A1", "Mt. Fuji")]


def write_session(
    folder: Path, talk: list[tuple[Any, ...]] = TALK, asked: list[tuple[Any, ...]] = ASKED, *, label: str = "important?"
) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    book = Workbook()
    sheet = book.active
    sheet.title = "Conversation"
    for row in [(label, "speaker", "utterance"), *talk]:
        sheet.append(row)
    questions = book.create_sheet("Questions")
    for row in [("Q_A", "Questions"), *asked]:
        questions.append(row)
    book.save(folder / "Annotator0.xlsx")
    return folder / "Annotator0.xlsx"


def read(root: Path, system: str | None = None) -> list[recordings.Recording]:
    return recordings.read(f"lufy:{root}", system=system, seed=1)


def test_ava_said_what_the_sheet_says_to_the_last_space(tmp_path: Path) -> None:
    write_session(tmp_path / "LUFY" / "Ava" / "Session1")
    session = read(tmp_path)[0].sessions[0]
    assert session.user == ("Hello. ", "Mt. Fuji was cold")
    assert session.bot == ("Hi Ava!", "")
    assert session.pairs == (recordings.RecordedPair("Which mountain was cold?", "Mt. Fuji", (1,)),)


def test_people_come_in_the_order_lufy_memory_bank_naive_rag_then_by_name(tmp_path: Path) -> None:
    for system, person in (("Naive RAG", "Ava"), ("MemoryBank", "Ava"), ("LUFY", "Zoe"), ("LUFY", "Ava")):
        write_session(tmp_path / system / person / "Session1", [(None, "Luke", "Hi"), (0, person, "Hello")])
    assert [(r.system, r.person) for r in read(tmp_path)] == [("LUFY", "Ava"), ("LUFY", "Zoe"), ("MemoryBank", "Ava"), ("Naive RAG", "Ava")]
    assert [r.person for r in read(tmp_path, "LUFY")] == ["Ava", "Zoe"]


def test_sessions_are_in_the_order_of_their_numbers_not_of_their_names(tmp_path: Path) -> None:
    for number in (10, 2, 1):
        write_session(tmp_path / "LUFY" / "Ava" / f"Session{number}", [(None, "Luke", "Hi"), (0, "Ava", f"in {number}")])
    assert [s.user for s in read(tmp_path)[0].sessions] == [("in 1",), ("in 2",), ("in 10",)]


@pytest.mark.parametrize(
    "talk",
    [
        [(0, "Luke", "Hi Ava!"), (0, "Ava", "Hello"), (0, None, None)],  # zeros where no label belongs
        [(None, "Luke", "Hi Ava!", "what a nice bot"), (None, "Ava", "Hello"), (None, None, None, "a remark")],  # remarks, no label
        [(None, "Luke", "Hi Ava!"), (1, "Ava", "Hello"), (None, None, None), (None, "Bob", "Bye")],  # the bot is called otherwise, and ends
    ],
)
def test_remarks_and_stray_labels_do_not_change_what_was_said(tmp_path: Path, talk: list[tuple[Any, ...]]) -> None:
    write_session(tmp_path / "LUFY" / "Ava" / "Session1", talk, label="Unnamed: 0")
    session = read(tmp_path)[0].sessions[0]
    assert (session.bot, session.user) == (("Hi Ava!",), ("Hello",))


def test_the_bots_last_words_are_no_exchange_but_are_kept(tmp_path: Path) -> None:
    write_session(tmp_path / "LUFY" / "Ava" / "Session1", [*TALK, (None, "Luke", "Bye!")])
    session = read(tmp_path)[0].sessions[0]
    assert len(session.bot) == len(session.user) == 2
    assert session.closing == "Bye!"


def test_foreign_files_are_passed_by(tmp_path: Path) -> None:
    write_session(tmp_path / "LUFY" / "Ava" / "Session1")
    for place in (tmp_path, tmp_path / "LUFY", tmp_path / "LUFY" / "Ava", tmp_path / "LUFY" / "Ava" / "Session1"):
        (place / ".DS_Store").write_bytes(b"\0")
    (tmp_path / "notes").mkdir()
    assert len(read(tmp_path)) == 1


def test_all_files_that_cannot_be_read_are_named_at_once(tmp_path: Path) -> None:
    write_session(tmp_path / "LUFY" / "Ava" / "Session1").write_bytes(b"no workbook")
    write_session(tmp_path / "LUFY" / "Zoe" / "Session1", [(None, "Luke", "Hi"), (0, "Ava", "Hello")])
    with pytest.raises(BadRecording) as bad:
        read(tmp_path)
    assert str(Path("Ava") / "Session1") in str(bad.value)
    assert "nobody in the conversation is called Zoe" in str(bad.value)


def test_an_unknown_system_is_refused_with_the_names_that_are_there(tmp_path: Path) -> None:
    write_session(tmp_path / "LUFY" / "Ava" / "Session1")
    with pytest.raises(BadRecording, match="systems there: LUFY"):
        read(tmp_path, "Mem0")
    with pytest.raises(BadRecording, match="no such folder"):
        read(tmp_path / "nowhere")
    with pytest.raises(BadRecording, match="expected lufy:DIR or locomo:FILE"):
        recordings.read("letters.txt", system=None, seed=1)


def test_a_question_is_tied_to_the_words_that_answer_it() -> None:
    said = ["Good morning", "He is called Biscuit", "I like rye bread", "The parrot likes bread too"]
    assert 1 in evidence.choose("What is the name of the parrot?", "Biscuit", said)
    assert evidence.choose("How was the weather?", "Sunny", said) == (3,)  # nothing shared but small words: the longest
    assert evidence.choose("How was the weather?", "Sunny", []) == ()


def locomo(tmp_path: Path, qa: list[dict[str, Any]]) -> recordings.Recording:
    talk = {
        "speaker_a": "Jo",
        "speaker_b": "Mel",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Jo", "dia_id": "D1:1", "text": "Hi Mel!"},
            {"speaker": "Jo", "dia_id": "D1:2", "text": "I moved to Bern."},
            {"speaker": "Mel", "dia_id": "D1:3", "text": "Oh!"},
            {"speaker": "Mel", "dia_id": "D1:4", "text": "When?"},
            {"speaker": "Jo", "dia_id": "D1:5", "text": "In May."},
            {"speaker": "Mel", "dia_id": "D1:6", "text": "Bye."},
        ],
    }
    file = tmp_path / "locomo.json"
    file.write_text(json.dumps([{"qa": qa, "conversation": talk}]), "utf-8")
    return recordings.read(f"locomo:{file}", system=None, seed=1)[0]


def test_what_one_speaker_says_in_a_row_is_one_message(tmp_path: Path) -> None:
    session = locomo(tmp_path, []).sessions[0]
    assert session.user == ("Hi Mel!\nI moved to Bern.", "In May.")
    assert session.bot == ("", "Oh!\nWhen?")
    assert session.closing == "Bye."


def test_questions_without_an_answer_are_left_out_and_the_others_tied_to_their_turns(tmp_path: Path) -> None:
    qa = [
        {"question": "When did Jo move?", "answer": "May 2023", "evidence": ["D1:5"], "category": 2},
        {"question": "How old is Jo?", "adversarial_answer": "30", "evidence": ["D1:1"], "category": 5},
        {"question": "What did Mel ask?", "answer": "When", "evidence": ["D1:4"], "category": 1},
    ]
    pairs = locomo(tmp_path, qa).sessions[0].pairs
    assert {p.question for p in pairs} == {"When did Jo move?", "What did Mel ask?"}
    assert next(p for p in pairs if p.question == "When did Jo move?").turns == (1,)
    assert all(p.turns for p in pairs)


@needs_sample
def test_the_released_sample_holds_twenty_four_conversations_of_four_sessions() -> None:
    found = read(SAMPLE)
    assert [r.person for r in found[:8]] == ["Alexander", "Ava", "Benjamin", "Ella", "Emily", "Ethan", "Isabella", "James"]
    assert len(found) == 24
    assert {len(r.sessions) for r in found} == {4}
    assert all(len(s.pairs) == 3 and all(p.turns for p in s.pairs) for r in found for s in r.sessions)
    assert all(len(s.bot) == len(s.user) > 0 for r in found for s in r.sessions)
    assert sum(text == "" for r in found for s in r.sessions for text in s.bot) == 2


@needs_locomo
def test_every_session_of_locomo_has_three_answerable_questions() -> None:
    found = recordings.read(f"locomo:{LOCOMO}", system=None, seed=1)
    assert [r.person for r in found] == ["Caroline", "Jon", "John", "Joanna"]
    assert all(len(s.pairs) == 3 for r in found for s in r.sessions)
    assert all(len({p.question for s in r.sessions for p in s.pairs}) == 3 * len(r.sessions) for r in found)
    assert found == recordings.read(f"locomo:{LOCOMO}", system=None, seed=1)
    assert found != recordings.read(f"locomo:{LOCOMO}", system=None, seed=2)
