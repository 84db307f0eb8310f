"""Find an encoder's thresholds on recorded questions and answers: what is recalled, and how often rightly, at which cosine."""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from numpy.typing import NDArray

from memory import calibration, encoders
from memory.policy import OPENING_QUERY, exchange_text
from studyplatform.llm.embeddings import EndpointFailed
from studyplatform.scripted import hashing
from studyplatform.scripted.sentences import content_words
from studyplatform.simulation import recordings
from studyplatform.simulation.recordings import BadRecording, RecordedPair, RecordedSession, Recording
from studyplatform.stack import borrowed
from studyplatform.stack.faults import StackFault

BATCH = 64
PERCENTILES = (5, 10, 25, 50, 75, 90)
STEPS = tuple(round(0.05 * step, 2) for step in range(3, 17))
CONTEXT_UTTERANCES = 5
Vectors = NDArray[np.float32]
Embed = Callable[[Sequence[str]], Vectors]


@dataclass
class Found:
    """Best cosines: of each question (and whether that memory holds the answer), of each reply, of each conversation to the opening query."""

    questions: list[tuple[float, bool]] = field(default_factory=list)
    replies: list[float] = field(default_factory=list)
    openings: list[float] = field(default_factory=list)


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--replay", required=True, metavar="SOURCE", help="lufy:DIR or locomo:FILE")
        parser.add_argument("--encoder", default="local/minilm", metavar="PROVIDER/MODEL", help="default: %(default)s")
        parser.add_argument("--system", metavar="NAME", help="of lufy: only this system's conversations")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        name: str = options["encoder"]
        try:
            recorded = recordings.read(options["replay"], system=options["system"], seed=1)
            with _model(name):
                found = searched(recorded, _embed(name), encoders.get(name).window_chars)
        except (BadRecording, EndpointFailed, StackFault) as error:
            raise CommandError(str(error)) from error
        if not found.questions or not found.openings:
            raise CommandError("There are no questions, or no second session, in these recordings.")
        document = _document(name, found)
        self.stdout.write(json.dumps(document) if options["json"] else "\n".join(_lines(document)))


def searched(recorded: Sequence[Recording], embed: Embed, window: int) -> Found:
    """Every distinct question and every reply against the exchanges that a memory which forgets nothing holds by then.

    `window`: characters of a query that the encoder reads.
    """
    found = Found()
    asked: set[tuple[str, str]] = set()
    opening = embed([OPENING_QUERY])[0]
    for recording in recorded:
        held: list[tuple[int, int, str]] = []
        vectors = np.zeros((0, len(opening)), dtype=np.float32)
        for number, session in enumerate(recording.sessions):
            if len(vectors):
                found.openings.append(float((vectors @ opening).max()))
            texts = [exchange_text(bot, user) for bot, user in zip(session.bot, session.user, strict=True)]
            earlier, own = vectors, embed(texts)
            found.replies += _replies(session, earlier, own, embed, window)
            vectors = np.vstack([earlier, own])
            held += [(number, turn, text) for turn, text in enumerate(texts)]
            new = [pair for pair in session.pairs if (recording.person, pair.question) not in asked]
            asked |= {(recording.person, pair.question) for pair in new}
            found.questions += _questions(new, number, held, vectors, embed)
    return found


def _replies(session: RecordedSession, earlier: Vectors, own: Vectors, embed: Embed, window: int) -> Iterator[float]:
    """Per message of the participant: the best cosine of the last utterances, joined, to what lies before them."""
    said = [text for pair in zip(session.bot, session.user, strict=True) for text in pair]
    for turn, query in enumerate(embed([_recent(said, turn, window) for turn in range(len(session.user))])):
        before = np.vstack([earlier, own[: max(0, turn - CONTEXT_UTTERANCES // 2)]])
        if len(before):
            yield float((before @ query).max())


def _recent(said: Sequence[str], turn: int, window: int) -> str:
    """The last utterances up to the participant's own; what is longer than the encoder reads keeps its end, as in a search."""
    end = 2 * turn + 2
    return "\n".join(text for text in said[max(0, end - CONTEXT_UTTERANCES) : end] if text)[-window:]


def _questions(
    pairs: Sequence[RecordedPair], number: int, held: Sequence[tuple[int, int, str]], vectors: Vectors, embed: Embed
) -> Iterator[tuple[float, bool]]:
    """Per question: its best cosine, and whether that exchange is its evidence or holds half of the answer's content words."""
    for pair, query in zip(pairs, embed([pair.question for pair in pairs]) if pairs else (), strict=True):
        cosines = vectors @ query
        best = int(cosines.argmax())
        session, turn, text = held[best]
        answer = set(content_words(pair.answer))
        holds = bool(answer) and 2 * len(answer & set(content_words(text))) >= len(answer)
        yield float(cosines[best]), holds or (session == number and turn in pair.turns)


def _embed(name: str) -> Embed:
    """Unit vectors, in batches."""
    encoder = encoders.get(name)

    def in_process(texts: Sequence[str]) -> Vectors:
        return np.array([hashing.embed(text) for text in texts], dtype=np.float32)

    def in_batches(texts: Sequence[str]) -> Vectors:
        return np.vstack([encoder.embed(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)])

    return in_process if name == "scripted/hash" else in_batches


def _model(name: str) -> AbstractContextManager[None]:
    """The local encoder answers while this is open; the hashed one needs no server, another provider's must answer by itself."""
    wanted = ("encoder",) if name.startswith("local/") else ()
    return borrowed.models(*wanted, settings={"LOCAL_EMBEDDINGS_URL": settings.ENV.LOCAL_EMBEDDINGS_URL})


def _document(name: str, found: Found) -> dict[str, Any]:
    thresholds = calibration.reply_thresholds(found.questions)
    thresholds["opening"] = round(float(np.percentile(found.openings, 10)), 3)
    committed = encoders.get(name).thresholds
    in_use = committed.get("reply", thresholds["reply"])
    return {
        "encoder": name,
        "n": {"questions": len(found.questions), "replies": len(found.replies), "openings": len(found.openings)},
        "cosines": {
            "question": _spread([cosine for cosine, _ in found.questions]),
            "reply": _spread(found.replies),
            "opening": _spread(found.openings),
        },
        "bands": [asdict(calibration.band(found.questions, step)) for step in STEPS],
        "thresholds": thresholds,
        "committed": {key: committed.get(key) for key in thresholds},
        "replies_that_recall": float(np.mean(np.array(found.replies) >= in_use)),
    }


def _spread(values: Sequence[float]) -> dict[str, float]:
    return {f"p{p}": round(float(v), 3) for p, v in zip(PERCENTILES, np.percentile(values, PERCENTILES), strict=True)}


def _lines(document: dict[str, Any]) -> Iterator[str]:
    yield f"{document['encoder']}: " + ", ".join(f"{count} {what}" for what, count in document["n"].items())
    yield ""
    yield "best cosine " + "".join(f"{f'p{p}':>8}" for p in PERCENTILES)
    for what, spread in document["cosines"].items():
        yield f"{what:12}" + "".join(f"{value:8.3f}" for value in spread.values())
    yield ""
    yield "threshold  recalled  precision  recall     F1"
    for row in document["bands"]:
        yield f"{row['threshold']:9.2f}{row['recalled']:10.1%}{row['precision']:11.1%}{row['recall']:8.1%}{row['f1']:7.3f}"
    yield ""
    for name, value in document["thresholds"].items():
        yield f"{name:16} {value:.3f} (committed: {document['committed'][name] or 'none'})"
    yield f"Of the participants' messages, {document['replies_that_recall']:.1%} recall something at the reply threshold in use."
