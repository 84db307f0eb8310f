"""The agreement of a study's labels, and its gate: passed, or waived with a reason."""

from dataclasses import dataclass

from annotation.decisions import Waiver
from annotation.labelled import labels_of
from annotation.models import Label, Purpose, WorkState
from studyplatform.analysis.agreement_gate import Gate, gate_of
from studyplatform.analysis.agreement_report import Report, Setting, report_of
from studyplatform.study.models import Study
from studyplatform.study.studies import config_of


@dataclass(frozen=True)
class Standing:
    """The gate of a study with what was waived. `open` names what neither passed nor was waived: "the study" and transcripts."""

    gate: Gate
    waivers: tuple[Waiver, ...]
    open: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.open


def setting_of(study: Study) -> Setting:
    design = config_of(study)
    wanted = design.agreement
    return Setting(design.annotation.annotators_per_transcript, wanted.seed, wanted.cluster, wanted.resamples)


def report_for(study: Study, *, round: int = 1) -> Report:
    """The agreement of one round's counted labels, all rounds apart."""
    return report_of(labels_of(study, round=round), setting_of(study))


def rounds_of(study: Study) -> list[int]:
    """The rounds that have counted labels, the first of them the one that is always published."""
    counted = Label.objects.filter(study=study, state=WorkState.SUBMITTED, purpose=Purpose.INDEPENDENT)
    return sorted(counted.values_list("round", flat=True).distinct())


def standing_of(study: Study, report: Report, *, round: int = 1) -> Standing:
    """The gate over this report. A waiver of the study covers every transcript; one of a transcript, that transcript.

    A study without kappa does not pass; a transcript without one (nobody marked anything in it) does not fail.
    """
    gate = gate_of(report, config_of(study).agreement.threshold)
    waivers = tuple(Waiver.objects.filter(study=study, round=round).select_related("session", "made_by").order_by("made_at"))
    if any(waiver.session_id is None for waiver in waivers):
        return Standing(gate, waivers, ())
    waived = {waiver.session.code for waiver in waivers if waiver.session is not None}
    named = () if gate.study.standing == "passed" else ("the study",)
    return Standing(gate, waivers, named + tuple(verdict.name for verdict in gate.below if verdict.name not in waived))
