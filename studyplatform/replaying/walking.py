"""One simulated participant's way through a replay: every session in the study's order, and after each the work that follows it.

All of it is rows, so it can be stopped anywhere and called again. The work after a session is done in this process, by lease: where workers run on the same
database they may take some of it, with the same results.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.db.models import Q
from django.db.models.functions import Now

from studyplatform import jobs
from studyplatform.replaying import sharing, talking
from studyplatform.replaying.clock import Clock
from studyplatform.replaying.talking import Talk
from studyplatform.simulation.people import Person
from studyplatform.study import scheduling, sessions, stages
from studyplatform.study.models import Participant, Session, StageRun
from studyplatform.study.studies import config_of

WAIT_S = 0.2
NEXT_S = 60.0
PAUSE_S = 0.005


class StageFailed(Exception):
    """A stage of the work after a session has failed for good; its error is the message."""


@dataclass(frozen=True)
class Walk:
    """`told(session, exchanges, seconds)` is called when a session and its work are done."""

    participant: Participant
    person: Person
    clock: Clock
    runner: asyncio.Runner
    told: Callable[[Session, int, float], None]
    regenerate: bool = False

    def go(self) -> None:
        """To the end, from wherever it stands.

        Raises:
            StageFailed, talking.Diverged, talking.NoReply, EndpointFailed: it cannot go on; what is done is kept.
        """
        for session in Session.objects.filter(participant=self.participant, state=Session.State.CLOSED).order_by("position"):
            work(session)
        while (opened := self._next()) is not None:
            began = time.monotonic()
            said = self._visit(opened)
            self.told(opened, said, time.monotonic() - began)

    def _next(self) -> Session | None:
        """The session that is on, or opens now; None when all are over."""
        give_up = time.monotonic() + NEXT_S
        while (session := scheduling.next_of(self.participant)) is not None and session.state == Session.State.LOCKED:
            if time.monotonic() > give_up:
                raise StageFailed(f"session {session.code} does not open: its arm is not ready")
            scheduling.refresh(self.participant.pk)
            time.sleep(PAUSE_S)
        return session

    def _visit(self, session: Session) -> int:
        part = self.person.parts[session.number - 1]
        if session.state == Session.State.OPEN:
            sessions.begin(session)
            self._date(session, started_at=self.clock.at(session.number))
        said = len(part.lines)
        if session.state == Session.State.CHATTING:
            said = Talk(session, part, self.clock, self.runner, self.regenerate).hold()
            talking.ask(session, part, config_of(self.participant.study).sessions.questions)
            sharing.take_over(session)
            sessions.end_chat(session.pk, "finished")
        self._date(session, chat_ended_at=self.clock.at(session.number, said))
        sessions.close(session.pk)
        work(session)
        return said

    @staticmethod
    def _date(session: Session, **times: object) -> None:
        """The session's times by the replay's clock: forgetting goes by them."""
        Session.objects.filter(pk=session.pk).update(**times)


def work(session: Session) -> None:
    """Run every stage of a session to its end, waiting for those that another worker has.

    Raises:
        StageFailed: one has failed for good.
    """
    mine = StageRun.objects.filter(session=session)
    due = mine.filter(Q(state="ready") & (Q(due_at=None) | Q(due_at__lte=Now())) | Q(state="running", lease_until__lt=Now()))
    while mine.exclude(state=StageRun.State.DONE).exists():
        failed = mine.filter(state=StageRun.State.FAILED).first()
        if failed is not None:
            raise StageFailed(f"{failed.stage} of session {session.code}: {failed.error}")
        runs = list(due.order_by("pk").values_list("pk", flat=True))
        for run_id in runs:
            jobs.run_stage(run_id)
        if not runs and not stages.promote(session.pk):
            time.sleep(WAIT_S)
