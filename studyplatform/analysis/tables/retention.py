"""Table 11: memories kept, summaries included, as a share of the exchanges ever made up to a session; sums over people.

Survivors of earlier sessions count as kept.
"""

from collections.abc import Sequence

import numpy as np

from studyplatform.analysis.tables import published, resampling
from studyplatform.analysis.tables.records import Held
from studyplatform.analysis.tables.table import Cell, Table


def table(records: Sequence[Held], *, seed: int = 1) -> Table:
    """Retention per condition and session, in percent."""
    place = resampling.places([r.person for r in records])
    weight = resampling.weights(len(place), seed=seed)
    cells: list[Cell] = []
    for condition in dict.fromkeys(r.condition for r in records):
        mine = [r for r in records if r.condition == condition]
        printed = published.columns(published.RETENTION.get(condition))
        for session in sorted({r.session for r in mine}):
            kept, made = np.zeros(len(place)), np.zeros(len(place))
            for r in mine:
                kept[place[r.person]] += r.kept if r.session == session else 0
                made[place[r.person]] += r.exchanges if r.session <= session else 0
            value, low, high = resampling.estimate(100 * resampling.ratio(weight, kept, made))
            column = f"S{session}"
            cells.append(Cell({"system": condition}, column, value, int(made.sum()), low, high, printed.get(column)))
    return Table(
        "11",
        "Retention: memories kept, of all exchanges up to the session",
        "%",
        "exchanges up to the session",
        tuple(cells),
        notes=("Kept: what the store holds after the session's forgetting, summaries and survivors of earlier sessions included.",),
    )
