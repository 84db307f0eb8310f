"""The inspector's plots, as numbers for a template's SVG: no script, and the same in words for who cannot see them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from memory.explaining import Line, number
from memory.inspecting import Row

WIDTH, HEIGHT, EDGE = 240.0, 48.0, 30.0
TOP, BOTTOM = 6.0, 42.0
BAR, ZERO = 90.0, 22.0


@dataclass(frozen=True)
class Mark:
    """A point of a plot: `form` is dot, hit (recalled and used) or end (forgotten)."""

    form: str
    x: float
    y: float

    @property
    def cross(self) -> str:
        """The path of an end's cross."""
        return f"M{self.x + 6:g} {self.y - 3.5:g}l7 7m0 -7l-7 7"


@dataclass(frozen=True)
class Plot:
    """`line`: points of a polyline; `grid`: where the sessions are; `words`: all of it in a sentence."""

    line: str
    grid: tuple[float, ...]
    marks: tuple[Mark, ...]
    words: str


@dataclass(frozen=True)
class Bar:
    """One addend: from `x`, so wide, of a scale of `BAR` px to the right of the zero."""

    line: Line
    x: float
    width: float

    @property
    def adds(self) -> str:
        return number(self.line.adds)


def axis(sessions: Sequence[int]) -> list[tuple[int, float]]:
    """Each session and where it stands."""
    step = (WIDTH - 2 * EDGE) / max(1, len(sessions) - 1)
    return [(session, round(EDGE + i * step, 1)) for i, session in enumerate(sessions)]


def plots(rows: Sequence[Row], sessions: Sequence[int]) -> list[Plot]:
    """One plot per row, all on the scale of the strongest, so that they can be compared."""
    strongest = max((p.strength for row in rows for p in row.points if p.strength is not None), default=0.0)
    return [_plot(row, dict(axis(sessions)), max(strongest, 1e-9)) for row in rows]


def _plot(row: Row, at: dict[int, float], strongest: float) -> Plot:
    places: list[tuple[float, float]] = []
    marks: list[Mark] = []
    said: list[str] = []
    y = BOTTOM
    for point in row.points:
        if point.session not in at:
            continue
        x = at[point.session]
        if point.strength is not None:
            y = round(BOTTOM - (BOTTOM - TOP) * max(0.0, point.strength) / strongest, 1)
            places.append((x, y))
            marks.append(Mark("dot", x, y))
            said.append(f"{number(point.strength)} after session {point.session}")
        if point.used:
            marks.append(Mark("hit", x, y))
            said.append(f"used {point.used} time{'s' if point.used > 1 else ''} in session {point.session}")
        if point.kept is False:
            marks.append(Mark("end", x, y))
            said.append(f"forgotten after session {point.session}")
    words = f"Strength {', '.join(said)}" if said else "Nothing was judged or recalled yet"
    return Plot(" ".join(f"{x:g},{y:g}" for x, y in places), tuple(at.values()), tuple(marks), words)


def bars(lines: Sequence[Line]) -> tuple[Bar, ...]:
    """The addends of a strength, on one scale."""
    largest = max((abs(line.adds) for line in lines), default=1.0)
    found = []
    for line in lines:
        width = round(abs(line.adds) / largest * (BAR if line.adds > 0 else ZERO), 1)
        found.append(Bar(line, ZERO if line.adds > 0 else ZERO - width, max(width, 1.0)))
    return tuple(found)
