"""Tables 3 and 10: the systems that are compared, with every parameter that differs from another's or was set for this study."""

from studyplatform.analysis.rows import StudyRows
from studyplatform.analysis.tables.table import Cell, Table


def table(rows: StudyRows) -> Table:
    """A row per system and numeric parameter; what is not a number stands in the notes."""
    found: list[Cell] = []
    notes: list[str] = []
    for system in rows.systems:
        words = []
        for name, text in sorted(system.parameters.items()):
            try:
                found.append(Cell({"system": system.condition, "policy": system.policy, "parameter": name}, "value", float(text), 1))
            except ValueError:
                words.append(f"{name}: {text}")
        notes.append(f"{system.condition} is {system.policy}" + (f"; {'; '.join(words)}." if words else "."))
    missing = () if rows.systems else ("the systems behind the codes: the study is blinded",)
    return Table("3", "The systems compared, with their parameters", "the parameter's", "systems", tuple(found), tuple(notes), missing)
