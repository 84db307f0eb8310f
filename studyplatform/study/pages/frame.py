"""What every participant's page is given."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from studyplatform.study import wording
from studyplatform.study.models import Participant, Session, Study
from studyplatform.study.studies import config_of


def show(request: HttpRequest, template: str, study: Study, *, status: int = 200, **context: Any) -> HttpResponse:
    """Render a page in the study's frame."""
    given = {
        "study": study,
        "design": config_of(study),
        "participant": getattr(request, "participant", None),
        "day_format": wording.day_format(),
        "moment_format": wording.moment_format(),
        **context,
    }
    return render(request, f"study/{template}", given, status=status)


def earned(participant: Participant) -> str:
    """Pay for the conversations that were held, in words; empty where the study names no pay or none was held."""
    table = config_of(participant.study).study
    held = Session.objects.filter(participant=participant, state=Session.State.CLOSED, user_turns__gt=0).count()
    return wording.money(table.pay_per_session * held, table.currency)
