"""Command line of the platform: see `manage.py help`."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "studyplatform.settings")
    from django.core.management import execute_from_command_line

    from studyplatform.env import BadEnvironment

    try:
        execute_from_command_line(sys.argv)
    except BadEnvironment as refused:
        sys.exit(str(refused))
