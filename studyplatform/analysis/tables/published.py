"""The figures that the LUFY paper (Sumida et al. 2025) prints, by its own table numbers, in percent. None of them is ours.

Keys are the labels that our tables use: a preset's name, `lufy -A` for LUFY without arousal. Columns S1–S4 and the paper's own average.
"""

from collections.abc import Mapping

COLUMNS = ("S1", "S2", "S3", "S4", "average")
Row = tuple[float, ...]

TOP_K: Row = (52.5, 61.8, 71.6, 79.9, 84.8, 85.6, 88.2, 88.2, 90.6, 91.2)  # table 7

# Tables 8 and 14; printed -R2 equals LUFY in every cell. Table 14 prints LUFY's average recall as 45.0, table 8 as 44.9: the mean is 44.95.
SCORES: Mapping[str, Mapping[str, Row]] = {
    "naive_rag": {
        "precision": (75.6, 69.6, 74.2, 69.9, 72.3),
        "recall": (60.8, 51.0, 51.6, 46.6, 52.5),
        "F1": (67.4, 58.9, 60.9, 55.9, 60.8),
    },
    "memory_bank": {
        "precision": (63.6, 50.7, 57.4, 64.6, 59.1),
        "recall": (41.2, 29.4, 30.7, 31.9, 33.3),
        "F1": (50.0, 37.2, 40.0, 42.7, 42.5),
    },
    "lufy": {
        "precision": (80.0, 86.9, 86.8, 86.6, 85.1),
        "recall": (54.9, 51.0, 38.6, 35.3, 44.9),
        "F1": (65.1, 64.3, 53.4, 50.2, 58.3),
    },
    "lufy -A": {
        "precision": (64.3, 84.3, 81.4, 82.2, 78.1),
        "recall": (37.3, 52.0, 33.4, 32.9, 38.9),
        "F1": (47.2, 64.3, 47.4, 47.0, 51.5),
    },
    "lufy -P": {
        "precision": (79.0, 84.3, 77.3, 80.2, 80.2),
        "recall": (45.1, 45.1, 32.1, 29.4, 38.0),
        "F1": (57.4, 58.8, 45.4, 43.0, 51.7),
    },
    "lufy -L": {
        "precision": (74.8, 83.8, 83.2, 77.1, 79.7),
        "recall": (49.0, 44.1, 32.8, 28.9, 38.7),
        "F1": (59.2, 57.8, 47.1, 42.0, 51.5),
    },
    "lufy -R1": {
        "precision": (68.6, 82.0, 82.3, 87.0, 80.0),
        "recall": (47.1, 47.1, 38.0, 38.7, 42.7),
        "F1": (55.9, 59.8, 52.0, 53.6, 55.3),
    },
    "lufy -R2": {
        "precision": (80.0, 86.9, 86.8, 86.6, 85.1),
        "recall": (54.9, 51.0, 38.6, 35.3, 45.0),
        "F1": (65.1, 64.3, 53.4, 50.2, 58.3),
    },
}

# Tables 9 and 15.
AGREEMENT: Mapping[str, Row] = {
    "annotators": (18.3, 26.1, 23.5, 24.2, 23.0),
    "random": (13.1, 10.0, 10.6, 11.1, 11.2),
    "memory_bank": (18.3, 11.8, 15.7, 13.7, 14.9),
    "lufy": (20.9, 12.4, 11.8, 14.4, 14.9),
    "lufy -A": (21.5, 11.8, 9.1, 14.4, 14.2),
    "lufy -P": (23.5, 11.8, 10.4, 13.7, 14.9),
    "lufy -L": (20.2, 11.8, 9.8, 15.0, 14.2),
    "lufy -R1": (21.5, 10.4, 11.1, 13.7, 14.2),
    "lufy -R2": (20.9, 12.4, 11.8, 14.4, 14.9),
}

RETENTION: Mapping[str, Row] = {  # table 11
    "naive_rag": (100.0, 100.0, 100.0, 100.0),
    "memory_bank": (13.3, 7.8, 5.9, 5.7),
    "lufy": (12.7, 8.6, 6.9, 5.7),
}

# Tables 12 and 13, by column (asked after session s, about session q). LUFY's recall in S2 Q1 (53.0) follows from no count of 51 questions.
_SETS = tuple(f"S{s} Q{q}" for s in range(1, 5) for q in range(1, s + 1))
RECALL: Mapping[str, Mapping[str, float]] = {
    name: dict(zip(_SETS, row, strict=True))
    for name, row in {
        "naive_rag": (60.8, 58.8, 43.1, 52.9, 37.3, 64.7, 49.0, 35.3, 64.7, 37.3),
        "memory_bank": (41.2, 33.3, 25.5, 35.3, 17.6, 39.2, 37.3, 19.6, 27.5, 43.1),
        "lufy": (54.9, 53.0, 49.0, 47.1, 27.5, 41.2, 45.1, 31.4, 19.6, 45.1),
    }.items()
}
PRECISION: Mapping[str, Mapping[str, float]] = {
    name: dict(zip(_SETS, row, strict=True))
    for name, row in {
        "naive_rag": (75.6, 68.2, 71.0, 64.3, 61.3, 97.1, 62.5, 62.1, 91.7, 63.3),
        "memory_bank": (63.6, 56.7, 44.8, 60.0, 40.9, 71.4, 63.3, 43.5, 63.6, 88.0),
        "lufy": (80.0, 81.3, 92.6, 82.8, 77.8, 100.0, 82.1, 88.9, 83.3, 92.0),
    }.items()
}


def columns(row: Row | None) -> dict[str, float]:
    """A printed row by column; empty where nothing was printed."""
    return dict(zip(COLUMNS, row, strict=False)) if row else {}
