"""Consent and instructions: what a person reads before the first conversation."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import NoReverseMatch, reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_http_methods

from studyplatform.study import consenting, joining, wording
from studyplatform.study.pages.frame import show
from studyplatform.study.seats import SeatedRequest, seated
from studyplatform.study.studies import Refused, admits, config_of

SCOPES = {
    "study": _("My conversations and questions are used for the research of this study."),
    "annotators": _("People who help with the research may read my conversations, without my name."),
    "release_controlled": _("My conversations may be given to other researchers who agree to protect them, without names and other identifying details."),
    "release_open": _("My conversations may be published for everybody, without names and other identifying details."),
}  # fmt: skip


@require_http_methods(["GET", "POST"])
@seated
def consent(request: SeatedRequest) -> HttpResponse:
    """The statement to agree to; once agreed, the statement that holds."""
    participant = request.participant
    statement = consenting.statement(config_of(participant.study))
    given = participant.consents.filter(text_sha256=statement.sha256).first()
    scopes = [{"name": name, "words": SCOPES[name]} for name in statement.scopes]
    optional = [scope for scope in scopes if scope["name"] != "study"]
    if given is None and not admits(participant.study, pilot=participant.pilot):
        return show(request, "closed_door.html", participant.study)
    if request.method == "GET":
        return show(request, "consent.html", participant.study, statement=statement, given=given, scopes=scopes, optional=optional)
    if given is not None:  # sent twice, as when the answer to the first was lost
        return redirect("home", participant.code)
    if request.POST.get("answer") != "yes":
        return show(request, "declined.html", participant.study)
    chosen = [name for name in statement.scopes if name == "study" or name in request.POST.getlist("scopes")]
    if request.POST.get("sha256") != statement.sha256:
        return show(request, "consent.html", participant.study, statement=statement, optional=optional, chosen=chosen, changed=True)
    _take_preferences(request)
    try:
        consenting.give(participant, version=statement.version, text_sha256=statement.sha256, scopes=chosen)
    except Refused:
        return show(request, "closed_door.html", participant.study)
    return redirect("home", participant.code)


@require_http_methods(["GET", "POST"])
@seated
def instructions(request: SeatedRequest) -> HttpResponse:
    participant = request.participant
    config = config_of(participant.study)
    if not consenting.is_current(participant):
        return redirect("consent", participant.code)
    read = participant.instructions_version == config.instructions.version
    if request.method == "POST" and request.POST.get("version") == config.instructions.version:
        if not read:
            participant.instructions_version = config.instructions.version
            participant.instructed_at = timezone.now()
            participant.save(update_fields=["instructions_version", "instructed_at"])
        return redirect("home", participant.code)
    try_out = _try_out(participant.code) if config.instructions.try_out else ""
    return show(request, "instructions.html", participant.study, read=read, try_out=try_out, length=wording.length(config))


def _try_out(code: str) -> str:
    try:
        return reverse("try_out", args=[code])
    except NoReverseMatch:
        return ""


def _take_preferences(request: SeatedRequest) -> None:
    """Time zone and language, where the page's script filled them in and the person has not chosen their own."""
    participant = request.participant
    zone = joining.zone_or_utc(request.POST.get("time_zone", ""))
    if participant.time_zone == "UTC" and zone != "UTC":
        participant.time_zone = zone
        participant.save(update_fields=["time_zone"])
