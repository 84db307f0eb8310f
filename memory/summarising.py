"""What a session leaves: its own short summary, and the key summary that every later prompt of the arm begins with.

A shared session is summarised once, so that its key summary is the same in all arms; the fork hands it on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memory import arms, space
from memory.arms import ArmRef
from memory.asking import Asker
from memory.ledger import Entry
from memory.ledger import write as write_events
from memory.models import Memory, Summary
from memory.policy import Draft, Exchange
from memory.quotation import quoted, transcript
from memory.remembering import insert, lock
from memory.remembering import made as made_of
from memory.space import ArmSpace
from studyplatform.llm import asking
from studyplatform.study.models import Session
from studyplatform.study.studies import config_of

MAX_TOKENS = 120
TRANSCRIPT_CHARS = 12_000  # the newest part of a longer one
SUMMARY_CHARS = 2_000  # of a summary in a prompt; fifty words have some 300


@dataclass(frozen=True)
class Summaries:
    """`text`: of this session; `key`: merged with what was known before. Both empty when nothing was said."""

    text: str
    key: str


def summarise(session: Session, exchanges: Sequence[Exchange]) -> Summaries:
    """Ask for the session's summary, and for the new key summary where there was one before.

    Raises:
        ModelFailed, BadAnswer: no usable answer.
    """
    config = config_of(session.participant.study)
    earlier = arms.key_summary(session.arm_id, session.number)
    if not exchanges:
        return Summaries("", earlier)
    model = asking.Model(config.memory.summary_model or config.chat.response_model, max_tokens=MAX_TOKENS)
    study_id = session.participant.study_id
    text = asking.complete(
        asking.Purpose("session_summary", study_id, session.code, session.pk),
        model,
        config.prompts.session_summary,
        transcript=transcript(exchanges, TRANSCRIPT_CHARS),
    )
    if not earlier:
        return Summaries(text, text)
    purpose = asking.Purpose("key_summary", study_id, session.code, session.pk)
    return Summaries(
        text,
        asking.complete(
            purpose, model, config.prompts.key_summary, earlier=quoted(earlier, SUMMARY_CHARS), latest=quoted(text, SUMMARY_CHARS)
        ),
    )


def store(session: Session, made: Summaries) -> None:
    """Once per session: a second worker's summary is dropped."""
    row = Summary(arm_id=session.arm_id, session=session, text=made.text, key_summary=made.key)
    Summary.objects.bulk_create([row], ignore_conflicts=True)


def drafts(arm: ArmRef, session: Session) -> list[tuple[Draft, list[float]]]:
    """What the arm's policy makes of the finished session beside its writes, with vectors; nothing is stored or locked."""
    own = Summary.objects.filter(arm_id=arm.id, session=session).values_list("text", flat=True).first() or ""
    arm_space = ArmSpace(arm)
    ask = Asker(arm, purpose="consolidate", session_code=session.code, session_id=session.pk)
    made = arm.policy.consolidate(space.memories(arm, session=session.number), own, arm_space, ask)
    return [(draft, arm_space.embed([draft.embed_text])[0].tolist()) for draft in made]


def consolidate(arm: ArmRef, session: Session, made: Sequence[tuple[Draft, list[float]]]) -> None:
    """Store these drafts as the session's own memories (seq 0), once; inside the caller's transaction."""
    lock(arm.id)
    if Memory.objects.filter(arm_id=arm.id, session_number=session.number, seq=0).exists():
        return
    at = session.chat_ended_at or session.started_at
    if at is None:
        raise ValueError(f"session {session.code} has not been held")
    source = Exchange(session.number, 0, "", "", at)
    stored = [insert(arm, source, draft, vector) for draft, vector in made]
    entries = [Entry("stored", memory.pk, {"summary": True, **made_of(memory)}) for memory in stored]
    write_events(arm.id, session.number, 0, entries)
