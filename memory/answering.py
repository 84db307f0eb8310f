"""After a session, an arm is asked every question about it and about the sessions before. Asking changes nothing that it remembers."""

from collections.abc import Callable
from typing import Annotated

from django.utils import timezone
from pydantic import BaseModel, Field

from memory import arms
from memory.arms import ArmRef
from memory.asking import Asker
from memory.models import QAAnswer
from memory.policy import Query, Recall, When
from memory.recalling import prompt_lines
from memory.space import ArmSpace, Scope
from studyplatform.llm import asking
from studyplatform.study.models import QAPair, Session

MAX_TOKENS = 160
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
    key_summary = arms.key_summary(arm.id, session.number + 1)
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
    model = asking.Model(arm.config.memory.answer_model or arm.config.chat.response_model, max_tokens=MAX_TOKENS)
    purpose = asking.Purpose("answer", arm.study_id, session.code, session.pk, _number(pair))
    memory = "\n".join(prompt_lines(found, arm.config.chat.memory_chars)) or "(nothing)"
    try:
        given = asking.ask(
            Answer,
            purpose,
            model,
            arm.config.prompts.answer,
            key_summary=key_summary or "(nothing)",
            memory=memory,
            question=pair.question,
        ).answer
    except asking.BadAnswer as error:
        row.failed = str(error)[:200]
        return row
    row.answer = (given or "").strip()
    row.abstained = not row.answer
    return row


def _number(pair: QAPair) -> int:
    """What the request's tag calls the pair: 203 is the third of session 2. Unlike its row's id it says nothing about others."""
    return pair.session.number * 100 + pair.number


def _recall(arm: ArmRef, session: Session, pair: QAPair) -> Recall:
    space = ArmSpace(arm, Scope(before=session.number + 1))
    ask = Asker(arm, purpose="recall", session_code=session.code, session_id=session.pk)
    query = Query("question", pair.question)
    return arm.policy.recall(query, space, When(session.number, timezone.now(), arm.zone), ask)
