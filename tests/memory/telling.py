"""Conversations without a browser: turns as the chat stores them, and the work after a session run in this process."""

from collections.abc import Sequence

from django.utils import timezone

from chat import exchanges
from chat.models import Turn
from memory import arms, remembering
from memory.arms import SessionRef
from memory.models import Memory
from memory.policy import Query
from memory.recalling import Recalled, recall
from studyplatform import jobs
from studyplatform.study import sessions, stages
from studyplatform.study.models import Participant, QAPair, Session, StageRun

Said = str | tuple[str, str]


def tell(session: Session, *said: Said) -> list[int]:
    """Say these things (or (bot, participant) pairs) in a session; returns the participant's seqs. Their writes are open."""
    Session.objects.filter(pk=session.pk, state__in=["locked", "open"]).update(state="chatting", started_at=timezone.now())
    session.refresh_from_db()
    seqs = []
    for line in said:
        bot, user = line if isinstance(line, tuple) else ("I see. What else?", line)
        seq = session.last_seq
        Turn.objects.create(session=session, seq=seq + 1, role="bot", reply_to=seq if seq else None, text=bot, client_id=f"b{seq + 1}")
        Turn.objects.create(session=session, seq=seq + 2, role="user", text=user, client_id=f"u{seq + 2}")
        session.last_seq = seq + 2
        session.user_turns += 1
        session.save(update_fields=["last_seq", "user_turns"])
        remembering.open_for(session.arm_id, session.pk, [seq + 2])
        seqs.append(seq + 2)
    return seqs


def write(session: Session) -> int:
    return remembering.write_open(session.arm_id, exchanges.one)


def finish(session: Session, *pairs: tuple[str, str]) -> None:
    """End the chat, hand in the pairs, and do all the work after it."""
    assert sessions.end_chat(session.pk, "finished")
    for number, (question, answer) in enumerate(pairs, start=1):
        QAPair.objects.create(session=session, number=number, question=question, answer=answer)
    sessions.close(session.pk)
    work(session)


def work(session: Session, *, only: Sequence[str] = stages.STAGES) -> None:
    """Run what is due of a session, stage by stage, as the workers would."""
    for _ in range(60):
        due = StageRun.objects.filter(session=session, state="ready", stage__in=only).order_by("pk")
        run = due.first()
        if run is None:
            return
        StageRun.objects.filter(pk=run.pk).update(due_at=None)
        jobs.run_stage(run.pk)
    raise AssertionError("the stages do not come to an end")


def states(session: Session) -> dict[tuple[str, int | None], str]:
    return {(r.stage, r.arm_id): r.state for r in StageRun.objects.filter(session=session)}


def session_with(participant: Participant, arm_id: int, number: int) -> Session:
    return Session.objects.select_related("participant__study", "arm").get(participant=participant, arm_id=arm_id, number=number)


def remembered(arm_id: int, **where: object) -> list[Memory]:
    return list(Memory.objects.filter(arm_id=arm_id, status="active", **where).order_by("session_number", "seq"))


def ask(session: Session, text: str, *, context_from_seq: int = 10_000) -> tuple[Recalled, SessionRef]:
    ref = arms.session_ref(session)
    query = Query("reply", text, (text,))
    return recall(session=ref, query=query, instant=timezone.now(), context_from_seq=context_from_seq), ref
