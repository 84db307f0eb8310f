"""Whether the benchmark's labels hold: a sheet for independent readers, and what they make of it.

A sheet shows, of every session, turns and queries drawn by id, each with what a reader needs: the open slots before a turn as the words that filled
them; for a query, what all slots hold. The reader gives a label of their own and never sees ours: for a turn the action, for a query the slots, with blanks
between. A label is valid for a reader who gives the same (AMU paper, 4.2: mean validity over readers); agreement is among the readers.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from memory.benchmark.published import VALIDITY
from memory.benchmark.sessions import ACTIONS, Session, Turn

QUERIES = 5
COLUMNS = ("id", "kind", "session", "theme", "at", "text", "open_slots", "label", "slots")


class BadSheet(Exception):
    """A sheet that cannot be used; the message says where."""


@dataclass(frozen=True)
class Read:
    """One reader's answers by id: of turns the action, of queries the slots in one text."""

    reader: str
    turns: dict[str, str]
    queries: dict[str, str]


def write_sheet(path: Path, sessions: Sequence[Session], turns: int, seed: int) -> None:
    """A CSV file to be filled in. The same seed draws the same ids."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        out = csv.DictWriter(file, COLUMNS)
        out.writeheader()
        for session in sessions:
            out.writerows(_rows(session, turns, seed))


def _rows(session: Session, turns: int, seed: int) -> Iterator[dict[str, str]]:
    chosen = drawn([t.id for t in session.turns], turns, f"{seed}:{session.id}:turns")
    asked = drawn([q.id for q in session.questions], QUERIES, f"{seed}:{session.id}:queries")
    same = {"session": session.id, "theme": session.head.theme, "label": "", "slots": ""}
    held: dict[str, str] = {}
    for turn in session.turns:
        if turn.id in chosen:
            yield {**same, "id": turn.id, "kind": "turn", "at": turn.at.isoformat(), "text": turn.text, "open_slots": _shown(held)}
        _hold(held, turn)
    for question in session.questions:
        if question.id in asked:
            at = question.at.isoformat()
            yield {**same, "id": question.id, "kind": "query", "at": at, "text": question.text, "open_slots": _shown(held)}


def drawn(ids: Sequence[str], wanted: int, seed: str) -> frozenset[str]:
    """So many of the ids, by the seed."""
    return frozenset(Random(seed).sample(sorted(ids), min(wanted, len(ids))))  # noqa: S311  # a draw, no secret


def _hold(held: dict[str, str], turn: Turn) -> None:
    if turn.memory_id and turn.action in ("store", "update"):
        held[turn.memory_id] = turn.text


def _shown(held: dict[str, str]) -> str:
    return "\n".join(f"{slot}: {text}" for slot, text in held.items())


def validity(paths: Sequence[Path], sessions: Sequence[Session]) -> dict[str, Any]:
    """`{readers, turns, queries}`: for each kind n, the mean share of our labels that a reader gave too, and the readers' agreement.

    Raises:
        BadSheet: a file is no sheet, is not filled in, or holds other ids than the first.
    """
    reads = [_read(path) for path in paths]
    turns: dict[str, str] = {turn.id: turn.action for session in sessions for turn in session.turns}
    queries = {question.id: _slots(question.expected) for session in sessions for question in session.questions}
    return {
        "readers": [read.reader for read in reads],
        "turns": _figures([(read.reader, read.turns) for read in reads], turns) | {"published_validity": VALIDITY["turns"] / 100},
        "queries": _figures([(read.reader, read.queries) for read in reads], queries) | {"published_validity": VALIDITY["queries"] / 100},
    }


def _figures(reads: Sequence[tuple[str, dict[str, str]]], gold: dict[str, str]) -> dict[str, Any]:
    first, ids = reads[0][0], list(reads[0][1])
    for reader, answers in reads:
        if set(answers) != set(ids):
            raise BadSheet(f"{reader} holds other ids than {first}.")
    if unknown := [i for i in ids if i not in gold]:
        raise BadSheet(f"{first}: {', '.join(unknown[:5])} not in the data.")
    shares = [sum(answers[i] == gold[i] for i in ids) / len(ids) for _, answers in reads] if ids else []
    table = [[answers[i] for _, answers in reads] for i in ids]
    return {
        "n": len(ids),
        "validity": sum(shares) / len(shares) if shares else None,
        "by_reader": shares,
        "percent_agreement": percent_agreement(table),
        "fleiss_kappa": fleiss_kappa(table),
    }


def _slots(slots: Sequence[str]) -> str:
    return " ".join(sorted(slots))


def _read(path: Path) -> Read:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError) as error:
        raise BadSheet(f"{path}: {error}.") from error
    if not rows or set(COLUMNS) - set(rows[0]):
        raise BadSheet(f"{path} is no sheet: it needs the columns {', '.join(COLUMNS)}.")
    turns, queries = {}, {}
    for line, row in enumerate(rows, start=2):
        label = (row["label"] or "").strip().lower()
        if row["kind"] == "query":
            queries[row["id"]] = _slots((row["slots"] or "").split())
        elif label not in ACTIONS:
            raise BadSheet(f"{path}:{line}: “{label}” is no action; write one of {', '.join(ACTIONS)}.")
        else:
            turns[row["id"]] = label
    return Read(path.name, turns, queries)


def percent_agreement(table: Sequence[Sequence[str]]) -> float | None:
    """Of all pairs of readers over all items, the share that agrees; None of fewer than two readers.

    >>> percent_agreement([["store", "store", "filter"]])
    0.3333333333333333
    """
    pairs = [a == b for row in table for i, a in enumerate(row) for b in row[i + 1 :]]
    return sum(pairs) / len(pairs) if pairs else None


def fleiss_kappa(table: Sequence[Sequence[str]]) -> float | None:
    """(P − Pe) / (1 − Pe): the agreement beyond what the labels' frequencies give by chance (Fleiss 1971). None where it is undefined."""
    observed = percent_agreement(table)
    labels = Counter(label for row in table for label in row)
    by_chance = sum((n / labels.total()) ** 2 for n in labels.values()) if labels else 1.0
    return None if observed is None or by_chance == 1 else (observed - by_chance) / (1 - by_chance)


def lines(document: dict[str, Any]) -> Iterator[str]:
    """For a terminal."""
    yield f"Readers: {', '.join(document['readers'])}"
    for kind in ("turns", "queries"):
        row = document[kind]
        shown = {key: "–" if row[key] is None else f"{row[key]:.3f}" for key in ("validity", "percent_agreement", "fleiss_kappa")}
        yield (
            f"{kind}: n {row['n']}, validity {shown['validity']} (published {row['published_validity']:.3f}, not ours), "
            f"agreement {shown['percent_agreement']}, Fleiss' kappa {shown['fleiss_kappa']}"
        )
