"""Memories, the order of their writing, what happened to them, and what was measured."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from pgvector.django import VectorField

from studyplatform.study.codes import code12
from studyplatform.study.models import Arm, QAPair, Session, StageRun


class Memory(models.Model):
    """One thing that an arm remembers: an exchange, a session's summary, or a structured record.

    Text and vector change in one statement or not at all. Nothing is deleted but by withdrawal or the participant's own
    act; forgetting sets `status` and `ended_at`. `session_number`, `seq` name the source exchange (seq 0: a summary, after
    the session's turns). `r1`: times used in a prompt, or its starting value for a summary; `r2`: times passed over.
    """

    class Kind(models.TextChoices):
        EXCHANGE = "exchange"
        SUMMARY = "summary"
        RECORD = "record"

    class Status(models.TextChoices):
        ACTIVE = "active"
        FORGOTTEN = "forgotten"
        SUPERSEDED = "superseded"
        DELETED = "deleted"

    arm = models.ForeignKey(Arm, on_delete=models.CASCADE, related_name="memories")
    code = models.CharField(max_length=12, default=code12, unique=True)
    kind = models.CharField(max_length=8, choices=Kind)
    session_number = models.PositiveSmallIntegerField()
    seq = models.PositiveIntegerField()
    sources = ArrayField(
        models.CharField(max_length=24),
        default=list,
        help_text="every source turn as `session number:seq`",
    )
    bot_text = models.TextField(blank=True)
    user_text = models.TextField(blank=True)
    embed_text = models.TextField(blank=True)
    vector = VectorField(null=True)
    encoder = models.CharField(max_length=80)
    r1 = models.IntegerField(default=0)
    r2 = models.IntegerField(default=0)
    last_recalled = models.PositiveSmallIntegerField(help_text="session number of the last use; at first, of the source")
    fields = models.JSONField(default=dict, help_text="aspect, intent, entities, … of a structured record")
    measures = models.JSONField(default=dict, help_text="a summary's own measures")
    status = models.CharField(max_length=10, choices=Status, default=Status.ACTIVE)
    superseded_by = models.ForeignKey(
        "self",
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="supersedes",
    )
    happened_at = models.DateTimeField(help_text="of the source exchange")
    created_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True)
    muted_at = models.DateTimeField(
        null=True, blank=True, help_text="the participant does not want it brought up again: no recall finds it"
    )

    class Meta:
        verbose_name_plural = "memories"
        constraints = [
            models.UniqueConstraint(
                fields=["arm", "session_number", "seq", "kind"],
                condition=~Q(kind="record") & ~Q(status__in=["superseded", "deleted"]),
                name="one_memory_per_source",
            ),
            models.UniqueConstraint(
                fields=["arm", "session_number", "seq"],
                condition=Q(kind="record", status="active"),
                name="one_active_record_per_source",
            ),
        ]
        indexes = [models.Index(fields=["arm", "status"], name="memories_in_scope")]


class MemoryWrite(models.Model):
    """One exchange to be written into one arm: the order of writes (lowest open one of the arm first)."""

    class State(models.TextChoices):
        OPEN = "open"
        DONE = "done"

    class Outcome(models.TextChoices):
        STORE = "store"
        UPDATE = "update"
        DISCARD = "discard"
        FILTER = "filter"
        ERROR = "error"

    arm = models.ForeignKey(Arm, on_delete=models.CASCADE, related_name="writes", db_index=False)  # as in chat.models.Turn
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="writes")
    seq = models.PositiveIntegerField(help_text="of the participant's turn")
    state = models.CharField(max_length=4, choices=State, default=State.OPEN)
    outcome = models.CharField(max_length=7, choices=Outcome, blank=True)
    flags = ArrayField(models.CharField(max_length=30), default=list)
    reason = models.TextField(blank=True)
    raw = models.TextField(blank=True, help_text="what the model said, where it could not be read")
    heir_of = models.ForeignKey(
        Memory,
        null=True,
        blank=True,
        on_delete=models.SET_NULL,
        related_name="+",
        help_text="whose counters what is written anew takes over",
    )
    owner = models.CharField(max_length=80, blank=True)
    attempt = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(db_default=Now())
    created_at = models.DateTimeField(db_default=Now())
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["arm", "session", "seq"], name="one_write_per_exchange")]
        indexes = [
            models.Index(
                fields=["arm", "session", "seq"],
                condition=Q(state="open"),
                name="writes_open",
            )
        ]


class MemoryEvent(models.Model):
    """The ledger, append-only by trigger: what happened to a memory, when, why, with the terms of every score."""

    class What(models.TextChoices):
        STORED = "stored"
        NOTHING = "nothing"
        FUSED = "fused"
        SUPERSEDED = "superseded"
        DISCARDED = "discarded"
        FILTERED = "filtered"
        ERRED = "erred"
        FORKED = "forked"
        USED = "used"
        PASSED_OVER = "passed_over"
        KEPT = "kept"
        FORGOTTEN = "forgotten"
        CORRECTED = "corrected"
        DELETED = "deleted"
        MUTED = "muted"
        UNMUTED = "unmuted"
        RESTORED = "restored"

    arm = models.ForeignKey(Arm, on_delete=models.CASCADE, related_name="memory_events", db_index=False)  # as in chat.models.Turn
    memory = models.ForeignKey(Memory, null=True, on_delete=models.CASCADE, related_name="events")
    session_number = models.PositiveSmallIntegerField()
    seq = models.PositiveIntegerField(help_text="of the turn that caused it; 0: the session's close")
    what = models.CharField(max_length=11, choices=What)
    why = models.JSONField(
        default=dict,
        help_text="terms of the score, rank, similarity, relation, thresholds",
    )
    run = models.ForeignKey(StageRun, null=True, on_delete=models.SET_NULL)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["arm", "session_number", "seq"], name="events_in_order")]


class Measurement(models.Model):
    """One number about one exchange, stored once per exchange, whatever arms share it."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="measurements")
    seq = models.PositiveIntegerField()
    name = models.CharField(max_length=30)
    value = models.FloatField()
    scorer = models.CharField(max_length=80)
    version = models.CharField(max_length=80)
    fallback = models.BooleanField(default=False)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["session", "seq", "name", "scorer", "version"],
                name="one_value_per_scorer",
            )
        ]


class Summary(models.Model):
    """What one session leaves for the prompt: its own summary, and the key summary merged with the earlier one.

    A shared session's row belongs to the shared arm; the fork copies it into every arm. `stale`: the participant took something back that
    went into it; it is empty, and leased by a worker that makes it anew (`memory.refreshing`).
    """

    arm = models.ForeignKey(Arm, on_delete=models.CASCADE, related_name="summaries")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="summaries")
    text = models.TextField()
    key_summary = models.TextField()
    made_at = models.DateTimeField(db_default=Now())
    stale = models.BooleanField(default=False, db_default=False)
    owner = models.CharField(max_length=80, blank=True, db_default="")
    attempt = models.PositiveIntegerField(default=0, db_default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["arm", "session"], name="one_summary_per_session")]
        indexes = [models.Index(fields=["arm"], condition=Q(stale=True), name="summaries_stale")]


class Wish(models.Model):
    """What a participant asked about one thing that she said: leave it out, have it corrected, or do not bring it up.

    One standing wish of a kind per turn; an undone or replaced one keeps its row without its words. It holds in every arm that
    remembers the session, by source turn, and whatever is written later honours it too.
    """

    class What(models.TextChoices):
        DELETE = "delete"
        CORRECT = "correct"
        MUTE = "mute"

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="wishes")
    seq = models.PositiveIntegerField(help_text="of the participant's turn")
    what = models.CharField(max_length=7, choices=What)
    text = models.TextField(blank=True, help_text="the corrected words")
    made_at = models.DateTimeField(db_default=Now())
    ended_at = models.DateTimeField(null=True, blank=True, help_text="undone, or replaced by a newer one")

    class Meta:
        verbose_name_plural = "wishes"
        constraints = [
            models.UniqueConstraint(fields=["session", "seq", "what"], condition=Q(ended_at=None), name="one_standing_wish_per_turn")
        ]


class EncoderCalibration(models.Model):
    """The thresholds found for an encoder that is not in `memory.encoders.REGISTRY`, and what they were found on."""

    encoder = models.CharField(max_length=80, unique=True, help_text="provider/model")
    dimension = models.PositiveIntegerField()
    thresholds = models.JSONField(help_text="cosines by name, all of memory.encoders.THRESHOLDS")
    provenance = models.JSONField(help_text="recordings with their digest, counts, the code's revision")
    found_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return self.encoder


class QAAnswer(models.Model):
    """One arm asked one question after one session. Asking is read-only: no counter moves."""

    pair = models.ForeignKey(QAPair, on_delete=models.CASCADE, related_name="answers")
    arm = models.ForeignKey(Arm, on_delete=models.CASCADE, related_name="answers")
    after_session = models.PositiveSmallIntegerField(help_text="the arm's session number after which it was asked")
    answer = models.TextField(blank=True)
    abstained = models.BooleanField(default=False)
    nothing_recalled = models.BooleanField(default=False)
    used = ArrayField(models.BigIntegerField(), default=list)
    passed_over = ArrayField(models.BigIntegerField(), default=list)
    similarities = ArrayField(models.FloatField(), default=list, help_text="of used, then of passed_over")
    failed = models.CharField(max_length=200, blank=True)
    asked_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["pair", "arm", "after_session"], name="one_answer_per_asking")]


class SecondAnswer(models.Model):
    """The same question with the same recalled memory, answered by another response model; nothing else is done again."""

    first = models.ForeignKey(QAAnswer, on_delete=models.CASCADE, related_name="seconds")
    model = models.CharField(max_length=120, help_text="provider/model")
    answer = models.TextField(blank=True)
    abstained = models.BooleanField(default=False)
    failed = models.CharField(max_length=200, blank=True)
    asked_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["first", "model"], name="one_second_answer_per_model")]
