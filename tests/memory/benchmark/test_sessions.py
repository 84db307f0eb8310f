"""What the validator of the benchmark's data refuses."""

from pathlib import Path

import pytest

from memory.benchmark import sessions
from tests.memory.benchmark.telling import faults, rows, save

SHIPPED = Path(__file__).resolve().parents[3] / "bench" / "amu"


def test_the_published_sessions_have_no_fault():
    found = sessions.read(SHIPPED)
    assert (len(found), sum(len(s.turns) for s in found), sum(len(s.questions) for s in found)) == (20, 1000, 200)
    assert len({s.head.theme for s in found}) == 20


def test_any_number_of_sessions_will_do(tmp_path):
    assert [s.id for s in sessions.read(save(tmp_path, rows("s01"), rows("s02")))] == ["s01", "s02"]


def test_an_empty_folder_is_refused(tmp_path):
    assert faults(tmp_path) == [(str(tmp_path), 0, "There is no session-NN.jsonl.")]


def changed(n: int, **values):
    """A session whose line `n` (1: the session's own) differs; a value None takes the field away."""
    made = rows()
    made[n - 1] = {key: value for key, value in (made[n - 1] | values).items() if value is not None}
    return made


@pytest.mark.parametrize(
    ("line", "values", "wrong"),
    [
        (22, {"memory_id": "s01-m99"}, "The slot s01-m99 is not open here: nothing can update it."),
        (32, {"memory_id": "s01-m99"}, "The slot s01-m99 is not open here: nothing can discard it."),
        (3, {"memory_id": "s01-m01"}, "The slot s01-m01 was opened at line 2."),
        (52, {"expected": ["s01-m77"]}, "s01-q01 expects the slot s01-m77, which is never stored."),
        (52, {"expected": ["s01-m01", "s01-m01"]}, "s01-q01 expects a slot twice."),
        (45, {"action": "forget"}, "“forget” is unknown as action."),
        (22, {"aspect": "weather"}, "“weather” is unknown as aspect."),
        (22, {"intent": "sing"}, "“sing” is unknown as intent."),
        (22, {"kind": "song"}, "“song” is unknown as a kind."),
        (22, {"aspect": None}, "A turn that is to update needs its aspect."),
        (32, {"memory_id": None}, "A turn that is to discard needs its slot."),
        (45, {"memory_id": "s01-m01"}, "A filtered turn has no slot."),
        (45, {"id": "s01-t01"}, "The id s01-t01 stands already at session-01.jsonl:2."),
        (45, {"text": "s01  STORE fact0 number 1"}, "The text stands already at session-01.jsonl:2."),
        (45, {"at": "2026-03-02T10:15:00+09:00"}, "s01-t44 is earlier than s01-t43 before it."),
        (45, {"at": "2026-03-04T10:15:00"}, "“at” has no offset."),
        (45, {"mood": "good"}, "“mood” is no field of this kind of line."),
        (45, {"text": None}, "“text” is missing."),
    ],
)
def test_a_fault_is_named_with_its_line(tmp_path, line, values, wrong):
    assert ("session-01.jsonl", line, wrong) in faults(save(tmp_path, changed(line, **values)))


def test_wrong_counts_are_named(tmp_path):
    made = rows()
    assert faults(save(tmp_path, made[:45] + made[46:-1])) == [
        ("session-01.jsonl", 0, "There are 49 turns, where a session has 50."),
        ("session-01.jsonl", 0, "There are 9 queries, where a session has 10."),
    ]


def test_a_line_that_is_no_json_is_named(tmp_path):
    save(tmp_path, rows())
    file = tmp_path / "session-01.jsonl"
    file.write_text(file.read_text("utf-8") + "{oops\n", "utf-8")
    (fault,) = faults(tmp_path)
    assert fault[:2] == ("session-01.jsonl", 62)
    assert "no JSON" in fault[2]


def test_all_faults_of_all_files_come_at_once(tmp_path):
    first, second = changed(22, memory_id="s01-m99"), rows("s02")
    second[5] |= {"text": first[5]["text"], "at": first[1]["at"]}
    found = faults(save(tmp_path, first, second))
    assert {(file, line) for file, line, _ in found} == {("session-01.jsonl", 22), ("session-02.jsonl", 6)}
    assert len(found) == 3
