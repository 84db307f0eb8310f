"""Every call to a language model."""

from django.db import models
from django.db.models.functions import Now

from studyplatform.study.models import Session, Study


class LLMCall(models.Model):
    """One request and what came back. The raw output is stored before it is parsed.

    Times in ms from the request's start; `cost` in the study's currency; `tag` is the opaque request id that was sent.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="llm_calls", db_index=False)  # begins `calls_by_purpose`
    session = models.ForeignKey(Session, null=True, on_delete=models.CASCADE, related_name="llm_calls")
    seq = models.PositiveIntegerField(null=True)
    purpose = models.CharField(max_length=30)
    prompt = models.CharField(max_length=60)
    prompt_sha256 = models.CharField(max_length=64)
    model_asked = models.CharField(max_length=120)
    model_answered = models.CharField(max_length=120, blank=True)
    parameters = models.JSONField(default=dict)
    messages = models.JSONField(default=list, help_text="the prompt as it was sent")
    raw = models.TextField(blank=True)
    error = models.TextField(blank=True)
    finish_reason = models.CharField(max_length=30, blank=True)
    tokens_in = models.PositiveIntegerField(null=True)
    tokens_out = models.PositiveIntegerField(null=True)
    tokens_cached = models.PositiveIntegerField(null=True)
    cost = models.DecimalField(max_digits=12, decimal_places=6, default=0)
    first_token_ms = models.FloatField(null=True)
    total_ms = models.FloatField(null=True)
    tag = models.CharField(max_length=80, blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [models.Index(fields=["study", "purpose"], name="calls_by_purpose")]
