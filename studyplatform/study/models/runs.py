"""The work after a session: one row per stage, which is the truth; a queue message is only a hint."""

from django.db import models
from django.db.models.functions import Now

from studyplatform.study.codes import code12
from studyplatform.study.models.people import Arm
from studyplatform.study.models.sessions import Session


class StageRun(models.Model):
    """One stage of one session, for one arm, or for the session as a whole (arm null: score and summarise).

    Claimed by a conditional update that sets `owner`, raises `attempt` and sets `lease_until` (database clock); whatever
    the stage produced is committed together with a conditional update on `attempt`, so a worker that lost its lease
    changes nothing.
    """

    class Stage(models.TextChoices):
        SCORE = "score"
        SUMMARISE = "summarise"
        FORK = "fork"
        FORGET = "forget"
        ANSWER = "answer"

    class State(models.TextChoices):
        WAITING = "waiting"
        READY = "ready"
        RUNNING = "running"
        DONE = "done"
        FAILED = "failed"

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="runs")
    arm = models.ForeignKey(Arm, null=True, on_delete=models.CASCADE, related_name="runs")
    code = models.CharField(max_length=12, default=code12, unique=True)
    stage = models.CharField(max_length=10, choices=Stage)
    state = models.CharField(max_length=8, choices=State, default=State.WAITING)
    owner = models.CharField(max_length=80, blank=True)
    attempt = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0, help_text="Errors that were worth another try, since the last success or retry")
    lease_until = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text="Not before: a retry's back-off, or the questions' deadline",
    )
    error = models.TextField(blank=True)
    progress_done = models.PositiveIntegerField(default=0)
    progress_total = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session", "arm", "stage"],
                name="one_run_per_stage",
                nulls_distinct=False,
            ),
        ]
        indexes = [models.Index(fields=["state", "lease_until"], name="runs_due")]
