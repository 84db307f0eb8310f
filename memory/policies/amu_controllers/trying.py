"""How often the prototype controller acts as a conversation's labels say: the whole policy over a store of its own making."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from memory.policies.amu import Amu
from memory.policies.amu_controllers import trained, training
from memory.policies.amu_controllers.trained import Cuts, Trained
from memory.policies.amu_controllers.training import ACTIONS, Embed, Penalties, Turn
from memory.policy import Draft, Exchange, Hit, Memory, Outcome, Store, Update, Vector, newest_first

Confusion = Counter[tuple[str, str]]  # (label, action) → how often


class Shelf:
    """One arm's records in a list, as a `memory.policy.Space`."""

    def __init__(self, encoder_name: str, embed: Embed, thresholds: Mapping[str, float]) -> None:
        self.encoder_name = encoder_name
        self.embed = embed
        self._thresholds = thresholds
        self._held: dict[int, Memory] = {}
        self._next = 1

    def threshold(self, name: str) -> float:
        return self._thresholds[name]

    def nearest(
        self,
        query: str | Vector,
        *,
        where: Mapping[str, Sequence[str]] | None = None,
        at_least: float | None = None,
        limit: int | None = None,
    ) -> Sequence[Hit]:
        vector = self.embed([query])[0] if isinstance(query, str) else query
        wanted = {name: values for name, values in (where or {}).items() if name != "kind"}
        found = [m for m in self._held.values() if all(m.fields.get(name) in values for name, values in wanted.items())]
        cosines = self.embed([m.embed_text for m in found]) @ vector if found else ()
        hits = [Hit(m, float(cosine)) for m, cosine in zip(found, cosines, strict=True) if at_least is None or cosine >= at_least]
        return sorted(hits, key=lambda hit: (-hit.similarity, *newest_first(hit.memory)))[:limit]

    def newest(self, *, limit: int | None = None, where: Mapping[str, Sequence[str]] | None = None) -> Sequence[Memory]:
        wanted = {name: values for name, values in (where or {}).items() if name != "kind"}
        found = [m for m in self._held.values() if all(m.fields.get(name) in values for name, values in wanted.items())]
        return sorted(found, key=newest_first)[:limit]

    def take(self, outcome: Outcome, exchange: Exchange) -> None:
        """What an outcome changes."""
        if isinstance(outcome, Update):
            for ended in (*outcome.replaces, *outcome.archives):
                del self._held[ended]
        if isinstance(outcome, Store | Update):
            self._held[self._next] = _memory(self._next, outcome.draft, exchange)
            self._next += 1


def _memory(number: int, draft: Draft, exchange: Exchange) -> Memory:
    return Memory(
        number, draft.kind, 1, exchange.seq, draft.bot, draft.user, draft.embed_text, 0, 0, 1, exchange.at, draft.fields, draft.measures
    )  # fmt: skip


def tried(conversations: Sequence[Sequence[Turn]], made: Trained, encoder: str, embed: Embed, thresholds: Mapping[str, float]) -> Confusion:
    """The policy's actions with these weights, each conversation over a store that begins empty."""
    name = f"{encoder}#{id(made)}"  # weights are looked up by the encoder's name
    trained.known[name] = made
    policy, found = Amu(), Confusion()
    try:
        for turns in conversations:
            shelf = Shelf(name, embed, thresholds)
            for number, turn in enumerate(turns, start=1):
                exchange = Exchange(1, 2 * number, "", turn.text, turn.at)
                outcome = policy.encode(exchange, shelf, _no_model)
                shelf.take(outcome, exchange)
                found[turn.action, type(outcome).__name__.lower()] += 1
    finally:
        del trained.known[name]
    return found


def cross_validated(
    conversations: Sequence[Sequence[Turn]],
    encoder: str,
    embed: Embed,
    thresholds: Mapping[str, float],
    penalties: Penalties = training.PENALTIES,
    cuts: Cuts = training.CUTS,
) -> Confusion:
    """Each fifth of the conversations, with weights from the other four."""
    found = Confusion()
    for fold in range(min(training.FOLDS, len(conversations))):
        others = [turns for i, turns in enumerate(conversations) if i % training.FOLDS != fold]
        made = training.fit(others, embed, penalties, cuts)
        found += tried(conversations[fold :: training.FOLDS], made, encoder, embed, thresholds)
    return found


def accuracy(found: Confusion) -> float:
    """The share of turns on which label and action agree."""
    return sum(found[action, action] for action in ACTIONS) / found.total()


def _no_model(prompt: str, schema: Any, **variables: str) -> Any:
    raise AssertionError("this controller asks no model")
