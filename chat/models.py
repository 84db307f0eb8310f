"""The turns of a session, and who was connected when."""

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from studyplatform.study.models import Session


class Turn(models.Model):
    """One utterance.

    A participant's turn is complete when it is stored. The bot's turn is inserted together with it as `pending`, without a
    seq; it is claimed with a lease (`owner`, `attempt`, `lease_until`, database clock), its `partial` text is kept while
    it streams, and the commit that completes it gives it its seq: there are no holes. The opener has no `reply_to`.

    Times: `acked_ms` stored after the text arrived; `recall_ms`, `first_token_ms`, `total_ms` from the ack.
    """

    class Role(models.TextChoices):
        USER = "user"
        BOT = "bot"

    class State(models.TextChoices):
        DONE = "done"
        PENDING = "pending"
        FAILED = "failed"

    # In the tables that every message writes to, an index that begins another one would only be kept up twice.
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="turns", db_index=False)
    seq = models.PositiveIntegerField(null=True)
    role = models.CharField(max_length=4, choices=Role)
    client_id = models.CharField(max_length=64, null=True)
    reply_to = models.PositiveIntegerField(null=True, help_text="seq of the participant's turn; null for the opener")
    text = models.TextField(blank=True)
    partial = models.TextField(blank=True)
    state = models.CharField(max_length=7, choices=State, default=State.DONE)
    owner = models.CharField(max_length=80, blank=True)
    attempt = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    failure = models.CharField(max_length=40, blank=True)
    created_at = models.DateTimeField(db_default=Now())
    done_at = models.DateTimeField(null=True, blank=True)
    acked_ms = models.FloatField(null=True)
    recall_ms = models.FloatField(null=True)
    first_token_ms = models.FloatField(null=True)
    total_ms = models.FloatField(null=True)
    over_floor = models.BooleanField(default=False, help_text="The first token came later than the study's floor")
    unseen_writes = models.PositiveIntegerField(default=0, help_text="Earlier writes that recall did not wait for")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "seq"], name="one_turn_per_seq"),
            models.UniqueConstraint(fields=["session", "client_id"], name="one_turn_per_client_id"),
            models.UniqueConstraint(
                fields=["session", "reply_to"],
                condition=Q(role="bot"),
                name="one_reply_per_turn",
                nulls_distinct=False,
            ),
            models.UniqueConstraint(
                fields=["session"],
                condition=Q(state="pending"),
                name="one_pending_reply",
            ),
            models.CheckConstraint(
                condition=Q(state="done", seq__isnull=False) | ~Q(state="done"),
                name="done_has_seq",
            ),
        ]
        indexes = [models.Index(fields=["lease_until"], condition=Q(state="pending"), name="replies_due")]


class Connection(models.Model):
    """One websocket, from its opening to its end: who was there when, by which process, and why it ended.

    `process` is the name under which the other processes reach the one that holds the socket. `seen_at` is renewed by it;
    a row that it no longer renews belongs to a process that died, and is closed by the sweep.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="connections")
    process = models.CharField(max_length=80)
    opened_at = models.DateTimeField(db_default=Now())
    seen_at = models.DateTimeField(db_default=Now())
    closed_at = models.DateTimeField(null=True, blank=True)
    code = models.PositiveIntegerField(null=True, help_text="of the websocket's close")
    reason = models.CharField(max_length=40, blank=True)

    class Meta:
        indexes = [models.Index(fields=["session"], condition=Q(closed_at__isnull=True), name="connections_open")]
