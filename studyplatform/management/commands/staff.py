"""`manage.py staff EMAIL --study SLUG --role researcher`: an account, and what it may do in one study."""

import secrets
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from studyplatform.study.models import AuditEvent, Role, Study, User


class Command(BaseCommand):
    help = "Give somebody an account and roles in a study; with --remove, take the roles away."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--study", required=True, metavar="SLUG")
        parser.add_argument("--role", action="append", choices=Role.Name.values, required=True, help="may be given several times")
        parser.add_argument("--remove", action="store_true", help="take these roles away instead")

    def handle(self, *args: Any, email: str, **options: Any) -> None:
        study = Study.objects.filter(slug=options["study"]).first()
        if study is None:
            raise CommandError(f"There is no study {options['study']}. Load one with manage.py load_study FILE.toml.")
        user = User.objects.filter(email__iexact=email).first()
        if options["remove"]:
            self._remove(user, study, options["role"])
        else:
            self._give(user or self._create(email), study, options["role"])

    def _create(self, email: str) -> User:
        password = secrets.token_urlsafe(12)
        user = User.objects.create_user(email, password)
        self.stdout.write(f"New account {user.email}, password {password} (shown once; to be changed after logging in)")
        return user

    def _give(self, user: User, study: Study, roles: list[str]) -> None:
        for role in roles:
            _, new = Role.objects.get_or_create(user=user, study=study, name=role)
            if new:
                AuditEvent.objects.create(study=study, act="role given", detail=f"{user.email}: {role}")
            self.stdout.write(f"{user.email} is {role} of {study.slug}{'' if new else ' already'}.")

    def _remove(self, user: User | None, study: Study, roles: list[str]) -> None:
        removed, _ = Role.objects.filter(user=user, study=study, name__in=roles).delete() if user else (0, {})
        if not removed or user is None:
            raise CommandError("That account has none of these roles in this study. Nothing was changed.")
        AuditEvent.objects.create(study=study, act="role taken away", detail=f"{user.email}: {', '.join(roles)}")
        self.stdout.write(f"Removed {removed} of the roles of {user.email} in {study.slug}.")
