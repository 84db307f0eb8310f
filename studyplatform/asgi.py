"""The ASGI application: Django over HTTP, the chat over websockets."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyplatform.settings")

from django.core.asgi import get_asgi_application

_http = get_asgi_application()

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.security.websocket import AllowedHostsOriginValidator

from chat.lifespan import lifespan
from chat.routing import websocket_urls

application = ProtocolTypeRouter({"http": _http, "websocket": AllowedHostsOriginValidator(URLRouter(websocket_urls)), "lifespan": lifespan})
