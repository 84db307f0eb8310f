"""What participants took back, as whoever writes, summarises or recalls must honour it. What carries a wish out is in `memory.taking_back`."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from django.db.models import Count, Max, QuerySet

from memory.arms import ArmRef
from memory.models import Wish
from memory.policy import Exchange

Mark = tuple[int, int, int]


def standing(session_ids: Collection[int]) -> QuerySet[Wish]:
    """The wishes about these sessions that hold now."""
    return Wish.objects.filter(session_id__in=session_ids, ended_at=None)


def honour(session_id: int, exchanges: Iterable[Exchange], *, muted: bool = True) -> list[Exchange]:
    """A session's exchanges without those that were taken back, with the corrected words in place of the first ones.

    `muted`: whether those that are not to be brought up stay in.
    """
    wishes = list(standing([session_id]))
    out = {w.seq for w in wishes if w.what == Wish.What.DELETE or (w.what == Wish.What.MUTE and not muted)}
    corrected = {w.seq: w.text for w in wishes if w.what == Wish.What.CORRECT}
    return [replace(e, user=corrected.get(e.seq, e.user)) for e in exchanges if e.seq not in out]


def muted_sources(arm: ArmRef) -> set[str]:
    """The source turns, as `session number:seq`, that are not to be brought up in this arm."""
    numbers = {session_id: number for number, session_id in arm.sources.items()}
    muted = standing(numbers).filter(what=Wish.What.MUTE)
    return {f"{numbers[wish.session_id]}:{wish.seq}" for wish in muted}


def is_muted(arm: ArmRef, sources: Sequence[str]) -> bool:
    """Whether a memory of these source turns is not to be brought up: one such turn is enough."""
    return not muted_sources(arm).isdisjoint(sources)


def mark(participant_id: int) -> Mark:
    """Changes with every wish of a person that is made, replaced or undone."""
    mine = Wish.objects.filter(session__participant_id=participant_id)
    found = mine.aggregate(rows=Count("pk"), newest=Max("pk"), ended=Count("ended_at"))
    return found["rows"], found["newest"] or 0, found["ended"]
