"""Coming in: by a personal link, by the study's general link, and back out of somebody else's seat."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from studyplatform.study import joining, links, seats
from studyplatform.study.assignment import plan
from studyplatform.study.models import Participant, Study
from studyplatform.study.pages.frame import show
from studyplatform.study.studies import Refused, config_of

ID_LENGTH = 200


@require_GET
def open_link(request: HttpRequest, token: str) -> HttpResponse:
    """A personal link: the cookie is set and the address that stays in the history holds no token."""
    participant = links.participant_of(token)
    if participant is None:
        return render(request, "study/not_seated.html", status=404)
    return _sit(participant)


@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, code: str) -> HttpResponse:
    """The general link. A person is created when they press the button, so a preview of the link creates nobody."""
    study = Study.objects.filter(code=code).first() or Study.objects.filter(slug=code).first()
    if study is None or study.simulated:
        raise Http404
    external_id = _external_id(request)
    known = Participant.objects.filter(study=study, external_id=external_id).first() if external_id else None
    if known is not None:
        return _sit(known)
    if study.state not in (Study.State.RUNNING, Study.State.PILOT):
        return show(request, "closed_door.html", study)
    if joining.is_full(study):
        return show(request, "closed_door.html", study, full=True)
    if request.method == "POST" and external_id:
        return _sit(_new(study, external_id, request))
    error = gettext("The id is missing. Write the one that you were given.") if request.method == "POST" else ""
    visits = len(plan(config_of(study), 0).sessions)
    with translation.override(_language(request, study)):
        return show(request, "join.html", study, external_id=external_id, error=error, visits=visits)


@require_POST
@seats.seated
def not_you(request: seats.SeatedRequest) -> HttpResponse:
    """Free the seat on this browser."""
    return seats.leave(render(request, "study/not_seated.html"), request.participant.code)


def _external_id(request: HttpRequest) -> str:
    source = request.POST if request.method == "POST" else request.GET
    return source.get("id", "").strip().replace("\x00", "")[:ID_LENGTH]


def _new(study: Study, external_id: str, request: HttpRequest) -> Participant:
    try:
        return joining.open_by_external_id(
            study, external_id, time_zone=request.POST.get("time_zone", ""), language=request.POST.get("language") or None
        )
    except Refused as refused:
        raise Http404 from refused


def _sit(participant: Participant) -> HttpResponse:
    return seats.take(redirect("home", participant.code), participant)


def _language(request: HttpRequest, study: Study) -> str:
    return translation.get_language() or config_of(study).study.language
