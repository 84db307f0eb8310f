"""LUFY: six measures decide how important a memory is; importance lifts it at recall and saves it from forgetting.

S = a_L·w_L·L/27.5 + a_P·w_P·P/d + a_A·w_A·A/15 + a_R1·w_R1·R1 − a_R2·w_R2·R2, floored at 0.1; importance = exp(−Δt/(k·S)); at recall
score = cosine + α·importance (LUFY paper, equations 2–4, table 2). The paper prints the weights to two decimals and no constants;
weights and constants here are its reference code's, to eight digits. `d` is 400 in the paper's preset, which makes the means agree
(250 at recall and 400 at forgetting in the code). The printed sign of R2 is kept: w_R2 is negative and is subtracted, so a passed-over memory
gains a little, against the paper's prose; `r2_sign=-1` is the variant of the prose.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, exp
from random import Random
from typing import ClassVar, Literal, Self

from memory.policy import (
    Ask,
    Draft,
    Hit,
    Memory,
    MemoryPolicy,
    Query,
    Recall,
    Scale,
    Space,
    Verdict,
    When,
    newest_first,
    query_text,
    threshold_of,
)
from memory.retention import keep_count

MEASURES = ("arousal", "perplexity", "importance")


@dataclass(frozen=True)
class Lufy(MemoryPolicy):
    """Parameters.

    `w_*`, `a_*`: weights and mean-matching constants. `d_recall`, `d_retain`: divisor of the perplexity at recall and at
    forgetting; `perplexity_cap`: where it is cut; both are the scorer's (`calibrated`), the values here GPT-2's. `k_recall`,
    `k_retain`: slowness of the decay. `alpha`: size of the importance's bonus in cosine. `pool`: candidates that are scored, None: all over
    the threshold. `query_utterances`: utterances joined into the query, 1: the participant's last message. `keep_rule`: `share`, or
    `mean_importance`, the code's: the mean importance clipped to `clip`. `r2_sign`: +1 as printed.
    """

    name: ClassVar[str] = "lufy"
    version: ClassVar[int] = 1
    measures: ClassVar[tuple[str, ...]] = MEASURES

    w_importance: float = 0.44776699
    w_perplexity: float = -0.2801391
    w_arousal: float = 2.76290708
    w_r1: float = 1.02800192
    w_r2: float = -0.01241566
    a_importance: float = 2.1297349437869455
    a_perplexity: float = 2.8709762924617905
    a_arousal: float = 1.5012260479089086
    a_r1: float = 0.62885264522
    a_r2: float = 2.2459023043571427
    d_importance: float = 27.5
    d_arousal: float = 15.0
    d_recall: float = 400.0
    d_retain: float = 400.0
    perplexity_cap: float = 160.0
    r2_sign: Literal[1, -1] = 1
    floor: float = 0.1
    k_recall: float = 1.0
    k_retain: float = 1.0
    alpha: float = 0.1
    threshold: float | None = None
    threshold_name: str = "reply"
    opening_threshold: float | None = None
    query_utterances: int = 5
    pool: int | None = None
    keep_rule: Literal["share", "mean_importance"] = "share"
    keep_share: float = 0.10
    clip: tuple[float, float] = (0.10, 0.15)
    session_slots: bool = True

    def calibrated(self, scales: Mapping[str, Scale]) -> Self:
        """Cap and divisor of the perplexity scorer in use; recall's divisor keeps its ratio to forgetting's."""
        scale = scales.get("perplexity")
        if scale is None:
            return self
        ratio = self.d_recall / self.d_retain
        return replace(self, perplexity_cap=scale.cap, d_retain=scale.divisor, d_recall=scale.divisor * ratio)

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        """Candidates over the threshold, re-ranked by cosine + α·importance: the first is used, the second passed over."""
        at_least = threshold_of(query, space, reply=self.threshold, opening=self.opening_threshold, name=self.threshold_name)
        found = space.nearest(query_text(query, self.query_utterances), at_least=at_least, limit=self.pool and max(self.pool, query.wanted))
        scored = [self._score(hit, now) for hit in found]
        ranked = sorted(scored, key=lambda hit: (-hit.terms["score"], *newest_first(hit.memory)))
        return Recall(tuple(ranked[:1]), tuple(ranked[1 : query.wanted]), {"threshold": at_least, "candidates": len(ranked)})

    def _score(self, hit: Hit, now: When) -> Hit:
        terms = self.importance(hit.memory, now.session - hit.memory.last_recalled, self.d_recall, self.k_recall)
        bonus = self.alpha * terms["importance"]
        return replace(hit, terms={**terms, "cosine": hit.similarity, "bonus": bonus, "score": hit.similarity + bonus})

    def consolidate(self, session: Sequence[Memory], summary: str, space: Space, ask: Ask) -> Sequence[Draft]:
        """The session's summary becomes a memory: highest importance and arousal, lowest perplexity, highest R1 of its session."""
        if not summary:
            return ()
        measures = {
            "importance": max((m.measures.get("importance", 0.0) for m in session), default=0.0),
            "arousal": max((m.measures.get("arousal", 0.0) for m in session), default=0.0),
            "perplexity": min([self.perplexity_cap, *(m.measures["perplexity"] for m in session if "perplexity" in m.measures)]),
        }
        return (Draft("summary", "", "", summary, measures=measures, r1=max((m.r1 for m in session), default=0)),)

    def retain(self, memories: Sequence[Memory], now: When, rng: Random) -> Sequence[Verdict]:
        """The most important memories at the start of the next session (Δt ≥ 1), as many as the keep rule says."""
        scored = [(self.importance(m, now.session + 1 - m.last_recalled, self.d_retain, self.k_retain), m) for m in memories]
        kept = self._keep(len(memories), [terms["importance"] for terms, _ in scored], now.session)
        ranked = sorted(scored, key=lambda pair: (-pair[0]["importance"], *newest_first(pair[1])))
        return [Verdict(m, rank <= kept, rank, terms["importance"], terms) for rank, (terms, m) in enumerate(ranked, start=1)]

    def _keep(self, held: int, importances: Sequence[float], session: int) -> int:
        if self.keep_rule == "share" or not held:
            return keep_count(held, session, self.keep_share, session_slots=self.session_slots)
        low, high = self.clip
        mean = sum(importances) / held
        share = Fraction(mean) if low < mean < high else Fraction(str(low if mean <= low else high))
        return min(held, ceil(share * held + session - 1))

    def importance(self, memory: Memory, dt: float, divisor: float, k: float) -> dict[str, float]:
        """exp(−dt/(k·S)) and every term of S; a measure that is missing (not scored yet) counts nothing. `floored`: 1 where S was raised."""
        terms = self.strength(memory.measures, memory.r1, memory.r2, divisor)
        return {**terms, "dt": dt, "importance": exp(-dt / (k * terms["strength"]))}

    def strength(self, measures: Mapping[str, float], r1: int, r2: int, divisor: float) -> dict[str, float]:
        """S by terms: importance L 1–10, perplexity P (cut at the cap), arousal A 1–5, R1 and R2 counts."""
        perplexity = min(measures.get("perplexity", 0.0), self.perplexity_cap)
        terms = {
            "importance_term": self.a_importance * self.w_importance * measures.get("importance", 0.0) / self.d_importance,
            "perplexity_term": self.a_perplexity * self.w_perplexity * perplexity / divisor,
            "arousal_term": self.a_arousal * self.w_arousal * measures.get("arousal", 0.0) / self.d_arousal,
            "r1_term": self.a_r1 * self.w_r1 * r1,
            "r2_term": -self.r2_sign * self.a_r2 * self.w_r2 * r2,
        }
        raw = sum(terms.values())
        return {**terms, "raw_strength": raw, "strength": max(raw, self.floor), "floored": float(raw < self.floor)}
