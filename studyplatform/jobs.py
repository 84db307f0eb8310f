"""Every Celery task, top to bottom, in the order in which they run."""
