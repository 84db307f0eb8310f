"""`manage.py demo`: everything running, with links to click. `manage.py` itself hands it to `studyplatform.stack`.

What is here is `--people`, the step that prepares the database and the demo study.
"""

import json
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.urls import reverse

from studyplatform.console.entering import entry_url
from studyplatform.env import ROOT, stack_dir
from studyplatform.stack.places import read_json, write_private
from studyplatform.study import links, moving
from studyplatform.study.joining import new_participant
from studyplatform.study.models import Participant, Role, Study, User

SLUG = "demo"
FILE = ROOT / "studies" / "demo.toml"
STAFF = ("researcher", "annotator", "reviewer")
People = dict[str, dict[str, str]]


class Command(BaseCommand):
    help = "Start everything, load the demo study and print the links."

    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--people", action="store_true", help="only migrate, load the study and make its people, in a running stack")
        parser.add_argument("--port", type=int, help="port for the pages")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["people"]:
            raise CommandError("Run it from the command line: manage.py demo.")
        call_command("migrate", interactive=False, verbosity=0)
        path = stack_dir() / "demo.json"
        people = prepare(read_json(path) or {})
        write_private(path, json.dumps(people, indent=1))


def prepare(known: People) -> People:
    """The demo study's people and their links: those of the last run, and new ones for whom there are none."""
    study = _study(FILE)
    people = {name: _member(study, name, known.get(name, {})) for name in STAFF}
    people["participant"] = _participant(study, known.get("participant", {}))
    people["login"] = {"link": settings.PUBLIC_URL + reverse("account_login")}
    return people


def _study(file: Path) -> Study:
    study = Study.objects.filter(slug=SLUG).first()
    if study is None:
        call_command("load_study", str(file))
        study = moving.move(Study.objects.get(slug=SLUG), Study.State.RUNNING)
    return study


def _member(study: Study, role: str, known: dict[str, str]) -> dict[str, str]:
    """A member of staff with one role in the study. The password is kept in the state folder, for its owner only."""
    email = f"{role}@demo.example.org"
    password = known.get("password") or secrets.token_urlsafe(12)
    user = User.objects.filter(email=email).first() or User.objects.create_user(email, password, name=f"Demo {role}")
    if not user.check_password(password):
        user.set_password(password)
        user.save(update_fields=["password"])
    Role.objects.get_or_create(user=user, study=study, name=role)
    return {"email": email, "password": password, "link": entry_url(user)}


def _participant(study: Study, known: dict[str, str]) -> dict[str, str]:
    participant = Participant.objects.filter(study=study, code=known.get("code", "")).exclude(state=Participant.State.WITHDRAWN).first()
    if participant is None:
        participant = new_participant(study)
    return {"code": participant.code, "link": links.personal_url(participant)}
