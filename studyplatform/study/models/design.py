"""What the researcher designs, and who may see it."""

from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.models import PermissionsMixin
from django.db import models
from django.db.models.functions import Now

from studyplatform.study.codes import code4, code8


class UserManager(BaseUserManager["User"]):
    def create_user(self, email: str, password: str | None = None, **fields: Any) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> "User":
        return self.create_user(email, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractBaseUser, PermissionsMixin):
    """Staff: researchers, annotators, reviewers. Participants are not users (see `Participant`)."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    time_zone = models.CharField(max_length=64, default="UTC")
    joined_at = models.DateTimeField(db_default=Now())

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = UserManager()

    def __str__(self) -> str:
        return self.email


class Study(models.Model):
    """One study: its frozen design and its state.

    `config` is the parsed study file as it holds now (read through `studyplatform.study.config.StudyConfig`), `source` the
    file as it was written, `config_sha256` the hash of its canonical form. `frozen_at` is set at the first real consent;
    from then on only an `Amendment` changes these three, and amendment 0 keeps what was frozen. `code` stands for the
    study in participants' addresses: a slug may say too much.
    """

    class State(models.TextChoices):
        DRAFT = "draft"
        PILOT = "pilot"
        RUNNING = "running"
        PAUSED = "paused"
        CLOSED = "closed"

    slug = models.SlugField(max_length=80, unique=True)
    code = models.CharField(max_length=8, default=code8, unique=True)
    title = models.CharField(max_length=200)
    source = models.TextField()
    config = models.JSONField()
    config_sha256 = models.CharField(max_length=64)
    state = models.CharField(max_length=8, choices=State, default=State.DRAFT)
    simulated = models.BooleanField(default=False)
    replay = models.JSONField(
        null=True, blank=True, help_text="what is spoken here again, and how (studyplatform.replaying); none: people spoke"
    )
    frozen_at = models.DateTimeField(null=True, blank=True)
    unblinded_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name_plural = "studies"

    def __str__(self) -> str:
        return self.slug


class Condition(models.Model):
    """One level of the comparison. `code` is all that the rest of the system, and a blinded person, sees."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="conditions")
    name = models.CharField(max_length=60)
    preset = models.CharField(max_length=60)
    parameters = models.JSONField(default=dict)
    code = models.CharField(max_length=4, default=code4)
    order = models.PositiveSmallIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["study", "name"], name="one_condition_per_name"),
            models.UniqueConstraint(fields=["study", "code"], name="one_condition_per_code"),
            models.UniqueConstraint(fields=["study", "order"], name="one_condition_per_order"),
        ]


class Amendment(models.Model):
    """A numbered change to a frozen study: wording, windows, quotas, consent. Never conditions or models.

    Number 0 is no change: it keeps the design as it was frozen, and is stored with the first change.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="amendments")
    number = models.PositiveSmallIntegerField()
    reason = models.TextField()
    reference = models.CharField(max_length=200, blank=True)
    source = models.TextField()
    config = models.JSONField()
    config_sha256 = models.CharField(max_length=64)
    made_by = models.ForeignKey(User, null=True, on_delete=models.SET_NULL)
    made_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["study", "number"], name="one_amendment_per_number")]


class Role(models.Model):
    """What a member of staff may do in one study."""

    class Name(models.TextChoices):
        RESEARCHER = "researcher"
        ANNOTATOR = "annotator"
        REVIEWER = "reviewer"

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="roles")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="roles")
    name = models.CharField(max_length=10, choices=Name)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "study", "name"], name="one_role_per_user_and_study")]


class AuditEvent(models.Model):
    """Who looked at, or changed, what is normally closed: conditions of a blinded study, exports, withdrawals."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="audit")
    user = models.ForeignKey(User, null=True, on_delete=models.SET_NULL)
    act = models.CharField(max_length=60)
    detail = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())
