from django.apps import AppConfig


class ReportingApp(AppConfig):
    name = "studyplatform.reporting"
    label = "reporting"
    verbose_name = "Reports"
