from django.apps import AppConfig


class AnnotationApp(AppConfig):
    name = "annotation"
    label = "annotation"
