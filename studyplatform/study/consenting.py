"""Consent: the exact text agreed to, and, with the first one, the person's place in the study's list of assignments."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from studyplatform.study import scheduling, studies
from studyplatform.study.assignment import plan
from studyplatform.study.config import StudyConfig
from studyplatform.study.models import Arm, Condition, Consent, Participant, Session, Study


@dataclass(frozen=True)
class Statement:
    """What a person is asked to agree to. `sha256` covers everything that the study's file says on the page."""

    version: str
    text: str
    remembered_for: str
    about_me: str
    scopes: tuple[str, ...]
    sha256: str


def statement(config: StudyConfig) -> Statement:
    """The consent statement of a design."""
    parts = {
        "version": config.consent.version,
        "text": config.consent.text,
        "remembered_for": config.consent.remembered_for,
        "about_me": config.memory.about_me,
        "scopes": list(config.consent.scopes),
    }
    canonical = json.dumps(parts, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    sha256 = hashlib.sha256(canonical.encode()).hexdigest()
    return Statement(
        config.consent.version, config.consent.text, config.consent.remembered_for, config.memory.about_me, config.consent.scopes, sha256
    )


def is_current(participant: Participant) -> bool:
    """Whether this person has agreed to the statement that holds now."""
    return participant.consents.filter(text_sha256=statement(studies.config_of(participant.study)).sha256).exists()


@transaction.atomic
def give(participant: Participant, *, version: str, text_sha256: str, scopes: Sequence[str]) -> Consent:
    """Store a consent. The first one gives the participant a number, arms and sessions; the first real one freezes the study.

    The study's row is locked, so that numbers are given one after the other and the assignment stays balanced however
    many join at once. Giving the same consent again changes nothing.

    Raises:
        studies.Refused: when the study does not take people now.
    """
    study = Study.objects.select_for_update(no_key=True).get(pk=participant.study_id)
    person = Participant.objects.select_for_update().get(pk=participant.pk)
    if person.left_at or not studies.admits(study, pilot=person.pilot):
        raise studies.Refused("This study takes nobody at the moment.")
    consent, _ = Consent.objects.get_or_create(
        participant=person, version=version, text_sha256=text_sha256, defaults={"scopes": sorted(set(scopes))}
    )
    if person.number is None:
        _place(study, person)
    participant.refresh_from_db(fields=["number", "state"])
    return consent


def _place(study: Study, person: Participant) -> None:
    """Number, arms and sessions, by the design as it is at this moment."""
    highest = Participant.objects.filter(study=study, pilot=person.pilot).aggregate(n=Max("number"))["n"]
    person.number = 0 if highest is None else highest + 1
    person.state = Participant.State.ACTIVE
    person.save(update_fields=["number", "state"])
    planned = plan(studies.config_of(study), person.number)
    condition_of = {c.name: c for c in Condition.objects.filter(study=study)}
    arms = Arm.objects.bulk_create(
        Arm(
            participant=person,
            condition=condition_of[arm.condition] if arm.condition else None,
            order=arm.order,
            alias_name=arm.alias.name,
            alias_colour=arm.alias.colour,
            alias_shape=arm.alias.shape,
        )
        for arm in planned.arms
    )
    arm_at = {arm.order: arm for arm in arms}
    Session.objects.bulk_create(
        Session(participant=person, arm=arm_at[s.arm_order], number=s.number, position=s.position) for s in planned.sessions
    )
    if not (person.pilot or person.simulated):
        Study.objects.filter(pk=study.pk, frozen_at=None).update(frozen_at=timezone.now())
    scheduling.refresh(person.pk)
