"""`manage.py study SLUG`: where a study stands, and bringing it into another state."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from studyplatform.study import links, moving, studies
from studyplatform.study.access import participants_of
from studyplatform.study.models import Study


class Command(BaseCommand):
    help = "Show where a study stands; with --state, bring it into another state."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug")
        parser.add_argument("--state", choices=Study.State.values)

    def handle(self, *args: Any, slug: str, state: str | None, **options: Any) -> None:
        study = Study.objects.filter(slug=slug).first()
        if study is None:
            raise CommandError(f"There is no study {slug}. There are: {', '.join(Study.objects.values_list('slug', flat=True)) or 'none'}.")
        if state is not None:
            try:
                study = moving.move(study, state)
            except studies.Refused as refused:
                raise CommandError(str(refused)) from refused
        frozen = f"frozen since {study.frozen_at:%Y-%m-%d %H:%M} UTC" if study.frozen_at else "not frozen"
        self.stdout.write(f"{study.slug} is {study.state}, {frozen}, config {study.config_sha256[:12]}.")
        self.stdout.write(f"People: {participants_of(study).count()}, and {participants_of(study, pilot=True).count()} pilot people.")
        self.stdout.write(f"General link: {links.general_url(study)}")
