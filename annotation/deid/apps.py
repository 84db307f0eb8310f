from django.apps import AppConfig


class DeidApp(AppConfig):
    name = "annotation.deid"
    label = "deid"
    verbose_name = "De-identification"
