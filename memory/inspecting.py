"""Reading an arm for a researcher: its memories with their strength over the sessions, what happened in order, and one turn's recall.

Only reading, in a few statements a page however large the arm is. What a figure means is in `memory.explaining`.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.core.paginator import Page, Paginator
from django.db.models import F, FloatField, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform
from django.db.models.functions import Cast

from memory import explaining, ledger
from memory.explaining import Explanation
from memory.history import JUDGING, RECALLING, Happened
from memory.models import Memory, MemoryEvent, MemoryWrite
from studyplatform.study.models import Arm

PER_PAGE = 50
FATES = ("active", "forgotten", "superseded", "deleted", "muted")
_ID = re.compile(r"\bmemory (\d+)\b")


@dataclass(frozen=True)
class Wanted:
    """The filters of a page; empty ones let everything through."""

    kind: str = ""
    session: int | None = None
    fate: str = ""
    words: str = ""


@dataclass(frozen=True)
class Point:
    """A memory's strength at one session's close. `used`: how many replies of that session used it; `kept`: None where nothing was judged."""

    session: int
    strength: float | None
    kept: bool | None
    used: int = 0


@dataclass(frozen=True)
class Row:
    """One memory of the list. `strength`: at the last close; `points`: one per session in which anything is known."""

    memory: Memory
    strength: float | None
    points: tuple[Point, ...]

    @property
    def words(self) -> str:
        return self.memory.user_text or self.memory.embed_text


@dataclass(frozen=True)
class Told:
    """One event with its explanation, and the memory that it is about."""

    event: Happened
    explanation: Explanation
    memory: Memory | None

    @property
    def words(self) -> str:
        return (self.memory.user_text or self.memory.embed_text) if self.memory else ""


@dataclass(frozen=True)
class Counts:
    """`exchanges`: those that were written, whatever became of them; `muted`: what the participant does not want to be brought up."""

    exchanges: int
    made: int
    active: int
    forgotten: int
    taken_back: int
    muted: int


def counts(arm: Arm) -> Counts:
    """An arm in six numbers."""
    mine = Memory.objects.filter(arm=arm)
    return Counts(
        exchanges=MemoryWrite.objects.filter(arm=arm, state="done").count(),
        made=mine.count(),
        active=mine.filter(status="active").count(),
        forgotten=mine.filter(status="forgotten").count(),
        taken_back=mine.filter(status="deleted").count(),
        muted=mine.filter(muted_at__isnull=False).exclude(status="deleted").count(),
    )


def memories(arm: Arm, wanted: Wanted, number: int) -> tuple[Page[Memory], list[Row]]:
    """A page of the arm's memories, those that are remembered first, then the strongest."""
    page = Paginator(_chosen(arm, wanted), PER_PAGE).get_page(number)
    return page, _rows(list(page.object_list))


def _chosen(arm: Arm, wanted: Wanted) -> QuerySet[Memory]:
    found = Memory.objects.filter(arm=arm).defer("vector")
    if wanted.kind:
        found = found.filter(kind=wanted.kind)
    if wanted.session is not None:
        found = found.filter(session_number=wanted.session)
    if wanted.fate == "muted":
        found = found.filter(muted_at__isnull=False)
    elif wanted.fate:
        found = found.filter(status=wanted.fate)
    if wanted.words:
        found = found.filter(
            Q(user_text__icontains=wanted.words) | Q(bot_text__icontains=wanted.words) | Q(embed_text__icontains=wanted.words)
        )
    judged = MemoryEvent.objects.filter(memory=OuterRef("pk"), what__in=JUDGING).order_by("-pk")
    last = Subquery(judged.annotate(is_at=Cast(KeyTextTransform("score", "why"), FloatField())).values("is_at")[:1])
    return found.annotate(last_score=last).order_by("status", F("last_score").desc(nulls_last=True), "-session_number", "-seq", "pk")


def _rows(found: Sequence[Memory]) -> list[Row]:
    points = _points([memory.pk for memory in found])
    rows = []
    for memory in found:
        mine = tuple(points.get(memory.pk, {}).values())
        judged = [p.strength for p in mine if p.strength is not None]
        rows.append(Row(memory, judged[-1] if judged else None, mine))
    return rows


def _points(ids: Sequence[int]) -> dict[int, dict[int, Point]]:
    """By memory and session: its strength at the close, and how many replies of the session used it."""
    found: dict[int, dict[int, Point]] = {}
    events = MemoryEvent.objects.filter(memory__in=ids, what__in=[*JUDGING, "used"]).order_by("session_number", "pk")
    for memory, session, what, why in events.values_list("memory_id", "session_number", "what", "why"):
        mine = found.setdefault(memory, {})
        before = mine.get(session, Point(session, None, None))
        if what == "used":
            mine[session] = Point(session, before.strength, before.kept, before.used + 1)
        else:
            strength = why.get("terms", {}).get("strength", why.get("score"))
            mine[session] = Point(session, strength, what == "kept", before.used)
    return found


def events(
    arm: Arm, number: int, *, memory: Memory | None = None, what: str = "", session: int | None = None
) -> tuple[Page[MemoryEvent], list[Told]]:
    """A page of what happened, newest first; of one memory, where it is given."""
    rows = MemoryEvent.objects.filter(arm=arm).order_by("-pk")
    rows = rows.filter(memory=memory) if memory else rows
    rows = rows.filter(what=what) if what else rows
    rows = rows.filter(session_number=session) if session is not None else rows
    page = Paginator(rows, PER_PAGE).get_page(number)
    return page, told(arm, [ledger.happened(row) for row in page.object_list])


def told(arm: Arm, happened: Sequence[Happened]) -> list[Told]:
    """Events with their explanations; what is said about rivals and places is counted from all of the same turn."""
    places = {(e.session, e.seq) for e in happened if e.what in JUDGING}
    beside: list[Happened] = []
    for session, seq in places:
        rows = MemoryEvent.objects.filter(arm=arm, session_number=session, seq=seq, what__in=JUDGING).only(
            "pk", "session_number", "seq", "what", "memory_id", "why", "at"
        )
        beside += [ledger.happened(row) for row in rows]
    known = {m.pk: m for m in Memory.objects.filter(pk__in=_named(happened)).defer("vector")}
    return [
        Told(
            e,
            _coded(explaining.explain(e, [b for b in beside if (b.session, b.seq) == (e.session, e.seq)]), known),
            known.get(e.memory or 0),
        )
        for e in happened
    ]


def _named(happened: Iterable[Happened]) -> set[int]:
    """Every memory that an explanation may name."""
    ids: set[int] = set()
    for event in happened:
        why = event.why
        ids |= {event.memory or 0, why.get("by") or 0, (why.get("made") or {}).get("instead_of") or 0, *why.get("replaces", ())}
        ids |= {relation["memory"] for relation in why.get("relations", ())}
    return ids


def _coded(said: Explanation, known: Mapping[int, Memory]) -> Explanation:
    """Memories by their public codes."""

    def code(found: re.Match[str]) -> str:
        memory = known.get(int(found[1]))
        return f"memory {memory.code}" if memory else "a memory that is gone"

    return Explanation(said.title, tuple(_ID.sub(code, s) for s in said.sentences), said.lines, said.total)


def turn(arm: Arm, session: int, seq: int) -> tuple[list[Told], list[Told]]:
    """What one turn recalled, best first, and what became of it as a memory."""
    rows = [ledger.happened(e) for e in MemoryEvent.objects.filter(arm=arm, session_number=session, seq=seq).order_by("pk")]
    recalled = sorted((e for e in rows if e.what in RECALLING), key=lambda e: e.why.get("rank", 0))
    return told(arm, recalled), told(arm, [e for e in rows if e.what not in RECALLING])


def latest(arm: Arm, memory: Memory) -> Told | None:
    """The last verdict about a memory, else the last thing that happened to it."""
    mine = MemoryEvent.objects.filter(arm=arm, memory=memory)
    row = mine.filter(what__in=JUDGING).last() or mine.order_by("pk").last()
    return told(arm, [ledger.happened(row)])[0] if row else None
