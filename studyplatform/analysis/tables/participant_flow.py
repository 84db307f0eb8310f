"""The flow of participants: how many were assigned to each condition, and how many closed each of its sessions; and dropout."""

from studyplatform.analysis.rows import StudyRows
from studyplatform.analysis.tables.table import Cell, Table

CLOSED = "closed"


def table(rows: StudyRows) -> Table:
    """Participants by condition: assigned, and with session 1, 2, … closed; `stopped` and `withdrawn` among the assigned."""
    state = {p.participant: p.state for p in rows.people}
    closed = {(s.participant, s.number, c) for s in rows.sessions if s.state == CLOSED for c in rows.counts_in(s)}
    numbers = sorted({s.number for s in rows.sessions})
    found: list[Cell] = []
    for condition in rows.conditions:
        people = {a.participant for a in rows.arms if a.condition == condition}
        row = {"system": condition}
        found.append(Cell(row, "assigned", len(people), len(people)))
        found += [Cell(row, f"S{n} closed", sum((p, n, condition) in closed for p in people), len(people)) for n in numbers]
        found += [Cell(row, what, sum(state.get(p) == what for p in people), len(people)) for what in ("stopped", "withdrawn")]
    missing = () if found else ("participants assigned to conditions",)
    return Table("flow", "Flow of participants", "participants", "participants assigned", tuple(found), (), missing)
