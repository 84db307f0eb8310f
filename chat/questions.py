"""The pairs of question and answer that a participant writes after a conversation."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db.models.functions import Now

from chat import question_checks
from chat.models import Turn
from chat.question_checks import Check, Pair
from studyplatform.study.models import QAPair, Session


@dataclass(frozen=True)
class Step:
    """One of the pairs to be written: kept (`pair`), being written (`current`), or still to come."""

    number: int
    pair: QAPair | None
    current: bool


def steps(session: Session, count: int, chosen: int | None = None) -> list[Step]:
    """All steps; the current one is the chosen one, else the first that is not kept."""
    kept = {pair.number: pair for pair in session.qa_pairs.order_by("number")}
    open_ones = [n for n in range(1, count + 1) if n not in kept]
    current = chosen if chosen and 1 <= chosen <= count else open_ones[0] if open_ones else None
    return [Step(n, kept.get(n), n == current) for n in range(1, count + 1)]


def turns_of(session: Session) -> list[Turn]:
    """The conversation as it is shown beside the questions; empty utterances are left out."""
    return [turn for turn in Turn.objects.filter(session=session, state=Turn.State.DONE).order_by("seq") if turn.text.strip()]


def known(session: Session, evidence: Sequence[int]) -> tuple[int, ...]:
    """Of these seq, the ones that are the participant's own turns in this session."""
    mine = Turn.objects.filter(session=session, role=Turn.Role.USER, seq__in=evidence, state=Turn.State.DONE)
    return tuple(seq for seq in mine.order_by("seq").values_list("seq", flat=True) if seq is not None)


def others(session: Session, number: int) -> list[str]:
    """What the person has asked so far, in this and in other conversations, but for this pair."""
    pairs = QAPair.objects.filter(session__participant=session.participant_id).exclude(session=session, number=number)
    return list(pairs.filter(session__arm=session.arm_id).values_list("question", flat=True))


def look(session: Session, number: int, pair: Pair) -> list[Check]:
    """The checks of a pair, against what the database holds."""
    return question_checks.check(pair, others(session, number))


def keep(session: Session, number: int, pair: Pair) -> list[Check]:
    """Keep a pair, or say what is in the way: the checks that block. A repeat of the same changes nothing.

    A simulated participant repeats what was recorded, so only emptiness stops it.
    """
    blocking = [found for found in look(session, number, pair) if found.blocks and not found.ok]
    if session.participant.simulated:
        blocking = [
            found for found in blocking if found.name in ("question", "answer") and not (pair.question.strip() and pair.answer.strip())
        ]
    if blocking:
        return blocking
    text = {"question": pair.question.strip(), "answer": pair.answer.strip(), "evidence": list(pair.evidence)}
    row, created = QAPair.objects.get_or_create(session=session, number=number, defaults=text)
    if not created and (row.question, row.answer, row.evidence) != tuple(text.values()):
        QAPair.objects.filter(pk=row.pk).update(**text, revised_at=Now())
    return []
