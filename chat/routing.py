"""The chat's websocket."""

from typing import Any

from django.urls import path

from chat.consumers import chat

websocket_urls: list[Any] = [path("p/<str:code>/s/<str:session_code>/ws", chat)]
