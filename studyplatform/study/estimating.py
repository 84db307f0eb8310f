"""What a design means, in people's hours, money and work: computed from the design alone."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from studyplatform.study.assignment import orders, plan
from studyplatform.study.config import StudyConfig

Price = Callable[[str], tuple[float, float] | None]

# Assumptions behind the estimates; they are printed with them.
MINUTES_PER_TURN = 0.75
MINUTES_PER_QUESTION = 2.0
TOKENS_PER_TURN_IN = 900
TOKENS_PER_TURN_OUT = 90
TOKENS_PER_ANSWER_IN = 500
TOKENS_PER_ANSWER_OUT = 40


@dataclass(frozen=True)
class Meaning:
    """Per person unless the name says otherwise. `model_cost`: None where a model's price is not known."""

    participants: int
    design: str
    conditions: int
    visits: int
    minutes_per_visit: float
    hours: float
    total_hours: float
    pay: float
    total_pay: float
    currency: str
    messages: int
    model_cost: float | None
    total_cost: float | None
    transcripts_to_label: int
    utterances_to_label: int
    question_pairs: int
    answers_to_grade: int
    orders: int
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def meaning(config: StudyConfig, price: Price = lambda model: None) -> Meaning:
    """The size of a study.

    Args:
        price: of a model by name, (in, out) per million tokens in the study's currency; None if not known.
    """
    n = config.study.participants
    visits = len(plan(config, 0).sessions)
    turns = _turns(config)
    minutes = max(config.sessions.min_minutes, turns * MINUTES_PER_TURN) + config.sessions.questions * MINUTES_PER_QUESTION
    hours = visits * minutes / 60
    answers = answers_per_person(config) * n
    pay = visits * config.study.pay_per_session
    model_cost = _model_cost(config, visits * turns * n, answers, price)
    return Meaning(
        participants=n,
        design=config.study.design,
        conditions=len(config.conditions),
        visits=visits,
        minutes_per_visit=round(minutes, 1),
        hours=round(hours, 2),
        total_hours=round(hours * n, 1),
        pay=round(pay, 2),
        total_pay=round(pay * n, 2),
        currency=config.study.currency,
        messages=visits * turns * n,
        model_cost=None if model_cost is None else round(model_cost, 2),
        total_cost=None if model_cost is None else round(pay * n + model_cost, 2),
        transcripts_to_label=visits * n,
        utterances_to_label=visits * turns * n,
        question_pairs=visits * config.sessions.questions * n,
        answers_to_grade=answers,
        orders=orders(config),
        warnings=tuple(_warnings(config)),
    )


def answers_per_person(config: StudyConfig) -> int:
    """After each session s of an arm, every pair of its sessions up to s is asked; a shared session's in every arm."""
    arms = len(config.conditions) if config.study.design == "within" else 1
    per_arm = config.sessions.per_arm
    return arms * config.sessions.questions * per_arm * (per_arm + 1) // 2


def _turns(config: StudyConfig) -> int:
    """A session's participant turns: the minimum, or as many as its minutes hold, up to the maximum."""
    least = max(config.sessions.min_turns, round(config.sessions.min_minutes / MINUTES_PER_TURN))
    return min(least, config.sessions.max_turns or least)


def _model_cost(config: StudyConfig, turns: int, answers: int, price: Price) -> float | None:
    reply = price(config.chat.response_model)
    answer = price(config.memory.answer_model or config.chat.response_model)
    if reply is None or answer is None:
        return None
    millions = (turns * TOKENS_PER_TURN_IN * reply[0] + turns * TOKENS_PER_TURN_OUT * reply[1]) / 1e6
    return millions + (answers * TOKENS_PER_ANSWER_IN * answer[0] + answers * TOKENS_PER_ANSWER_OUT * answer[1]) / 1e6


def _warnings(config: StudyConfig) -> list[str]:
    found = []
    n, block, aliases = config.study.participants, orders(config), len(config.aliases)
    if len(config.conditions) < 2:
        found.append("There is a single condition: nothing will be compared.")
    if n % block:
        found.append(f"{n} participants do not divide into the {block} orders: {_nearest(n, block)} would be balanced.")
    if aliases == 1 and len(config.conditions) > 1 and config.study.design == "within":
        found.append("One alias for all: people cannot tell the assistants apart, and what they say of one may be meant for another.")
    elif n % aliases:
        found.append(
            f"{n} participants do not divide into the {aliases} ways of giving out aliases: {_nearest(n, aliases)} would be balanced."
        )
    if config.sessions.order == "fixed" and config.study.design == "within":
        found.append('order = "fixed": every person meets the conditions in the same order, so order and condition cannot be told apart.')
    return found


def _nearest(n: int, block: int) -> str:
    below = n // block * block
    return f"{below} or {below + block}" if below else str(block)
