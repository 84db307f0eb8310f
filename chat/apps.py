from django.apps import AppConfig


class ChatApp(AppConfig):
    name = "chat"
    label = "chat"
