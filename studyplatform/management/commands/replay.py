"""`manage.py replay`: recorded conversations through every memory system, without people or a browser. The work is in `studyplatform.replaying`."""

import argparse
import json
import signal
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from pydantic import ValidationError

from studyplatform.llm.embeddings import EndpointFailed
from studyplatform.llm.streaming import ModelFailed
from studyplatform.replaying import designing, gathering, reporting, running, serving, variants
from studyplatform.replaying.running import Busy
from studyplatform.replaying.talking import Diverged, NoReply
from studyplatform.replaying.variants import BadVariant
from studyplatform.replaying.walking import StageFailed
from studyplatform.replaying.wishes import Wish
from studyplatform.simulation import run, tallying
from studyplatform.simulation.crew import CrewFault
from studyplatform.simulation.designs import MODELS, NoStudy
from studyplatform.simulation.recordings import BadRecording, Recording
from studyplatform.simulation.serving import NotServed
from studyplatform.stack.faults import StackFault
from studyplatform.study.loading import BadStudyFile
from studyplatform.study.models import Study
from studyplatform.study.studies import Refused

FAULTS = (
    BadRecording, BadStudyFile, BadVariant, Busy, CrewFault, Diverged, EndpointFailed, ModelFailed, NoReply, NoStudy, NotServed, Refused, StackFault,
    StageFailed,
)  # fmt: skip
MAKING = ("recordings", "sessions", "messages", "system", "encoder", "source")


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _leave(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


class Command(BaseCommand):
    help = "Say recorded conversations again to every memory system, and print the tables that follow from it."

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("source", nargs="?", metavar="SOURCE", help="lufy:DIR, locomo:FILE or study:SLUG")
        add("--resume", metavar="SLUG", help="go on with this replay, or, when it is done, make its tables again")
        add("--design", default="lufy-2025", metavar="SLUG", help="the study whose settings are used (default: %(default)s)")
        add("--policies", type=_listed, default=[], metavar="A,B", help="presets; default: all")
        add("--sweep", action="append", default=[], metavar="NAME=A,B", help="variants of every chosen preset that has this parameter")
        add("--sweep-file", type=Path, metavar="FILE", help="a TOML file of [[variants]]: preset, overrides, label")
        add("--ablate", type=_listed, default=[], metavar="A,B", help=f"leave each part out in turn: of {', '.join(variants.ABLATIONS)}")
        add("--system", metavar="NAME", help="only the recordings with this system")
        add("--recordings", type=_positive, metavar="N", help="at most so many")
        add("--sessions", type=_positive, metavar="N", help="at most so many of each")
        add("--messages", type=_positive, metavar="N", help="per session, at most")
        add("--llm", choices=tuple(MODELS), default="scripted", help="who summarises, rates and answers")
        add("--encoder", metavar="PROVIDER/MODEL", help="default: the one that belongs to --llm")
        add("--regenerate", action="store_true", help="the response model speaks for the bot, not the recording")
        add("--hours-between", type=float, default=24, metavar="H", help="from one session to the next (default: %(default)s)")
        add("--answer-model", metavar="PROVIDER/MODEL", help="ask the questions of this model too, with the memory recalled before")
        add("--judge", choices=("half", "all"), default="half", help="of an answer's content words that must be there")
        add("--seed", type=int, default=1, metavar="N")
        add("--out", type=Path, metavar="DIR", help="write tables as JSON and CSV there, with their provenance")
        add("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        for asked in (signal.SIGINT, signal.SIGTERM):
            signal.signal(asked, _leave)
        self._slug: str | None = options["resume"]
        try:
            self._replay(options)
        except KeyboardInterrupt:
            self.stderr.write(f"Stopped. Go on with: manage.py replay --resume {self._slug}" if self._slug else "Stopped.")
            sys.exit(130)
        except FAULTS as error:
            hint = f"\nWhat is done is kept. Go on with: manage.py replay --resume {self._slug}" if self._slug else ""
            raise CommandError(f"{error}{hint}") from error

    def _replay(self, options: dict[str, Any]) -> None:
        study, wish = self._known(options) if options["resume"] else (None, self._wish(options))
        recordings = running.recordings_of(wish)
        by_key = designing.by_key(recordings)
        asked = {MODELS[wish.llm][0], *([options["answer_model"]] if options["answer_model"] else [])}
        with serving.models(asked, wish.encoder_name, seed=wish.seed, say=self._say):
            if study is None:
                study = designing.begin(wish, recordings)
                self._slug = study.slug
                self._say(
                    f"{study.slug}: {len(recordings)} recordings, {len(wish.variants)} systems. If stopped: replay --resume {study.slug}"
                )
            running.run(study, by_key, self._say)
            if options["answer_model"]:
                running.answer_again(study, options["answer_model"], self._say)
            self._show(study, wish, recordings, options)

    def _known(self, options: dict[str, Any]) -> tuple[Study, Wish]:
        study = Study.objects.filter(slug=options["resume"]).first()
        if study is None or study.replay is None:
            raise CommandError(f"There is no replay {options['resume']}.")
        if given := [name for name in MAKING if options[name] is not None]:
            raise CommandError(f"A replay that has begun keeps what it was begun with: leave out {', '.join(given)}.")
        return study, running.wish_of(study)

    def _wish(self, options: dict[str, Any]) -> Wish:
        if not options["source"]:
            raise CommandError("Say what is to be replayed: lufy:DIR, locomo:FILE or study:SLUG; or --resume SLUG.")
        kind, colon, place = options["source"].partition(":")
        chosen = variants.chosen(options["policies"], sweeps=options["sweep"], sweep_file=options["sweep_file"], ablated=options["ablate"])
        same = {name: options[name] for name in ("design", "system", "recordings", "sessions", "messages", "llm", "encoder", "regenerate")}
        try:
            return Wish(
                source=options["source"] if kind == "study" else f"{kind}{colon}{Path(place).resolve()}",
                variants=chosen,
                hours_between=options["hours_between"],
                seed=options["seed"],
                **same,
            )
        except ValidationError as error:
            raise CommandError("; ".join(f"{d['loc'][0]}: {d['msg']}" for d in error.errors())) from error

    def _show(self, study: Study, wish: Wish, recordings: list[Recording], options: dict[str, Any]) -> None:
        strictness, model = options["judge"], options["answer_model"]
        found = gathering.gather(study, wish, strictness=strictness, answer_model=model)
        marked, left_out = reporting.marks(wish, recordings)
        for line in left_out:
            self._say(f"left out: {line}")
        made = reporting.tables(found, marked, wish, strictness=strictness)
        tally = tallying.tally(run.Run(study))
        shown = {v.name: v.shown for v in wish.variants}
        names = {c.code: shown[c.name] for c in study.conditions.all()}
        origin = reporting.provenance(study, wish, strictness=strictness, answer_model=model)
        document = reporting.document(made, tally.by, names, origin)
        if options["out"] is not None:
            files = reporting.write(options["out"], document, made)
            self._say(f"{options['out']}: {', '.join(files)}")
        self.stdout.write(json.dumps(document, ensure_ascii=False) if options["json"] else "\n".join(reporting.text(made, tally.by, names)))
        for error in tally.errors:
            self._say(f"{error['where']}: {error['message']}")

    def _say(self, line: str) -> None:
        """Progress, on the error stream: standard output holds the result alone."""
        self.stderr.write(line)
