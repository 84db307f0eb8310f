"""Reading forms as a browser does, and what simulated people say and ask."""

import pytest

from studyplatform.simulation import people
from studyplatform.simulation.pages import read
from studyplatform.simulation.recordings import RecordedPair, RecordedSession, Recording

PAGE = """
<a href="/p/ava/s/abc/">Continue</a>
<form method="post" id="pair"><input type="hidden" name="csrf" value="x"><textarea name="question">
Who &amp; what?</textarea>
<input type="checkbox" name="evidence" value="2" checked><input type="checkbox" name="evidence" value="4"><button name="go" value="1">Go</button></form>
<input form="pair" name="answer" value="tea"><input form="other" name="stray" value="1"><input name="loose" value="1">
<form method="post" action="close/"><input name="off" value="1" disabled></form>
"""


def test_a_form_is_sent_as_it_stands_with_controls_that_stand_elsewhere() -> None:
    page = read(PAGE, "/p/ava/s/abc/questions/")
    form = page.form("/questions/")
    assert form is not None
    assert form.standing() == {"csrf": "x", "question": "Who & what?", "evidence": "2", "answer": "tea"}
    assert page.links == ("/p/ava/s/abc/",)
    close = page.form("/close/")
    assert close is not None
    assert close.action == "/p/ava/s/abc/questions/close/"
    assert close.standing() == {}


def test_noor_speaks_the_script_and_asks_as_many_questions_as_the_study_wants() -> None:
    person = people.speak(0, sessions=6, messages=4, questions=5)
    assert [len(part.lines) for part in person.parts] == [4] * 6
    assert [len(part.pairs) for part in person.parts] == [5] * 6
    assert all(0 <= turn < 4 for part in person.parts for pair in part.pairs for turn in pair.turns)
    questions = [pair.question for part in person.parts[:5] for pair in part.pairs[:3]]
    assert len(set(questions)) == len(questions)  # a later round says which visit it is


def test_two_people_of_the_script_say_different_things() -> None:
    noor, sami = (people.speak(n, sessions=1, messages=None, questions=3) for n in (0, 1))
    assert set(noor.parts[0].lines).isdisjoint(sami.parts[0].lines)


def test_a_person_repeats_lines_only_while_the_study_asks_for_more() -> None:
    part = people.speak(0, sessions=1, messages=2, questions=1).parts[0]
    assert part.line(2, 0) is None
    assert part.line(2, 1) == part.lines[0]


@pytest.mark.parametrize(("messages", "bot"), [(None, ("Hi", "", "Bye")), (1, ("Hi", ""))])
def test_a_recording_cut_short_still_knows_what_the_bot_says_next(messages: int | None, bot: tuple[str, ...]) -> None:
    session = RecordedSession(("Hi", ""), ("one", "two"), (RecordedPair("Which?", "two", (1,)),), closing="Bye")
    part = people.repeat(Recording("Ava", "LUFY", (session,)), sessions=1, messages=messages, live=False).parts[0]
    assert part.bot == bot
    assert all(turn < len(part.lines) for pair in part.pairs for turn in pair.turns)
