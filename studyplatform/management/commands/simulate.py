"""`manage.py simulate`: simulated participants walk a study's real pages and sockets. The work is in `studyplatform.simulation`."""

import argparse
import asyncio
import json
import signal
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from studyplatform.simulation import casting, designs, run, serving, showing, tallying
from studyplatform.simulation.casting import Wish
from studyplatform.simulation.crew import CrewFault
from studyplatform.simulation.designs import NoStudy
from studyplatform.simulation.recordings import BadRecording
from studyplatform.simulation.serving import NotServed
from studyplatform.study.loading import BadStudyFile


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _leave(number: int, frame: Any) -> None:
    """Asked to stop: leave in order, so that the processes started for the run are stopped too."""
    sys.exit(128 + number)


class Command(BaseCommand):
    help = "Let simulated participants walk through a study, and print what became of it per arm and session."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--study", required=True, metavar="SLUG", help="a stored study, or the name of a file in studies/")
        parser.add_argument("--participants", type=_positive, required=True, metavar="N")
        parser.add_argument("--replay", metavar="SOURCE", help="lufy:DIR or locomo:FILE; without it, people speak a small script")
        parser.add_argument("--replies", choices=("recorded", "live"), default="recorded", help="in a replay: whose words the bot speaks")
        parser.add_argument("--system", metavar="NAME", help="in a replay of lufy: only this system's conversations")
        parser.add_argument("--llm", choices=("scripted", "local"), default="scripted")
        parser.add_argument("--sessions", type=_positive, metavar="N", help="per arm; default: as the study has")
        parser.add_argument("--messages", type=_positive, metavar="N", help="per session, at most; never fewer than the study asks for")
        parser.add_argument("--seed", type=int, default=1, metavar="N")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        wish = Wish(
            participants=options["participants"],
            llm=options["llm"],
            replay=options["replay"],
            live=options["replies"] == "live",
            system=options["system"],
            sessions=options["sessions"],
            messages=options["messages"],
            seed=options["seed"],
        )
        signal.signal(signal.SIGTERM, _leave)
        try:
            tally = self._simulate(options["study"], wish)
        except (BadRecording, BadStudyFile, CrewFault, NoStudy, NotServed) as error:
            raise CommandError(str(error)) from error
        if options["json"]:
            self.stdout.write(json.dumps(showing.as_json(tally), ensure_ascii=False))
        else:
            self.stdout.write("\n".join(showing.as_text(tally)))
        if tally.errors:
            sys.exit(1)

    def _simulate(self, slug: str, wish: Wish) -> tallying.Tally:
        cast = casting.cast(wish, designs.design_of(slug).config)
        study = designs.new_study(slug, cast.changes)
        invited = list(zip(run.invite(study, wish.participants), cast.people, strict=True))
        with serving.served(run.link_of(invited[0][0]), wish.llm, seed=wish.seed, say=self._say) as site:
            self._say(f"{study.slug}: {wish.participants} simulated participants at {site}")
            scripted_url = serving.scripted_url(wish.llm)
            finished = asyncio.run(run.walk_all(study, invited, site=site, scripted_url=scripted_url))
        return tallying.tally(finished)

    def _say(self, line: str) -> None:
        """Progress, on the error stream: standard output holds the result alone."""
        self.stderr.write(line)
