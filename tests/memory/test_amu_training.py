"""The prototype controller's weights: what they are made from, and what they are never made from."""

import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from io import StringIO

import numpy as np
import pytest
from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError

from memory import encoders
from memory.policies.amu_controllers import learning, signs, trained, training, trying
from memory.policies.amu_controllers.trained import Trained
from memory.policies.amu_controllers.training import Turn
from studyplatform.scripted import hashing

AT = datetime(2026, 3, 2, tzinfo=UTC)


def embed(texts):
    return np.array([hashing.embed(text) for text in texts], dtype=np.float32)


def session(number: int, *turns: tuple[str, str, str]) -> str:
    rows = [{"kind": "session", "id": f"s{number:02}", "theme": "animals", "language": "en"}]
    for i, (action, slot, text) in enumerate(turns):
        row = {"kind": "turn", "id": f"s{number:02}-t{i:02}", "at": (AT + timedelta(days=i)).isoformat(), "text": text, "action": action}
        if slot:
            row |= {"memory_id": f"s{number:02}-{slot}"}
        if action in ("store", "update"):
            row |= {"aspect": "social_relationship", "intent": "inform"}
        rows.append(row)
    rows.append({"kind": "query", "id": "q1", "at": AT.isoformat(), "text": "What is my cat called?", "expected": []})
    return "\n".join(map(json.dumps, rows))


@pytest.fixture
def data(tmp_path):
    """Two sessions to train on, and one that is no session at all."""
    cat = ("store", "m1", "I have a cat called Mo."), ("filter", "", "Good night!"), ("discard", "m1", "My cat is called Mo.")
    dog = ("store", "m1", "I have a dog called Rex."), ("update", "m1", "My dog Rex has died."), ("filter", "", "How are you?")
    (tmp_path / "session-01.jsonl").write_text(session(1, *cat))
    (tmp_path / "session-02.jsonl").write_text("this is not read")
    (tmp_path / "session-03.jsonl").write_text(session(3, *dog))
    return tmp_path


def train(data, *more: str) -> str:
    out = StringIO()
    call_command("train_amu_prototype", "--data", data, "--out", data, "--encoder", "scripted/hash", *more, stdout=out)
    return out.getvalue()


def test_only_sessions_with_an_odd_number_are_read_for_training(data):
    said = train(data)
    assert "of 6 actions" in said
    made = json.loads((data / "scripted_hash.json").read_text())
    assert list(made["trained_on"]) == ["session-01.jsonl", "session-03.jsonl"]


def test_the_sessions_with_an_even_number_are_what_is_unseen(data):
    with pytest.raises(CommandError, match="not the benchmark's sessions"):
        train(data, "--unseen")


def test_training_twice_gives_the_same_file(data):
    train(data)
    first = (data / "scripted_hash.json").read_bytes()
    train(data)
    assert (data / "scripted_hash.json").read_bytes() == first


@pytest.mark.parametrize("encoder", ["local/minilm", "scripted/hash"])
def test_the_committed_weights_are_made_from_what_is_in_the_repository(encoder):
    made = json.loads(trained.path_of(encoder).read_text())
    data = settings.BASE_DIR / "bench" / "amu"
    odd = [path for path in sorted(data.glob("session-*.jsonl")) if int(path.stem[-2:]) % 2 == 1]
    assert made["trained_on"] == {path.name: sha256(path.read_bytes()).hexdigest() for path in odd}, "run manage.py train_amu_prototype"
    assert made["sentences"] == {name: sha256((training.FOLDER / name).read_bytes()).hexdigest() for name in training.FILES}


def test_weights_that_are_written_and_read_decide_as_before():
    made = training.fit([], embed)
    again = Trained.read(json.loads(json.dumps(made.document())))
    rows = trained.design(embed(["I have a cat.", "Good night!"]), ["I have a cat.", "Good night!"])
    assert np.allclose(made.aspect.probabilities(rows), again.aspect.probabilities(rows), atol=0.02)
    assert again.cuts == made.cuts


def test_a_logistic_regression_finds_the_line_between_two_classes():
    design = np.array([[-2.0], [-1.0], [1.0], [2.0]])
    found = learning.fit(design, ["a", "a", "b", "b"], 0.01)
    assert found.of(np.array([3.0]))["b"] > 0.9
    assert found.of(np.array([0.0]))["b"] == pytest.approx(0.5, abs=0.01)


def test_what_is_known_is_told_apart_from_what_is_new():
    known = signs.known("Rosa lent me a suit.", [("My neighbour Rosa keeps bees.", 0.6)])
    assert known[signs.KNOWN.index("known_name")] == 1
    assert not signs.known("Rosa lent me a suit.", []).any()
    assert signs.known("It rains.", [("My neighbour Rosa keeps bees.", 0.1)])[signs.KNOWN.index("known_name")] == 0


@pytest.mark.parametrize(("new", "differs"), [("I swim on Fridays.", 1.0), ("On Tuesdays I swim.", 0.0)])
def test_another_day_is_another_value(new, differs):
    said = {"said": new, "aspect": "activity", "intent": "inform"}
    row = signs.pair(said, {**said, "said": "I swim on Tuesdays."}, 0.8, lead=0.8, weeks=1)
    assert row[signs.PAIR.index("values_differ")] == differs


def test_each_conversation_is_tried_on_a_store_of_its_own():
    turns = [Turn("I have a cat called Mo.", "store", AT, "m1"), Turn("I have a cat called Mo.", "discard", AT, "m1")]
    found = trying.tried([turns, turns], training.fit([], embed), "scripted/hash", embed, encoders.get("scripted/hash").thresholds)
    assert found == {("store", "store"): 2, ("discard", "discard"): 2}
    assert trying.accuracy(found) == 1
