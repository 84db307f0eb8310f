"""What is remembered about a person, on her own page: what she said to whom, with what she may do about each line.

The list is what she said, not what an assistant kept of it, so its length and its order tell nothing about the assistants. What each of them
still remembers is added only once the study is over for her.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256

from django.utils import timezone

from chat.models import Turn
from memory.models import Memory, Summary, Wish
from studyplatform.study import steps
from studyplatform.study.models import Arm, Participant, Session
from studyplatform.study.studies import config_of

UNDO_FOR = timedelta(hours=24)


@dataclass(frozen=True)
class Line:
    """One thing that she said. `words`: as they count now, empty where it is deleted; `first`: as they were said, where they were corrected.

    `undo_until`: until when a deletion can be undone. `kept`, `lost`: the assistants that still remember it, and those that do not any more.
    `have`: stands for all of this, so that a page that is not up to date any more can be told.
    """

    seq: int
    words: str
    first: str = ""
    deleted: bool = False
    muted: bool = False
    undo_until: datetime | None = None
    kept: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()

    @property
    def have(self) -> str:
        return sha256(f"{self.words}|{self.deleted}".encode()).hexdigest()[:12]


def is_open(participant: Participant) -> bool:
    """Whether the study shows a person what is remembered of her now."""
    when = config_of(participant.study).memory.about_me
    if when == "during":
        return not steps.before(participant)
    return when == "after_debriefing" and is_over(participant)


def is_over(participant: Participant) -> bool:
    """Whether her last conversation is over, so that nothing can give an assistant away any more."""
    return participant.state == Participant.State.FINISHED


def conversations(participant: Participant) -> list[Session]:
    """Those in which she said something, in her order."""
    return list(Session.objects.filter(participant=participant, user_turns__gt=0).select_related("arm").order_by("position"))


def lines(session: Session, *, only: int | None = None) -> list[Line]:
    """What she said in a conversation, in order; one line of it, where `only` names its seq."""
    turns = Turn.objects.filter(session=session, role=Turn.Role.USER, state=Turn.State.DONE).order_by("seq")
    turns = turns.filter(seq=only) if only is not None else turns
    wishes: dict[int, dict[str, Wish]] = {}
    for wish in Wish.objects.filter(session=session, ended_at=None):
        wishes.setdefault(wish.seq, {})[wish.what] = wish
    held = _held(session) if is_over(session.participant) else {}
    return [_line(turn, wishes.get(turn.seq or 0, {}), held.get(turn.seq or 0, ((), ()))) for turn in turns]


def _line(turn: Turn, wishes: Mapping[str, Wish], held: tuple[tuple[str, ...], tuple[str, ...]]) -> Line:
    muted, deleted, corrected = "mute" in wishes, wishes.get("delete"), wishes.get("correct")
    if deleted is not None:
        until = deleted.made_at + UNDO_FOR
        return Line(turn.seq or 0, "", deleted=True, muted=muted, undo_until=until if until > timezone.now() else None)
    words, first = (corrected.text, turn.text) if corrected else (turn.text, "")
    return Line(turn.seq or 0, words, first, muted=muted, kept=held[0], lost=held[1])


def _held(session: Session) -> dict[int, tuple[tuple[str, ...], tuple[str, ...]]]:
    """By seq, the names of the assistants that still remember it, and of those that have forgotten it."""
    shared = session.arm.condition_id is None
    arms = (
        Arm.objects.filter(participant=session.participant_id).exclude(condition=None) if shared else Arm.objects.filter(pk=session.arm_id)
    )
    names = dict(arms.order_by("order").values_list("pk", "alias_name"))
    status: dict[int, dict[str, bool]] = {}
    for arm, sources, state in Memory.objects.filter(arm__in=names).exclude(seq=0).values_list("arm", "sources", "status"):
        for seq in _seqs(sources, session.number):
            known = status.setdefault(seq, {})
            known[names[arm]] = known.get(names[arm], False) or state == Memory.Status.ACTIVE
    return {
        seq: (tuple(name for name, here in known.items() if here), tuple(name for name, here in known.items() if not here))
        for seq, known in status.items()
    }


def _seqs(sources: Sequence[str], number: int) -> list[int]:
    return [int(seq) for n, seq in (source.split(":") for source in sources) if int(n) == number]


def in_short(participant: Participant) -> list[tuple[Arm, str]]:
    """What each assistant's notes say in short, once the study is over for her."""
    if not is_over(participant):
        return []
    found: dict[int, tuple[Arm, str]] = {}
    rows = Summary.objects.filter(arm__participant=participant).exclude(arm__condition=None).select_related("arm")
    for row in rows.order_by("arm__order", "session__number"):
        found[row.arm_id] = (row.arm, row.key_summary)
    return [(arm, text) for arm, text in found.values() if text]
