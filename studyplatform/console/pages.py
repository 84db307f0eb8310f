"""Staff pages that only show: her studies, the design of one, its record of acts, and where annotators and reviewers land."""

from django.contrib.auth import login
from django.contrib.auth.decorators import login_required
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET

from studyplatform.console import describing
from studyplatform.console.entering import user_of
from studyplatform.study.access import ANNOTATOR, RESEARCHER, REVIEWER, researching, staff, studies_of
from studyplatform.study.models import Study

BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@require_GET
def enter(request: HttpRequest, token: str) -> HttpResponse:
    """The demonstration's one-click sign-in; the token leaves the address with the redirect."""
    user = user_of(token)
    if user is None:
        raise Http404("This sign-in link is not valid (any more).")
    login(request, user, backend=BACKEND)
    return redirect("console:studies")


@login_required
@require_GET
def studies(request: HttpRequest) -> HttpResponse:
    """The studies she runs. Who only annotates or reviews is sent to that work."""
    user = staff(request)
    mine = studies_of(user, RESEARCHER).annotate(people=Count("participants", distinct=True))
    own = list(mine.order_by("-created_at", "slug"))
    if not own and studies_of(user, ANNOTATOR).exists():
        return redirect("console:annotating")
    if not own and studies_of(user, REVIEWER).exists():
        return redirect("console:reviewing")
    return render(
        request, "console/studies.html", {"real": [s for s in own if not s.simulated], "simulated": [s for s in own if s.simulated]}
    )


@login_required
@require_GET
def annotating(request: HttpRequest) -> HttpResponse:
    """Where an annotator lands."""
    return _landing(request, ANNOTATOR, "console/annotating.html")


@login_required
@require_GET
def reviewing(request: HttpRequest) -> HttpResponse:
    """Where a de-identification reviewer lands."""
    return _landing(request, REVIEWER, "console/reviewing.html")


def _landing(request: HttpRequest, role: str, template: str) -> HttpResponse:
    own = studies_of(staff(request), role)
    if not own.exists():
        raise Http404(f"No study lists you as {role}.")
    return render(request, template, {"own": own})


@require_GET
@researching
def design(request: HttpRequest, study: Study) -> HttpResponse:
    """What the design means, the study file as it was written, its hash."""
    meaning = describing.meaning_of(study)
    context = {
        "study": study,
        "amendments": study.amendments.order_by("number"),
        "meaning": meaning.lines,
        "warnings": meaning.warnings,
        "page": "design",
    }
    return render(request, "console/design.html", context)


@require_GET
@researching
def design_file(request: HttpRequest, study: Study) -> HttpResponse:
    """The study file, byte for byte as it was loaded."""
    response = HttpResponse(study.source, content_type="application/toml; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.slug}.toml"'
    return response


@require_GET
@researching
def record(request: HttpRequest, study: Study) -> HttpResponse:
    """Who did what to this study, newest first."""
    return render(
        request,
        "console/record.html",
        {"study": study, "events": study.audit.select_related("user").order_by("-at", "-pk"), "page": "record"},
    )
