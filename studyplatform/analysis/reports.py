"""Every table of a study, from its rows: the one registry. Pure; a table that lacks its input says so.

Keys: `table1` … as the LUFY paper numbers them, others by name.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping

from studyplatform.analysis.rows import AnswerRow, StudyRows
from studyplatform.analysis.tables import (
    answer_scores,
    comparisons,
    conversation_size,
    importance_agreement,
    latencies,
    model_ratings,
    participant_flow,
    question_sets,
    retention,
    sentiment,
    systems,
    transcript_ratings,
)
from studyplatform.analysis.tables.records import Answered, Held, Marked, Survived
from studyplatform.analysis.tables.table import Table

Made = dict[str, Table]


def tables(rows: StudyRows, *, seed: int = 1) -> Made:
    """Every table, in the order of the report."""
    makers: Mapping[str, Callable[[], Table]] = {
        "flow": lambda: participant_flow.table(rows),
        "table1": lambda: conversation_size.table(rows, seed=seed),
        "table3": lambda: systems.table(rows),
        "table4": lambda: transcript_ratings.table(rows, seed=seed),
        "table5": lambda: sentiment.table(rows, seed=seed),
        "table6": lambda: model_ratings.table(rows, seed=seed),
        "table8": lambda: answer_scores.table(answered(rows), judge=judges(rows), seed=seed),
        "table9": lambda: importance_agreement.table(marked(rows), survived(rows), seed=seed),
        "table11": lambda: retention.table(held(rows), seed=seed),
        "table12": lambda: question_sets.recall(answered(rows), judge=judges(rows), seed=seed),
        "table13": lambda: question_sets.precision(answered(rows), judge=judges(rows), seed=seed),
        "own_ratings": lambda: transcript_ratings.own(rows, seed=seed),
        "comparisons": lambda: comparisons.table(rows, seed=seed),
        "latency": lambda: latencies.table(rows),
    }
    made = {key: make() for key, make in makers.items()}
    return {key: _named(rows, key, table) for key, table in made.items()}


NEEDS = {
    "table8": "graded answers to the participants' questions",
    "table11": "memories and what forgetting did to them",
    "table12": "graded answers to the participants' questions",
    "table13": "graded answers to the participants' questions",
}


def _named(rows: StudyRows, key: str, table: Table) -> Table:
    """A table without a cell names what it lacks, and why the source cannot have it where that is known."""
    if table.cells:
        return table
    missing = table.missing or (NEEDS.get(key, "its input"),)
    reason = rows.lacking.get(key)
    return Table(
        table.name,
        table.title,
        table.unit,
        table.counted,
        (),
        table.notes,
        (*missing, reason) if reason and reason not in missing else missing,
    )


def answered(rows: StudyRows) -> list[Answered]:
    """Graded answers alone; an ungraded one counts neither as asked nor as wrong."""
    return [Answered(a.participant, a.condition, a.after, a.of, a.answered, a.correct) for a in _in_order(rows) if a.correct is not None]


def _in_order(rows: StudyRows) -> list[AnswerRow]:
    at = {c: i for i, c in enumerate(rows.conditions)}
    return sorted(rows.answers, key=lambda a: (at[a.condition], a.participant, a.after, a.of, a.number))


def judges(rows: StudyRows) -> str:
    """Who judged the answers, and how many answers nobody has judged."""
    named = sorted({a.judge for a in rows.answers if a.judge})
    ungraded = sum(a.correct is None for a in rows.answers)
    return "; ".join(named or ["nobody"]) + (f"; {ungraded} answers are not graded and left out" if ungraded else "")


def held(rows: StudyRows) -> list[Held]:
    return [Held(h.participant, h.condition, h.session, h.exchanges, h.kept) for h in rows.held]


def survived(rows: StudyRows) -> list[Survived]:
    """A recording here is a participant under a condition."""
    return [
        Survived(h.participant, f"{h.participant}/{h.condition}", h.condition, h.session, h.exchanges, h.kept_exchanges) for h in rows.held
    ]


def marked(rows: StudyRows) -> list[Marked]:
    """What each annotator marked, by transcript; a shared session's marks stand in every condition of its participant."""
    marks: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for label in rows.labels:
        mine = marks[label.session][label.annotator]
        if label.value == 1:
            mine.add(label.exchange)
    made: dict[str, int] = defaultdict(int)
    for turn in rows.turns:
        made[turn.session] += turn.role == "user"
    found = []
    for condition in rows.conditions:
        for code, raters in marks.items():
            session = rows.by_code[code]
            if condition in rows.counts_in(session):
                key = f"{session.participant}/{condition}"
                sets = {who: frozenset(marks_of) for who, marks_of in sorted(raters.items())}
                found.append(Marked(session.participant, key, condition, session.number, made[code], sets))
    return found
