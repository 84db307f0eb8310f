"""What a decision asked of a language model, by the rows that every request leaves."""

from dataclasses import dataclass, field

from django.db.models import Max

from memory.arms import ArmRef
from memory.asking import Asker
from memory.policy import Schema, Unparsable
from studyplatform.llm.models import LLMCall


@dataclass(frozen=True)
class Asked:
    """`misread`: answers that could not be read. `prefilled`: tokens of prompts that were not in the endpoint's cache."""

    calls: int = 0
    misread: int = 0
    prefilled: int = 0
    cached: int = 0
    generated: int = 0


@dataclass
class Metered:
    """`Ask` as in a study, and a count of what it did since `begin`."""

    arm: ArmRef
    purpose: str
    code: str
    seq: int = 0
    _since: int = field(default=0, init=False)
    _unread: int = field(default=0, init=False)
    _used: bool = field(default=False, init=False)

    def begin(self, seq: int) -> None:
        self.seq, self._unread, self._used = seq, 0, False

    def __call__(self, prompt: str, schema: type[Schema], **variables: str) -> Schema:
        """As `memory.asking.Asker`."""
        if not self._used:
            self._used = True
            self._since = LLMCall.objects.filter(study_id=self.arm.study_id).aggregate(last=Max("pk"))["last"] or 0
        try:
            return Asker(self.arm, self.purpose, self.code, seq=self.seq)(prompt, schema, **variables)
        except Unparsable:
            self._unread += 1
            raise

    def read(self) -> Asked:
        """A second attempt says that the first was not readable."""
        if not self._used:
            return Asked()
        rows = LLMCall.objects.filter(study_id=self.arm.study_id, pk__gt=self._since, error="")
        found = list(rows.values("tag", "tokens_in", "tokens_out", "tokens_cached"))
        cached = sum(row["tokens_cached"] or 0 for row in found)
        return Asked(
            calls=len(found),
            misread=self._unread + sum(row["tag"].endswith(".2") for row in found),
            prefilled=sum(row["tokens_in"] or 0 for row in found) - cached,
            cached=cached,
            generated=sum(row["tokens_out"] or 0 for row in found),
        )
