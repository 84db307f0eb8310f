"""Reproduce the committed weights of the arousal or valence ridge from EmoBank, and print how well they do on its test split."""

import json
from argparse import ArgumentParser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError
from numpy.typing import NDArray

from memory.measures import arousal, arousal_training
from memory.measures.arousal_training import Split
from studyplatform.scripted import hashing

BATCH = 256
Embed = Callable[[list[str]], NDArray[np.float32]]


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--emobank", type=Path, required=True, help="EmoBank's emobank.csv (CC BY-SA 4.0)")
        parser.add_argument("--out", type=Path, default=arousal.WEIGHTS, help="folder for the weights")
        parser.add_argument("--dimension", choices=sorted(arousal_training.COLUMNS), default="arousal")
        parser.add_argument("--encoder", choices=sorted(_ENCODERS), action="append", help="default: every encoder that has weights")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            parts = arousal_training.read(options["emobank"], options["dimension"])
        except (OSError, KeyError, ValueError) as error:
            raise CommandError(f"{options['emobank']} cannot be read as EmoBank: {error}") from error
        for name in options["encoder"] or _ENCODERS:
            embed = _ENCODERS[name]()
            split = {part: Split(arousal.design(_in_batches(embed, texts), texts), values) for part, (texts, values) in parts.items()}
            fit = arousal_training.fit(split["train"], split["dev"], split["test"])
            path = options["out"] / arousal.file_name(name, options["dimension"])
            path.write_text(json.dumps(_document(name, fit), separators=(",", ":")) + "\n", "utf-8")
            self.stdout.write(
                f"{name}: Pearson r {fit.test_r:.3f}, MAE {fit.test_mae:.3f} on the test split (dev {fit.dev_r:.3f}, penalty {fit.penalty:g}) → {path.name}"
            )


def _in_batches(embed: Embed, texts: list[str]) -> NDArray[np.float32]:
    return np.vstack([embed(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)])


def _document(encoder: str, fit: arousal_training.Fit) -> dict[str, Any]:
    return {
        "licence": "CC BY-SA 4.0, from EmoBank (Buechel and Hahn 2017); see LICENCE.md",
        "encoder": encoder,
        "test_pearson_r": round(fit.test_r, 4),
        "penalty": fit.penalty,
        "mean": round(fit.mean, 6),
        "stretch": round(fit.stretch, 6),
        "coefficients": [round(float(w), 4) for w in fit.coefficients],
    }


def _minilm() -> Embed:
    """The local stack's encoder, in this process: no server is needed."""
    from studyplatform.stack.minilm import MiniLM

    return MiniLM().embed


def _hashed() -> Embed:
    return lambda texts: np.array([hashing.embed(text) for text in texts], dtype=np.float32)


_ENCODERS: dict[str, Callable[[], Embed]] = {"local/minilm": _minilm, "scripted/hash": _hashed}
