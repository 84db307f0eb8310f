"""What must hold between the fields of a study file. Each rule looks at whole tables and yields (path, message)."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from studyplatform.study.config import AliasTable, ConditionTable, SessionsTable, SharedSessionTable, StudyTable
from studyplatform.study.lines import Path

Finding = tuple[Path, str]


def minimum_below_maximum(sessions: SessionsTable) -> Iterator[Finding]:
    if sessions.max_minutes is not None and sessions.max_minutes < sessions.min_minutes:
        yield ("sessions", "max_minutes"), f"the maximum ({sessions.max_minutes:g}) is below min_minutes ({sessions.min_minutes:g})"
    if sessions.max_turns is not None and sessions.max_turns < sessions.min_turns:
        yield ("sessions", "max_turns"), f"the maximum ({sessions.max_turns}) is below min_turns ({sessions.min_turns})"


def window_holds_a_session(sessions: SessionsTable) -> Iterator[Finding]:
    if sessions.window_hours is not None and sessions.window_hours * 60 < max(sessions.min_minutes, 1):
        yield (
            ("sessions", "window_hours"),
            f"a window of {sessions.window_hours:g} h is shorter than the {sessions.min_minutes:g} minutes that a session takes at least",
        )


def idle_is_shorter_than_window(sessions: SessionsTable) -> Iterator[Finding]:
    if sessions.window_hours is not None and sessions.idle_minutes >= sessions.window_hours * 60:
        yield ("sessions", "idle_minutes"), "the window would be over before a person counts as idle"


def shared_first_needs_a_second(sessions: SessionsTable) -> Iterator[Finding]:
    if sessions.shared_first and sessions.per_arm < 2:
        yield (
            ("sessions", "per_arm"),
            "with shared_first, the shared session counts as each arm's first, so per_arm must be at least 2; or set shared_first = false",
        )


def condition_names_differ(conditions: Sequence[ConditionTable]) -> Iterator[Finding]:
    yield from _repeated("conditions", [c.name for c in conditions], "name", "another condition has this name")


def alias_names_differ(aliases: Sequence[AliasTable]) -> Iterator[Finding]:
    yield from _repeated("aliases", [a.name.casefold() for a in aliases], "name", "another alias has this name")


def alias_marks_differ(aliases: Sequence[AliasTable]) -> Iterator[Finding]:
    yield from _repeated("aliases", [f"{a.colour} {a.shape}" for a in aliases], "shape", "another alias has this colour and shape")


def enough_aliases(study: StudyTable, conditions: Sequence[ConditionTable], aliases: Sequence[AliasTable]) -> Iterator[Finding]:
    if study.design == "within" and 1 < len(aliases) < len(conditions):
        yield (
            ("aliases",),
            f"{len(aliases)} aliases for {len(conditions)} conditions: give one for each, or a single one for all",
        )


def shared_alias_is_its_own(shared_session: SharedSessionTable, aliases: Sequence[AliasTable]) -> Iterator[Finding]:
    alias = shared_session.alias
    if len(aliases) > 1 and alias.name.casefold() in {a.name.casefold() for a in aliases}:
        yield (
            ("shared_session", "alias", "name"),
            f'"{alias.name}" is also the name of an assistant met later: the first conversation needs a name of its own',
        )


def alias_says_nothing(conditions: Sequence[ConditionTable], aliases: Sequence[AliasTable]) -> Iterator[Finding]:
    words = {word.casefold() for c in conditions for word in (c.name, c.preset)}
    for i, alias in enumerate(aliases):
        if alias.name.casefold().replace(" ", "_") in words:
            yield ("aliases", i, "name"), "an alias must not name a condition or a preset: participants see it"


RULES: tuple[Callable[..., Iterator[Finding]], ...] = (
    minimum_below_maximum,
    window_holds_a_session,
    idle_is_shorter_than_window,
    shared_first_needs_a_second,
    condition_names_differ,
    alias_names_differ,
    alias_marks_differ,
    enough_aliases,
    shared_alias_is_its_own,
    alias_says_nothing,
)


def findings(tables: Mapping[str, Any]) -> Iterable[Finding]:
    """Every rule's findings, of the rules whose tables (their arguments' names) could all be read."""
    for rule in RULES:
        needs = rule.__code__.co_varnames[: rule.__code__.co_argcount]
        if all(name in tables for name in needs):
            yield from rule(*(tables[name] for name in needs))


def _repeated(table: str, values: Sequence[str], key: str, message: str) -> Iterator[Finding]:
    often = {value for value, count in Counter(values).items() if count > 1}
    seen: set[str] = set()
    for i, value in enumerate(values):
        if value in often and value in seen:
            yield (table, i, key), message
        seen.add(value)
