"""What a researcher fills in: a reason, and a confirmation."""

from django import forms


class Reason(forms.Form):
    """An act that is recorded asks why."""

    reason = forms.CharField(min_length=5, max_length=500, strip=True)
    confirmed = forms.BooleanField()
