"""A whole replay: everybody walks, one after the other, under a lock that keeps a second process out."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from django.db import connection

from chat import pool, threads
from memory import answering, arms
from studyplatform.llm import streaming
from studyplatform.replaying import sources
from studyplatform.replaying.clock import Clock
from studyplatform.replaying.walking import Walk
from studyplatform.replaying.wishes import Wish
from studyplatform.simulation import people
from studyplatform.simulation.people import Person
from studyplatform.simulation.recordings import BadRecording, Recording
from studyplatform.study import moving
from studyplatform.study.models import Arm, Participant, Session, StageRun, Study

LOCKS = 7302 << 48  # where this package's advisory locks begin; the study's id is added
Say = Callable[[str], None]


class Busy(Exception):
    """Another process is at this replay."""


def recordings_of(wish: Wish) -> list[Recording]:
    """The recordings that are spoken, in order.

    Raises:
        BadRecording: they cannot be read, or none is left.
    """
    found = sources.read(wish.source, system=wish.system, seed=wish.seed)[: wish.recordings]
    if not found:
        raise BadRecording(f"{wish.source}: nothing to replay.")
    return found


def wish_of(study: Study) -> Wish:
    """What a replay's study was asked to do. Raises ValueError where it is no replay."""
    if study.replay is None:
        raise ValueError(f"{study.slug} is no replay.")
    return Wish.model_validate(study.replay)


def run(study: Study, recordings: Mapping[str, Recording], say: Say) -> None:
    """Say everything that has not been said yet, and do the work after it; then the study is closed.

    Raises:
        Busy: another process is at it.
        StageFailed, Diverged, NoReply, EndpointFailed: it cannot go on; what is done is kept.
    """
    wish = wish_of(study)
    with _alone(study), asyncio.Runner() as runner:
        try:
            if study.state == Study.State.CLOSED and not _is_done(study):
                moving.move(study, Study.State.RUNNING)
            progress = _Progress(study, say)
            for participant in Participant.objects.filter(study=study).select_related("study").order_by("number"):
                Walk(
                    participant, _person(wish, recordings, participant), Clock(wish.hours_between), runner, progress.tell, wish.regenerate
                ).go()
            moving.move(study, Study.State.CLOSED)
        finally:
            runner.run(_close())
            threads.close_connections()


def answer_again(study: Study, model: str, say: Say) -> int:
    """Ask every question again of another response model, with the memory that was recalled then: how many were asked."""
    asked = 0
    for arm in Arm.objects.filter(participant__study=study).exclude(condition=None).order_by("pk"):
        ref = arms.load(arm.pk)
        for number, session_id in sorted(ref.sources.items()):
            count = answering.answer_again(ref, Session.objects.get(pk=session_id), model)
            asked += count
            if count:
                say(f"arm {arm.pk}, after session {number}: {count} questions answered by {model}")
    return asked


def _person(wish: Wish, recordings: Mapping[str, Recording], participant: Participant) -> Person:
    sessions = Session.objects.filter(participant=participant).order_by("-number").values_list("number", flat=True).first() or 0
    recording = recordings.get(participant.external_id or "")
    if recording is None or len(recording.sessions) < sessions:
        raise BadRecording(f"{wish.source_name} does not hold what {participant.external_id} said any more.")
    return people.repeat(recording, sessions=sessions, messages=wish.messages, live=wish.regenerate)


def _is_done(study: Study) -> bool:
    over = Session.State.CLOSED, Session.State.MISSED
    return not (
        Session.objects.filter(participant__study=study).exclude(state__in=over).exists()
        or StageRun.objects.filter(session__participant__study=study).exclude(state=StageRun.State.DONE).exists()
    )


async def _close() -> None:
    await streaming.close()
    await pool.close()


@contextmanager
def _alone(study: Study) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [LOCKS + study.pk])
        if not cursor.fetchone()[0]:
            raise Busy(f"Another process is at {study.slug}.")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [LOCKS + study.pk])


class _Progress:
    """A line per session: which of how many, how long it took, how long the rest may take."""

    def __init__(self, study: Study, say: Say) -> None:
        every = Session.objects.filter(participant__study=study)
        self._total = every.count()
        self._done = every.filter(state=Session.State.CLOSED).count()
        self._before, self._began = self._done, time.monotonic()
        self._say = say

    def tell(self, session: Session, exchanges: int, seconds: float) -> None:
        self._done += 1
        each = (time.monotonic() - self._began) / (self._done - self._before)
        condition = session.arm.condition
        where = f"session {session.number}, {condition.name if condition else 'shared'}"
        left = f"about {each * (self._total - self._done) / 60:.0f} min left"
        self._say(
            f"[{self._done}/{self._total}] {session.participant.external_id}: {where}: {exchanges} exchanges, {seconds:.1f} s; {left}"
        )
