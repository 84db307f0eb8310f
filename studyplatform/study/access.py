"""Who of the staff may see what: every queryset begins with a study that the person has a role in."""

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.contrib.auth.decorators import login_required
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404

from studyplatform.study.models import Participant, Role, Session, Study, User

View = Callable[..., HttpResponse]
RESEARCHER, ANNOTATOR, REVIEWER = Role.Name.RESEARCHER.value, Role.Name.ANNOTATOR.value, Role.Name.REVIEWER.value


def staff(request: HttpRequest) -> User:
    """The person who is logged in; call it only behind a login."""
    return cast(User, request.user)


def studies_of(user: User, *roles: str) -> QuerySet[Study]:
    """The studies in which this person has one of the roles (none named: any). A superuser has all of them."""
    if not user.is_authenticated or not user.is_active:
        return Study.objects.none()
    if user.is_superuser:
        return Study.objects.all()
    held = Role.objects.filter(user=user, name__in=roles) if roles else Role.objects.filter(user=user)
    return Study.objects.filter(pk__in=held.values("study"))


def has_role(user: User, study: Study, *roles: str) -> bool:
    return studies_of(user, *roles).filter(pk=study.pk).exists()


def participants_of(study: Study, *, pilot: bool = False) -> QuerySet[Participant]:
    """The people who count in this study; `pilot`: the pilot people instead, who never do."""
    return Participant.objects.filter(study=study, pilot=pilot, simulated=study.simulated)


def sessions_of(study: Study, *, pilot: bool = False) -> QuerySet[Session]:
    """The sessions of the people who count in this study."""
    return Session.objects.filter(participant__in=participants_of(study, pilot=pilot))


def require_role(*roles: str) -> Callable[[View], View]:
    """For staff views with a study's slug in the address: hands over the study in its place, or 404 to everybody without the role.

    404 and not 403: whether a study exists is nobody else's business. Who is not logged in is sent to the log-in page.
    """

    def decorate(view: View) -> View:
        @login_required
        @wraps(view)
        def door(request: HttpRequest, slug: str, *args: Any, **kwargs: Any) -> HttpResponse:
            return view(request, get_object_or_404(studies_of(staff(request), *roles), slug=slug), *args, **kwargs)

        return door

    return decorate


researching = require_role(RESEARCHER)
