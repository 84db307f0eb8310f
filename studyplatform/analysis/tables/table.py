"""What every table is made of: cells with their interval, their n and, where a paper printed one, its figure beside ours."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

ROOM = 6  # columns that can carry an interval on a terminal


@dataclass(frozen=True)
class Cell:
    """One figure, in the table's unit. `row`: what its row is, by label; `low`, `high`: its 95 % interval; `paper`: the printed figure.

    `value` None: it cannot be had from these records; a note says why. `n`: what it rests on, in the table's `counted`.
    """

    row: Mapping[str, str]
    column: str
    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    paper: float | None = None


@dataclass(frozen=True)
class Table:
    """`name`: its number in the LUFY paper; `unit`: of every value; `counted`: what n counts; `missing`: what it would need and has not."""

    name: str
    title: str
    unit: str
    counted: str
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def value(self, column: str, **row: str) -> float | None:
        """The figure of one cell.

        Raises:
            KeyError: there is no such cell.
        """
        return self.cell(column, **row).value

    def cell(self, column: str, **row: str) -> Cell:
        """One cell. Raises KeyError when there is none."""
        for cell in self.cells:
            if cell.column == column and cell.row == row:
                return cell
        raise KeyError((column, row))


def as_json(table: Table) -> dict[str, Any]:
    """`{title, unit, counted, rows, notes, missing}`; a row for each cell."""
    return {
        "title": table.title,
        "unit": table.unit,
        "counted": table.counted,
        "rows": list(records(table)),
        "notes": list(table.notes),
        "missing": list(table.missing),
    }


def records(table: Table) -> Iterator[dict[str, Any]]:
    """One flat record per cell: the row's labels, column, value, low, high, n, paper."""
    for cell in table.cells:
        figures = {name: _round(getattr(cell, name)) for name in ("value", "low", "high", "paper")}
        yield {**cell.row, "column": cell.column, **figures, "n": cell.n}


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def as_text(table: Table) -> Iterator[str]:
    """The table for a terminal: our figures, with their intervals where few columns leave room, under them the paper's, marked so."""
    yield f"Table {table.name}. {table.title} ({table.unit}; n counts {table.counted})"
    if table.cells:
        columns = list(dict.fromkeys(cell.column for cell in table.cells))
        labels = list(table.cells[0].row)
        yield from _aligned([(*labels, *columns), *_lines(table, labels, columns)], left=len(labels))
    yield from (f"  {note}" for note in table.notes)
    yield from (f"  missing: {what}" for what in table.missing)


def _lines(table: Table, labels: Sequence[str], columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    rows: dict[tuple[str, ...], dict[str, Cell]] = {}
    for cell in table.cells:
        rows.setdefault(tuple(cell.row[label] for label in labels), {})[cell.column] = cell
    for row, cells in rows.items():
        if any(cell.value is not None for cell in cells.values()):
            yield (*row, *(_shown(cells.get(column), room=len(columns) <= ROOM) for column in columns))
        if any(cell.paper is not None for cell in cells.values()):
            yield (f"{row[0]} (paper)", *row[1:], *(_printed(cells.get(column)) for column in columns))


def _shown(cell: Cell | None, *, room: bool) -> str:
    if cell is None or cell.value is None:
        return "–"
    interval = f" [{cell.low:.0f}, {cell.high:.0f}]" if room and cell.low is not None and cell.high is not None else ""
    return f"{cell.value:.1f}{interval}"


def _printed(cell: Cell | None) -> str:
    return "" if cell is None or cell.paper is None else f"{cell.paper:.1f}"


def _aligned(rows: Sequence[Sequence[str]], *, left: int) -> Iterator[str]:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        cells = (cell.ljust(width) if i < left else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths, strict=True)))
        yield "  " + "  ".join(cells).rstrip()
