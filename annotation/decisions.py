"""What is decided about labels after they were given: waivers of the agreement gate, and adjudicated labels. Layers of their own:
no row here changes a label. Imported by `annotation.models`, so that Django finds the tables."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from studyplatform.study.models import Session, Study, User


class Waiver(models.Model):
    """A researcher releases labels below the gate, for a reason that travels with them. `session` null: the study as a whole."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="waivers")
    session = models.ForeignKey(Session, null=True, blank=True, on_delete=models.CASCADE, related_name="waivers")
    round = models.PositiveSmallIntegerField(default=1)
    kappa = models.FloatField(null=True, help_text="Fleiss' kappa when it was waived; null: undefined")
    threshold = models.FloatField()
    reason = models.TextField()
    made_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        app_label = "annotation"
        constraints: ClassVar = [models.CheckConstraint(condition=~Q(reason=""), name="waivers_have_reasons")]


class Adjudication(models.Model):
    """What a third person decided about an utterance on which annotators differed. A changed decision is a further revision."""

    class Choice(models.TextChoices):
        IMPORTANT = "important"
        NOT = "not"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="adjudications")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="adjudications")
    seq = models.PositiveIntegerField()
    round = models.PositiveSmallIntegerField(default=1)
    revision = models.PositiveIntegerField(default=1)
    choice = models.CharField(max_length=9, choices=Choice)
    note = models.TextField(blank=True)
    text_hash = models.CharField(max_length=64, blank=True, help_text="of the text as it was shown")
    adjudicator = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="adjudications")
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        app_label = "annotation"
        constraints: ClassVar = [models.UniqueConstraint(fields=["session", "seq", "round", "revision"], name="one_decision_per_revision")]
