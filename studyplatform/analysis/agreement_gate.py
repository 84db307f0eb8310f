"""The gate on agreement: passed, failed or undefined, with what explains it. A bare kappa at a low prevalence misleads."""

from dataclasses import dataclass
from typing import Literal

from studyplatform.analysis.agreement_report import Group, Report

Standing = Literal["passed", "failed", "undefined"]
LOW_PREVALENCE = 0.2
# The same simulated raters at three prevalences (shared trait, equal noise): only the prevalence moves kappa.
SAME_RATERS = {0.5: 0.505, 0.1: 0.408, 0.05: 0.294}


@dataclass(frozen=True)
class Verdict:
    """Whether one group reached the threshold, and why, in sentences."""

    name: str
    standing: Standing
    kappa: float | None
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Gate:
    """The study as a whole and each transcript by itself. Passed only where the study passes and no transcript fails."""

    threshold: float
    study: Verdict
    transcripts: tuple[Verdict, ...]

    @property
    def passed(self) -> bool:
        return self.study.standing == "passed" and not self.below

    @property
    def below(self) -> tuple[Verdict, ...]:
        return tuple(verdict for verdict in self.transcripts if verdict.standing == "failed")


def gate_of(report: Report, threshold: float) -> Gate:
    transcripts = tuple(verdict_of(group, threshold) for group in report.by["conversation"].values())
    return Gate(threshold, verdict_of(report.overall, threshold), transcripts)


def verdict_of(group: Group, threshold: float) -> Verdict:
    kappa = group.found.fleiss_kappa
    if kappa.value is None:
        return Verdict(group.name, "undefined", None, (f"There is no kappa: {kappa.reason}.",))
    standing: Standing = "passed" if kappa.value >= threshold else "failed"
    sign = "at least" if standing == "passed" else "below"
    reasons = [f"Fleiss’ kappa is {kappa.value:.3f}, {sign} {threshold:g}."]
    reasons += _about_interval(group, threshold) + _about_prevalence(group) + _about_marks(group)
    return Verdict(group.name, standing, kappa.value, tuple(reasons))


def _about_interval(group: Group, threshold: float) -> list[str]:
    around = group.around["fleiss_kappa"]
    if around.low is None or around.high is None:
        return []
    if around.low < threshold <= around.high:
        return [
            f"The 95 % interval, {around.low:.3f} to {around.high:.3f}, holds {threshold:g}: these transcripts cannot tell on which side it is."
        ]
    return [f"The 95 % interval is {around.low:.3f} to {around.high:.3f}."]


def _about_prevalence(group: Group) -> list[str]:
    share, ac1, both = group.found.prevalence.value, group.found.gwet_ac1.value, group.found.positive_agreement.value
    if share is None or not 0 < share < LOW_PREVALENCE:
        return []
    known = ", ".join(f"{kappa:.3f} at {prevalence:.0%}" for prevalence, kappa in SAME_RATERS.items()).replace("%", " %")
    told = [
        f"{100 * share:.1f} % of the labels are “important”. At so low a share kappa falls with the share alone: simulated raters alike in all else reach {known}."
    ]
    if ac1 is not None and both is not None:
        told.append(
            f"Gwet’s AC1, which moves little with the share, is {ac1:.3f}; where one annotator marks, another does in {100 * both:.1f} %."
        )
    return told


def _about_marks(group: Group) -> list[str]:
    if group.chance.value is None or group.most.value is None:
        return []
    told = f"With as many marks per transcript as each annotator set, chance alone gives {group.chance.value:.3f}"
    return [f"{told}, and the most that could be reached is {group.most.value:.3f}."]
