"""The study that simulated people take part in: a design as it stands, with other models and, in a replay, without its own words."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from studyplatform.env import ROOT
from studyplatform.study import loading, moving, studies
from studyplatform.study.config import StudyConfig
from studyplatform.study.models import Study

Llm = Literal["scripted", "local"]
MODELS: dict[Llm, tuple[str, str]] = {"scripted": ("scripted/script", "scripted/hash"), "local": ("local/smollm2", "local/minilm")}
STUDIES = ROOT / "studies"


class NoStudy(Exception):
    """There is no such study, neither stored nor as a file."""


@dataclass(frozen=True)
class Changes:
    """What differs from the study's own design. `sessions`: per arm; `replay`: the bot's words come from a recording."""

    llm: Llm
    sessions: int | None = None
    replay: bool = False


def design_of(slug: str, folder: Path = STUDIES) -> loading.Loaded:
    """The stored study's design, or its file's.

    Raises:
        NoStudy: neither exists.
        BadStudyFile: the file cannot be used.
    """
    study = Study.objects.filter(slug=slug).first()
    if study is not None:
        return loading.Loaded(studies.config_of(study), study.source, study.config_sha256)
    file = folder / f"{slug}.toml"
    if not file.is_file():
        shipped = ", ".join(sorted(path.stem for path in folder.glob("*.toml"))) or "none"
        raise NoStudy(f"There is no study {slug}: nothing stored under that name, and no file studies/{slug}.toml (there: {shipped}).")
    return loading.parse(file.read_text("utf-8"))


def changed(config: StudyConfig, slug: str, changes: Changes) -> StudyConfig:
    """The design under another slug and with the changes made."""
    chat_model, encoder = MODELS[changes.llm]
    chat: dict[str, object] = {"response_model": chat_model}
    sessions: dict[str, object] = {}
    if changes.sessions is not None:
        sessions["per_arm"] = changes.sessions
    if changes.replay:
        chat["first_opener"] = None
        sessions["max_turns"] = None
    models = dict.fromkeys(("importance_model", "summary_model", "answer_model", "controller_model"))
    return config.model_copy(
        update={
            "study": config.study.model_copy(update={"slug": slug}),
            "chat": config.chat.model_copy(update=chat),
            "sessions": config.sessions.model_copy(update=sessions),
            "memory": config.memory.model_copy(update={"encoder": encoder, **models}),
        }
    )


def new_study(slug: str, changes: Changes) -> Study:
    """A new simulated study `SLUG-sim-N`, running. Raises as `design_of` does."""
    loaded = design_of(slug)
    taken = set(Study.objects.filter(slug__startswith=f"{slug}-sim-").values_list("slug", flat=True))
    number = next(n for n in range(1, len(taken) + 2) if f"{slug}-sim-{n}" not in taken)
    config = changed(loaded.config, f"{slug}-sim-{number}", changes)
    study = loading.store(loading.Loaded(config, loaded.source, loading.hash_of(config)), slug=config.study.slug, simulated=True)
    return moving.move(study, Study.State.RUNNING)
