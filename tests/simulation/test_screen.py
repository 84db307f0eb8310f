"""What a simulated person's browser keeps over breaks, and what it would notice if the server broke a promise."""

from typing import Any

from studyplatform.simulation.screen import Message, Screen, Timings

STATE = {"phase": "chatting", "turns_left": None}


def screen_in_a_chat() -> Screen:
    """The bot has spoken, and the person's message m1 is on its way."""
    screen = Screen(Timings())
    screen.welcome({"state": STATE, "turns": [{"seq": 1, "role": "bot", "reply_to": None, "text": "Hello!"}], "pending": None})
    screen.message = Message("m1", "I like tea", sent_at=10.0)
    return screen


def token(at: int, text: str, attempt: int = 1) -> dict[str, Any]:
    return {"reply_to": 2, "attempt": attempt, "at": at, "text": text}


def test_a_message_is_timed_to_its_ack_first_token_and_reply() -> None:
    screen = screen_in_a_chat()
    screen.ack("m1", 2, 10.02)
    screen.token(token(0, "Tea "), 10.05)
    screen.token(token(4, "is fine."), 10.06)
    screen.turn({"seq": 3, "reply_to": 2, "text": "Tea is fine."}, 10.10)
    assert [round(v) for v in (*screen.timings.ack, *screen.timings.first_token, *screen.timings.reply)] == [20, 30, 80]
    assert screen.message is None
    assert screen.faults == []


def test_a_reply_that_comes_whole_is_its_own_first_token() -> None:
    screen = screen_in_a_chat()
    screen.ack("m1", 2, 10.02)
    screen.turn({"seq": 3, "reply_to": 2, "text": "Tea is fine."}, 10.10)
    assert [round(v) for v in (*screen.timings.first_token, *screen.timings.reply)] == [80, 80]


def test_after_a_break_it_says_what_it_has() -> None:
    screen = screen_in_a_chat()
    screen.ack("m1", 2, 10.02)
    screen.token(token(0, "Tea "), 10.05)
    assert screen.hello() == {"type": "hello", "last_seq": 1, "have": {"reply_to": 2, "attempt": 1, "chars": 4}}


def test_a_message_whose_ack_was_lost_is_found_among_the_turns() -> None:
    screen = screen_in_a_chat()
    mine = {"seq": 2, "role": "user", "client_id": "m1", "reply_to": None, "text": "I like tea"}
    screen.welcome({"state": STATE, "turns": [mine], "pending": {"reply_to": 2, "attempt": 1, "text": "", "failed": False}})
    assert screen.acked == [("m1", 2, "I like tea")]
    assert screen.pending
    assert screen.timings.ack == []  # a time over a break is no time


def test_a_higher_attempt_discards_what_was_shown() -> None:
    screen = screen_in_a_chat()
    screen.ack("m1", 2, 10.02)
    screen.token(token(0, "Coffee"), 10.05)
    screen.token(token(0, "Tea", attempt=2), 10.06)
    screen.token(token(6, "!", attempt=1), 10.07)  # a straggler
    screen.turn({"seq": 3, "reply_to": 2, "text": "Tea"}, 10.1)
    assert screen.faults == []


def test_two_replies_to_one_message_are_noticed() -> None:
    screen = screen_in_a_chat()
    screen.ack("m1", 2, 10.02)
    screen.turn({"seq": 3, "reply_to": 2, "text": "Tea"}, 10.1)
    screen.turn({"seq": 4, "reply_to": 2, "text": "Tea again"}, 10.2)
    assert screen.faults == ["two replies to 2: turns 3 and 4"]


def test_a_message_that_is_acknowledged_under_two_numbers_is_noticed() -> None:
    screen = screen_in_a_chat()
    screen.ack("m1", 2, 10.02)
    screen.ack("m1", 4, 10.03)
    assert screen.faults == ["one message was acknowledged as 2 and as 4"]


def test_tokens_that_are_not_the_reply_are_noticed() -> None:
    screen = screen_in_a_chat()
    screen.ack("m1", 2, 10.02)
    screen.token(token(0, "Coff"), 10.05)
    screen.turn({"seq": 3, "reply_to": 2, "text": "Tea"}, 10.1)
    assert len(screen.faults) == 1


def test_where_tokens_are_missing_the_server_is_asked_once_and_may_leave_none_out_afterwards() -> None:
    screen = screen_in_a_chat()
    screen.ack("m1", 2, 10.02)
    assert screen.token(token(0, "Coff"), 10.05)
    assert not screen.token(token(9, "ple"), 10.06)
    screen.hello()
    assert screen.token(token(12, "ase"), 10.07)
    assert screen.faults == []
    unfinished = {"reply_to": 2, "attempt": 1, "text": "Coffee, please", "failed": False}
    screen.welcome({"turns": [], "pending": unfinished, "state": {"phase": "chatting"}})
    assert screen.token(token(14, "."), 10.08)
    assert screen.faults == []
    screen.token(token(20, "!"), 10.09)
    assert screen.faults == ["tokens of the reply to 2 are missing from 15 to 20"]


def test_a_turn_that_changes_is_noticed() -> None:
    screen = screen_in_a_chat()
    screen.turn({"seq": 1, "role": "bot", "reply_to": None, "text": "Goodbye!"})
    assert "turn 1 changed its text" in screen.faults
