"""What the scripted server was told to do: delays, faults, recorded conversations; and what it has counted."""

from collections import Counter, deque
from itertools import takewhile
from time import monotonic
from typing import Any, Literal
from zlib import crc32

from pydantic import BaseModel, ConfigDict, Field

# An empty recorded utterance cannot be sent as an empty reply, which is a failure; the chat stores this mark as empty.
EMPTY_MARKER = "\u2205empty\u2205"
KEPT_REQUESTS = 400


class Settings(BaseModel):
    """How fast and how much the server speaks. `tokens`: length of a made-up reply; none: as it comes.

    `refuses_schemas`: what a request may not ask for ("all": no schema; "bounds": none with limits of length, number or size).
    `prefix_cache`: report how many of a prompt's tokens the last prompt began with, as a server with one slot does.
    """

    model_config = ConfigDict(extra="forbid")

    first_token_ms: float = Field(default=0, ge=0)
    token_ms: float = Field(default=0, ge=0)
    embedding_ms: float = Field(default=0, ge=0)
    tokens: int | None = Field(default=None, ge=1, le=4000)
    requests_per_s: float | None = Field(default=None, gt=0, description="beyond it: 429 with Retry-After")
    seed: int = 0
    refuses_schemas: Literal["none", "bounds", "all"] = "none"
    prefix_cache: bool = False


class Answer(BaseModel):
    """What the model says to the next `count` chat requests (none: to all) of this purpose that contain these words in their last message."""

    model_config = ConfigDict(extra="forbid")

    text: str
    purpose: str | None = None
    contains: str = ""
    count: int | None = Field(default=1, ge=1)


class Fault(BaseModel):
    """Something that goes wrong with the next `count` matching requests (none: with all), or with a `share` of them.

    `timeout` hangs for `seconds`, then closes; `cut` closes the connection after `after_tokens`.
    """

    model_config = ConfigDict(extra="forbid")

    kind: Literal["rate_limit", "server_error", "timeout", "cut", "empty", "malformed"]
    endpoint: Literal["chat", "embeddings", "completion"] = "chat"
    purpose: str | None = None
    session: str | None = None
    count: int | None = Field(default=1, ge=1)
    share: float = Field(default=1, gt=0, le=1)
    retry_after: float = Field(default=1, ge=0)
    seconds: float = Field(default=30, ge=0)
    after_tokens: int = Field(default=3, ge=0)


class Tag(BaseModel):
    """The caller's request id: `<session code>.<purpose>.<reply_to or 0>.<attempt>`."""

    session: str = ""
    purpose: str = ""
    reply_to: int = 0
    attempt: int = 0


def read_tag(text: str) -> Tag:
    """A tag that does not fit is one without a session, so that a foreign client is served too."""
    parts = text.split(".")
    if len(parts) != 4 or not (parts[2].isdigit() and parts[3].isdigit()):
        return Tag(purpose="other")
    return Tag.model_construct(session=parts[0], purpose=parts[1], reply_to=int(parts[2]), attempt=int(parts[3]))


class Script:
    """The server's whole state. One event loop uses it, so it needs no lock."""

    def __init__(self) -> None:
        self.settings = Settings()
        self.faults: list[Fault] = []
        self.recordings: dict[str, list[str]] = {}
        self.answers: list[Answer] = []
        self._last_prompt: list[str] = []
        self.clear_counts()

    def clear_counts(self) -> None:
        self.counts: dict[str, Counter[str]] = {}
        self.requests: deque[dict[str, Any]] = deque(maxlen=KEPT_REQUESTS)
        self._drawn = 0
        self._allowance = 1.0
        self._allowed_at = monotonic()

    def count(self, purpose: str, **numbers: int) -> None:
        self.counts.setdefault(purpose, Counter()).update(numbers)

    def recorded(self, tag: Tag) -> str | None:
        """The recorded bot utterance that a request asks for; none without a recording, or after its end.

        A conversation begins with the opener (seq 1), then the participant's turns have the even numbers.
        """
        spoken = self.recordings.get(tag.session)
        if spoken is None or tag.purpose not in ("opener", "reply"):
            return None
        index = 0 if tag.purpose == "opener" else tag.reply_to // 2
        if index >= len(spoken):
            return None
        return spoken[index] or EMPTY_MARKER

    def tell(self, what: str, value: Any) -> None:
        """One more fault or answer, after those that were told before."""
        if what == "answers":
            self.answers.append(Answer.model_validate(value))
        else:
            self.faults.append(Fault.model_validate(value))

    def answered(self, tag: Tag, last: str) -> str | None:
        """The first answer that was told for such a request, used up by one; none where nothing was told."""
        for answer in self.answers:
            if answer.purpose in (None, tag.purpose) and answer.contains in last:
                if answer.count is not None:
                    answer.count -= 1
                    if answer.count == 0:
                        self.answers.remove(answer)
                return answer.text
        return None

    def cached(self, prompt: list[str]) -> int:
        """How many words of this prompt the last one began with."""
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(prompt, self._last_prompt, strict=False)))
        self._last_prompt = prompt
        return shared

    def fault_for(self, endpoint: str, tag: Tag) -> Fault | None:
        """The first fault that fits, used up by one; chance comes from the seed and the number of draws so far."""
        for fault in self.faults:
            if fault.endpoint != endpoint or fault.purpose not in (None, tag.purpose) or fault.session not in (None, tag.session):
                continue
            if not self._strikes(fault):
                continue
            if fault.count is not None:
                fault.count -= 1
                if fault.count == 0:
                    self.faults.remove(fault)
            return fault
        return None

    def _strikes(self, fault: Fault) -> bool:
        if fault.share >= 1:
            return True
        self._drawn += 1
        return crc32(f"{self.settings.seed}.{self._drawn}".encode()) / 2**32 < fault.share

    def over_rate(self) -> bool:
        """A token bucket of one second over all endpoints."""
        rate = self.settings.requests_per_s
        if rate is None:
            return False
        now = monotonic()
        self._allowance = min(max(rate, 1.0), self._allowance + (now - self._allowed_at) * rate)
        self._allowed_at = now
        if self._allowance < 1:
            return True
        self._allowance -= 1
        return False
