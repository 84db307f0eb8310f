"""Static files: few and small, so each is read whole and sent with the length that it has now.

WhiteNoise streams a file through an iterator, which an ASGI server has to drain in a thread, with a warning; and with the length that the file had
when the process began, so that one changed meanwhile arrives cut off.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware


class Assets(WhiteNoiseMiddleware):
    """WhiteNoise, but for how a file found is sent."""

    @staticmethod
    def serve(static_file: Any, request: HttpRequest) -> HttpResponse:  # type: ignore[override]  # as WhiteNoise's own middleware does
        found = static_file.get_response(request.method, request.META)
        body = b""
        if found.file is not None:
            with found.file as file:
                body = file.read()
        response = HttpResponse(body, status=int(found.status), headers=dict(found.headers))
        if found.file is not None:
            response.headers["Content-Length"] = str(len(body))
        return response
