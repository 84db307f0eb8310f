"""Nobody and no arm learns what was told to another: a secret is found only where it was told, in every store and in every prompt."""

import itertools
from dataclasses import dataclass

import pytest
from django.apps import apps

from memory import arms
from memory.space import ArmSpace
from studyplatform.llm import embeddings
from studyplatform.study import sessions
from studyplatform.study.models import QAPair, Session
from tests import cast as people
from tests.memory import listening
from tests.memory.listening import speak
from tests.memory.telling import finish, tell, write
from tests.memory.test_remembering import at_once

QUESTION = "What is the name of my sister who works as a nurse in Hull?"
NAMES = ("Zorvex", "Blimtar", "Quandil", "Fuldreth")
PATHS = {"arm": "arm_id", "session": "session__arm_id", "first": "first__arm_id"}  # from a row to the arm that it belongs to
OF_NOBODY = {"EncoderCalibration", "ScorerCalibration"}


@dataclass
class Told:
    """One person in one arm, the name that only this arm was told, and its two sessions."""

    secret: str
    first: Session
    second: Session

    def lines(self) -> tuple[str, ...]:
        """The same words as everybody else's but for the name, so that any search over more than the arm would find the others' too."""
        return (
            f"My sister {self.secret} works as a nurse in Hull.",
            f"I am allergic to peanuts, and so is {self.secret}.",
            f"My sister {self.secret} moved to York last week.",
        )

    def ask(self, session: Session) -> None:
        """The opener and a reply of a session, at the server."""
        speak(session, None)
        speak(session, QUESTION)


def told(study, names=NAMES):
    """Two people with two arms each, a name for each arm."""
    made = []
    secrets = iter(names)
    for _ in range(2):
        person = people.person(study)
        for arm in person.arms.filter(condition__isnull=False).order_by("order"):
            made.append(Told(next(secrets), listening.session_in(person, arm, 1), listening.session_in(person, arm, 2)))
    return made


def tables():
    """Every table of the memory, the chat and the models, and the questions, with the way from a row to its arm; a new one is taken up by itself."""
    ours = [
        table for app in ("memory", "chat", "llm") for table in apps.get_app_config(app).get_models() if table.__name__ not in OF_NOBODY
    ]
    for table in [*ours, QAPair]:
        names = {field.name for field in table._meta.concrete_fields}
        yield table, next(PATHS[name] for name in PATHS if name in names)


def found_in_stores():
    """(table, arm, row as text) of every row that holds anything of anybody."""
    for table, owner in tables():
        fields = [field.attname for field in table._meta.concrete_fields if field.name != "vector"]
        for row in table.objects.values_list(owner, *fields):
            yield table.__name__, row[0], repr(row[1:])


def check(everybody, requests, *, at_least):
    """Each secret in its own arm's rows and requests, in these places among others, and in no other arm's."""
    arm_of = {session.code: one.first.arm_id for one in everybody for session in (one.first, one.second)}
    places = [*found_in_stores(), *((r.label, arm_of[r.session], r.whole) for r in requests)]
    for one in everybody:
        holders = {(where, arm) for where, arm, text in places if one.secret in text}
        assert {arm for _, arm in holders} == {one.first.arm_id}, (one.secret, holders)
        assert at_least <= {where for where, _ in holders}


@pytest.mark.parametrize("preset", listening.presets())
def test_a_secret_is_found_only_where_it_was_told(preset, model, monkeypatch):
    everybody = told(listening.study_of(preset, monkeypatch))
    for place in (0, 1):  # both people's first arms, then their second ones: nobody talks in two at a time
        pair = [everybody[place], everybody[place + 2]]
        for line, one in itertools.product(range(3), pair):
            tell(one.first, one.lines()[line])
            write(one.first)
        for one in pair:
            finish(one.first, (QUESTION, f"It is {one.secret}."))
    for one in everybody:
        one.ask(one.second)
    requests = listening.heard(model)
    assert {"reply@1", "opener@1", "session_summary@1", "answer@1"} <= {request.label for request in requests}
    check(everybody, requests, at_least={"Turn", "Summary", "LLMCall", "QAPair"})


def test_what_an_arms_space_has_embedded_serves_that_arm_alone(model, monkeypatch):
    first, _, second, _ = told(listening.study_of("naive_rag", monkeypatch))
    for one in (first, second):
        tell(one.first, *one.lines())
        write(one.first)
    with embeddings.kept():  # as a replay does: the same question, in arm after arm
        for one, other in itertools.permutations((first, second)):
            space = ArmSpace(arms.load(one.first.arm_id))
            hits = space.nearest(f"My sister {other.secret} works as a nurse in Hull.")
            assert len(hits) == 3
            assert all(one.secret in hit.memory.user for hit in hits)
            assert not ArmSpace(arms.load(one.first.arm_id))._known
            assert all(one.secret in memory.user for memory in space.newest())


@pytest.mark.django_db(transaction=True)
def test_a_secret_stays_where_it_was_told_when_everybody_of_every_system_talks_at_once(script, monkeypatch):
    everybody = []
    for number, preset in enumerate(listening.presets()):
        names = [f"{name}{'abcdefghijklmnopqrstuvwxyz'[number]}x" for name in NAMES]
        everybody += told(listening.study_of(preset, monkeypatch), names)
    waiting = list(zip(everybody[::2], everybody[1::2], strict=True))  # a person's two arms

    def work() -> None:
        while True:
            try:
                both = waiting.pop()
            except IndexError:
                return
            for one in both:
                tell(one.first, *one.lines()[:2])
                write(one.first)
                one.ask(one.first)
                sessions.end_chat(one.first.pk, "finished")

    assert at_once(3, work) == [None] * 3
    check(everybody, listening.heard(script), at_least={"Turn"})
