"""De-identification: what was found in a transcript, what each reader decided, the versions of its text, and who approved which.

Spans, decisions, versions, their lines and approvals are append-only by trigger (withdrawal is the named bypass): an edit is a new
decision and a new version. No row here holds original words but `Pseudonym`, which is encrypted: a span points into the original by
offsets in Unicode code points and keeps a keyed digest of the words it marked.
"""

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from studyplatform.study.codes import code12
from studyplatform.study.models import Participant, Session, User


class Kind(models.TextChoices):
    """What an identifier is. The last three are facts about people rather than names of them."""

    NAME = "name"
    AGE = "age"
    DATE = "date"
    LOCATION = "location"
    ADDRESS = "address"
    PHONE = "phone"
    EMAIL = "email"
    HANDLE = "handle"
    URL = "url"
    SSN = "ssn"
    RECORD = "record"
    ACCOUNT = "account"
    EMPLOYER = "employer"
    SCHOOL = "school"
    PROFILE = "profile"
    HEALTH = "health"
    CRIME = "crime"
    SEXUAL = "sexual"


class Action(models.TextChoices):
    REMOVE = "remove"
    PSEUDONYM = "pseudonym"
    GENERALISE = "generalise"
    KEEP = "keep"


class Review(models.Model):
    """One transcript under review: its state, the hash of the originals that it was made from, and the work of suggesting.

    `source_hash` is SHA-256 over the session's utterances as they were when suggestions were made; an original that changed since makes
    every approval of the review count for nothing. `owner`, `attempt`, `lease_until` as in `StageRun`.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        READING = "reading"
        RESOLVING = "resolving"
        APPROVING = "approving"
        LOCKED = "locked"

    session = models.OneToOneField(Session, on_delete=models.CASCADE, related_name="deid_review")
    code = models.CharField(max_length=12, default=code12, unique=True)
    state = models.CharField(max_length=9, choices=State, default=State.WAITING)
    source_hash = models.CharField(max_length=64, blank=True)
    words = models.PositiveIntegerField(default=0)
    recognisers = models.CharField(max_length=200, blank=True, help_text="what suggested: rules, and the model where there is one")
    owner = models.CharField(max_length=80, blank=True)
    attempt = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["lease_until"], condition=Q(state="waiting"), name="suggestions_due")]


class FirstPass(models.Model):
    """One reader's own reading of one transcript. `seat` (from 1) is limited by the study: so many read, and no more."""

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="passes")
    reviewer = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    seat = models.PositiveSmallIntegerField()
    started_at = models.DateTimeField(db_default=Now())
    active_ms = models.BigIntegerField(default=0, help_text="time at work, idle time left out")
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["review", "reviewer"], name="one_pass_per_reader"),
            models.UniqueConstraint(fields=["review", "seat"], name="one_pass_per_seat"),
        ]


class Span(models.Model):
    """A stretch of one utterance that may identify somebody: [start, end) in code points of the original.

    `by` is null for a suggestion; what a reader adds in a first pass is hers alone until the passes are joined. A changed span is a new
    one that `replaces` the old.
    """

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="spans")
    code = models.CharField(max_length=12, default=code12, unique=True)
    seq = models.PositiveIntegerField()
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    kind = models.CharField(max_length=10, choices=Kind)
    found_by = models.CharField(max_length=120)
    inside_word = models.BooleanField(default=False)
    quote_digest = models.CharField(max_length=64, help_text="keyed digest of the words, to prove offsets and not to know them")
    by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    replaces = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="replaced_by")
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(end__gt=F("start")), name="span_is_not_empty"),
            models.UniqueConstraint(
                fields=["review", "seq", "start", "end", "kind", "by"], name="one_span_per_reader", nulls_distinct=False
            ),
        ]


class Decision(models.Model):
    """What one reader decided about one span; the latest one counts. `joint`: about the common text, after the first passes."""

    span = models.ForeignKey(Span, on_delete=models.CASCADE, related_name="decisions")
    reviewer = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    joint = models.BooleanField(default=False)
    kind = models.CharField(max_length=10, choices=Kind)
    action = models.CharField(max_length=10, choices=Action)
    replacement = models.CharField(max_length=200, blank=True, help_text="what stands in the text instead; never the original")
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(action="keep", replacement="") | (~Q(action="keep") & ~Q(replacement="")), name="replaced_by_something"
            ),
        ]
        indexes = [models.Index(fields=["span", "joint", "-made_at"], name="decisions_latest")]


class DeidVersion(models.Model):
    """One version of a transcript's text, by the hash of its content (`annotation.deid.versions.hash_of`)."""

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField(help_text="1 = the first passes joined")
    hash = models.CharField(max_length=64)
    source_hash = models.CharField(max_length=64, help_text="of the originals that it was made from")
    change = models.CharField(max_length=200)
    made_by = models.ForeignKey(User, null=True, on_delete=models.PROTECT, related_name="+")
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "number"], name="one_version_per_number")]


class VersionLine(models.Model):
    """One utterance as a version has it."""

    version = models.ForeignKey(DeidVersion, on_delete=models.CASCADE, related_name="lines")
    seq = models.PositiveIntegerField()
    role = models.CharField(max_length=4)
    text = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "seq"], name="one_line_per_utterance")]


class Approval(models.Model):
    """One reviewer read this version and approves its hash. A later version voids it for that text, and for no other."""

    version = models.ForeignKey(DeidVersion, on_delete=models.CASCADE, related_name="approvals")
    reviewer = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    hash = models.CharField(max_length=64, help_text="as the reviewer saw it")
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["version", "reviewer"], name="one_approval_per_reviewer")]


class Pseudonym(models.Model):
    """One surrogate for one entity of one participant, in every text of hers.

    `entity` is a keyed digest of the normalised original (to find it again), `sealed` the original, encrypted with a key that is not in
    the database (`DEID_KEY`). Deleting the rows destroys the map.
    """

    participant = models.ForeignKey(Participant, on_delete=models.CASCADE, related_name="pseudonyms")
    kind = models.CharField(max_length=10, choices=Kind)
    entity = models.CharField(max_length=64)
    sealed = models.BinaryField()
    surrogate = models.CharField(max_length=200)
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["participant", "kind", "entity"], name="one_surrogate_per_entity"),
            models.UniqueConstraint(fields=["participant", "kind", "surrogate"], name="one_entity_per_surrogate"),
        ]
