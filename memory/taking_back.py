"""What a participant may do to what is remembered: leave it out, correct it, ask that it is not brought up, and undo each.

One transaction per act, under the locks of every arm that remembers the session, in the order of their ids. The words are gone at its end:
from the memories, from everything that was made of them at a close, and from the prompts' summaries. What has to be written anew is left to
the workers as open `MemoryWrite` rows and stale `Summary` rows. A shared session's turn is taken back in every arm. The same act twice
changes nothing, so a page that is sent twice, or from two tabs, does no harm.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction
from django.db.models import F, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from memory.ledger import Entry
from memory.ledger import write as write_events
from memory.models import Memory, MemoryWrite, Summary, Wish
from memory.remembering import lock
from studyplatform.study import enqueue
from studyplatform.study.models import Arm, Participant, Session

What = Wish.What
MOST_CHARS = 8000
_MADE = {What.DELETE: "deleted", What.CORRECT: "corrected", What.MUTE: "muted"}
_UNDONE = {What.DELETE: "restored", What.CORRECT: "corrected", What.MUTE: "unmuted"}
MADE_ANEW = "made anew without what the participant took back"
_EMPTY: dict[str, Any] = {"bot_text": "", "user_text": "", "embed_text": "", "vector": None, "fields": {}}


@dataclass(frozen=True)
class Said:
    """One turn of the participant, by session and seq."""

    session: Session
    seq: int

    @property
    def source(self) -> str:
        return f"{self.session.number}:{self.seq}"


@dataclass
class _Act:
    """One arm's part of an act: what goes into its ledger, and which exchanges are written anew, with the memory whose counts go over."""

    arm: Arm
    said: Said
    entries: list[Entry] = field(default_factory=list)
    anew: dict[str, int | None] = field(default_factory=dict)

    def memories(self) -> list[Memory]:
        mine = Memory.objects.filter(arm=self.arm, sources__contains=[self.said.source]).exclude(seq=0)
        return list(mine.defer("vector").order_by("pk"))


def delete(said: Said) -> bool:
    """Take one turn out of everything that is remembered. False: it was out already."""
    return _wish(said, What.DELETE, _take_out)


def restore(said: Said) -> bool:
    """Undo a deletion: the turn is written anew from the conversation's record. False: it was not deleted."""
    return _unwish(said, What.DELETE, _put_back)


def correct(said: Said, text: str) -> bool:
    """Put other words in the place of what was said, wherever it is remembered. False: they stand there already.

    Raises:
        ValueError: no words, or more than `MOST_CHARS` characters.
    """
    text = text.strip()
    if not 0 < len(text) <= MOST_CHARS:
        raise ValueError(f"a correction has 1 to {MOST_CHARS} characters")
    return _wish(said, What.CORRECT, _write_anew, text)


def uncorrect(said: Said) -> bool:
    """Go back to the words as they were said. False: they were not corrected."""
    return _unwish(said, What.CORRECT, _write_anew)


def mute(said: Said) -> bool:
    """Keep one turn out of every recall and opener; it stays remembered. False: it is kept out already."""
    return _wish(said, What.MUTE, _mute)


def unmute(said: Said) -> bool:
    """Let it be brought up again. False: it may be already."""
    return _unwish(said, What.MUTE, _unmute)


Carry = Callable[[_Act], None]


@transaction.atomic
def _wish(said: Said, what: What, carry: Carry, text: str = "") -> bool:
    acts = _begin(said)
    mine = Wish.objects.filter(session=said.session, seq=said.seq, what=what, ended_at=None)
    if mine.filter(text=text).exists():
        return False
    mine.update(ended_at=Now(), text="")
    Wish.objects.create(session=said.session, seq=said.seq, what=what, text=text)
    _finish(acts, carry, _MADE[what])
    return True


@transaction.atomic
def _unwish(said: Said, what: What, carry: Carry) -> bool:
    acts = _begin(said)
    if not Wish.objects.filter(session=said.session, seq=said.seq, what=what, ended_at=None).update(ended_at=Now(), text=""):
        return False
    _finish(acts, carry, _UNDONE[what])
    return True


def _begin(said: Said) -> list[_Act]:
    """Lock the person, so that acts come one after the other and none after a withdrawal, then every arm that remembers the session."""
    Participant.objects.select_for_update(no_key=True).get(pk=said.session.participant_id, left_at=None)
    own = Arm.objects.select_related("condition").get(pk=said.session.arm_id)
    arms = [own] if own.condition_id else list(Arm.objects.filter(participant_id=said.session.participant_id).order_by("pk"))
    for arm in arms:
        lock(arm.pk)
    return [_Act(arm, said) for arm in arms]


def _finish(acts: Sequence[_Act], carry: Carry, event: str) -> None:
    """Carry the act out in every arm, with its ledger; then tell the workers."""
    for act in acts:
        Arm.objects.filter(pk=act.arm.pk).update(version=F("version") + 1)  # a decision that is being made is made again
        carry(act)
        if not act.entries:
            act.entries.append(
                Entry(event, None, {"turn": act.said.source})
            )  # nothing of it was remembered here; that it was asked stays known
        _spoil(act)
        write_events(act.arm.pk, *_place(act.arm), act.entries)
        _reopen(act)
    for act in acts:
        enqueue.encode(act.arm.pk)
        enqueue.refresh(act.arm.pk)


def _place(arm: Arm) -> tuple[int, int]:
    """Where in the arm's time an act falls: at the last turn of the session that is going on, else at the last one's close."""
    shared = Q(participant_id=arm.participant_id, arm__condition=None)
    held = Session.objects.filter(Q(arm=arm) | shared).exclude(started_at=None).order_by("-number").first()
    if held is None:
        return 1, 0
    return held.number, held.last_seq if held.state == Session.State.CHATTING else 0


def _take_out(act: _Act) -> None:
    mine = [m for m in act.memories() if m.status != Memory.Status.DELETED]
    act.entries += [Entry("deleted", m.pk, {"was": m.status, "turn": act.said.source}) for m in mine]
    _write_others_anew(act, mine)
    Memory.objects.filter(pk__in=[m.pk for m in mine]).update(**_EMPTY, status=Memory.Status.DELETED, ended_at=Coalesce("ended_at", Now()))
    _unquote(act)


def _put_back(act: _Act) -> None:
    """Only what was remembered when it was taken out is written again; what had been forgotten by then stays forgotten."""
    mine = [m for m in act.memories() if m.status == Memory.Status.DELETED]
    was_active = {
        event.memory_id for event in act.arm.memory_events.filter(memory__in=mine, what="deleted") if event.why.get("was") == "active"
    }
    act.entries += [Entry("restored", m.pk, {"turn": act.said.source}) for m in mine]
    heirs = [m.pk for m in mine if m.pk in was_active and m.superseded_by_id is None]
    if was_active or not mine:
        act.anew[act.said.source] = heirs[-1] if heirs else None


def _write_anew(act: _Act) -> None:
    mine = [m for m in act.memories() if m.status != Memory.Status.DELETED]
    act.entries += [Entry("corrected", m.pk, {"was": m.status, "turn": act.said.source}) for m in mine]
    now_active = [m for m in mine if m.status == Memory.Status.ACTIVE]
    _write_others_anew(act, mine)
    if now_active:
        act.anew = {act.said.source: act.anew.pop(act.said.source, None) or _heir(now_active), **dict.fromkeys(act.anew)}
    elif not mine:
        act.anew[act.said.source] = None  # it was not worth remembering as it was said
    Memory.objects.filter(pk__in=[m.pk for m in mine]).update(**_EMPTY)
    Memory.objects.filter(pk__in=[m.pk for m in now_active]).update(status=Memory.Status.SUPERSEDED, ended_at=Now())
    _unquote(act)


_UNQUOTE = """
    UPDATE memory_memoryevent SET why = why - '{slot,unreadable}'::text[] || CASE WHEN why ? 'relations' THEN jsonb_build_object(
      'relations', (SELECT coalesce(jsonb_agg(relation - 'unreadable'), '[]') FROM jsonb_array_elements(why -> 'relations') relation)
    ) ELSE '{}' END
    WHERE arm_id = %s AND session_number = %s AND seq = %s AND why ?| '{slot,unreadable,relations}'::text[]"""


def _unquote(act: _Act) -> None:
    """What a model made of the turn's words: in its write, and in the ledger of its recall, whose numbers stay."""
    _writes(act).update(reason="", raw="")
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('studyplatform.erasing', 'on', true)")
        cursor.execute(_UNQUOTE, [act.arm.pk, act.said.session.number, act.said.seq])
        cursor.execute("SELECT set_config('studyplatform.erasing', 'off', true)")


def _heir(memories: Sequence[Memory]) -> int:
    return memories[-1].pk


def _write_others_anew(act: _Act, memories: Sequence[Memory]) -> None:
    """A memory that several turns were fused into is taken apart: the turns that stay are written anew."""
    for memory in memories:
        if memory.status != Memory.Status.ACTIVE:
            continue
        others = [source for source in memory.sources if source != act.said.source]
        for source in others:
            act.anew[source] = None
        if others:
            act.anew[others[0]] = memory.pk


def _mute(act: _Act) -> None:
    mine = [m for m in act.memories() if m.muted_at is None]
    act.entries += [Entry("muted", m.pk, {"turn": act.said.source}) for m in mine]
    Memory.objects.filter(pk__in=[m.pk for m in mine]).update(muted_at=Now())


def _unmute(act: _Act) -> None:
    """A memory of several turns stays muted while one of them is."""
    shared = act.said.session
    still = {
        f"{w.session.number}:{w.seq}"
        for w in Wish.objects.filter(session__participant_id=shared.participant_id, what=What.MUTE, ended_at=None).select_related("session")
        if w.session.arm_id in (act.arm.pk, shared.arm_id)
    }
    mine = [m for m in act.memories() if m.muted_at is not None and still.isdisjoint(m.sources)]
    act.entries += [Entry("unmuted", m.pk, {"turn": act.said.source}) for m in mine]
    Memory.objects.filter(pk__in=[m.pk for m in mine]).update(muted_at=None)


def _spoil(act: _Act) -> None:
    """Empty everything that was made at this session's close or a later one: its words may hold what was taken back."""
    number = act.said.session.number
    closes = Memory.objects.filter(arm=act.arm, seq=0, session_number__gte=number).exclude(status=Memory.Status.DELETED)
    ended = list(closes.filter(status=Memory.Status.ACTIVE).values_list("pk", flat=True))
    act.entries += [Entry("superseded", pk, {"reason": MADE_ANEW}) for pk in ended]
    closes.update(**_EMPTY)
    Memory.objects.filter(pk__in=ended).update(status=Memory.Status.SUPERSEDED, ended_at=Now())
    made = Summary.objects.filter(arm=act.arm, session__number__gte=number)
    made.filter(session__number=number).update(text="")
    made.update(key_summary="", stale=True, owner="", attempt=F("attempt") + 1, lease_until=None, due_at=Now())


def _writes(act: _Act) -> "QuerySet[MemoryWrite]":
    return MemoryWrite.objects.filter(arm=act.arm, session=act.said.session, seq=act.said.seq)


def _reopen(act: _Act) -> None:
    """Open the writes of what is written anew, each under a new attempt, so that whoever holds the old one loses it."""
    for source, heir in act.anew.items():
        number, seq = map(int, source.split(":"))
        again = MemoryWrite.objects.filter(arm=act.arm, session__number=number, seq=seq)
        again.update(
            state=MemoryWrite.State.OPEN, outcome="", flags=[], reason="", raw="", attempt=F("attempt") + 1, failures=0, lease_until=None,
            due_at=Now(), done_at=None, heir_of=heir,
        )  # fmt: skip
