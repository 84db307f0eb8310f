"""What comes before a conversation: consent, instructions, a device that the study allows, a study that runs."""

from django.http import HttpRequest
from django.utils.translation import gettext

from studyplatform.study import consenting, devices
from studyplatform.study.models import Participant
from studyplatform.study.studies import admits, config_of


def before(participant: Participant) -> str:
    """The name of the page that the person has to go through first; empty when there is none left."""
    if participant.state == Participant.State.FINISHED:
        return ""
    if not consenting.is_current(participant):
        return "consent"
    if participant.instructions_version != config_of(participant.study).instructions.version:
        return "instructions"
    return ""


def hindrance(request: HttpRequest, participant: Participant) -> str:
    """Why this person cannot begin a conversation now, on this device, in words; empty when they can."""
    study = participant.study
    if admits(study, pilot=participant.pilot):
        return devices.refusal(request, config_of(study))
    if study.state == study.State.PAUSED:
        return gettext("The study is paused. Nothing of yours is lost, and no time of yours runs out.")
    return gettext("The study takes no conversations at the moment.")
