"""`manage.py amu_benchmark`: every memory system over labelled conversations. The work is in `memory.benchmark`."""

import hashlib
import json
import os
import platform
import signal
import subprocess
import sys
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from memory import encoders
from memory.benchmark import judging, published, reading, sessions, showing, variants
from memory.benchmark.bench import Bench
from memory.benchmark.encoding import Encoding, NoThreshold
from memory.benchmark.partial import Partial
from memory.benchmark.running import Setting
from memory.benchmark.sessions import BadData, Session
from memory.benchmark.variants import Variant
from memory.measures import registry as measures
from studyplatform.env import ROOT
from studyplatform.llm import asking
from studyplatform.llm.embeddings import EndpointFailed
from studyplatform.llm.models import LLMCall
from studyplatform.llm.providers import UnknownProvider, resolve
from studyplatform.llm.streaming import ModelFailed
from studyplatform.simulation import designs, serving
from studyplatform.simulation.crew import Crew, CrewFault
from studyplatform.simulation.designs import Changes, NoStudy
from studyplatform.simulation.serving import NotServed
from studyplatform.stack import borrowed
from studyplatform.stack.faults import StackFault
from studyplatform.study import loading
from studyplatform.study.config import StudyConfig
from studyplatform.study.models import Study

FAULTS = (BadData, CrewFault, EndpointFailed, ModelFailed, NoStudy, NotServed, NoThreshold, StackFault, UnknownProvider)
PARTIAL = ROOT / "var" / "amu_benchmark"


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _threshold(text: str) -> tuple[str, float]:
    name, equals, value = text.partition("=")
    if not equals or name not in encoders.THRESHOLDS:
        raise ArgumentTypeError(f"write NAME=COSINE, NAME one of {', '.join(encoders.THRESHOLDS)}")
    return name, float(value)


def _leave(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


class Command(BaseCommand):
    help = "Measure what every memory system writes and finds, on labelled conversations."

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("--data", type=Path, default=ROOT / "bench" / "amu", metavar="DIR", help="folder of session-NN.jsonl (default: bench/amu)")
        add("--check", action="store_true", help="only say what is wrong with the data")
        add("--sheet", type=int, metavar="N", help="write N turns and 5 queries per session for readers, without ours, to --out")
        add("--validity", nargs="+", type=Path, metavar="FILE", help="what readers wrote into the sheets: validity and agreement")
        add("--encoder", default="local/minilm", metavar="PROVIDER/MODEL", help="default: %(default)s")
        add(
            "--model",
            metavar="PROVIDER/MODEL",
            help="who controls, summarises, rates, responds; default: the one that belongs to the encoder",
        )
        add("--policy", type=_listed, default=[], metavar="A,B", help="presets, amu:model for one controller; default: all")
        add("--sessions", type=_listed, default=[], metavar="A,B", help="sessions by id, or odd, even; default: all")
        add(
            "--model-sessions", type=int, default=1, metavar="N", help="how many a system runs that asks a model at every turn (default: 1)"
        )
        add("--close-sessions", type=int, metavar="N", help="how many are closed too, which asks a model (default: all; 0: none)")
        add("--threshold", type=_threshold, action="append", default=[], metavar="NAME=COSINE", help="instead of the encoder's own")
        add("--ablate", action="store_true", help="AMU without filtering, without storage management")
        add("--sweep", action="store_true", help="AMU over both thresholds, Naive RAG over its one")
        add("--mix", action="store_true", help="stores of two and three sessions")
        add("--judge", metavar="PROVIDER/MODEL", help="have responses written and judged")
        add("--judge-sessions", type=int, default=20, metavar="N", help="of how many sessions (default: %(default)s)")
        add("--seed", type=int, default=1)
        add("--out", type=Path, metavar="FILE", help="write the document, or the sheet, there")
        add("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        for asked in (signal.SIGINT, signal.SIGTERM):
            signal.signal(asked, _leave)
        try:
            if options["validity"]:
                self._print(options, reading.validity(options["validity"], sessions.read(options["data"])), reading.lines)
            elif options["check"]:
                self._check(options)
            elif options["sheet"]:
                self._sheet(options)
            else:
                self._run(options)
        except KeyboardInterrupt:
            self.stderr.write("Stopped. What is done is kept: the same command goes on from there.")
            sys.exit(130)
        except reading.BadSheet as error:
            raise CommandError(str(error)) from error
        except FAULTS as error:
            raise CommandError(str(error)) from error

    def _check(self, options: dict[str, Any]) -> None:
        try:
            found = sessions.read(options["data"])
        except BadData as error:
            if options["json"]:
                self.stdout.write(json.dumps({"faults": [vars(fault) for fault in error.faults]}))
            else:
                self.stdout.write(str(error))
            raise CommandError(f"{len(error.faults)} faults.") from error
        self._print(options, {**_counts(found), "faults": []}, lambda document: [f"{k}: {v}" for k, v in document.items()])

    def _sheet(self, options: dict[str, Any]) -> None:
        if options["out"] is None:
            raise CommandError("Say where the sheet goes: --out FILE.csv")
        reading.write_sheet(options["out"], sessions.read(options["data"]), options["sheet"], options["seed"])
        self.stderr.write(f"{options['out']}: one copy for each reader; they fill in the last two columns.")

    def _run(self, options: dict[str, Any]) -> None:
        found = _chosen(sessions.read(options["data"]), options["sessions"])
        try:
            wanted = variants.presets(options["policy"])
        except KeyError as error:
            raise CommandError(str(error.args[0])) from error
        encoder, model = options["encoder"], options["model"] or _model_of(options["encoder"])
        for name in (encoder, model):
            resolve(name)
        config = _config(encoder, model)
        with _models(options, model, wanted, self._say), _study(config) as study:
            encoding = Encoding(encoder, dict(options["threshold"]))
            setting = Setting(config, study.pk, encoding, measures.of(config), options["seed"])
            data = _digests(options["data"], found)
            partial = Partial(PARTIAL, [data, encoder, encoding.thresholds, model, options["seed"], config.model_dump(mode="json")])
            if partial.held:
                self._say(f"Going on: {partial.held} parts were made before.")
            bench = Bench(
                setting, found, partial, self._say, slow_sessions=options["model_sessions"], closed_sessions=options["close_sessions"]
            )
            document = self._measured(bench, wanted, options, partial)
        document["provenance"] = {**_provenance(setting, found, data), "judge": options["judge"]}
        partial.done()
        self._print(options, document, showing.text)

    def _measured(self, bench: Bench, wanted: Sequence[Variant], options: dict[str, Any], partial: Partial) -> dict[str, Any]:
        document: dict[str, Any] = {"rows": bench.rows(wanted)}
        quick = [v for v in wanted if v.preset == "amu" and not v.asks_a_model]
        if options["ablate"]:
            document["ablations"] = bench.rows(part for v in quick for part in variants.ablations(v))
        if options["sweep"]:
            swept = [*(v for v in wanted if v.preset == "naive_rag"), *quick]
            document["sweeps"] = bench.rows(part for v in swept for part in variants.sweeps(v))
        if options["mix"]:
            document["mixed"] = bench.mixed(v for v in wanted if not v.asks_a_model and not v.is_bound)
        if options["judge"]:
            document["judged"] = judging.judged(bench, wanted, options["judge"], partial, sessions=options["judge_sessions"])
        return document

    def _print(self, options: dict[str, Any], document: dict[str, Any], lines: Callable[[dict[str, Any]], Any]) -> None:
        if options["out"] is not None:
            options["out"].parent.mkdir(parents=True, exist_ok=True)
            options["out"].write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
        self.stdout.write(json.dumps(document, ensure_ascii=False) if options["json"] else "\n".join(lines(document)))

    def _say(self, line: str) -> None:
        """Progress, on the error stream: standard output holds the result alone."""
        self.stderr.write(line)


def _chosen(found: Sequence[Session], names: Sequence[str]) -> list[Session]:
    """All sessions, or those that are named; `odd` and `even` go by the number in the file's name."""
    if not names:
        return list(found)
    parity = {"odd": 1, "even": 0}
    wanted = [
        s
        for s in found
        if s.id in names or any(int(s.file[len("session-") : -len(".jsonl")]) % 2 == parity[n] for n in names if n in parity)
    ]
    if unknown := [name for name in names if name not in parity and name not in {s.id for s in found}]:
        raise CommandError(f"There is no session {', '.join(unknown)}. There are: {', '.join(s.id for s in found)}.")
    return wanted


def _model_of(encoder: str) -> str:
    return designs.MODELS["scripted" if encoder.startswith("scripted/") else "local"][0]


def _config(encoder: str, model: str) -> StudyConfig:
    """Prompts and limits of the shipped design, with these models."""
    llm: designs.Llm = "scripted" if model.startswith("scripted/") else "local"
    base = designs.changed(designs.design_of("lufy-2025").config, "amu-benchmark", Changes(llm))
    return base.model_copy(
        update={
            "chat": base.chat.model_copy(update={"response_model": model}),
            "memory": base.memory.model_copy(update={"encoder": encoder}),
        }
    )


@contextmanager
def _models(options: dict[str, Any], model: str, wanted: Sequence[Variant], say: Callable[[str], None]) -> Iterator[None]:
    """Have the encoder and the models answer that are asked, the scorers' included. Other providers' must answer by themselves."""
    closes = options["close_sessions"] != 0
    asked = {model, options["judge"] or model}
    needed = asked if closes or options["judge"] or any(v.asks_a_model for v in wanted) else set()
    scored = closes and not model.startswith("scripted/") and any(v.policy.measures for v in wanted)
    is_local = {
        "encoder": scored or options["encoder"].startswith("local/"),
        "chat-model": scored or any(n.startswith("local/") for n in needed),
    }
    addresses = {"LOCAL_EMBEDDINGS_URL": settings.ENV.LOCAL_EMBEDDINGS_URL, "LOCAL_LLM_URL": settings.ENV.LOCAL_LLM_URL}
    with ExitStack() as stack:
        if any(name.startswith("scripted/") for name in needed):
            serving.scripted(stack.enter_context(Crew()), options["seed"], say)
        stack.enter_context(borrowed.models(*(name for name, is_asked in is_local.items() if is_asked), settings=addresses))
        yield


@contextmanager
def _study(config: StudyConfig) -> Iterator[Study]:
    """A study that the requests to a model belong to for as long as the benchmark runs; nobody takes part in it."""
    slug = f"amu-benchmark-{os.getpid()}"
    study = loading.store(loading.Loaded(config, "", loading.hash_of(config)), slug=slug, simulated=True)
    try:
        yield study
    finally:
        LLMCall.objects.filter(study=study).delete()
        study.delete()


def _counts(found: Sequence[Session]) -> dict[str, Any]:
    actions: list[str] = [turn.action for s in found for turn in s.turns]
    questions = [question for s in found for question in s.questions]
    return {
        "sessions": len(found),
        "turns": len(actions),
        **{action: actions.count(action) for action in sessions.ACTIONS},
        "queries": len(questions),
        "queries_without_memory": sum(not question.expected for question in questions),
    }


def _digests(folder: Path, found: Sequence[Session]) -> dict[str, str]:
    return {s.file: hashlib.sha256((folder / s.file).read_bytes()).hexdigest() for s in found}


def _provenance(setting: Setting, found: Sequence[Session], data: dict[str, str]) -> dict[str, Any]:
    """Where the figures come from."""
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607  # git, where the code is a checkout
    config = setting.config
    used = (setting.encoding.name, config.chat.response_model, *(scorer.id.removeprefix("server:") for scorer in setting.scorers))
    return {
        "commit": commit.stdout.strip() or "unknown",
        "data": data,
        **_counts(found),
        "encoder": {"name": setting.encoding.name, "thresholds": dict(setting.encoding.thresholds)},
        "encoders_known": [*encoders.REGISTRY, "PROVIDER/MODEL of any OpenAI-compatible endpoint"],
        "model": config.chat.response_model,
        "max_tokens": asking.Model("").max_tokens,
        "scorers": [list(scorer.key) for scorer in setting.scorers],
        "device": {"machine": platform.machine(), "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 2), "accelerator": None},
        "precision": {name: PRECISION[name] for name in dict.fromkeys(used) if name in PRECISION},
        "seeds": {"run": setting.seed},
        "published": published.NOTE,
    }


PRECISION = {"local/minilm": "int8 weights (ONNX), float32 vectors", "local/smollm2": "Q4_1 (GGUF)"}
