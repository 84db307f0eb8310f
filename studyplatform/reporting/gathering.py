"""From a study's database rows to the rows that tables are made of, in a few queries. While a study is blinded, conditions are codes and systems stay out."""

from collections import defaultdict
from dataclasses import fields

from annotation.labelled import labels_of
from annotation.models import Grade, Purpose, TranscriptRating, WorkState
from chat.models import Turn
from memory import registry
from memory.models import Measurement, Memory, MemoryEvent, QAAnswer
from studyplatform.analysis import judging
from studyplatform.analysis.rows import (
    AnswerRow,
    ArmRow,
    HeldRow,
    LabelRow,
    MeasureRow,
    PersonRow,
    RatingRow,
    SessionRow,
    StudyRows,
    SystemRow,
    TurnRow,
)
from studyplatform.study.access import participants_of, sessions_of
from studyplatform.study.models import Arm, Condition, Session, Study

ENDED = (MemoryEvent.What.FORGOTTEN, MemoryEvent.What.SUPERSEDED, MemoryEvent.What.DELETED)
PEOPLE = "people"


def gather(study: Study) -> StudyRows:
    """The whole study as it stands; pilot people never count."""
    conditions = list(study.conditions.order_by("order"))
    blinded = study.unblinded_at is None and study.replay is None
    presets = [c.preset for c in conditions]
    shown = {c.pk: c.code if blinded else c.preset if presets.count(c.preset) == 1 else c.name for c in conditions}
    sessions = list(sessions_of(study).select_related("participant", "arm").order_by("participant_id", "position"))
    arms = list(Arm.objects.filter(participant__in=participants_of(study), condition__isnull=False).select_related("participant"))
    arms.sort(key=lambda arm: (arm.participant_id, arm.order))
    turns = _turns(study)
    return StudyRows(
        tuple(shown[c.pk] for c in conditions),
        systems=() if blinded else tuple(_system(c, shown[c.pk]) for c in conditions),
        people=tuple(PersonRow(p.code, p.state, p.language) for p in participants_of(study).order_by("pk")),
        arms=tuple(ArmRow(a.participant.code, shown[a.condition_id or 0], a.order) for a in arms),
        sessions=tuple(_session(s, shown) for s in sessions),
        turns=turns,
        measures=_measures(study),
        held=_held(arms, sessions, shown, turns),
        answers=_answers(study, shown),
        labels=_labels(study, turns),
        ratings=_ratings(study),
        language=study.config["study"].get("language", "en"),
    )


def _session(s: Session, shown: dict[int, str]) -> SessionRow:
    condition = None if s.arm.condition_id is None else shown[s.arm.condition_id]
    return SessionRow(s.code, s.participant.code, condition, s.number, s.position, s.state)


def _system(condition: Condition, label: str) -> SystemRow:
    policy = registry.build(condition.preset, condition.parameters)
    parameters = {f.name: str(getattr(policy, f.name)) for f in fields(policy)}  # type: ignore[arg-type]  # every policy is a dataclass
    return SystemRow(label, policy.name, parameters)


def _turns(study: Study) -> tuple[TurnRow, ...]:
    rows = Turn.objects.filter(session__in=sessions_of(study), state=Turn.State.DONE).order_by("session_id", "seq")
    found = rows.values_list("session__code", "seq", "role", "text", "first_token_ms", "total_ms")
    return tuple(TurnRow(code, seq or 0, role, len(text.split()), first, total) for code, seq, role, text, first, total in found.iterator())


def _measures(study: Study) -> tuple[MeasureRow, ...]:
    rows = Measurement.objects.filter(session__in=sessions_of(study), name__startswith="sentiment_").order_by("session_id", "seq", "name")
    return tuple(MeasureRow(*row) for row in rows.values_list("session__code", "seq", "name", "value").iterator())


def _labels(study: Study, turns: tuple[TurnRow, ...]) -> tuple[LabelRow, ...]:
    place: dict[tuple[str, int], int] = {}
    made: dict[str, int] = defaultdict(int)
    for t in turns:
        if t.role == Turn.Role.USER:
            place[t.session, t.seq] = made[t.session]
            made[t.session] += 1
    counted = [x for x in labels_of(study) if (x.session_code, x.seq) in place]
    return tuple(LabelRow(x.session_code, x.seq, place[x.session_code, x.seq], x.annotator, x.value) for x in counted)


def _ratings(study: Study) -> tuple[RatingRow, ...]:
    rows = TranscriptRating.objects.filter(session__in=sessions_of(study), state=WorkState.SUBMITTED, purpose=Purpose.INDEPENDENT, round=1)
    found = rows.exclude(score=None).order_by("session_id", "scale", "assignment__annotator__number")
    values = found.values_list("session__code", "assignment__annotator__number", "scale", "score")
    return tuple(RatingRow(code, f"A{who}", scale, score or 0) for code, who, scale, score in values)


def _answers(study: Study, shown: dict[int, str]) -> tuple[AnswerRow, ...]:
    """A person's grade counts (majority of the first round, a tie is no grade); a replay's answers are judged by their words."""
    grades: dict[int, list[int]] = defaultdict(list)
    given = Grade.objects.filter(study=study, kind=Grade.Kind.ANSWER, state=WorkState.SUBMITTED, round=1).exclude(value=None)
    for answer_id, value in given.values_list("answer_id", "value"):
        grades[answer_id or 0].append(value or 0)
    rows = QAAnswer.objects.filter(arm__participant__in=participants_of(study), arm__condition__isnull=False)
    found = []
    for a in rows.select_related("pair__session", "arm__participant").order_by("arm_id", "after_session", "pair_id"):
        mine = grades.get(a.pk, [])
        correct = None if 2 * sum(mine) == len(mine) else 2 * sum(mine) > len(mine)
        judge = PEOPLE if mine else ""
        if study.replay is not None and not mine:
            correct, judge = bool(a.answer) and judging.holds(a.answer, a.pair.answer), judging.NAMES["half"]
        who, condition = a.arm.participant.code, shown[a.arm.condition_id or 0]
        answered = bool(a.answer) and not a.abstained
        found.append(
            AnswerRow(who, condition, a.after_session, a.pair.session.number, a.pair.number, answered, a.nothing_recalled, correct, judge)
        )
    return tuple(found)


def _held(arms: list[Arm], sessions: list[Session], shown: dict[int, str], turns: tuple[TurnRow, ...]) -> tuple[HeldRow, ...]:
    """Per arm and closed session: what its store held then. Arms without any memory (a dataset that was imported) have none."""
    ended: dict[int, int] = {}
    events = MemoryEvent.objects.filter(arm__in=arms, what__in=ENDED, memory__isnull=False).order_by("session_number", "pk")
    for memory_id, number in events.values_list("memory_id", "session_number"):
        ended.setdefault(memory_id or 0, number)
    stored: dict[int, list[tuple[int, int, list[str], int]]] = defaultdict(list)
    for pk, arm_id, number, seq, sources in Memory.objects.filter(arm__in=arms).values_list(
        "pk", "arm_id", "session_number", "seq", "sources"
    ):
        stored[arm_id].append((number, seq, sources, ended.get(pk, 10**6)))
    said: dict[str, list[int]] = defaultdict(list)
    for t in turns:
        if t.role == Turn.Role.USER:
            said[t.session].append(t.seq)
    found = []
    for arm in arms:
        mine = [s for s in sessions if s.participant_id == arm.participant_id and s.arm.condition_id in (None, arm.condition_id)]
        for s in (s for s in mine if s.state == Session.State.CLOSED and stored[arm.pk]):
            alive = [m for m in stored[arm.pk] if m[0] <= s.number < m[3]]
            held = {source for _, seq, named, _ in alive if seq for source in named}
            kept = frozenset(i for i, seq in enumerate(said[s.code]) if f"{s.number}:{seq}" in held)
            found.append(HeldRow(arm.participant.code, shown[arm.condition_id or 0], s.number, len(said[s.code]), len(alive), kept))
    return tuple(found)
