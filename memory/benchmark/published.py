"""What the AMU paper prints (arXiv 2609.36976), in per cent: on its own benchmark, which is not public, with a 2B model. Not ours, and not comparable.

Its R@3 can be above its HIT@3, which no recall over queries that expect a memory can be; so its averages hold something else, most likely the queries
that expect none.
"""

from collections.abc import Mapping

COLUMNS = ("p_at_3", "r_at_3", "f1_at_3", "hit_at_3", "redundancy_at_3", "action_accuracy")
SYSTEMS: Mapping[str, Mapping[str, float]] = {
    name: dict(zip(COLUMNS, values, strict=False))
    for name, values in {
        "Full Compressed": (35.42, 55.50, 41.30, 57.00, 12.08),
        "Sliding Window": (24.42, 29.50, 25.87, 29.50, 11.75),
        "Mem0": (34.08, 57.50, 40.88, 56.00, 3.63),
        "A-MAC": (30.36, 58.76, 37.96, 54.50, 3.18),
        "A-MEM": (35.13, 56.90, 40.36, 56.50, 2.88),
        "AMU": (37.33, 63.50, 44.47, 57.50, 2.83, 67.70),
    }.items()
}
ABLATIONS: Mapping[str, Mapping[str, float]] = {
    "without filtering": {"f1_at_3": 34.30, "redundancy_at_3": 2.25, "action_accuracy": 65.40},
    "without storage management": {"f1_at_3": 25.62, "redundancy_at_3": 0.25, "action_accuracy": 34.50},
}
SWEEPS: Mapping[str, Mapping[str, float]] = {
    "candidate_threshold 0.4": {"f1_at_3": 43.68, "redundancy_at_3": 2.75, "action_accuracy": 66.80},
    "candidate_threshold 0.6": {"f1_at_3": 44.47, "redundancy_at_3": 2.83, "action_accuracy": 67.70},
    "candidate_threshold 0.8": {"f1_at_3": 45.82, "redundancy_at_3": 4.50, "action_accuracy": 65.80},
    "recall_threshold 0.4": dict(zip(COLUMNS, (36.00, 64.25, 43.75, 58.00, 2.83), strict=False)),
    "recall_threshold 0.55": dict(zip(COLUMNS, (37.33, 63.50, 44.47, 57.50, 2.83), strict=False)),
    "recall_threshold 0.7": dict(zip(COLUMNS, (45.33, 51.25, 46.33, 44.50, 2.00), strict=False)),
}
MIXED_F1: Mapping[int, float] = {1: 47.12, 2: 45.98, 3: 47.14}
JUDGED: Mapping[str, float] = {"no_memory": 2.92, "compressed_history": 3.21, "amu": 4.37}
VALIDITY: Mapping[str, float] = {"turns": 89.3, "queries": 94.1}
NOTE = "Published for another benchmark, encoder and controller model; not ours, not comparable."
