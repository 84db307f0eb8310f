"""What a withdrawal removes from the record of model calls: the words. What was asked, when and at what cost stays."""

from typing import ClassVar

from studyplatform.llm.models import LLMCall
from studyplatform.study.erasing import Eraser
from studyplatform.study.models import Participant


class ModelCalls(Eraser):
    """Prompts hold what the person said and what was remembered of it; outputs answer it; errors may quote either."""

    name: ClassVar[str] = "model calls"
    where: ClassVar[str] = "llm.LLMCall: messages, raw, error"
    layer: ClassVar[int] = 1

    def erase(self, participant: Participant) -> int:
        calls = LLMCall.objects.filter(session__participant=participant)
        return calls.exclude(messages=[], raw="", error="").update(messages=[], raw="", error="")
