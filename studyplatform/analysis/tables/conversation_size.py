"""Table 1: turns and words per conversation.

A conversation is one participant under one condition over all sessions (a shared session counts in each); a turn is one utterance, blank ones included; words are
`len(text.split())`, of participant and bot alike.
"""

from collections import Counter

import numpy as np

from studyplatform.analysis.rows import StudyRows
from studyplatform.analysis.tables import resampling
from studyplatform.analysis.tables.published_outcomes import SIZE
from studyplatform.analysis.tables.table import Cell, Table


def table(rows: StudyRows, *, seed: int = 1) -> Table:
    """All conditions together, as the paper prints it, and each by itself."""
    turns: Counter[tuple[str, str]] = Counter()
    words: Counter[tuple[str, str]] = Counter()
    for turn in rows.turns:
        session = rows.by_code[turn.session]
        for condition in rows.counts_in(session):
            turns[session.participant, condition] += 1
            words[session.participant, condition] += turn.words
    place = resampling.places([person for person, _ in turns])
    weight = resampling.weights(len(place), seed=seed)
    found: list[Cell] = []
    for label in ("all", *rows.conditions):
        mine = [key for key in turns if label in ("all", key[1])]
        for column, counted in (("turns", turns), ("words", words)):
            total, n = np.zeros(len(place)), np.zeros(len(place))
            for key in mine:
                total[place[key[0]]] += counted[key]
                n[place[key[0]]] += 1
            if mine:
                value, low, high = resampling.estimate(resampling.ratio(weight, total, n))
                found.append(Cell({"system": label}, column, value, len(mine), low, high, SIZE[column] if label == "all" else None))
    notes = [
        "A conversation: one participant under one condition over all sessions; a shared session counts in each condition.",
        "The paper's word count (5,538.5) follows from no natural definition of a word: it stands beside ours, and no match is claimed.",
    ]
    if rows.language == "ja":
        notes.append("Words are separated by white space, which Japanese does not use: the count is of stretches of text, not of words.")
    missing = () if found else ("utterances",)
    return Table("1", "Turns and words per conversation", "mean", "conversations", tuple(found), tuple(notes), missing)
