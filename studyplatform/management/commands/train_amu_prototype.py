"""Train AMU's prototype controller on the odd-numbered sessions of the benchmark; print how it does on sessions that it was not trained on.

Within the odd half: each fifth of the sessions with weights from the other four. The even-numbered sessions are for testing: nothing of them is
read but with --unseen, which trains nothing.
"""

import hashlib
import json
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from django.core.management.base import BaseCommand, CommandError

from memory import encoders
from memory.policies.amu_controllers import trained, training, trying
from memory.policies.amu_controllers.trained import Trained
from memory.policies.amu_controllers.training import ACTIONS, Turn
from memory.policies.amu_controllers.trying import Confusion
from memory.policy import Vector
from studyplatform.scripted import hashing

BATCH = 64
Embed = Callable[[Sequence[str]], Vector]


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--data", type=Path, required=True, help="folder of session-NN.jsonl")
        parser.add_argument("--encoder", choices=sorted(_ENCODERS), action="append", help="default: every encoder that has weights")
        parser.add_argument("--out", type=Path, default=trained.FOLDER, help="folder for the weights")
        parser.add_argument("--unseen", action="store_true", help="train nothing; try the committed weights on the even-numbered sessions")

    def handle(self, *args: Any, **options: Any) -> None:
        paths = _sessions(options["data"], odd=not options["unseen"])
        try:
            conversations = [_read(path) for path in paths]
        except (KeyError, ValueError) as error:
            raise CommandError(f"These are not the benchmark's sessions: {error}") from error
        for name in options["encoder"] or _ENCODERS:
            embed, thresholds = _remembering(_ENCODERS[name]()), encoders.get(name).thresholds
            if options["unseen"]:
                self._print(name, "unseen", trying.tried(conversations, _committed(name), name, embed, thresholds))
                continue
            found = trying.cross_validated(conversations, name, embed, thresholds)
            self._print(name, "left out while training", found)
            path = options["out"] / trained.path_of(name).name
            path.write_text(json.dumps(_document(name, paths, training.fit(conversations, embed), found)) + "\n", "utf-8")

    def _print(self, encoder: str, what: str, found: Confusion) -> None:
        self.stdout.write(f"{encoder}, {what}: {trying.accuracy(found):.1%} of {found.total()} actions")
        self.stdout.write("gold     " + "".join(f"{action:>9}" for action in ACTIONS))
        for gold in ACTIONS:
            self.stdout.write(f"{gold:9}" + "".join(f"{found[gold, action]:9}" for action in ACTIONS))


def _sessions(folder: Path, *, odd: bool) -> list[Path]:
    """The session files with an odd number, or those with an even one, in order.

    Raises:
        CommandError: there are none.
    """
    paths = sorted(path for path in folder.glob("session-*.jsonl") if int(path.stem.removeprefix("session-")) % 2 == int(odd))
    if not paths:
        raise CommandError(f"{folder} has no session-NN.jsonl with an {'odd' if odd else 'even'} number.")
    return paths


def _read(path: Path) -> list[Turn]:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [
        Turn(
            row["text"],
            row["action"],
            datetime.fromisoformat(row["at"]),
            row.get("memory_id", ""),
            row.get("aspect", ""),
            row.get("intent", ""),
        )
        for row in rows
        if row["kind"] == "turn"
    ]


def _committed(encoder: str) -> Trained:
    path = trained.path_of(encoder)
    if not path.is_file():
        raise CommandError(f"{encoder} has no weights: train them first.")
    return Trained.read(json.loads(path.read_text("utf-8")))


def _document(encoder: str, paths: Sequence[Path], made: Trained, found: Confusion) -> dict[str, Any]:
    """The weights, and what they were made from."""
    return {
        "made_by": "manage.py train_amu_prototype",
        "encoder": encoder,
        "trained_on": {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in paths},
        "sentences": {name: hashlib.sha256((training.FOLDER / name).read_bytes()).hexdigest() for name in training.FILES},
        "penalties": asdict(training.PENALTIES),
        "cross_validated": {
            "accuracy": round(trying.accuracy(found), 4),
            "confusion": [[found[gold, action] for action in ACTIONS] for gold in ACTIONS],
        },
        **made.document(),
    }


def _remembering(embed: Embed) -> Embed:
    """Each text is encoded once."""
    known: dict[str, Vector] = {}

    def remembered(texts: Sequence[str]) -> Vector:
        new = [text for text in dict.fromkeys(texts) if text not in known]
        for start in range(0, len(new), BATCH):
            batch = new[start : start + BATCH]
            known.update(zip(batch, embed(batch), strict=True))
        return np.stack([known[text] for text in texts])

    return remembered


def _minilm() -> Embed:
    """The local stack's encoder, in this process: no server is needed."""
    from studyplatform.stack.minilm import MiniLM

    model = MiniLM()
    return lambda texts: model.embed(list(texts))


def _hashed() -> Embed:
    return lambda texts: np.array([hashing.embed(text) for text in texts], dtype=np.float32)


_ENCODERS: dict[str, Callable[[], Embed]] = {"local/minilm": _minilm, "scripted/hash": _hashed}
