"""Small recordings to be replayed, and what a replay leaves, without ids."""

import json
from pathlib import Path
from typing import Any

import pytest

from chat.models import Turn
from memory.models import Memory, MemoryEvent, QAAnswer
from studyplatform.llm import embeddings
from studyplatform.replaying import designing, running
from studyplatform.replaying.variants import chosen
from studyplatform.replaying.wishes import Wish
from studyplatform.study.models import Study
from tests.scripted_server import Scripted

SAID = (
    ("Hello, how are you?", "My dog Biscuit ran into the lake this morning."),
    ("Oh no! Is the dog well?", "Biscuit is well, the lake is not deep at all."),
    ("What do you do for a living?", "I repair violins in a small workshop."),
    ("", "My workshop smells of varnish and old violins."),
    ("How did you learn it?", "My grandmother taught me to repair violins."),
    ("Do you travel?", "We travelled to Norway by train in winter."),
    ("Tell me about Norway.", "Norway was dark, and the train was late every day."),
)
LATER = (
    ("Welcome back! How is Biscuit?", "Biscuit sleeps beside me in the workshop."),
    ("And the violins?", "A violin from Norway came in with a broken neck."),
    ("Who sent it?", "My grandmother's friend in Norway sent the violin."),
    ("Can you repair it?", "It will take me a month to repair the neck."),
    ("What else is new?", "I gave up coffee and drink green tea now."),
    ("Do you miss coffee?", "Not at all, green tea keeps me calm."),
    ("Good!", "My brother visits me on Sunday with his twins."),
)


def recorded(person: str = "Jo", *talks: tuple[tuple[str, str], ...]) -> dict[str, Any]:
    """One dialogue in LoCoMo's form."""
    conversation: dict[str, Any] = {"speaker_a": person, "speaker_b": "Mel"}
    for number, talk in enumerate(talks or (SAID, LATER), start=1):
        lines = [(speaker, text) for bot, user in talk for speaker, text in (("Mel", bot), (person, user)) if text]
        conversation[f"session_{number}"] = [
            {"speaker": speaker, "dia_id": f"D{number}:{i}", "text": text} for i, (speaker, text) in enumerate(lines, start=1)
        ]
    asked = [("What is the dog called?", "Biscuit", "D1:2"), ("Who taught the person to repair violins?", "grandmother", "D1:9"),
             ("Where did they travel by train?", "Norway", "D1:11"), ("What does the person drink?", "green tea", "D2:10")]  # fmt: skip
    qa = [{"question": q, "answer": a, "evidence": [e], "category": 1} for q, a, e in asked]
    return {"conversation": conversation, "qa": qa}


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A recording of one person in two conversations."""
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([recorded()]), "utf-8")
    return f"locomo:{file}"


def wish(source: str, *presets: str, **values: Any) -> Wish:
    return Wish(
        design="lufy-2025", source=source, variants=values.pop("variants", None) or chosen(presets or ("naive_rag", "lufy")), **values
    )


def begin(wanted: Wish) -> Study:
    return designing.begin(wanted, running.recordings_of(wanted))


def go_on(study: Study) -> Study:
    """Say the rest, as the command does."""
    wanted = running.wish_of(study)
    with embeddings.kept():
        running.run(study, designing.by_key(running.recordings_of(wanted)), lambda line: None)
    study.refresh_from_db()
    return study


@pytest.fixture
def model(transactional_db: None, script: Scripted) -> Scripted:
    """A database that other connections see, and a model server with nothing told to it."""
    return script


def ledger(study: Study) -> list[tuple[Any, ...]]:
    """Everything that happened to every memory, with its scores, without ids and wall-clock times."""
    events = MemoryEvent.objects.filter(arm__participant__study=study).select_related("arm__condition", "memory").order_by("pk")
    found = []
    for e in events:
        where = (e.arm.participant.external_id, e.arm.condition.name if e.arm.condition else "", e.session_number, e.seq, e.what)
        memory = (e.memory.session_number, e.memory.seq, e.memory.kind) if e.memory else ()
        terms = json.dumps({k: v for k, v in e.why.items() if k in ("rank", "score", "similarity", "terms", "threshold")}, sort_keys=True)
        found.append((*where, *memory, terms))
    return sorted(found, key=str)


def state(study: Study) -> list[tuple[Any, ...]]:
    """What the arms hold in the end, and what they answered."""
    memories = Memory.objects.filter(arm__participant__study=study)
    held = memories.values_list(
        "arm__condition__name", "session_number", "seq", "status", "r1", "r2", "last_recalled", "embed_text", "happened_at"
    )
    answers = QAAnswer.objects.filter(arm__participant__study=study)
    given = answers.values_list("arm__condition__name", "after_session", "pair__question", "answer", "abstained", "similarities")
    return sorted([*held, *(tuple(map(str, row)) for row in given)], key=str)


def utterances(study: Study, number: int) -> list[tuple[str, str]]:
    """(role, text) of one session per arm, in order."""
    turns = Turn.objects.filter(session__participant__study=study, session__number=number, state="done").order_by("session", "seq")
    return list(turns.values_list("role", "text"))
