"""The study in which a replay happens: an existing design with other conditions, one simulated participant per recording."""

from collections.abc import Sequence

from django.db import transaction

from memory import registry
from studyplatform.replaying.wishes import Wish
from studyplatform.simulation import designs
from studyplatform.simulation.designs import Changes
from studyplatform.simulation.recordings import BadRecording, Recording
from studyplatform.study import consenting, joining, loading, moving, studies
from studyplatform.study.config import ConditionTable, StudyConfig
from studyplatform.study.models import Participant, Study


def begin(wish: Wish, recordings: Sequence[Recording]) -> Study:
    """A new study `DESIGN-replay-N`, running, with everybody in it. It is simulated: no person is counted in it, and none can join.

    Raises:
        designs.NoStudy, loading.BadStudyFile: there is no such design.
        BadRecording: the recordings are too short for it.
        studies.Refused: the memory systems cannot be run with this encoder and these models.
    """
    loaded = designs.design_of(wish.design)
    slug = _free(f"{wish.design[:40]}-replay")
    config = changed(loaded.config, slug, wish, recordings)
    faults = [message for _, message in registry.faults(config)]
    if faults:
        raise studies.Refused("\n".join(faults))
    with transaction.atomic():
        study = loading.store(loading.Loaded(config, loaded.source, loading.hash_of(config)), slug=slug, simulated=True)
        study.replay = wish.model_dump(mode="json")
        study.save(update_fields=["replay"])
        moving.move(study, Study.State.RUNNING)
        for recording in recordings:
            _join(study, key(recording), config)
    return study


def changed(config: StudyConfig, slug: str, wish: Wish, recordings: Sequence[Recording]) -> StudyConfig:
    """The design as it is replayed: the wished conditions, in the same order for everybody, as many sessions as all recordings have."""
    sessions = min([*([wish.sessions] if wish.sessions else []), *(len(r.sessions) for r in recordings)])
    base = designs.changed(config, slug, Changes(wish.llm, sessions=sessions, replay=True))
    shared = base.sessions.shared_first and sessions > 1
    conditions = tuple(ConditionTable(name=v.name, preset=v.preset, overrides=v.overrides) for v in wish.variants)
    return base.model_copy(
        update={
            "study": base.study.model_copy(update={"participants": len(recordings), "design": "within"}),
            "sessions": base.sessions.model_copy(
                update={"shared_first": shared, "order": "fixed", "questions": max(1, base.sessions.questions)}
            ),
            "memory": base.memory.model_copy(update={"encoder": wish.encoder_name}),
            "conditions": conditions,
        }
    )


def key(recording: Recording) -> str:
    """What a recording's participant is called in the study: one per recording, the same on every run."""
    return f"{recording.system}/{recording.person}"


def by_key(recordings: Sequence[Recording]) -> dict[str, Recording]:
    """Recordings by their participants' names.

    Raises:
        BadRecording: two have the same.
    """
    found = {key(r): r for r in recordings}
    if len(found) != len(recordings):
        raise BadRecording("Two recordings are of the same person and system.")
    return found


def _join(study: Study, name: str, config: StudyConfig) -> Participant:
    person = joining.new_participant(study, simulated=True, external_id=name)
    statement = consenting.statement(config)
    consenting.give(person, version=statement.version, text_sha256=statement.sha256, scopes=("study",))
    return person


def _free(stem: str) -> str:
    taken = set(Study.objects.filter(slug__startswith=f"{stem}-").values_list("slug", flat=True))
    return next(f"{stem}-{n}" for n in range(1, len(taken) + 2) if f"{stem}-{n}" not in taken)
