"""The response judge (AMU paper, appendix A.1): five queries per session are answered with what each system recalls, and a model marks the responses.

The mark of a response is the mean of three: use of memory, avoiding what is irrelevant or outdated, helpfulness; 1 to 5 each. Whoever judges sees no system's
name, nor what it recalled.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from pydantic import BaseModel, Field

from memory.benchmark.bench import Bench, Row
from memory.benchmark.partial import Partial
from memory.benchmark.sessions import Question, Session
from memory.benchmark.variants import Variant
from studyplatform.llm import asking, prompts

FOLDER = Path(__file__).parent / "prompts"
QUERIES = 5
MAX_TOKENS = 160
NOTHING = "(nothing)"


class Marks(BaseModel):
    """1 (bad) to 5 (very good)."""

    use: int = Field(ge=1, le=5)
    avoidance: int = Field(ge=1, le=5)
    helpfulness: int = Field(ge=1, le=5)


def judged(bench: Bench, variants: Iterable[Variant], judge: str, done: Partial, *, sessions: int) -> list[Row]:
    """One row for each system: mean marks over what could be judged."""
    return [_row(bench, variant, judge, done, sessions) for variant in variants]


def drawn(session: Session, seed: int) -> list[Question]:
    """Five of a session's queries, the same for every system, by their ids."""
    known = sorted(session.questions, key=lambda question: question.id)
    chosen = Random(f"{seed}:{session.id}").sample(known, min(QUERIES, len(known)))  # noqa: S311  # a draw, no secret
    return sorted(chosen, key=lambda question: question.id)


def reference(session: Session, question: Question) -> str:
    """What the expected slots hold when the query is asked: the last words that stored or changed each, quoted."""
    holds = {t.memory_id: t.text for t in session.turns if t.action in ("store", "update") and t.at <= question.at}
    return "; ".join(f"“{holds[slot]}”" for slot in question.expected if slot in holds) or "(none is needed)"


def _row(bench: Bench, variant: Variant, judge: str, done: Partial, sessions: int) -> Row:
    marks: list[dict[str, int] | None] = []
    for session in bench.sessions_of(variant)[:sessions]:
        lines = {row["query"]: row["lines"] for row in bench.answered(variant, session)}
        for question in drawn(session, bench.setting.seed):
            name = f"judge|{judge}|{variant.label}|{question.id}"
            memory = "\n".join(lines[question.id])
            made = done.part(name, partial(_marks, bench, session, question, memory, judge))
            marks.append(made["marks"])
    return {"preset": variant.preset, "controller": variant.controller, "label": variant.label, **_means(marks)}


def _means(marks: Sequence[dict[str, int] | None]) -> Row:
    read = [m for m in marks if m is not None]
    means: dict[str, Any] = {name: sum(m[name] for m in read) / len(read) if read else None for name in Marks.model_fields}
    score = sum(means.values()) / len(means) if read else None
    return {"n": len(read), "unreadable": len(marks) - len(read), "score": score, **means}


def _marks(bench: Bench, session: Session, question: Question, memory: str, judge: str) -> Row:
    """The response and its marks; no marks where the model's words could not be read, twice."""
    study, config = bench.setting.study_id, bench.setting.config
    try:
        response = asking.complete(
            asking.Purpose("respond", study, "benchmark"),
            asking.Model(config.chat.response_model, max_tokens=MAX_TOKENS),
            prompts.load("respond@1", FOLDER),
            memory=memory or NOTHING,
            message=question.text,
        )
        marks = asking.ask(
            Marks,
            asking.Purpose("judge", study, "benchmark"),
            asking.Model(judge, max_tokens=60),
            prompts.load("judge@1", FOLDER),
            message=question.text,
            reference=reference(session, question),
            behaviour=question.expected_behaviour or "(not written down)",
            response=response,
        )
    except asking.BadAnswer as error:
        return {"marks": None, "raw": error.raw[:500]}
    return {"marks": marks.model_dump(), "response": response}
