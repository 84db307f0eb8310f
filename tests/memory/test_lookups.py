"""A recall on an event loop: it asks what a recall in a thread asks, and hears the same."""

import asyncio
from dataclasses import dataclass, replace

import pytest
from django.db import connection
from django.utils import timezone
from psycopg import Cursor

from memory import arms, encoders, lookups, recalling, registry
from memory.policies.naive_rag import NaiveRag
from memory.policy import Query, Recall, When
from memory.space import ArmSpace, Scope
from studyplatform.llm.embeddings import EndpointFailed
from tests import cast as people
from tests.memory.telling import tell, write

SCOPE = Scope(1, 10_000)
QUERY = Query("reply", "My cat Mo", ("My cat Mo",))


@pytest.fixture
def talk(model):
    talk = people.session_of(people.person(people.make_study("four")))
    tell(talk, "My cat Mo sleeps all day.", "Rain again.", "My cat Mo is seven.")
    write(talk)
    return talk


class Here:
    """Reads on the test's own connection."""

    def __init__(self):
        self.statements = 0
        self._held = connection.connection  # another task would get another one from Django

    async def rows(self, sql, params):
        self.statements += 1
        with Cursor(self._held) as cursor:
            return cursor.execute(sql, params).fetchall()

    async def run(self, act):
        return act()


def soon(arm, policy=None, reads=None):
    now = When(1, timezone.now(), arm.zone)
    return asyncio.run(lookups.recall(policy or arm.policy, QUERY, now, arm=arm, scope=SCOPE, ask=_silent, reads=reads or Here()))


def _silent(prompt, schema, **variables):
    raise AssertionError("nothing is asked here")


@pytest.mark.parametrize("preset", ["naive_rag", "memory_bank", "lufy", "amu", "sliding_window"])
def test_a_recall_on_the_loop_finds_what_one_in_a_thread_finds(talk, preset):
    arm = arms.load(talk.arm_id)
    policy = registry.build(preset, {})
    at = When(1, timezone.now(), arm.zone)
    waited = policy.recall(QUERY, ArmSpace(arm, SCOPE), at, _silent)
    found = soon(arm, policy)
    assert [(hit.memory, hit.similarity) for hit in recalling.hits_in_order(found)] == [
        (hit.memory, hit.similarity) for hit in recalling.hits_in_order(waited)
    ]


def test_a_recall_looks_up_nothing_twice(talk, model):
    arm, reads = arms.load(talk.arm_id), Here()
    before = model.counts()["embeddings"]["requests"]
    assert soon(arm, reads=reads).used
    assert reads.statements == 1
    assert model.counts()["embeddings"]["requests"] == before + 1


@dataclass(frozen=True)
class Forgiving(NaiveRag):
    """Does without memories when the encoder is away."""

    def recall(self, query, space, now, ask):
        try:
            return super().recall(query, space, now, ask)
        except EndpointFailed:
            return Recall(why={"away": True})


def test_an_encoder_that_is_away_is_told_to_the_policy_which_may_go_on_without_it(talk, settings):
    arm = arms.load(talk.arm_id)
    settings.ENV = settings.ENV.model_copy(update={"SCRIPTED_URL": "http://127.0.0.1:9/v1"})
    assert soon(arm, Forgiving()).why == {"away": True}
    with pytest.raises(EndpointFailed):
        soon(arm, NaiveRag())


def test_vectors_of_a_wrong_length_are_refused_on_the_loop_as_elsewhere(talk):
    arm = replace(arms.load(talk.arm_id), encoder=replace(encoders.get("scripted/hash"), dimension=7))
    with pytest.raises(encoders.BadVectors):
        soon(arm, NaiveRag())
