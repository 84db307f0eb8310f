"""What a withdrawal removes from memory: every word and every vector. That something was remembered, and when, stays."""

from typing import ClassVar

from django.db.models import F
from django.db.models.functions import Coalesce, Now

from memory.models import Memory, MemoryEvent, MemoryWrite, Summary, Wish
from studyplatform.study.erasing import Eraser
from studyplatform.study.models import Arm, Participant


class Memories(Eraser):
    """Texts, vectors and structured fields. The arm's version rises, so that a write made meanwhile is thrown away."""

    name: ClassVar[str] = "memories"
    where: ClassVar[str] = "memory.Memory: bot_text, user_text, embed_text, vector, fields"
    layer: ClassVar[int] = 2

    def erase(self, participant: Participant) -> int:
        Arm.objects.filter(participant=participant).update(version=F("version") + 1)
        return Memory.objects.filter(arm__participant=participant).update(
            bot_text="",
            user_text="",
            embed_text="",
            vector=None,
            fields={},
            status=Memory.Status.DELETED,
            ended_at=Coalesce("ended_at", Now()),
        )


class Writes(Eraser):
    """What models said about an exchange; a write that is still open ends without being made."""

    name: ClassVar[str] = "memory writes"
    where: ClassVar[str] = "memory.MemoryWrite: reason, raw"
    layer: ClassVar[int] = 2

    def erase(self, participant: Participant) -> int:
        mine = MemoryWrite.objects.filter(arm__participant=participant)
        mine.filter(state=MemoryWrite.State.OPEN).update(
            state=MemoryWrite.State.DONE, outcome=MemoryWrite.Outcome.ERROR, attempt=F("attempt") + 1, lease_until=None, done_at=Now()
        )
        return mine.exclude(reason="", raw="").update(reason="", raw="")


class Reasons(Eraser):
    """Why things happened to a memory may quote it; that they happened stays in the ledger."""

    name: ClassVar[str] = "ledger reasons"
    where: ClassVar[str] = "memory.MemoryEvent: why"
    layer: ClassVar[int] = 2

    def erase(self, participant: Participant) -> int:
        return MemoryEvent.objects.filter(arm__participant=participant).exclude(why={}).update(why={})


class Summaries(Eraser):
    """What each session left for the prompt."""

    name: ClassVar[str] = "summaries"
    where: ClassVar[str] = "memory.Summary: text, key_summary"
    layer: ClassVar[int] = 2

    def erase(self, participant: Participant) -> int:
        return (
            Summary.objects.filter(arm__participant=participant)
            .exclude(text="", key_summary="", stale=False)
            .update(text="", key_summary="", stale=False)
        )


class Wishes(Eraser):
    """The words that the person put in the place of others; that something was taken back stays."""

    name: ClassVar[str] = "corrections"
    where: ClassVar[str] = "memory.Wish: text"
    layer: ClassVar[int] = 2

    def erase(self, participant: Participant) -> int:
        return Wish.objects.filter(session__participant=participant).exclude(text="").update(text="")
