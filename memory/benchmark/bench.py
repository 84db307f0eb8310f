"""The whole benchmark: each system over each session, alone and mixed, with what a closed session needs."""

import json
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from functools import partial
from random import Random
from typing import Any

import numpy as np

from memory.benchmark import metrics
from memory.benchmark.metrics import Found, Wrote
from memory.benchmark.partial import Partial
from memory.benchmark.running import Answered, Run, Said, Setting, forgets, said
from memory.benchmark.sessions import Session
from memory.benchmark.variants import Variant
from memory.measures.scorer import Context
from memory.policies.amu_controllers import trained
from memory.policy import MemoryPolicy, Scale
from memory.quotation import transcript
from memory.summarising import MAX_TOKENS, TRANSCRIPT_CHARS
from studyplatform.llm import asking

Say = Callable[[str], None]
Row = dict[str, Any]
DRAWS = 5
MIXED = (1, 2, 3)


class Bench:
    """`sessions`: what is run; `slow_sessions`: how many of them a system runs that asks a model about every turn; `closed_sessions`: how many are closed
    too, which asks a model to summarise and to rate."""

    def __init__(
        self,
        setting: Setting,
        sessions: Sequence[Session],
        done: Partial,
        say: Say,
        *,
        slow_sessions: int,
        closed_sessions: int | None = None,
    ) -> None:
        self.setting, self.sessions, self._partial, self._say = setting, tuple(sessions), done, say
        self._slow_sessions = slow_sessions
        self._closed = frozenset(s.id for s in self.sessions[:closed_sessions])
        self._scales: dict[str, Scale] = {s.measure: s.scale for s in setting.scorers if s.scale is not None}

    def sessions_of(self, variant: Variant) -> tuple[Session, ...]:
        return self.sessions[: self._slow_sessions] if variant.asks_a_model else self.sessions

    def rows(self, variants: Iterable[Variant]) -> list[Row]:
        """One row for each system before the session is closed, and one after, where closing changes its store."""
        return [row for variant in variants for row in self._rows(variant)]

    def _rows(self, variant: Variant) -> list[Row]:
        began = time.monotonic()
        sessions = self.sessions_of(variant)
        parts = []
        for number, session in enumerate(sessions, start=1):
            parts.append(self._part(variant, session))
            if variant.asks_a_model:
                self._say(f"{variant.label}: session {number} of {len(sessions)}, {time.monotonic() - began:.0f} s")
        self._say(f"{variant.label}: {len(sessions)} sessions, {time.monotonic() - began:.1f} s")
        row = {**self._head(variant, sessions), "closed": False, **_figures(parts, "open")}
        unseen = [part for part, s in zip(parts, sessions, strict=True) if not self._was_trained_on(variant, s)]
        if len(unseen) < len(sessions):
            row["unseen"] = {"sessions": len(unseen), **_figures(unseen, "open")} if unseen else None
        closed = [(part, s) for part, s in zip(parts, sessions, strict=True) if "closed" in part]
        if not closed:
            return [row]
        head = self._head(variant, [s for _, s in closed])
        return [row, {**head, "closed": True, **_figures([part for part, _ in closed], "closed")}]

    def _head(self, variant: Variant, sessions: Sequence[Session]) -> Row:
        return {
            "policy": variant.policy.name,
            "controller": variant.controller,
            "preset": variant.preset,
            "part": variant.part,
            "bound": variant.is_bound,
            "overrides": dict(variant.overrides),
            "structured": variant.structured,
            "sessions": len(sessions),
        }

    def _was_trained_on(self, variant: Variant, session: Session) -> bool:
        return variant.controller == "prototype" and session.file in trained_on(self.setting.encoding.name)

    def _part(self, variant: Variant, session: Session) -> Any:
        name = f"{variant.label}|{sorted(variant.overrides.items())}|{variant.structured}|{session.id in self._closed}|{session.id}"
        return self._partial.part(name, lambda: self._made(variant, session))

    def _made(self, variant: Variant, session: Session) -> Row:
        policy = variant.build(self._scales)
        run = Run(self.setting, policy, said([session]), structured=variant.structured)
        written = self._written(run, variant, session)
        made: Row = {
            "written": [asdict(turn) for turn in written],
            "open": self._asked(run, [session], 1),
            "kept": len(run.shelf.memories()),
        }
        if forgets(policy) and session.id in self._closed:
            began = time.perf_counter()
            measures = self._measures(session) if policy.measures else {}
            summary = self.summary(session) if type(policy).consolidate is not MemoryPolicy.consolidate else ""
            run.close(measures, summary, session.questions[0].at if session.questions else session.turns[-1].at)
            made |= {"closed": self._asked(run, [session], 2), "kept_closed": len(run.shelf.memories())}
            made["closing_s"] = time.perf_counter() - began
        return made

    def _written(self, run: Run, variant: Variant, session: Session) -> list[Wrote]:
        written = []
        for turn in run.write():
            written.append(turn)
            if variant.asks_a_model and len(written) % 10 == 0:
                self._say(f"{variant.label}, {session.id}: turn {len(written)} of {len(session.turns)}")
        return written

    def _asked(self, run: Run, sessions: Sequence[Session], number: int) -> list[Row]:
        return [_packed(run.ask(s.id, question, session=number)) for s in sessions for question in s.questions]

    def _measures(self, session: Session) -> dict[int, dict[str, float]]:
        """What the scorers make of every turn, by seq: once per session, for all systems."""
        found = self._partial.part(f"measures|{session.id}", lambda: self._scored(session))
        return {int(seq): values for seq, values in found.items()}

    def _scored(self, session: Session) -> dict[int, dict[str, float]]:
        self._say(f"{session.id}: measuring {len(session.turns)} turns")
        return {turn.seq: self._scores(turn) for turn in said([session])}

    def _scores(self, turn: Said) -> dict[str, float]:
        context = Context("", self.setting.study_id, None, "benchmark", turn.seq)
        return {scorer.measure: scorer.score(turn.exchange, context).value for scorer in self.setting.scorers}

    def summary(self, session: Session) -> str:
        """The session's summary, as a study asks for it; empty where the model's cannot be read."""
        made: str = self._partial.part(f"summary|{session.id}", lambda: self._summarised(session))
        return made

    def _summarised(self, session: Session) -> str:
        config = self.setting.config
        model = asking.Model(config.memory.summary_model or config.chat.response_model, max_tokens=MAX_TOKENS)
        purpose = asking.Purpose("session_summary", self.setting.study_id, "benchmark")
        text = transcript([turn.exchange for turn in said([session])], TRANSCRIPT_CHARS)
        try:
            return asking.complete(purpose, model, config.prompts.session_summary, transcript=text)
        except asking.BadAnswer:
            self._say(f"{session.id}: the summary could not be read; there is none")
            return ""

    def answered(self, variant: Variant, session: Session) -> list[Row]:
        """What each query of a session found, before the session is closed, or, of a system that compresses, after."""
        part = self._part(variant, session)
        found: list[Row] = part["closed"] if variant.preset == "compressed_history" and "closed" in part else part["open"]
        return found

    def mixed(self, variants: Iterable[Variant]) -> list[Row]:
        """Stores of one, two and three sessions written together in order of time: means over five draws each."""
        return [self._mixed(variant, size) for variant in variants for size in MIXED if size <= len(self.sessions_of(variant))]

    def _mixed(self, variant: Variant, size: int) -> Row:
        drawn = []
        for draw in range(1, DRAWS + 1):
            rng = Random(f"{self.setting.seed}:{size}:{draw}")  # noqa: S311  # a draw, no secret
            chosen = sorted(rng.sample(self.sessions_of(variant), size), key=lambda s: s.id)
            name = f"mixed|{variant.label}|{'+'.join(s.id for s in chosen)}"
            drawn.append(self._partial.part(name, partial(self._mix, variant, chosen)))
        self._say(f"{variant.label}: {DRAWS} stores of {size}")
        figures = [_figures([part], "open") for part in drawn]
        names = [name for name, value in figures[0].items() if isinstance(value, float)]
        means = {name: _mean([f[name] for f in figures]) for name in names}
        head = {key: value for key, value in self._head(variant, ()).items() if key != "sessions"}
        return {**head, "mixed": size, "draws": DRAWS, "drawn": [part["sessions"] for part in drawn], **means}

    def _mix(self, variant: Variant, sessions: Sequence[Session]) -> Row:
        run = Run(self.setting, variant.build(self._scales), said(sessions), structured=variant.structured)
        written = [asdict(turn) for turn in run.write()]
        return {
            "sessions": [s.id for s in sessions],
            "written": written,
            "open": self._asked(run, sessions, 1),
            "kept": len(run.shelf.memories()),
        }


def trained_on(encoder: str) -> frozenset[str]:
    """The session files that the prototype controller's weights for this encoder were made from."""
    path = trained.path_of(encoder)
    return frozenset(json.loads(path.read_text("utf-8")).get("trained_on", ())) if path.is_file() else frozenset()


def _packed(answered: Answered) -> Row:
    expected, slots = sorted(answered.found.expected), [sorted(held) for held in answered.found.slots]
    return {**asdict(answered), "found": {"expected": expected, "slots": slots}}


def found_of(row: Row) -> Found:
    """A query's finding as it was before it was put into a file."""
    found = row["found"]
    return Found(frozenset(found["expected"]), tuple(frozenset(held) for held in found["slots"]))


def _figures(parts: Sequence[Row], state: str) -> Row:
    """All figures of these sessions together."""
    asked = [row for part in parts for row in part[state]]
    kept = [part["kept" if state == "open" else "kept_closed"] for part in parts]
    expecting = [row["in_prompt"] for row in asked if row["found"]["expected"]]
    n = len(asked) or 1
    return {
        "queries": len(asked),
        **metrics.retrieval([found_of(row) for row in asked]),
        "in_prompt": sum(expecting) / len(expecting) if expecting else None,
        **metrics.writing([Wrote(**turn) for part in parts for turn in part["written"]]),
        "calls_per_query": sum(row["calls"] for row in asked) / n,
        "tokens_per_query": sum(row["tokens"] for row in asked) / n,
        "seconds_per_query": float(np.median([row["seconds"] for row in asked] or [0.0])),
        "kept": sum(kept) / (len(kept) or 1),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
