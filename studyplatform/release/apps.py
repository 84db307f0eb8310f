from django.apps import AppConfig


class ReleaseApp(AppConfig):
    name = "studyplatform.release"
    label = "release"
    verbose_name = "Release"
