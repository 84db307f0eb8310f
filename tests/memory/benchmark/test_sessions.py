"""What the benchmark's files may hold, and how every fault in them is said."""

from collections import Counter
from pathlib import Path

import pytest
from django.conf import settings

from memory.benchmark import sessions
from memory.benchmark.sessions import BadData
from tests.memory.benchmark.making import Line, lines, write

SHIPPED = settings.BASE_DIR / "bench" / "amu"


def faults(folder: Path) -> list[str]:
    with pytest.raises(BadData) as raised:
        sessions.read(folder)
    return [str(fault) for fault in raised.value.faults]


def changed(line: int, **values: object) -> list[Line]:
    """The session with one line changed, numbered as in the file; a value of None takes the field away."""
    made = lines()
    made[line - 1] = {name: value for name, value in {**made[line - 1], **values}.items() if value is not None}
    return made


def test_a_session_is_read_whole(tmp_path: Path) -> None:
    write(tmp_path, lines())
    (found,) = sessions.read(tmp_path)
    assert (found.id, len(found.turns), len(found.questions)) == ("s01", 50, 10)
    assert Counter(turn.action for turn in found.turns) == {"store": 20, "update": 10, "discard": 10, "filter": 10}
    assert found.questions[-1].expected == ()


@pytest.mark.parametrize(
    ("made", "where", "what"),
    [
        (changed(22, memory_id="s01-m99"), 22, "not open"),
        (changed(32, memory_id="s01-m99"), 32, "not open"),
        (changed(3, memory_id="s01-m01"), 3, "was opened at line 2"),
        (changed(52, expected=["s01-m99"]), 52, "never stored"),
        (changed(52, expected=["s01-m01", "s01-m01"]), 52, "twice"),
        (changed(5, action="remember"), 5, "“remember” is unknown"),
        (changed(5, aspect="weather"), 5, "“weather” is unknown"),
        (changed(5, kind="remark"), 5, "“remark” is unknown"),
        (changed(5, colour="red"), 5, "no field"),
        (changed(5, text=None), 5, "“text” is missing"),
        (changed(5, intent=None), 5, "needs its intent"),
        (changed(5, memory_id=None), 5, "needs its slot"),
        (changed(50, memory_id="s01-m01"), 50, "has no slot"),
        (changed(5, id="s01-t01"), 5, "stands already at session-01.jsonl:2"),
        (changed(5, text=" i HAVE 1 of the canoe kind at place 1. "), 5, "stands already at session-01.jsonl:2"),
        (changed(5, at="2026-01-01T00:00:00+00:00"), 5, "earlier than s01-t03"),
        (changed(5, at="2026-03-02T13:00:00"), 5, "offset"),
    ],
)
def test_a_fault_is_said_with_its_line_and_a_remedy(tmp_path: Path, made: list[Line], where: int, what: str) -> None:
    write(tmp_path, made)
    said = [fault for fault in faults(tmp_path) if what in fault]
    assert [fault.split(" ")[0] for fault in said] == [f"session-01.jsonl:{where}:"]
    assert said[0].endswith(".")


def test_all_faults_of_all_files_are_said_at_once(tmp_path: Path) -> None:
    write(tmp_path, changed(5, action="remember"))
    write(tmp_path, lines(2)[:-1], 2)
    (tmp_path / "session-03.jsonl").write_text("{", "utf-8")
    said = "\n".join(faults(tmp_path))
    assert "session-01.jsonl:5: “remember”" in said
    assert "session-02.jsonl:0: There are 9 queries" in said
    assert "session-03.jsonl:1: This is no JSON" in said


def test_what_stands_in_one_file_stands_in_no_other(tmp_path: Path) -> None:
    write(tmp_path, lines(1), 1)
    write(tmp_path, lines(1), 2)
    said = faults(tmp_path)
    assert sum("The id" in fault for fault in said) == 61
    assert sum("The text" in fault for fault in said) == 60


def test_a_folder_without_sessions_is_a_fault(tmp_path: Path) -> None:
    assert "There is no session-NN.jsonl." in faults(tmp_path)[0]


def test_the_shipped_sessions_are_a_thousand_turns_and_two_hundred_queries() -> None:
    found = sessions.read(SHIPPED)
    shares = Counter(turn.action for session in found for turn in session.turns)
    assert (len(found), shares.total(), sum(len(s.questions) for s in found)) == (20, 1000, 200)
    assert {action: round(n / 10) for action, n in shares.items()} == {"store": 40, "update": 16, "discard": 16, "filter": 29}
    assert len({session.head.theme for session in found}) == 20
