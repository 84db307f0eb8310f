"""The page at the root: where to go from here, for whoever comes without a link."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe


@require_safe
def front(request: HttpRequest) -> HttpResponse:
    """Participants use their link; staff log in."""
    return render(request, "front.html")
