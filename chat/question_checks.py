"""Is this a question that can be graded later? Pure; the page shows the answers while it is written, the server has the last word.

A pair is kept when nothing that `blocks` is open. The rest is advice: whether a fact will stay true is the writer's to judge.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

MOST_QUESTION = 400
MOST_ANSWER = 300
ALIKE = 0.8

Where = Literal["question", "answer", "evidence"]


@dataclass(frozen=True)
class Pair:
    """A question as it stands in the form; `evidence` holds the seq of the participant's turns that were ticked."""

    question: str
    answer: str
    evidence: tuple[int, ...] = ()


@dataclass(frozen=True)
class Check:
    """One thing that was looked at, in words. `ok` False and `blocks`: the pair cannot be kept like this."""

    name: str
    where: Where
    ok: bool
    text: str
    blocks: bool = False


# Words by which a fact is tied to the day on which it is told.
_PASSING = re.compile(
    r"\b(today|tonight|tomorrow|yesterday|now|currently|at the moment|right now|recently|just now|this (?:morning|afternoon|evening|week|weekend|month|year)"
    r"|(?:next|last) (?:week|weekend|month|year|night|monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b"
    r"|今日|今夜|明日|昨日|今朝|今週|来週|先週|今月|来月|先月|今年|来年|去年|最近|さっき",
    re.IGNORECASE,
)
# Questions that ask for a view, a feeling or a story have no answer that is right or wrong.
_OPEN = re.compile(
    r"^\s*(why|how (?:do|did|does|was|were|am|are|is) (?:you|i|we|it|that)\b.*\b(?:feel|feeling|think|go)|what do you think|do you think|tell me|describe|explain)"
    r"|どう思|なぜ|どうして|どんな気持ち",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"^\s*(i (?:do not|don['’]t) know|maybe|it depends|not sure|many things|something|various|たぶん|わからない|分からない)\b",
    re.IGNORECASE,
)


def written(pair: Pair, others: Sequence[str]) -> Iterator[Check]:
    """Both are there, in one piece."""
    if not pair.question.strip():
        yield Check("question", "question", False, _("The question is empty. Write what you would ask."), blocks=True)
    elif len(pair.question) > MOST_QUESTION:
        yield Check("question", "question", False, _("The question is too long. One or two sentences are enough."), blocks=True)
    if not pair.answer.strip():
        yield Check("answer", "answer", False, _("The answer is empty. Write what you would accept as right."), blocks=True)
    elif len(pair.answer) > MOST_ANSWER:
        yield Check("answer", "answer", False, _("The answer is too long. A few words are enough."), blocks=True)


def not_a_duplicate(pair: Pair, others: Sequence[str]) -> Iterator[Check]:
    """It was not asked before: not in the same words, nor nearly so."""
    if not pair.question.strip():
        return
    if any(alike(pair.question, other) for other in others):
        yield Check("duplicate", "question", False, _("You have asked this before. Ask about something else."), blocks=True)
    else:
        yield Check("duplicate", "question", True, _("Not asked before"))


def tied_to_turns(pair: Pair, others: Sequence[str]) -> Iterator[Check]:
    """At least one of the participant's own messages holds the answer."""
    count = len(pair.evidence)
    if count == 0:
        yield Check("evidence", "evidence", False, _("Tick the message in which you said it."), blocks=True)
    else:
        text = ngettext("Tied to one message", "Tied to %(count)d messages", count) % {"count": count}
        yield Check("evidence", "evidence", True, text)


def right_or_wrong(pair: Pair, others: Sequence[str]) -> Iterator[Check]:
    """Somebody who was not there can tell a right answer from a wrong one."""
    if not pair.question.strip() or not pair.answer.strip():
        return
    if _OPEN.search(pair.question):
        text = _("Can an answer be right or wrong? Ask who, what, where, when or how many.")
        yield Check("gradable", "question", False, text)
    elif _VAGUE.search(pair.answer):
        yield Check("gradable", "answer", False, _("Can this answer be right or wrong? Be more exact."))
    elif _plain(pair.answer) and _plain(pair.answer) in _plain(pair.question) and len(_words(pair.answer)) > 1:
        yield Check("gradable", "question", False, _("The question gives its own answer away."))
    else:
        yield Check("gradable", "question", True, _("Can be graded right or wrong"))


def stays_true(pair: Pair, others: Sequence[str]) -> Iterator[Check]:
    """It still means the same next week."""
    if not pair.question.strip():
        return
    if _PASSING.search(pair.question) or _PASSING.search(pair.answer):
        text = _("Will it still be true next week? If it may change, add the day or the month.")
        yield Check("lasting", "question", False, text)
    else:
        yield Check("lasting", "question", True, _("Stays true later"))


CHECKS: tuple[Callable[[Pair, Sequence[str]], Iterator[Check]], ...] = (written, not_a_duplicate, tied_to_turns, right_or_wrong, stays_true)


def check(pair: Pair, others: Iterable[str]) -> list[Check]:
    """Everything that there is to say about a pair, given the other questions of this person."""
    known = tuple(others)
    return [found for look in CHECKS for found in look(pair, known)]


def alike(one: str, other: str) -> bool:
    """Whether two questions ask the same: equal words in any order, or nearly all of them."""
    a, b = set(_words(one)), set(_words(other))
    if not a or not b:
        return _plain(one) == _plain(other)
    return len(a & b) / len(a | b) >= ALIKE


def _plain(text: str) -> str:
    return "".join(_words(text))


def _words(text: str) -> list[str]:
    """Words, and of scripts without spaces the pairs of neighbouring characters."""
    found: list[str] = []
    for word in re.findall(r"\w+", text.casefold()):
        if word.isascii() or len(word) < 3:
            found.append(word)
        else:
            found.extend(word[i : i + 2] for i in range(len(word) - 1))
    return found
