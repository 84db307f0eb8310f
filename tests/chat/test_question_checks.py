"""A question must be answerable, new, tied to what was said, gradable, and true next week."""

import pytest

from chat.question_checks import Pair, alike, check

GOOD = Pair("When does my early shift begin?", "In December, at four.", (4,))


def found(pair, others=()):
    return {c.name: c for c in check(pair, others)}


def test_a_good_pair_has_nothing_open():
    assert all(c.ok for c in check(GOOD, []))


@pytest.mark.parametrize(
    ("pair", "name"),
    [
        (Pair("", "four", (4,)), "question"),
        (Pair("  \n", "four", (4,)), "question"),
        (Pair("When?", "", (4,)), "answer"),
        (Pair("x" * 401, "four", (4,)), "question"),
        (Pair("When?", "x" * 301, (4,)), "answer"),
        (Pair("When?", "four", ()), "evidence"),
    ],
)
def test_what_is_missing_or_too_long_stands_in_the_way(pair, name):
    assert [c.name for c in check(pair, []) if c.blocks and not c.ok] == [name]


@pytest.mark.parametrize(
    "before", ["When does my early shift begin?", "when does my EARLY shift begin", "My early shift, when does it begin?"]
)
def test_a_question_asked_before_stands_in_the_way(before):
    assert found(GOOD, [before])["duplicate"].ok is False


def test_another_question_about_the_same_thing_does_not():
    assert found(GOOD, ["Where do I work on my early shift?"])["duplicate"].ok


def test_japanese_questions_are_compared_too():
    assert alike("私の犬の名前は何ですか？", "私の犬の名前は何ですか")
    assert not alike("私の犬の名前は何ですか？", "妹はどこに住んでいますか？")


@pytest.mark.parametrize(
    "pair",
    [
        Pair("Why do I like bread?", "Because of the smell", (4,)),
        Pair("What do you think about my plan?", "It is good", (4,)),
        Pair("Where do I live?", "I don't know", (4,)),
        Pair("Is my sister Mia Berg a doctor in Lyon?", "doctor in Lyon", (4,)),
    ],
)
def test_what_cannot_be_graded_is_said_but_does_not_stand_in_the_way(pair):
    advice = found(pair)["gradable"]
    assert (advice.ok, advice.blocks) == (False, False)


@pytest.mark.parametrize(
    "question", ["What did I eat today?", "What will I do next week?", "今日は何を食べましたか？", "Where am I currently working?"]
)
def test_what_is_true_only_now_is_said(question):
    assert found(Pair(question, "rusks", (4,)))["lasting"].ok is False


def test_a_fact_with_a_month_stays_true():
    assert found(Pair("Where did I travel in May 2025?", "Lyon", (4,)))["lasting"].ok
