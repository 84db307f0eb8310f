"""One arm, with everything that is fixed about it while a study runs: policy, encoder, scorers, and where its sessions are.

A study's conditions, models and memory settings never change after the first consent, so an `ArmRef` may be kept as long as a
connection lives. What changes (memories, counters, summaries) is read when it is needed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from memory import encoders, registry
from memory.encoders import Encoder
from memory.measures import registry as measures
from memory.measures.scorer import Scorer
from memory.models import Summary
from memory.policy import MemoryPolicy
from studyplatform.study.config import StudyConfig
from studyplatform.study.models import Arm, Session
from studyplatform.study.studies import config_of


@dataclass(frozen=True)
class ArmRef:
    """`sources`: the session's row by the arm's session number; a shared first session is in every arm's. `zone`: IANA time zone."""

    id: int
    order: int
    study_id: int
    config: StudyConfig
    policy: MemoryPolicy
    encoder: Encoder
    scorers: tuple[Scorer, ...]
    sources: Mapping[int, int]
    zone: str

    def threshold(self, name: str) -> float:
        """The encoder's calibrated cosine of that name.

        Raises:
            KeyError: the encoder is not calibrated, and the study set no constant of its own.
        """
        return self.encoder.thresholds[name]


@dataclass(frozen=True)
class SessionRef:
    """A session of an arm. `number` is s; `key_summary` is what the sessions before left, fixed while this one runs."""

    id: int
    code: str
    number: int
    arm: ArmRef
    key_summary: str


def load(arm_id: int) -> ArmRef:
    """The arm of that id."""
    return arm_ref(Arm.objects.select_related("participant__study", "condition").get(pk=arm_id))


def arm_ref(arm: Arm) -> ArmRef:
    """Everything fixed about an arm: three small queries."""
    study = arm.participant.study
    config = config_of(study)
    return ArmRef(
        id=arm.pk,
        order=arm.order,
        study_id=study.pk,
        config=config,
        policy=registry.policy_for(arm),
        encoder=encoders.get(config.memory.encoder),
        scorers=measures.of(config),
        sources=session_ids(arm),
        zone=arm.participant.time_zone,
    )


def session_ref(session: Session) -> SessionRef:
    """What recall needs to know about a session; made once per connection or reply."""
    arm = load(session.arm_id)
    return SessionRef(session.pk, session.code, session.number, arm, shown_summary(arm, session.number))


def shared_arm_id(participant_id: int) -> int | None:
    """The participant's shared arm, where the study has a shared first session."""
    return Arm.objects.filter(participant_id=participant_id, condition=None).values_list("pk", flat=True).first()


def session_ids(arm: Arm) -> dict[int, int]:
    """Session rows by number: the arm's own, and the shared first session's, which every arm of the participant remembers."""
    sessions = Session.objects.filter(participant_id=arm.participant_id)
    shared = sessions.filter(arm__condition=None).values_list("number", "pk")
    own = sessions.filter(arm_id=arm.pk).values_list("number", "pk")
    return {**dict(shared), **dict(own)}


def shown_summary(arm: ArmRef, before: int) -> str:
    """The key summary as the arm's prompts show it: all but those of a bound that goes without do."""
    return key_summary(arm.id, before) if arm.policy.sees_summary() else ""


def key_summary(arm_id: int, before: int) -> str:
    """The key summary that the sessions before number `before` left; empty before the first."""
    rows = Summary.objects.filter(arm_id=arm_id, session__number__lt=before).order_by("-session__number")
    return rows.values_list("key_summary", flat=True).first() or ""
