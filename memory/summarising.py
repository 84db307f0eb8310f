"""What a session leaves: its own short summary, and the key summary that every later prompt of the arm begins with.

A shared session is summarised once, so that its key summary is the same in all arms; the fork hands it on.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from memory import arms, space, wishes
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
from studyplatform.study.config import StudyConfig
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
    """Ask for the session's summary, and for the new key summary where there was one before; what was taken back or muted is left out.

    Raises:
        ModelFailed, BadAnswer: no usable answer.
    """
    said = wishes.honour(session.pk, exchanges, muted=False)
    if not said:
        return merge(session, "")
    config = config_of(session.participant.study)
    text = asking.complete(
        asking.Purpose("session_summary", session.participant.study_id, session.code, session.pk),
        _model(config),
        config.prompts.session_summary,
        transcript=transcript(said, TRANSCRIPT_CHARS),
    )
    return merge(session, text)


def merge(session: Session, text: str) -> Summaries:
    """A session's summary, and the key summary that the arm's sessions up to it leave together.

    Raises:
        ModelFailed, BadAnswer: no usable answer.
    """
    earlier = arms.key_summary(session.arm_id, session.number)
    if not earlier or not text:
        return Summaries(text, text or earlier)
    config = config_of(session.participant.study)
    purpose = asking.Purpose("key_summary", session.participant.study_id, session.code, session.pk)
    key = asking.complete(
        purpose, _model(config), config.prompts.key_summary, earlier=quoted(earlier, SUMMARY_CHARS), latest=quoted(text, SUMMARY_CHARS)
    )
    return Summaries(text, key)


def _model(config: StudyConfig) -> asking.Model:
    return asking.Model(config.memory.summary_model or config.chat.response_model, max_tokens=MAX_TOKENS)


def store(session: Session, made: Summaries) -> None:
    """Once per session: a second worker's summary is dropped."""
    row = Summary(arm_id=session.arm_id, session=session, text=made.text, key_summary=made.key)
    Summary.objects.bulk_create([row], ignore_conflicts=True)


def drafts(arm: ArmRef, session: Session) -> list[tuple[Draft, list[float]]]:
    """What the arm's policy makes of the finished session beside its writes, with vectors; nothing is stored or locked."""
    own = Summary.objects.filter(arm_id=arm.id, session=session).values_list("text", flat=True).first() or ""
    return drafts_of(arm, session, own)


def drafts_of(arm: ArmRef, session: Session, summary: str) -> list[tuple[Draft, list[float]]]:
    """As `drafts`, of a summary that is not stored yet. What is not to be brought up goes into nothing."""
    arm_space = ArmSpace(arm)
    ask = Asker(arm, purpose="consolidate", session_code=session.code, session_id=session.pk)
    muted = wishes.muted_sources(arm)
    held = [memory for memory in space.memories(arm, session=session.number) if f"{memory.session}:{memory.seq}" not in muted]
    made = arm.policy.consolidate(held, summary, arm_space, ask)
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
