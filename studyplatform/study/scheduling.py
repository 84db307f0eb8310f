"""When sessions open, and when they are missed.

A session's turn comes when every earlier position is over. It opens `gap_hours` after the previous session of its arm was
closed, not before its turn, and not before its arm is ready (its forgetting done): a late arm moves the whole window.
Windows are half-open, [opens_at, closes_at). `decide` is pure; `refresh` and `sweep` act.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from studyplatform.study.config import SessionsTable
from studyplatform.study.models import Arm, Participant, Session, Study
from studyplatform.study.studies import admits, config_of

State = Session.State
OVER = (State.CLOSED, State.MISSED)
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Slot:
    """What scheduling needs to know of a session. `ended_at`: when it was closed or missed."""

    id: int
    arm: int
    shared: bool
    number: int
    position: int
    state: str
    opens_at: datetime | None
    closes_at: datetime | None
    ready_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True)
class Change:
    """A session's next state and window."""

    id: int
    state: str
    opens_at: datetime | None
    closes_at: datetime | None


def decide(slots: Sequence[Slot], rules: SessionsTable, now: datetime, *, began_at: datetime, exempt: bool = False) -> list[Change]:
    """What changes at `now`, given a participant's sessions in order of position.

    `began_at`: when the first session may open at the earliest (consent). `exempt`: a simulated participant, without gaps
    and windows. At most the first session that is not over changes, and, where it is missed by this, the ones behind it.
    """
    changes: list[Change] = []
    turn_at: datetime = began_at
    ended: dict[int, datetime] = {}
    shared_ended: datetime | None = None
    for slot in slots:
        before = ended.get(slot.arm, shared_ended)
        if slot.state not in OVER:
            change = _next(slot, rules, now, turn_at=turn_at, before=before, exempt=exempt)
            if change is None:
                return changes
            changes.append(change)
            if change.state != State.MISSED or change.closes_at is None:
                return changes
            ended_at: datetime | None = change.closes_at
        else:
            ended_at = slot.ended_at
        turn_at = max(turn_at, ended_at or turn_at)
        ended[slot.arm] = turn_at
        shared_ended = turn_at if slot.shared else shared_ended
    return changes


def _next(slot: Slot, rules: SessionsTable, now: datetime, *, turn_at: datetime, before: datetime | None, exempt: bool) -> Change | None:
    if slot.state == State.OPEN:
        late = slot.closes_at is not None and now >= slot.closes_at and not exempt
        return Change(slot.id, State.MISSED, slot.opens_at, slot.closes_at) if late else None
    if slot.state != State.LOCKED:
        return None
    opens_at = opening(rules, turn_at=turn_at, before=before, ready_at=slot.ready_at, exempt=exempt)
    if opens_at is None:
        return None
    closes_at = slot.closes_at if slot.opens_at == opens_at else _closing(rules, opens_at, first=before is None)
    if exempt:
        closes_at = None
    if closes_at is not None and now >= closes_at:
        return Change(slot.id, State.MISSED, opens_at, closes_at)
    state = State.OPEN if now >= opens_at else State.LOCKED
    changed = (state, opens_at, closes_at) != (slot.state, slot.opens_at, slot.closes_at)
    return Change(slot.id, state, opens_at, closes_at) if changed else None


def opening(
    rules: SessionsTable, *, turn_at: datetime, before: datetime | None, ready_at: datetime | None, exempt: bool = False
) -> datetime | None:
    """When a session opens whose turn is `turn_at`; None while its arm is not ready.

    `before`: when the arm's previous session ended, None for the first of all, which needs no readiness.
    """
    if before is None:
        return turn_at
    if ready_at is None:
        return None
    gap = timedelta(0) if exempt else timedelta(hours=rules.gap_hours)
    return max(before + gap, turn_at, ready_at)


def _closing(rules: SessionsTable, opens_at: datetime, *, first: bool) -> datetime | None:
    """A first session's window begins with the session itself (`sessions.begin`)."""
    if rules.window_hours is None or first:
        return None
    return opens_at + timedelta(hours=rules.window_hours)


def slots_of(sessions: Iterable[Session]) -> list[Slot]:
    """Sessions (with their arms) as slots, in order of position."""
    return [
        Slot(
            s.pk, s.arm_id, s.arm.condition_id is None, s.number, s.position, s.state, s.opens_at, s.closes_at, s.ready_at,
            s.closed_at or (s.closes_at if s.state == State.MISSED else None),
        )
        for s in sorted(sessions, key=lambda s: s.position)
    ]  # fmt: skip


@transaction.atomic
def refresh(participant_id: int, *, now: datetime | None = None) -> None:
    """Open or miss the participant's sessions as the rules say at `now`, and finish a person whose sessions are all over."""
    person = Participant.objects.select_for_update(of=("self",)).select_related("study").get(pk=participant_id)
    if person.state != Participant.State.ACTIVE or not admits(person.study, pilot=person.pilot):
        return
    rules = config_of(person.study).sessions
    sessions = list(Session.objects.filter(participant=person).select_related("arm"))
    began_at = person.consents.order_by("given_at").values_list("given_at", flat=True).first() or person.created_at
    changes = decide(slots_of(sessions), rules, now or timezone.now(), began_at=began_at, exempt=person.simulated)
    by_id = {s.pk: s for s in sessions}
    for change in changes:
        _apply(by_id[change.id], change)
    if sessions and all(s.state in OVER for s in sessions):
        Participant.objects.filter(pk=person.pk, state=Participant.State.ACTIVE).update(state=Participant.State.FINISHED)


def _apply(session: Session, change: Change) -> None:
    moved = Session.objects.filter(pk=change.id, state=session.state).update(
        state=change.state, opens_at=change.opens_at, closes_at=change.closes_at
    )
    session.state = change.state
    if moved and change.state == State.MISSED:  # nothing was said: what the arm knew before is still what it knows
        _pass_readiness_on(session, change.closes_at)


def _pass_readiness_on(session: Session, ready_at: datetime | None) -> None:
    following = Session.objects.filter(participant=session.participant_id, ready_at=None)
    if session.arm.condition_id is None:
        following.filter(number=session.number + 1).update(ready_at=ready_at)
    else:
        following.filter(arm=session.arm_id, number=session.number + 1).update(ready_at=ready_at)


def arm_ready(arm_id: int, number: int, *, now: datetime | None = None) -> None:
    """As far as memory is concerned, session `number` of the arm may open. Said twice, the first time counts."""
    Session.objects.filter(arm=arm_id, number=number, ready_at=None).update(ready_at=now or timezone.now())
    refresh(Arm.objects.values_list("participant_id", flat=True).get(pk=arm_id), now=now)


def sweep(*, now: datetime | None = None) -> int:
    """Everything whose time has come: open and miss sessions, end chats and questions that are over time.

    Returns the number of participants looked at.
    """
    from studyplatform.study import overtime  # sessions need scheduling, and this needs sessions

    instant = now or timezone.now()
    overtime.end(instant)
    due = Q(state=State.LOCKED, opens_at__lte=instant) | Q(state=State.OPEN, closes_at__lte=instant)
    ids = (
        Session.objects.filter(due, participant__state=Participant.State.ACTIVE)
        .filter(Q(participant__study__state=Study.State.RUNNING) | Q(participant__study__state=Study.State.PILOT, participant__pilot=True))
        .values_list("participant_id", flat=True)
        .distinct()
    )
    found = list(ids)
    for participant_id in found:
        try:
            refresh(participant_id, now=now)
        except Exception:  # whatever it is, it is this person's alone; the next sweep comes back to them
            log.exception("participant %s could not be looked at", participant_id)
    return len(found)


def next_of(participant: Participant) -> Session | None:
    """The session that the person would have next: the first, by position, that is not over."""
    waiting = Session.objects.filter(participant=participant).exclude(state__in=OVER)
    return waiting.select_related("arm").order_by(F("position")).first()
