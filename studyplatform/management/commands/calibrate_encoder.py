"""Find an encoder's thresholds on recorded questions and answers: what is recalled, and how often rightly, at which cosine."""

import json
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from numpy.typing import NDArray

from memory import calibration, encoders
from memory.models import EncoderCalibration
from memory.policies.amu_controllers.training import statements
from memory.policies.amu_controllers.wording import third_person
from memory.policy import OPENING_QUERY, exchange_text
from studyplatform.analysis.tables import threshold
from studyplatform.llm.embeddings import EndpointFailed
from studyplatform.llm.providers import UnknownProvider
from studyplatform.scripted import hashing
from studyplatform.scripted.sentences import content_words
from studyplatform.simulation import recordings
from studyplatform.simulation.recordings import BadRecording, RecordedPair, RecordedSession, Recording
from studyplatform.stack import borrowed
from studyplatform.stack.faults import StackFault
from studyplatform.study.models import Study

BATCH = 64
PERCENTILES = (5, 10, 25, 50, 75, 90)
STEPS = tuple(round(0.05 * step, 2) for step in range(3, 17))
CONTEXT_UTTERANCES = 5
Vectors = NDArray[np.float32]
Held = tuple[int, int, str]  # session, turn, text
Embed = Callable[[Sequence[str]], Vectors]


@dataclass
class Found:
    """Best cosines: of each question (and whether that memory holds the answer), of each question among statements about the person, of each
    reply, of each conversation to the opening query. `pairs`: each question with its ten nearest exchanges."""

    questions: list[tuple[float, bool]] = field(default_factory=list)
    pairs: list[tuple[float, bool]] = field(default_factory=list)
    statements: list[float] = field(default_factory=list)
    replies: list[float] = field(default_factory=list)
    openings: list[float] = field(default_factory=list)


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--replay", required=True, metavar="SOURCE", help="lufy:DIR or locomo:FILE")
        parser.add_argument("--encoder", default="local/minilm", metavar="PROVIDER/MODEL", help="default: %(default)s")
        parser.add_argument("--system", metavar="NAME", help="of lufy: only this system's conversations")
        parser.add_argument("--store", action="store_true", help="keep the thresholds in the database, for studies that use this encoder")
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def handle(self, *args: Any, **options: Any) -> None:
        name: str = options["encoder"]
        if options["store"]:
            _refuse_to_change(name)
        try:
            recorded = recordings.read(options["replay"], system=options["system"], seed=1)
            with borrowed.encoder(name, settings={"LOCAL_EMBEDDINGS_URL": settings.ENV.LOCAL_EMBEDDINGS_URL}):
                embed = _embed(name)
                found = searched(recorded, embed, encoders.get(name).window_chars)
                document = _document(name, found, _candidate(embed), dimension=embed([OPENING_QUERY]).shape[1])
        except (BadRecording, EndpointFailed, UnknownProvider, StackFault) as error:
            raise CommandError(str(error)) from error
        if options["store"]:
            stored = {"dimension": document["dimension"], "thresholds": document["thresholds"]}
            provenance = {"replay": options["replay"].partition(":")[0], "n": document["n"], "best_f1": document["best_f1"]}
            EncoderCalibration.objects.update_or_create(encoder=name, defaults={**stored, "provenance": provenance})
        self.stdout.write(json.dumps(document) if options["json"] else "\n".join(_lines(document)))
        if options["store"] and not options["json"]:
            self.stdout.write(f"Stored: studies can use {name} now.")


def _refuse_to_change(name: str) -> None:
    """A study's thresholds stay as they were when its first participant agreed."""
    if name in encoders.REGISTRY:
        raise CommandError(f"{name} comes calibrated; leave --store out to see what these recordings would give.")
    bound = Study.objects.filter(config__memory__encoder=name, frozen_at__isnull=False).values_list("slug", flat=True)
    if bound and EncoderCalibration.objects.filter(encoder=name).exists():
        raise CommandError(
            f"{name} is in use by {', '.join(bound)}, whose thresholds must not change under their participants. Nothing was stored."
        )


def searched(recorded: Sequence[Recording], embed: Embed, window: int) -> Found:
    """Every distinct question and every reply against the exchanges that a memory which forgets nothing holds by then.

    `window`: characters of a query that the encoder reads.
    """
    found = Found()
    asked: set[tuple[str, str]] = set()
    opening = embed([OPENING_QUERY])[0]
    for recording in recorded:
        held: list[Held] = []
        said: list[str] = []
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
            found.pairs += _pairs(new, number, held, vectors, embed)
            said += [third_person(text) for text in session.user]
            if new:
                found.statements += (embed([pair.question for pair in new]) @ embed(said).T).max(axis=1).tolist()
    if not found.questions or not found.openings:
        raise BadRecording("There are no questions, or no second session, in these recordings.")
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
    pairs: Sequence[RecordedPair], number: int, held: Sequence[Held], vectors: Vectors, embed: Embed
) -> Iterator[tuple[float, bool]]:
    """Per question: its best cosine, and whether that exchange is its evidence or holds half of the answer's content words."""
    for pair, nearest in _nearest(pairs, vectors, embed, 1):
        for cosine, at in nearest:
            yield cosine, _holds(pair, held[at], number)


def _pairs(
    pairs: Sequence[RecordedPair], number: int, held: Sequence[Held], vectors: Vectors, embed: Embed
) -> Iterator[tuple[float, bool]]:
    """The ten nearest exchanges of each question, as the paper judged them: cosine, and whether the exchange holds the answer."""
    for pair, nearest in _nearest(pairs, vectors, embed, 10):
        for cosine, at in nearest:
            yield cosine, _holds(pair, held[at], number)


def _nearest(
    pairs: Sequence[RecordedPair], vectors: Vectors, embed: Embed, count: int
) -> Iterator[tuple[RecordedPair, list[tuple[float, int]]]]:
    for pair, query in zip(pairs, embed([pair.question for pair in pairs]) if pairs else (), strict=True):
        cosines = vectors @ query
        yield pair, [(float(cosines[at]), int(at)) for at in np.argsort(-cosines, kind="stable")[:count]]


def _holds(pair: RecordedPair, memory: Held, number: int) -> bool:
    session, turn, text = memory
    answer = set(content_words(pair.answer))
    holds = bool(answer) and 2 * len(answer & set(content_words(text))) >= len(answer)
    return holds or (session == number and turn in pair.turns)


def _candidate(embed: Embed) -> float:
    """The cosine that best tells statements about the same thing from others, over the labelled pairs of statements."""
    rows = statements()
    old, new = embed([row.old for row in rows]), embed([row.new for row in rows])
    cosines = np.einsum("ij,ij->i", old, new)
    same = [float(c) for c, row in zip(cosines, rows, strict=True) if row.relation != "separate"]
    apart = [float(c) for c, row in zip(cosines, rows, strict=True) if row.relation == "separate"]
    return round(calibration.best_f1(same, apart)[0], 3)


def _embed(name: str) -> Embed:
    """Unit vectors, in batches."""
    encoder = encoders.get(name)

    def in_process(texts: Sequence[str]) -> Vectors:
        return np.array([hashing.embed(text) for text in texts], dtype=np.float32)

    def in_batches(texts: Sequence[str]) -> Vectors:
        return np.vstack([encoder.embed(texts[i : i + BATCH]) for i in range(0, len(texts), BATCH)])

    return in_process if name == "scripted/hash" else in_batches


def _document(name: str, found: Found, candidate: float, *, dimension: int) -> dict[str, Any]:
    thresholds = calibration.reply_thresholds(found.questions)
    thresholds["opening"] = round(float(np.percentile(found.openings, 10)), 3)
    thresholds["amu_candidate"] = candidate
    thresholds["amu_recall"] = calibration.reply_thresholds([(cosine, False) for cosine in found.statements])["reply"]
    curve = threshold.curve(found.pairs, STEPS)
    committed = encoders.get(name).thresholds
    in_use = committed.get("reply", thresholds["reply"])
    return {
        "encoder": name,
        "dimension": dimension,
        "n": {"questions": len(found.questions), "replies": len(found.replies), "openings": len(found.openings)},
        "cosines": {
            "question": _spread([cosine for cosine, _ in found.questions]),
            "reply": _spread(found.replies),
            "opening": _spread(found.openings),
        },
        "bands": [asdict(calibration.band(found.questions, step)) for step in STEPS],
        "figure_4": [asdict(band) for band in threshold.bands(found.pairs)],
        "figure_5": [asdict(point) for point in curve],
        "best_f1": asdict(threshold.best(curve)),
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
    yield "Ten nearest exchanges of each question (figure 4): how many are right, by cosine"
    for row in document["figure_4"]:
        share = "     –" if row["right"] is None else f"{row['right']:6.1%}"
        yield f"{row['low']:5.2f}–{row['high']:4.2f} {share} {'█' * round(40 * (row['right'] or 0)):40} n = {row['pairs']}"
    yield ""
    yield "What a threshold keeps of these (figure 5)"
    yield "threshold  precision  recall     F1"
    for row in document["figure_5"]:
        precision = "–" if row["precision"] is None else f"{row['precision']:.1%}"
        mark = "  ← highest F1" if row["threshold"] == document["best_f1"]["threshold"] else ""
        yield f"{row['threshold']:9.2f}{precision:>11}{row['recall']:8.1%}{row['f1']:7.3f}{mark}"
    yield ""
    yield "The nearest exchange of each question: recalled at a threshold, and right"
    yield "threshold  recalled  precision  recall     F1"
    for row in document["bands"]:
        yield f"{row['threshold']:9.2f}{row['recalled']:10.1%}{row['precision']:11.1%}{row['recall']:8.1%}{row['f1']:7.3f}"
    yield ""
    for name, value in document["thresholds"].items():
        yield f"{name:16} {value:.3f} (committed: {document['committed'][name] or 'none'})"
    yield f"Of the participants' messages, {document['replies_that_recall']:.1%} recall something at the reply threshold in use."
