"""Find the perplexity scorer's cap and divisor on recorded conversations, and print how its values are spread."""

import json
import random
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memory import calibration
from memory.measures.perplexity import ServerPerplexity
from memory.measures.registry import PERPLEXITY_SCALES
from memory.measures.scorer import Context
from memory.policy import Exchange
from studyplatform.llm.streaming import ModelFailed
from studyplatform.simulation import recordings
from studyplatform.simulation.crew import Crew, CrewFault, answers
from studyplatform.simulation.recordings import BadRecording
from studyplatform.stack import borrowed
from studyplatform.stack.faults import StackFault

PERCENTILES = (5, 25, 50, 75, 90, 95, 99)
_WHENEVER = datetime.fromtimestamp(0, UTC)  # no scorer reads the time
WORDS = ((1, 1), (2, 3), (4, 8), (9, 20), (21, None))


@dataclass(frozen=True)
class Spread:
    """Perplexities of utterances of `words` words: how many, and their percentiles."""

    words: str
    n: int
    percentiles: dict[str, float]


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--replay", required=True, metavar="SOURCE", help="lufy:DIR or locomo:FILE")
        parser.add_argument("--model", default="local/smollm2", metavar="PROVIDER/MODEL", help="default: %(default)s")
        parser.add_argument(
            "--sample", type=int, default=500, metavar="N", help="exchanges, drawn by the seed; 0: all; default: %(default)s"
        )
        parser.add_argument("--seed", type=int, default=1)
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            exchanges = drawn(options["replay"], options["sample"], options["seed"])
            with _model(options["model"]):
                scored = [(e, value) for e in exchanges for value in _perplexity(options["model"], e)]
        except (BadRecording, CrewFault, ModelFailed, StackFault) as error:
            raise CommandError(str(error)) from error
        if not scored:
            raise CommandError(f"{options['model']} gave no log-probabilities of a given text: it cannot score perplexity.")
        values = [value for _, value in scored]
        scale = calibration.perplexity_scale(values)
        spreads = [_spread("all", values), *_by_length(scored)]
        document = {
            "model": options["model"],
            "n": len(values),
            "left_out": len(exchanges) - len(values),
            **asdict(scale),
            "cap_interval": calibration.cap_interval(values, options["seed"]),
            "committed": asdict(PERPLEXITY_SCALES[options["model"]]) if options["model"] in PERPLEXITY_SCALES else None,
        }
        if options["json"]:
            self.stdout.write(json.dumps({**document, "spread": [asdict(spread) for spread in spreads]}))
            return
        self.stdout.write("\n".join(_lines(document, spreads)))


def drawn(source: str, sample: int, seed: int) -> list[Exchange]:
    """Distinct exchanges with something said by the participant, a sample of them in order of drawing.

    Raises:
        BadRecording: the source cannot be read.
    """
    said = [pair for r in recordings.read(source, system=None, seed=seed) for s in r.sessions for pair in zip(s.bot, s.user, strict=True)]
    pairs = [(bot, user) for bot, user in dict.fromkeys(said) if user.strip()]
    chosen = random.Random(seed).sample(pairs, min(sample or len(pairs), len(pairs)))  # noqa: S311  # a sample, no secret
    return [Exchange(1, seq, bot, user, _WHENEVER) for seq, (bot, user) in enumerate(chosen, start=1)]


@contextmanager
def _model(name: str) -> Iterator[None]:
    """The local model, or the scripted one, answers while this is open; another provider's must answer by itself."""
    wanted = ("chat-model",) if name.startswith("local/") else ()
    scripted = urlsplit(settings.ENV.SCRIPTED_URL)
    with Crew() as crew, borrowed.models(*wanted, settings={"LOCAL_LLM_URL": settings.ENV.LOCAL_LLM_URL}):
        if name.startswith("scripted/") and not answers(f"{scripted.scheme}://{scripted.netloc}/health"):
            crew.scripted(scripted.port)
        yield


def _perplexity(model: str, exchange: Exchange) -> Iterator[float]:
    """The exchange's perplexity, or nothing where the server does not return every probability."""
    found = ServerPerplexity(model, None).score(exchange, Context("", 0, 0, "calibration", exchange.seq))
    if not found.fallback:
        yield found.value


def _by_length(scored: Sequence[tuple[Exchange, float]]) -> Iterator[Spread]:
    for low, high in WORDS:
        values = [value for e, value in scored if low <= len(e.user.split()) <= (high or len(e.user))]
        if values:
            yield _spread(str(low) if low == high else f"{low}–{high}" if high else f"{low} and more", values)


def _spread(words: str, values: Sequence[float]) -> Spread:
    found = np.percentile(values, PERCENTILES)
    return Spread(words, len(values), {f"p{p}": round(float(v), 1) for p, v in zip(PERCENTILES, found, strict=True)})


def _lines(document: dict[str, Any], spreads: Sequence[Spread]) -> Iterator[str]:
    yield f"{document['model']}: {document['n']} exchanges, {document['left_out']} left out (no probabilities)"
    low, high = document["cap_interval"]
    yield f"cap {document['cap']:g} (95 % interval {low:g} to {high:g}), divisor {document['divisor']:g} (committed: {document['committed'] or 'none'})"
    yield ""
    yield "{:12}{:>6}".format("words", "n") + "".join(f"{f'p{p}':>12}" for p in PERCENTILES)
    for spread in spreads:
        yield f"{spread.words:12}{spread.n:>6}" + "".join(f"{value:>12.1f}" for value in spread.percentiles.values())
