"""What a withdrawal removes from de-identification: every text, every mark in it, and the person's part of the map."""

from typing import ClassVar

from annotation.deid.models import Pseudonym, Review
from studyplatform.study.erasing import Eraser
from studyplatform.study.models import Participant


class DeidentifiedTexts(Eraser):
    """Reviews with their spans, decisions, versions and approvals."""

    name: ClassVar[str] = "de-identified texts"
    where: ClassVar[str] = "deid.Review, FirstPass, Span, Decision, DeidVersion, VersionLine, Approval"
    layer: ClassVar[int] = 4

    def erase(self, participant: Participant) -> int:
        return Review.objects.filter(session__participant=participant).delete()[0]


class Pseudonyms(Eraser):
    """Which surrogate stands for whom."""

    name: ClassVar[str] = "pseudonyms"
    where: ClassVar[str] = "deid.Pseudonym"
    layer: ClassVar[int] = 4

    def erase(self, participant: Participant) -> int:
        return Pseudonym.objects.filter(participant=participant).delete()[0]
