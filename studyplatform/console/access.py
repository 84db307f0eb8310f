"""Who may open a staff page: the study is looked up among her own, so a stranger's address is simply not there."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from studyplatform.study.models import Role, Study, User

View = Callable[..., HttpResponse]


def staff(request: HttpRequest) -> User:
    """The person who is logged in; call it only behind a login."""
    return cast(User, request.user)


def studies_of(user: User, role: Role.Name) -> QuerySet[Study]:
    """The studies in which she has that role, newest first."""
    return Study.objects.filter(roles__user=user, roles__name=role).order_by("-created_at", "slug")


def researching(view: View) -> View:
    """Hand the view one of the researcher's own studies in place of its slug; anything else is a 404."""

    @login_required
    @wraps(view)
    def door(request: HttpRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponse:
        own = studies_of(staff(request), Role.Name.RESEARCHER)
        return view(request, get_object_or_404(own, slug=slug), *args, **kwargs)

    return door
