from django.apps import AppConfig


class StudyConfig(AppConfig):
    name = "studyplatform.study"
    label = "study"
