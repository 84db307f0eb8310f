"""A participant's plan, as it stands on their home page: what is done, what is next and when it opens, by days of theirs."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import groupby
from zoneinfo import ZoneInfo

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from studyplatform.study import wording
from studyplatform.study.config import StudyConfig
from studyplatform.study.models import Session
from studyplatform.study.scheduling import OVER
from studyplatform.study.studies import questions_end

State = Session.State


@dataclass(frozen=True)
class Row:
    """One conversation, or several later ones together. `mark`: done, live, open, wait or miss; `said`: for a screen reader."""

    numbers: str
    who: str
    when: str
    mark: str
    colour: str = ""
    shape: str = ""
    said: str = ""
    current: bool = False


@dataclass(frozen=True)
class Day:
    label: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Next:
    """The one thing to do, or to wait for. `action`: begin, chat, questions, or "" while there is nothing to press."""

    session: Session
    title: str
    about: str
    action: str
    button: str = ""
    colour: str = ""
    shape: str = ""


@dataclass(frozen=True)
class Plan:
    lede: str
    news: str
    next: Next | None
    days: tuple[Day, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class _Placed:
    session: Session
    at: datetime | None
    row: Row


def plan(sessions: Sequence[Session], config: StudyConfig, now: datetime, zone: ZoneInfo) -> Plan:
    """The plan at `now`. `sessions`: all of the participant's, with their arms, in any order."""
    ordered = sorted(sessions, key=lambda s: s.position)
    current = next((s for s in ordered if s.state not in OVER), None)
    placed = _place(ordered, current, config, now, zone)
    return Plan(
        lede=_lede(ordered, current),
        news=_news(current, now, zone),
        next=_next(current, config, now, zone) if current else None,
        days=_days(placed, now, zone),
    )


def _lede(ordered: Sequence[Session], current: Session | None) -> str:
    total, done = len(ordered), sum(s.state == State.CLOSED for s in ordered)
    said = [ngettext("%(n)s conversation.", "%(n)s conversations.", total) % {"n": wording.sentence(wording.number(total))}]
    if done:
        said.append(ngettext("%(n)s is done.", "%(n)s are done.", done) % {"n": wording.sentence(wording.number(done))})
    if current is not None and current.state == State.OPEN:
        said.append(_("The next is ready.") if done else _("The first is ready."))
    return wording.together(*said)


def _news(current: Session | None, now: datetime, zone: ZoneInfo) -> str:
    if current is None:
        return ""
    if current.state != State.LOCKED:
        return ""
    if current.opens_at is None:
        return _(
            "Conversation %(n)s is being prepared. This takes a few minutes and this page will change by itself; you need not wait here."
        ) % {"n": current.position}
    return _("Conversation %(n)s opens at %(when)s.") % {"n": current.position, "when": wording.moment(current.opens_at, now, zone)}


def _next(session: Session, config: StudyConfig, now: datetime, zone: ZoneInfo) -> Next:
    arm = session.arm
    title = _("Conversation %(n)s, with %(name)s") % {"n": session.position, "name": arm.alias_name}
    until = _("Open until %(when)s.") % {"when": wording.moment(session.closes_at, now, zone)} if session.closes_at else ""
    about, action, button = wording.together(wording.length(config), until), "", ""
    if session.state == State.OPEN:
        action, button = "begin", _("Begin")
    elif session.state == State.CHATTING:
        about = wording.together(_("You are in the middle of it; your place is kept."), until)
        action, button = "chat", _("Continue")
    elif session.state == State.QUESTIONS:
        title = _("Your questions about conversation %(n)s, with %(name)s") % {"n": session.position, "name": arm.alias_name}
        about = _questions_until(session, config, now, zone)
        action, button = "questions", _("Write the questions")
    elif session.opens_at is not None:
        about = _("Opens at %(when)s.") % {"when": wording.moment(session.opens_at, now, zone)}
    else:
        about = _("It is being prepared.")
    return Next(session, title, about, action, button, arm.alias_colour, arm.alias_shape)


def _questions_until(session: Session, config: StudyConfig, now: datetime, zone: ZoneInfo) -> str:
    n = config.sessions.questions
    words = ngettext("%(n)s question, a few minutes.", "%(n)s questions, a few minutes.", n) % {"n": wording.sentence(wording.number(n))}
    deadline = questions_end(session, now)
    if deadline is None:
        return words
    return wording.together(words, _("Open until %(when)s.") % {"when": wording.moment(deadline, now, zone)})


def _place(ordered: Sequence[Session], current: Session | None, config: StudyConfig, now: datetime, zone: ZoneInfo) -> list[_Placed]:
    """Each session with the time that puts it into a day; None for later than anybody can say."""
    placed: list[_Placed] = []
    ended: dict[int, datetime | None] = {}
    shared: datetime | None = None
    latest: datetime | None = now
    for session in ordered:
        if session.state in OVER:
            at = session.closed_at or session.closes_at or now
            ended[session.arm_id] = at
            shared = at if session.arm.condition_id is None else shared
            placed.append(_Placed(session, at, _over(session, at, zone)))
        elif current is not None and session.pk == current.pk:
            at = max(session.opens_at or now, now)
            placed.append(_Placed(session, at, _current(session, now, zone)))
            latest = at
            ended[session.arm_id] = None
        else:
            before = ended.get(session.arm_id, shared)
            latest = max(before + timedelta(hours=config.sessions.gap_hours), latest) if before and latest else None
            placed.append(_Placed(session, latest, _later(session, latest, now, zone)))
            ended[session.arm_id] = None
    return placed


def _row(session: Session, when: str, mark: str, said: str = "", current: bool = False) -> Row:
    arm = session.arm
    if arm.condition_id is None:
        return Row(str(session.position), _("First conversation"), when, mark, said=said, current=current)
    return Row(str(session.position), arm.alias_name, when, mark, arm.alias_colour, arm.alias_shape, said, current)


def _over(session: Session, at: datetime, zone: ZoneInfo) -> Row:
    if session.state == State.MISSED:
        return _row(session, _("Missed"), "miss")
    return _row(session, wording.time(at, zone), "done", said=_("done,"))


def _current(session: Session, now: datetime, zone: ZoneInfo) -> Row:
    if session.state == State.LOCKED:
        known = session.opens_at and _("From %(time)s") % {"time": wording.time(session.opens_at, zone)}
        return _row(session, known or _("Being prepared"), "wait", current=True)
    words = {State.OPEN: _("Open now"), State.CHATTING: _("Begun"), State.QUESTIONS: _("Questions to write")}
    return _row(session, words[State(session.state)], "live", current=True)


def _later(session: Session, at: datetime | None, now: datetime, zone: ZoneInfo) -> Row:
    if at is not None and at > now:
        return _row(session, _("From %(time)s") % {"time": wording.time(at, zone)}, "wait")
    return _row(session, _("After conversation %(n)s") % {"n": session.position - 1}, "wait")


def _days(placed: Sequence[_Placed], now: datetime, zone: ZoneInfo) -> tuple[Day, ...]:
    today = now.astimezone(zone).date()
    days = []
    for date, group in groupby(placed, key=lambda p: p.at.astimezone(zone).date() if p.at else None):
        items = list(group)
        if date is None:
            days.append(Day(_("Later"), tuple(_together(items))))
        else:
            days.append(Day(wording.day(date, today), tuple(p.row for p in items)))
    return tuple(days)


def _together(items: Sequence[_Placed]) -> list[Row]:
    """Later conversations, one row per round."""
    rows = []
    for _number, group in groupby(items, key=lambda p: p.session.number):
        members = list(group)
        if len(members) == 1:
            rows.append(replace(members[0].row, when=""))
            continue
        numbers = f"{members[0].session.position}–{members[-1].session.position}"
        rows.append(Row(numbers, ", ".join(m.row.who for m in members), "", "wait"))
    return rows
