"""What people judge: places on transcripts, labels, ratings, grades, and the people who give them.

A *place* is one of the n counted positions of a transcript. It is held by an `Assignment`; the unique constraint on
(session, round, place) is what makes "exactly n" true, whoever races for the last one. What is judged on an assignment
is kept by utterance (`Label`) and scale (`TranscriptRating`), with every action as a `Revision`.
"""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from memory.models import Memory, QAAnswer
from studyplatform.study.codes import code12
from studyplatform.study.models import QAPair, Session, Study, User


class WorkState(models.TextChoices):
    """Of an assignment and of every judgement on it. Surplus: complete, but the places were filled; stored and payable."""

    DRAFT = "draft"
    SUBMITTED = "submitted"
    SURPLUS = "surplus"
    EXCLUDED = "excluded"
    SKIPPED = "skipped"


class Purpose(models.TextChoices):
    """Independent work counts; practice, gold and calibration are kept apart and never pool with it."""

    INDEPENDENT = "independent"
    PRACTICE = "practice"
    GOLD = "gold"
    CALIBRATION = "calibration"


class Annotator(models.Model):
    """One person who judges in one study. Known to everybody else by `number` (A1, A2, ...) and, for pay, by `code`."""

    class State(models.TextChoices):
        INVITED = "invited"
        TRAINING = "training"
        QUALIFIED = "qualified"
        FAILED = "failed"
        PAUSED = "paused"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="annotators")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="annotator_in")
    number = models.PositiveIntegerField(help_text="1 = A1")
    code = models.CharField(max_length=12, default=code12, unique=True, help_text="the pseudonym in payment lists")
    pool = models.CharField(max_length=40, default="main")
    state = models.CharField(max_length=9, choices=State, default=State.TRAINING)
    participant_codes = ArrayField(
        models.CharField(max_length=12), default=list, blank=True, help_text="who this annotator is, as a participant"
    )
    content_seen_at = models.DateTimeField(null=True, blank=True, help_text="when the content notes were read")
    attempts = models.PositiveSmallIntegerField(default=0, help_text="at the practice items")
    practice_share = models.FloatField(null=True, help_text="right in the last attempt, 0 to 1")
    single_keys = models.BooleanField(default=True, help_text="one-letter keys are on")
    joined_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "user"], name="one_annotator_per_user"),
            models.UniqueConstraint(fields=["study", "number"], name="one_annotator_per_number"),
        ]

    def __str__(self) -> str:
        return f"A{self.number}"


class Invitation(models.Model):
    """A link by which one person joins as an annotator; it opens once."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    code = models.CharField(max_length=12, default=code12, unique=True)
    email = models.EmailField()
    pool = models.CharField(max_length=40, default="main")
    made_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    made_at = models.DateTimeField(db_default=Now())
    deadline = models.DateTimeField(null=True, blank=True)
    accepted_at = models.DateTimeField(null=True, blank=True)
    annotator = models.OneToOneField(Annotator, null=True, on_delete=models.SET_NULL, related_name="invitation")


class Guideline(models.Model):
    """The text by which annotators judge, as it was shown: a changed text is a further version."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="guidelines")
    version = models.PositiveIntegerField()
    text = models.TextField()
    sha256 = models.CharField(max_length=64)
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "version"], name="one_guideline_per_version"),
            models.UniqueConstraint(fields=["study", "sha256"], name="one_guideline_per_text"),
        ]


class Item(models.Model):
    """One transcript to be judged in one round by `wanted` distinct people, or one practice or gold text of the study file.

    A row of its own, so that it can be locked (SKIP LOCKED) while a place on it is given. `material` names the text of the
    study file where there is no session.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="items")
    session = models.ForeignKey(Session, null=True, blank=True, on_delete=models.CASCADE, related_name="items")
    material = models.CharField(max_length=60, blank=True)
    purpose = models.CharField(max_length=11, choices=Purpose, default=Purpose.INDEPENDENT)
    round = models.PositiveSmallIntegerField(default=1)
    wanted = models.PositiveSmallIntegerField(default=3)
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "session", "material", "round"], name="one_item_per_round", nulls_distinct=False),
            models.CheckConstraint(
                condition=Q(session__isnull=False, material="") | (Q(session__isnull=True) & ~Q(material="")), name="item_has_one_text"
            ),
        ]


class Assignment(models.Model):
    """One person on one item. `place` is null while it does not count (expired, surplus, skipped, practice, gold).

    A reservation that runs out gives its place free for others, and keeps everything that was done; `version` rises with
    every action. `pay` is what the submission earned, in the study's currency, by the study file of that day.
    """

    State = WorkState

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="assignments")
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="assignments")
    session = models.ForeignKey(Session, null=True, blank=True, on_delete=models.CASCADE, related_name="assignments")
    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="assignments")
    code = models.CharField(max_length=12, default=code12, unique=True)
    purpose = models.CharField(max_length=11, choices=Purpose, default=Purpose.INDEPENDENT)
    round = models.PositiveSmallIntegerField(default=1)
    attempt = models.PositiveSmallIntegerField(default=1, help_text="of a practice item")
    place = models.PositiveSmallIntegerField(null=True, blank=True)
    state = models.CharField(max_length=9, choices=WorkState, default=WorkState.DRAFT)
    reason = models.CharField(max_length=200, blank=True, help_text="why it was skipped or excluded")
    text_hash = models.CharField(max_length=64, blank=True, help_text="of the text as it was shown")
    guideline = models.ForeignKey(Guideline, null=True, on_delete=models.PROTECT, related_name="+")
    prelabels = models.CharField(max_length=80, blank=True, help_text="where suggested labels came from; empty: none were shown")
    version = models.PositiveIntegerField(default=0)
    current_seq = models.PositiveIntegerField(null=True, help_text="the utterance to resume at")
    active_ms = models.PositiveBigIntegerField(default=0)
    pay = models.DecimalField(max_digits=8, decimal_places=2, default=0)
    reserved_at = models.DateTimeField(db_default=Now())
    expires_at = models.DateTimeField(null=True)
    submitted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["item", "place"], name="one_holder_per_place"),
            models.UniqueConstraint(fields=["item", "annotator", "attempt"], name="one_assignment_per_annotator"),
            models.CheckConstraint(condition=Q(place__isnull=True) | Q(place__gte=1), name="places_from_one"),
        ]
        indexes = [models.Index(fields=["expires_at"], condition=Q(state="draft", place__isnull=False), name="reservations_due")]


class Judgement(models.Model):
    """The fields that labels and ratings share. `revision` rises with every change of this one judgement."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="%(class)ss")
    session = models.ForeignKey(Session, null=True, blank=True, on_delete=models.CASCADE, related_name="%(class)ss")
    annotator = models.ForeignKey(User, on_delete=models.CASCADE, related_name="%(class)ss")
    purpose = models.CharField(max_length=11, choices=Purpose, default=Purpose.INDEPENDENT)
    round = models.PositiveSmallIntegerField(default=1)
    state = models.CharField(max_length=9, choices=WorkState, default=WorkState.DRAFT)
    text_hash = models.CharField(max_length=64, blank=True)
    revision = models.PositiveIntegerField(default=1)
    made_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        abstract = True


class Label(Judgement):
    """One person's mark on one utterance. `value`: 1 important, 0 not, null unsure or taken back (see `choice`)."""

    class Choice(models.TextChoices):
        IMPORTANT = "important"
        NOT = "not"
        UNSURE = "unsure"
        NONE = "", "not labelled"

    seq = models.PositiveIntegerField()
    choice = models.CharField(max_length=9, choices=Choice, blank=True, default=Choice.NONE)
    note = models.TextField(blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["assignment", "seq"], name="one_label_per_utterance")]
        indexes = [models.Index(fields=["study", "session", "seq"], name="labels_by_utterance")]

    @property
    def value(self) -> int | None:
        return {"important": 1, "not": 0}.get(self.choice)


class TranscriptRating(Judgement):
    """One person's score of a whole transcript on one scale of the study file."""

    scale = models.CharField(max_length=60)
    score = models.PositiveSmallIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "scale"], name="one_rating_per_scale"),
            models.CheckConstraint(condition=Q(score__isnull=True) | Q(score__range=(1, 5)), name="scores_one_to_five"),
        ]


class Revision(models.Model):
    """One action, as it came from the page. The key makes sending it twice the same as once; `number` is the order."""

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    key = models.CharField(max_length=64)
    seq = models.PositiveIntegerField(null=True, help_text="the utterance, or null for a rating")
    scale = models.CharField(max_length=60, blank=True)
    before = models.TextField(blank=True)
    after = models.TextField(blank=True)
    note = models.TextField(blank=True, help_text="the note after the action")
    revision = models.PositiveIntegerField(help_text="of the label or rating, after the action")
    made_at = models.DateTimeField(null=True, help_text="by the device's clock")
    stored_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["assignment", "key"], name="one_revision_per_key"),
            models.UniqueConstraint(fields=["assignment", "number"], name="one_revision_per_number"),
        ]


class Grade(models.Model):
    """One person's grade of an answer to a question, or of whether a memory answers it.

    Identical answers to one question are graded once: `subject` is the hash of what was shown.
    """

    class Kind(models.TextChoices):
        ANSWER = "answer"
        MEMORY = "memory"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="grades")
    annotator = models.ForeignKey(User, on_delete=models.CASCADE, related_name="grades")
    kind = models.CharField(max_length=6, choices=Kind, default=Kind.ANSWER)
    pair = models.ForeignKey(QAPair, on_delete=models.CASCADE, related_name="grades")
    answer = models.ForeignKey(QAAnswer, null=True, blank=True, on_delete=models.CASCADE, related_name="grades")
    memory = models.ForeignKey(Memory, null=True, blank=True, on_delete=models.CASCADE, related_name="grades")
    subject = models.CharField(max_length=64, help_text="SHA-256 of the question, the answer and the evidence shown")
    value = models.PositiveSmallIntegerField(null=True, help_text="1 right, 0 wrong, null not sure")
    abstained = models.BooleanField(default=False, help_text="the answer says that it does not know")
    note = models.TextField(blank=True)
    state = models.CharField(max_length=9, choices=WorkState, default=WorkState.DRAFT)
    round = models.PositiveSmallIntegerField(default=1)
    revision = models.PositiveIntegerField(default=1)
    made_at = models.DateTimeField(db_default=Now())
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "annotator", "kind", "subject", "round"], name="one_grade_per_subject")]


class Concern(models.Model):
    """Something in a transcript that troubled an annotator; it goes to the study's named person."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="concerns")
    assignment = models.ForeignKey(Assignment, null=True, on_delete=models.SET_NULL, related_name="concerns")
    session = models.ForeignKey(Session, null=True, on_delete=models.CASCADE, related_name="concerns")
    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="concerns")
    seq = models.PositiveIntegerField(null=True)
    text = models.TextField(blank=True)
    reported_at = models.DateTimeField(db_default=Now())
    answer = models.TextField(blank=True)
    answered_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL, related_name="+")
    answered_at = models.DateTimeField(null=True, blank=True)
    unmasked_at = models.DateTimeField(null=True, blank=True, help_text="when the named person looked who it is")


class Flag(models.Model):
    """What a machine noticed about an annotator's work. It removes nothing; the annotator sees and may answer it."""

    class Kind(models.TextChoices):
        FAST = "fast"
        PATTERN = "pattern"
        GOLD = "gold"
        DRIFT = "drift"

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="flags")
    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="flags")
    assignment = models.ForeignKey(Assignment, null=True, on_delete=models.CASCADE, related_name="flags")
    kind = models.CharField(max_length=7, choices=Kind)
    detail = models.TextField()
    raised_at = models.DateTimeField(db_default=Now())
    answer = models.TextField(blank=True)
    answered_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["assignment", "kind"], name="one_flag_per_kind")]


class WorkDay(models.Model):
    """Active time of one annotator on one day (UTC): what the daily cap is held against."""

    annotator = models.ForeignKey(Annotator, on_delete=models.CASCADE, related_name="days")
    day = models.DateField()
    active_ms = models.PositiveBigIntegerField(default=0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["annotator", "day"], name="one_tally_per_day")]


class Prelabel(models.Model):
    """A suggested label, from a file or a scorer; shown to all annotators of a study alike, or to none."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="prelabels")
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="prelabels")
    seq = models.PositiveIntegerField()
    choice = models.CharField(max_length=9, choices=Label.Choice)
    source = models.CharField(max_length=80)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "seq", "source"], name="one_prelabel_per_source")]


from annotation.decisions import Adjudication, Waiver  # noqa: E402, F401  # they are tables of this app; their module needs none of these
