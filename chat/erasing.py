"""What a withdrawal removes from the chat: every word. That and when something was said stays, as numbers and times."""

from typing import ClassVar

from django.db.models import Q

from chat.models import Turn
from studyplatform.study.erasing import Eraser
from studyplatform.study.models import Participant


class Utterances(Eraser):
    """The words of both sides. A reply that is being written is taken from its writer, whose commit then finds nothing."""

    name: ClassVar[str] = "utterances"
    where: ClassVar[str] = "chat.Turn: text, partial, client_id"
    layer: ClassVar[int] = 3

    def erase(self, participant: Participant) -> int:
        turns = Turn.objects.filter(session__participant=participant)
        turns.filter(state=Turn.State.PENDING).update(state=Turn.State.FAILED, failure="withdrawn", lease_until=None)
        held = turns.filter(~Q(text="") | ~Q(partial="") | Q(client_id__isnull=False))
        return held.update(text="", partial="", client_id=None)
