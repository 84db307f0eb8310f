"""Who meets whom, in which order, under which alias: decided from the study's seeds and the participant's number alone.

Within participants, orders are the rows of a balanced Latin square (Williams 1949): over one block of rows every condition
holds every place equally often and follows every other one equally often. An odd number of conditions needs the square and
its mirror. Between participants, conditions come in shuffled blocks. Aliases rotate over the conditions, in blocks too.
"""

from dataclasses import dataclass
from random import Random

from studyplatform.study.config import AliasTable, StudyConfig


@dataclass(frozen=True)
class PlannedArm:
    """`condition` is the condition's name, None for the shared arm; `order` counts the arms as they are first met, from 0."""

    condition: str | None
    order: int
    alias: AliasTable


@dataclass(frozen=True)
class PlannedSession:
    """`arm_order` names the arm; `number` is the arm's own (from 1), `position` the participant's (from 1)."""

    arm_order: int
    number: int
    position: int


@dataclass(frozen=True)
class Plan:
    arms: tuple[PlannedArm, ...]
    sessions: tuple[PlannedSession, ...]


def plan(config: StudyConfig, number: int) -> Plan:
    """The arms and sessions of participant `number` (from 0)."""
    shared = config.sessions.shared_first
    rounds = _rounds(config, number)
    aliases = _aliases(config, number)
    met = {name: i for i, name in enumerate(rounds[0], start=int(shared))}
    arms = [PlannedArm(name, order, aliases[name]) for name, order in met.items()]
    if shared:
        arms.insert(0, PlannedArm(None, 0, config.shared_session.alias))
    first = 2 if shared else 1
    slots = [(0, 1)] if shared else []
    slots += [(met[name], first + i) for i, names in enumerate(rounds) for name in names]
    sessions = tuple(PlannedSession(order, n, position) for position, (order, n) in enumerate(slots, start=1))
    return Plan(tuple(arms), sessions)


def orders(config: StudyConfig) -> int:
    """Participants per block: the planned number should be a multiple of it."""
    n = len(config.conditions)
    if config.study.design == "between":
        return n
    return 1 if config.sessions.order == "fixed" else len(latin_rows(n))


def latin_rows(n: int) -> list[tuple[int, ...]]:
    """The rows of a balanced Latin square of size `n`: n rows for an even n (and 1), 2n for an odd one.

    >>> latin_rows(4)
    [(0, 1, 3, 2), (1, 2, 0, 3), (2, 3, 1, 0), (3, 0, 2, 1)]
    """
    first = [(i + 1) // 2 if i % 2 else (n - i // 2) % n for i in range(n)]
    rows = [tuple((item + shift) % n for item in first) for shift in range(n)]
    return rows if n % 2 == 0 or n == 1 else rows + [row[::-1] for row in rows]


def _rounds(config: StudyConfig, number: int) -> list[tuple[str, ...]]:
    """For each round of sessions, the conditions in the order in which the participant meets them."""
    names = [condition.name for condition in config.conditions]
    count = max(1, config.sessions.per_arm - int(config.sessions.shared_first))
    seed = config.seeds.assignment
    if config.study.design == "between":
        return [(names[_shuffled(seed, number, len(names))],)] * count
    if config.sessions.order == "fixed":
        return [tuple(names)] * count
    Random(f"{seed}:names").shuffle(names)  # noqa: S311 - seeded on purpose: an assignment can be repeated
    rows = latin_rows(len(names))
    start = _shuffled(seed, number, len(rows))
    return [tuple(names[i] for i in rows[(start + turn) % len(rows)]) for turn in range(count)]


def _aliases(config: StudyConfig, number: int) -> dict[str, AliasTable]:
    shift = _shuffled(config.seeds.aliases, number, len(config.aliases))
    return {c.name: config.aliases[(i + shift) % len(config.aliases)] for i, c in enumerate(config.conditions)}


def _shuffled(seed: int, number: int, size: int) -> int:
    """The place of `number` in its block: each block of `size` is a permutation of its own."""
    block, place = divmod(number, size)
    places = list(range(size))
    Random(f"{seed}:{block}").shuffle(places)  # noqa: S311 - seeded on purpose: an assignment can be repeated
    return places[place]
