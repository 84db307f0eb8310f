"""Participants, what they agreed to, and their arms."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.functions import Now

from studyplatform.study.codes import code12
from studyplatform.study.models.design import Condition, Study


class Participant(models.Model):
    """One person in one study. Not a user: a signed link sets a cookie for the pages under `/p/<code>/`."""

    class State(models.TextChoices):
        INVITED = "invited"
        ACTIVE = "active"
        FINISHED = "finished"
        STOPPED = "stopped"
        WITHDRAWN = "withdrawn"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="participants")
    code = models.CharField(max_length=12, default=code12, unique=True)
    external_id = models.CharField(max_length=200, null=True, blank=True)
    number = models.PositiveIntegerField(
        null=True,
        help_text="Place in the study's list of assignments, from 0; given at consent",
    )
    time_zone = models.CharField(max_length=64, default="UTC")
    language = models.CharField(max_length=10, default="en")
    state = models.CharField(max_length=9, choices=State, default=State.INVITED)
    simulated = models.BooleanField(default=False)
    pilot = models.BooleanField(default=False)
    key_version = models.PositiveIntegerField(default=1, help_text="Raised to make earlier links and cookies invalid")
    instructions_version = models.CharField(max_length=20, blank=True)
    instructed_at = models.DateTimeField(null=True, blank=True)
    left_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "external_id"], name="one_participant_per_external_id"),
            models.UniqueConstraint(fields=["study", "pilot", "number"], name="one_participant_per_number"),
        ]

    def __str__(self) -> str:
        return self.code


class Consent(models.Model):
    """The exact text that a person agreed to, by version and hash, and how far it reaches."""

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="consents")
    version = models.CharField(max_length=20)
    text_sha256 = models.CharField(max_length=64)
    scopes = ArrayField(models.CharField(max_length=40), default=list)
    given_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "version", "text_sha256"],
                name="one_consent_per_text",
            )
        ]


class Arm(models.Model):
    """One participant under one condition: the owner of memories.

    `condition` is null for the participant's shared arm, which holds a shared first session. `version` rises with every
    committed write, so that a decision made on an older state of the arm is noticed.
    """

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="arms")
    condition = models.ForeignKey(Condition, null=True, on_delete=models.PROTECT, related_name="arms")
    order = models.PositiveSmallIntegerField(help_text="0 = the shared arm or the first condition met")
    alias_name = models.CharField(max_length=40)
    alias_colour = models.CharField(max_length=10)
    alias_shape = models.CharField(max_length=10)
    version = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["participant", "condition"],
                name="one_arm_per_condition",
                nulls_distinct=False,
            ),
        ]
