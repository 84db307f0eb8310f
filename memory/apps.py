from django.apps import AppConfig


class MemoryApp(AppConfig):
    name = "memory"
    label = "memory"
