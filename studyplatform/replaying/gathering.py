"""From a replay's rows to the plain records that the tables are computed from."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from chat import exchanges
from memory import encoders
from memory.models import Memory, MemoryEvent, QAAnswer, SecondAnswer
from memory.policy import Vector
from studyplatform.analysis import judging
from studyplatform.analysis.judging import Strictness
from studyplatform.analysis.tables.records import Answered, Held, Placed, Survived
from studyplatform.replaying.wishes import Wish
from studyplatform.study.models import Arm, QAPair, Session, Study

ENDED = (MemoryEvent.What.FORGOTTEN, MemoryEvent.What.SUPERSEDED, MemoryEvent.What.DELETED)
EVIDENCE = "the turns tied to the question"
BATCH = 64


@dataclass
class Gathered:
    """Everything that the tables need. `labels`: of the conditions, in the study's order."""

    labels: tuple[str, ...]
    answered: list[Answered] = field(default_factory=list)
    placed: list[Placed] = field(default_factory=list)
    held: list[Held] = field(default_factory=list)
    survived: list[Survived] = field(default_factory=list)


@dataclass(frozen=True)
class _Kept:
    """One memory, as far as tables go. `ended`: the session at whose close it was gone; None: it is still there."""

    session: int
    seq: int
    sources: frozenset[str]
    text: str
    vector: Vector | None
    ended: int | None

    def alive(self, after: int) -> bool:
        return self.session <= after and (self.ended is None or self.ended > after)


@dataclass(frozen=True)
class _Arm:
    arm: Arm
    label: str
    sessions: Mapping[int, Session]
    memories: Sequence[_Kept]

    @property
    def recording(self) -> str:
        return self.arm.participant.external_id or self.arm.participant.code

    @property
    def person(self) -> str:
        return self.recording.rpartition("/")[2]


def gather(study: Study, wish: Wish, *, strictness: Strictness = "half", answer_model: str | None = None) -> Gathered:
    """The records of a replay, as far as it has come. `answer_model`: whose answers; None: the study's own.

    Raises:
        studyplatform.llm.embeddings.EndpointFailed: the encoder does not answer (the questions are ranked anew).
    """
    labels = {variant.name: variant.shown for variant in wish.variants}
    conditions = list(study.conditions.order_by("order"))
    found = Gathered(tuple(labels[c.name] for c in conditions))
    questions = _embedded(study, wish)
    said: dict[int, list[int]] = {}
    for condition in conditions:
        arms = Arm.objects.filter(condition=condition).select_related("participant").order_by("participant__number")
        for arm in arms:
            mine = _arm(arm, labels[condition.name])
            found.answered += _answered(mine, strictness, answer_model)
            found.placed += _placed(mine, questions)
            for number, session in sorted(mine.sessions.items()):
                if session.state != Session.State.CLOSED:
                    continue
                seqs = said.setdefault(session.pk, [e.seq for e in exchanges.of_session(session.pk)])
                kept = [m for m in mine.memories if m.alive(number)]
                found.held.append(Held(mine.person, mine.label, number, len(seqs), len(kept)))
                found.survived.append(_survived(mine, number, seqs, kept))
    return found


def _arm(arm: Arm, label: str) -> _Arm:
    sessions = Session.objects.filter(participant=arm.participant_id)
    both = [*sessions.filter(arm__condition=None), *sessions.filter(arm=arm)]
    ended: dict[int, int] = {}
    events = MemoryEvent.objects.filter(arm=arm, what__in=ENDED).order_by("session_number")
    for memory_id, number in events.values_list("memory_id", "session_number"):
        ended.setdefault(memory_id, number)
    rows = Memory.objects.filter(arm=arm).order_by("-session_number", "-seq", "pk")
    memories = [
        _Kept(
            m.session_number,
            m.seq,
            frozenset(m.sources),
            "\n".join(dict.fromkeys(text for text in (m.bot_text, m.user_text, m.embed_text) if text)),
            None if m.vector is None else np.asarray(m.vector, dtype=np.float32),
            ended.get(m.pk),
        )
        for m in rows
    ]
    return _Arm(arm, label, {s.number: s for s in both}, memories)


def _survived(arm: _Arm, number: int, seqs: Sequence[int], kept: Iterable[_Kept]) -> Survived:
    """Exchanges of that session that stand behind a memory still held; a summary stands for none."""
    sources = {source for m in kept if m.seq for source in m.sources}
    still = frozenset(i for i, seq in enumerate(seqs) if f"{number}:{seq}" in sources)
    return Survived(arm.person, arm.recording, arm.label, number, len(seqs), still)


def _answered(arm: _Arm, strictness: Strictness, model: str | None) -> Iterator[Answered]:
    """An answer that could not be read counts as asked and not answered."""
    rows: Iterable[tuple[int, int, str, str]]
    if model is None:
        asked = QAAnswer.objects.filter(arm=arm.arm)
        rows = asked.values_list("after_session", "pair__session__number", "pair__answer", "answer")
    else:
        again = SecondAnswer.objects.filter(first__arm=arm.arm, model=model)
        rows = again.values_list("first__after_session", "first__pair__session__number", "first__pair__answer", "answer")
    for after, of, wanted, given in rows:
        correct = bool(given) and judging.holds(given, wanted, strictness)
        yield Answered(arm.person, arm.label, after, of, bool(given), correct)


def _embedded(study: Study, wish: Wish) -> dict[str, Vector]:
    texts = list(dict.fromkeys(QAPair.objects.filter(session__participant__study=study).values_list("question", flat=True)))
    encoder = encoders.get(wish.encoder_name)
    vectors = [vector for i in range(0, len(texts), BATCH) for vector in encoder.embed(texts[i : i + BATCH])]
    return dict(zip(texts, vectors, strict=True))


def _placed(arm: _Arm, questions: Mapping[str, Vector]) -> Iterator[Placed]:
    """Every question after its own session: the rank of the first memory that holds the answer, by cosine; ties newest first."""
    ids = [session.pk for session in arm.sessions.values()]
    pairs = QAPair.objects.filter(session__in=ids).select_related("session").order_by("session__number", "number")
    for pair in pairs:
        held = [m for m in arm.memories if m.alive(pair.session.number) and m.vector is not None]
        ranked = _nearest(held, questions[pair.question])
        evidence = {f"{pair.session.number}:{seq}" for seq in pair.evidence}
        right = {
            judging.NAMES["half"]: [judging.holds(m.text, pair.answer, "half") for m in ranked],
            judging.NAMES["all"]: [judging.holds(m.text, pair.answer, "all") for m in ranked],
            EVIDENCE: [bool(m.sources & evidence) for m in ranked],
        }
        for judge, is_right in right.items():
            rank = next((i for i, it_is in enumerate(is_right, start=1) if it_is), None)
            yield Placed(arm.person, arm.label, judge, f"{pair.session.number} {pair.question}", rank, len(ranked), sum(is_right))


def _nearest(held: Sequence[_Kept], question: Vector) -> list[_Kept]:
    vectors = [m.vector for m in held if m.vector is not None]
    return [held[i] for i in np.argsort(-(np.stack(vectors) @ question), kind="stable")] if vectors else []
