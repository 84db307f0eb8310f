"""Who sits at this browser: one signed cookie per participant, sent only to that participant's own pages.

The cookie's path is `/p/<code>/`, so two people on one computer hold two cookies, and the second is never taken for the
first. The cookie names the participant and the key version; raising the version makes every earlier link and cookie void.
"""

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone, translation

from studyplatform.study.models import Participant

COOKIE = "seat"
AGE_S = 365 * 24 * 3600
_signer = Signer(salt="study.seat", sep=":")
View = Callable[..., HttpResponse]


class SeatedRequest(HttpRequest):
    """A request whose participant is known."""

    participant: Participant


def cookie_of(participant: Participant) -> str:
    """The value of this participant's cookie."""
    return _signer.sign(f"{participant.code}.{participant.key_version}")


def path_of(code: str) -> str:
    return f"/p/{code}/"


def take(response: HttpResponse, participant: Participant) -> HttpResponse:
    """Give this browser the participant's seat."""
    response.set_cookie(
        COOKIE,
        cookie_of(participant),
        max_age=AGE_S,
        path=path_of(participant.code),
        httponly=True,
        samesite="Lax",
        secure=settings.SESSION_COOKIE_SECURE,
    )
    return response


def leave(response: HttpResponse, code: str) -> HttpResponse:
    """Free the seat on this browser ("not you?")."""
    response.delete_cookie(COOKIE, path=path_of(code), samesite="Lax")
    return response


def key_version_of(cookies: Mapping[str, str], code: str) -> int | None:
    """The key version that a genuine cookie for `code` carries; None without one. Asks no database."""
    try:
        name, version = _signer.unsign(cookies.get(COOKIE, "")).rsplit(".", 1)
    except (BadSignature, ValueError):
        return None
    return int(version) if name == code else None


def participant_of(cookies: Mapping[str, str], code: str, *, also_left: bool = False) -> Participant | None:
    """The participant with this code whose genuine cookie is among `cookies`. Who left the study has no seat any more."""
    version = key_version_of(cookies, code)
    if version is None:
        return None
    participant = Participant.objects.select_related("study").filter(code=code, key_version=version).first()
    if participant is None or (participant.left_at and not also_left):
        return None
    return participant


def seated(view: View) -> View:
    """For views under `/p/<code>/`: gives `request.participant` in place of `code`, in the person's language and time zone.

    Who left the study is sent to the page that says so; anybody else gets 404 with a page that says how to come in.
    """

    @wraps(view)
    def door(request: HttpRequest, code: str, *args: Any, **kwargs: Any) -> HttpResponse:
        participant = participant_of(request.COOKIES, code, also_left=True)
        if participant is None:
            return render(request, "study/not_seated.html", status=404)
        if participant.left_at:
            return redirect("left", code)
        return _in_their_words(view, request, participant, *args, **kwargs)

    return door


def seated_after_leaving(view: View) -> View:
    """As `seated`, for the page of those who left the study."""

    @wraps(view)
    def door(request: HttpRequest, code: str, *args: Any, **kwargs: Any) -> HttpResponse:
        participant = participant_of(request.COOKIES, code, also_left=True)
        if participant is None:
            return render(request, "study/not_seated.html", status=404)
        if not participant.left_at:
            return redirect("home", code)
        return _in_their_words(view, request, participant, *args, **kwargs)

    return door


def _in_their_words(view: View, request: HttpRequest, participant: Participant, *args: Any, **kwargs: Any) -> HttpResponse:
    request.participant = participant  # type: ignore[attr-defined]  # what SeatedRequest declares
    request.LANGUAGE_CODE = participant.language
    with translation.override(participant.language), timezone.override(ZoneInfo(participant.time_zone)):
        response: HttpResponse = view(request, *args, **kwargs)
    response.headers["Cache-Control"] = "private, no-store"
    return response
