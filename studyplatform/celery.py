"""The Celery application. The tasks, in the order in which they run, are in `studyplatform.jobs`."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyplatform.settings")

app = Celery("studyplatform")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks(["studyplatform"], related_name="jobs")

# For beat, which sends tasks by name: without the tasks' own imports it is half as large and starts at once.
schedule = Celery("studyplatform.schedule")
schedule.config_from_object("django.conf:settings", namespace="CELERY")
