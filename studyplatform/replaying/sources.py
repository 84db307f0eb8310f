"""Where recorded conversations come from: a released dataset, a LoCoMo file, or a study of this database."""

from collections.abc import Iterator

from chat import exchanges
from studyplatform.simulation import recordings
from studyplatform.simulation.recordings import BadRecording, RecordedPair, RecordedSession, Recording
from studyplatform.study.models import Arm, Session, Study


def read(source: str, *, system: str | None, seed: int) -> list[Recording]:
    """Every recording of `source`.

    Raises:
        BadRecording: nothing there, or it cannot be read.
    """
    kind, _, place = source.partition(":")
    if kind == "study":
        return _stored(place, system)
    return recordings.read(source, system=system, seed=seed)


def _stored(slug: str, system: str | None) -> list[Recording]:
    """A study's conversations: one recording per participant and condition, a shared first session in each."""
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise BadRecording(f"study:{slug}: there is no such study.")
    arms = Arm.objects.filter(participant__study=study).exclude(condition=None).select_related("participant", "condition")
    found = [Recording(arm.participant.code, arm.condition.name, tuple(_sessions(arm))) for arm in arms.order_by("pk") if arm.condition]
    whole = [r for r in found if r.sessions and system in (None, r.system)]
    if not whole:
        raise BadRecording(f"study:{slug}: no conversation of {system or 'any condition'} has been held to its end.")
    return whole


def _sessions(arm: Arm) -> Iterator[RecordedSession]:
    held = Session.objects.filter(participant=arm.participant_id, state=Session.State.CLOSED)
    for session in sorted([*held.filter(arm=arm), *held.filter(arm__condition=None)], key=lambda s: s.number):
        said = exchanges.of_session(session.pk)
        place = {exchange.seq: i for i, exchange in enumerate(said)}
        pairs = tuple(
            RecordedPair(pair.question, pair.answer, tuple(place[seq] for seq in pair.evidence if seq in place))
            for pair in session.qa_pairs.order_by("number")
        )
        if said:
            yield RecordedSession(tuple(e.bot for e in said), tuple(e.user for e in said), pairs)
