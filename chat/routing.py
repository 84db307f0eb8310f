"""The chat's websocket."""

from typing import Any

from django.urls import path

from chat.consumers import chat

_door: Any = chat  # an ASGI application, where django.urls knows views only
websocket_urls: list[Any] = [path("p/<str:code>/s/<str:session_code>/ws", _door)]
