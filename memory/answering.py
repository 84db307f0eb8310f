"""After a session, an arm is asked every question about it and about the sessions before. Asking changes nothing that it remembers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated

from django.utils import timezone
from pydantic import BaseModel, Field

from memory import arms
from memory.arms import ArmRef
from memory.asking import Asker
from memory.models import QAAnswer, SecondAnswer
from memory.policy import Hit, Query, Recall, When
from memory.quotation import quoted
from memory.recalling import prompt_lines
from memory.space import ArmSpace, Scope, named
from studyplatform.llm import asking
from studyplatform.study.models import QAPair, Session

MAX_TOKENS = 160
QUESTION_CHARS = 1_000
Progress = Callable[[int, int], None]


class Answer(BaseModel):
    """`answer`: null when what is remembered does not hold it. Its length is bounded, so that a rambling model's JSON still ends."""

    answer: Annotated[str, Field(max_length=240)] | None


def answer(arm: ArmRef, session: Session, progress: Progress = lambda done, total: None) -> int:
    """Ask the arm every pair of its sessions up to this one (a shared session's too) that it was not asked after it: how many.

    Read-only: no counter moves, nothing is encoded. Only memories up to this session are looked at, should the next one
    have begun. The prompt is the key summary and the recalled memory, no recent utterances.

    Raises:
        ModelFailed, EndpointFailed: no answer; what was answered is kept.
    """
    sources = [pk for number, pk in arm.sources.items() if number <= session.number]
    pairs = list(QAPair.objects.filter(session__in=sources).select_related("session").order_by("session__number", "number"))
    asked = set(QAAnswer.objects.filter(arm_id=arm.id, after_session=session.number).values_list("pair_id", flat=True))
    missing = [pair for pair in pairs if pair.pk not in asked]
    key_summary = arms.shown_summary(arm, session.number + 1)
    for done, pair in enumerate(missing, start=len(pairs) - len(missing) + 1):
        QAAnswer.objects.bulk_create([_ask(arm, session, pair, key_summary)], ignore_conflicts=True)
        progress(done, len(pairs))
    return len(missing)


def _ask(arm: ArmRef, session: Session, pair: QAPair, key_summary: str) -> QAAnswer:
    found = _recall(arm, session, pair)
    row = QAAnswer(pair=pair, arm_id=arm.id, after_session=session.number, nothing_recalled=not found.used)
    row.used = [hit.memory.id for hit in found.used]
    row.passed_over = [hit.memory.id for hit in found.passed_over]
    row.similarities = [hit.similarity for hit in (*found.used, *found.passed_over)]
    given = _given(arm, session, pair, key_summary, found, arm.config.memory.answer_model or arm.config.chat.response_model)
    row.answer, row.abstained, row.failed = given.text, given.abstained, given.failed
    return row


def answer_again(arm: ArmRef, session: Session, model: str, progress: Progress = lambda done, total: None) -> int:
    """What the arm was asked after this session, asked of another response model with the memory that was recalled then: how many.

    Nothing is recalled anew, so nothing that happened since plays a part. What this model was asked before is not asked again.

    Raises:
        ModelFailed, EndpointFailed: no answer; what was answered is kept.
    """
    firsts = QAAnswer.objects.filter(arm_id=arm.id, after_session=session.number).select_related("pair__session")
    missing = list(firsts.exclude(seconds__model=model).order_by("pair__session__number", "pair__number"))
    key_summary = arms.shown_summary(arm, session.number + 1)
    for done, first in enumerate(missing, start=1):
        given = _given(arm, session, first.pair, key_summary, Recall(used=tuple(_hits(arm, first))), model)
        row = SecondAnswer(first=first, model=model, answer=given.text, abstained=given.abstained, failed=given.failed)
        SecondAnswer.objects.bulk_create([row], ignore_conflicts=True)
        progress(done, len(missing))
    return len(missing)


def _hits(arm: ArmRef, first: QAAnswer) -> Iterator[Hit]:
    """The memories that were used for an answer, best first."""
    known = {memory.id: memory for memory in named(arm, first.used)}
    for memory_id, similarity in zip(first.used, first.similarities, strict=False):
        if memory_id in known:
            yield Hit(known[memory_id], similarity)


@dataclass(frozen=True)
class _Given:
    """`failed`: why the model's words could not be read, twice; else empty."""

    text: str
    failed: str = ""

    @property
    def abstained(self) -> bool:
        return not self.text and not self.failed


def _given(arm: ArmRef, session: Session, pair: QAPair, key_summary: str, found: Recall, model: str) -> _Given:
    purpose = asking.Purpose("answer", arm.study_id, session.code, session.pk, _number(pair))
    allowed = arm.policy.prompt_chars(arm.config.chat.memory_chars)
    memory = "\n".join(prompt_lines(found, allowed, arm.zone)) or "(nothing)"
    try:
        answer = asking.ask(
            Answer,
            purpose,
            asking.Model(model, max_tokens=MAX_TOKENS),
            arm.config.prompts.answer,
            key_summary=quoted(key_summary, allowed) or "(nothing)",
            memory=memory,
            question=quoted(pair.question, QUESTION_CHARS),
        ).answer
    except asking.BadAnswer as error:
        return _Given("", str(error)[:200])
    return _Given((answer or "").strip())


def _number(pair: QAPair) -> int:
    """What the request's tag calls the pair: 203 is the third of session 2. Unlike its row's id it says nothing about others."""
    return pair.session.number * 100 + pair.number


def _recall(arm: ArmRef, session: Session, pair: QAPair) -> Recall:
    space = ArmSpace(arm, Scope(before=session.number + 1))
    ask = Asker(arm, purpose="recall", session_code=session.code, session_id=session.pk)
    query = Query("question", pair.question)
    return arm.policy.recall(query, space, When(session.number, timezone.now(), arm.zone), ask)
