"""Who may open a staff page: the study is looked up among her own, so a stranger's address is simply not there."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from studyplatform.study.access import RESEARCHER, studies_of
from studyplatform.study.models import User

View = Callable[..., HttpResponse]


def staff(request: HttpRequest) -> User:
    """The person who is logged in; call it only behind a login."""
    return cast(User, request.user)


def researching(view: View) -> View:
    """Hand the view one of the researcher's own studies in place of its slug; anything else is a 404."""

    @login_required
    @wraps(view)
    def door(request: HttpRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponse:
        return view(request, get_object_or_404(studies_of(staff(request), RESEARCHER), slug=slug), *args, **kwargs)

    return door
