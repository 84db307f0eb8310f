"""The Celery application. The tasks, in the order in which they run, are in `studyplatform.jobs`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyplatform.settings")

app = Celery("studyplatform")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["studyplatform"], related_name="jobs")
