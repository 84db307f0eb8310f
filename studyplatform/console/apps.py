from django.apps import AppConfig


class ConsoleApp(AppConfig):
    name = "studyplatform.console"
    label = "console"
