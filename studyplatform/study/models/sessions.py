"""Sessions of chat, and the question-answer pairs written after each."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from studyplatform.study.codes import code12
from studyplatform.study.models.people import Arm, Participant


class Session(models.Model):
    """One chat of one participant with one arm.

    `number` is the arm's own (1 = first: the `s` of the formulas), `position` the participant's overall order (from 1).
    The window is half-open: [opens_at, closes_at). `last_seq` is the highest seq given to a turn; it and `user_turns` are
    moved in the statement that stores the turn. The clock of the session counts from `started_at`, less `paused_ms`
    (outages and long idle times), and stands still while `paused_at` is set.
    """

    class State(models.TextChoices):
        LOCKED = "locked"
        OPEN = "open"
        CHATTING = "chatting"
        QUESTIONS = "questions"
        CLOSED = "closed"
        MISSED = "missed"

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="sessions")
    arm = models.ForeignKey(Arm, on_delete=models.CASCADE, related_name="sessions")
    code = models.CharField(max_length=12, default=code12, unique=True)
    number = models.PositiveSmallIntegerField()
    position = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=9, choices=State, default=State.LOCKED)
    opens_at = models.DateTimeField(null=True, blank=True)
    closes_at = models.DateTimeField(null=True, blank=True)
    ready_at = models.DateTimeField(null=True, blank=True, help_text="The arm's earlier forgetting is done")
    started_at = models.DateTimeField(null=True, blank=True)
    last_activity_at = models.DateTimeField(null=True, blank=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    paused_ms = models.BigIntegerField(default=0)
    pause_reason = models.CharField(max_length=20, blank=True)
    chat_ended_at = models.DateTimeField(null=True, blank=True)
    end_reason = models.CharField(max_length=20, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    last_seq = models.PositiveIntegerField(default=0)
    user_turns = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["arm", "number"], name="one_session_per_arm_and_number"),
            models.UniqueConstraint(fields=["participant", "position"], name="one_session_per_position"),
            models.UniqueConstraint(
                fields=["participant"],
                condition=Q(state="chatting"),
                name="one_chat_at_a_time",
            ),
        ]

    def __str__(self) -> str:
        return self.code


class QAPair(models.Model):
    """A question about a session with the answer that its participant accepts, tied to the turns that hold it."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="qa_pairs")
    number = models.PositiveSmallIntegerField(help_text="1 = first")
    question = models.TextField()
    answer = models.TextField()
    evidence = ArrayField(
        models.PositiveIntegerField(),
        default=list,
        help_text="seq of the participant's turns",
    )
    written_at = models.DateTimeField(db_default=Now())
    revised_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="one_pair_per_number")]
