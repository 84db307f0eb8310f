"""A policy's recall on an event loop: where it looks something up, it is put aside until that is there, and begins again with it.

A policy is synchronous and pure: with the same answers it asks the same questions in the same order. So it can be run from the beginning after
every answer, up to the first question that is still open; what runs twice is only its own arithmetic. Nobody who waits holds a thread.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol, TypeVar

import numpy as np

from memory import space
from memory.arms import ArmRef
from memory.policy import Ask, Hit, Memory, MemoryPolicy, Query, Recall, Schema, Vector, When
from memory.space import Scope

T = TypeVar("T")
Look = Callable[[], Awaitable[Any]]


class Reads(Protocol):
    """How a process reads without holding up its event loop; whoever serves one gives it."""

    async def rows(self, sql: str, params: Sequence[Any]) -> Sequence[Sequence[Any]]:
        """The rows of one statement that only reads."""
        ...

    async def run(self, act: Callable[[], T]) -> T:
        """What `act` returns, elsewhere than on the loop."""
        ...


class _Open(BaseException):
    """A question that has no answer yet. No policy catches it: it is no error."""

    def __init__(self, look: Look) -> None:
        super().__init__("not looked up yet")
        self.look = look


async def recall(policy: MemoryPolicy, query: Query, now: When, *, arm: ArmRef, scope: Scope, ask: Ask, reads: Reads) -> Recall:
    """What the policy recalls; whatever a lookup raises is raised inside the policy, as from a space that it waits for.

    Raises:
        studyplatform.llm.embeddings.EndpointFailed: the encoder does not answer, and the policy does not mind.
    """
    shelf = _Shelf(arm, scope, reads)
    answers: list[Any] = []
    while True:
        asked = _Asked(shelf, ask, reads, answers)
        try:
            return policy.recall(query, asked, now, asked.ask)
        except _Open as question:
            answers.append(await _answer(question.look))


async def _answer(look: Look) -> Any:
    try:
        return await look()
    except Exception as error:  # it belongs to the policy, which is told when it asks again
        return error


class _Shelf:
    """The lookups themselves, awaited. A text is encoded once."""

    def __init__(self, arm: ArmRef, scope: Scope, reads: Reads) -> None:
        self.arm = arm
        self._scope = scope
        self._reads = reads
        self._known: dict[str, Vector] = {}

    async def embed(self, texts: Sequence[str]) -> Vector:
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        if new:
            self._known.update(zip(new, await self.arm.encoder.embed_soon(new), strict=True))
        return np.stack([self._known[text] for text in texts]) if texts else np.zeros((0, self.arm.encoder.dimension), dtype=np.float32)

    async def nearest(
        self, query: str | Vector, where: Mapping[str, Sequence[str]] | None, at_least: float | None, limit: int | None
    ) -> Sequence[Hit]:
        vector = (await self.embed([query[-self.arm.encoder.window_chars :]]))[0] if isinstance(query, str) else query
        return space.hits(await self._reads.rows(*space.nearest_sql(self.arm, self._scope, vector, where or {}, at_least, limit)))

    async def newest(self, limit: int | None, where: Mapping[str, Sequence[str]] | None) -> Sequence[Memory]:
        return [space.memory(row) for row in await self._reads.rows(*space.newest_sql(self.arm, self._scope, where or {}, limit))]


class _Asked:
    """The `memory.policy.Space` and `Ask` of one run: the answers that are there, in the order of the questions."""

    def __init__(self, shelf: _Shelf, ask: Ask, reads: Reads, answers: Sequence[Any]) -> None:
        self._shelf = shelf
        self._ask = ask
        self._reads = reads
        self._answers = iter(answers)

    def _of(self, look: Look) -> Any:
        for answer in self._answers:
            if isinstance(answer, Exception):
                raise answer
            return answer
        raise _Open(look)

    @property
    def encoder_name(self) -> str:
        return self._shelf.arm.encoder.name

    def threshold(self, name: str) -> float:
        return self._shelf.arm.threshold(name)

    def embed(self, texts: Sequence[str]) -> Vector:
        found: Vector = self._of(partial(self._shelf.embed, texts))
        return found

    def nearest(
        self,
        query: str | Vector,
        *,
        where: Mapping[str, Sequence[str]] | None = None,
        at_least: float | None = None,
        limit: int | None = None,
    ) -> Sequence[Hit]:
        found: Sequence[Hit] = self._of(partial(self._shelf.nearest, query, where, at_least, limit))
        return found

    def newest(self, *, limit: int | None = None, where: Mapping[str, Sequence[str]] | None = None) -> Sequence[Memory]:
        found: Sequence[Memory] = self._of(partial(self._shelf.newest, limit, where))
        return found

    def ask(self, prompt: str, schema: type[Schema], **variables: str) -> Schema:
        said: Schema = self._of(partial(self._reads.run, partial(self._ask, prompt, schema, **variables)))
        return said
