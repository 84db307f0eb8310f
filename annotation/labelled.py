"""The labels that count, as plain rows: what agreement, tables, fitting and releases take."""

from dataclasses import dataclass

from annotation.models import Label, Purpose, WorkState
from studyplatform.study.models import Study


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One annotator's mark on one utterance. `value`: 1 important, 0 not, None unsure; `condition_code` None: shared."""

    session_code: str
    participant_code: str
    condition_code: str | None
    session_number: int
    seq: int
    annotator: str
    value: int | None
    round: int


def labels_of(study: Study, *, round: int = 1) -> list[LabelRow]:
    """Submitted independent labels of one round, ordered by session, utterance and annotator.

    Left out by rule: drafts, surplus and excluded work, practice, gold and calibration, utterances without a mark. Pilot
    and simulated people count only as the study itself counts them.
    """
    counted = (
        Label.objects.filter(study=study, round=round, state=WorkState.SUBMITTED, purpose=Purpose.INDEPENDENT)
        .filter(session__participant__pilot=False, session__participant__simulated=study.simulated)
        .exclude(choice=Label.Choice.NONE)
        .order_by("session_id", "seq", "assignment__annotator__number")
    )
    value = {"important": 1, "not": 0}
    fields = (
        "session__code",
        "session__participant__code",
        "session__arm__condition__code",
        "session__number",
        "seq",
        "assignment__annotator__number",
        "choice",
        "round",
    )
    return [
        LabelRow(code, person, condition, number, seq, f"A{who}", value.get(choice), turn)
        for code, person, condition, number, seq, who, choice, turn in counted.values_list(*fields)
    ]
