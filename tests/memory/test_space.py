"""An arm's memories by time: newest first, in scope only, and nobody else's."""

from memory import arms
from memory.space import ArmSpace, Scope
from tests import cast as people
from tests.memory.telling import remembered, tell, write


def told(person, *said: str):
    talk = people.session_of(person)
    seqs = tell(talk, *said)
    write(talk)
    return talk, ArmSpace(arms.load(talk.arm_id)), seqs


def test_the_newest_come_first_and_at_most_so_many(model, four):
    _, space, _ = told(four.ana, "I have a cat.", "I have a dog.", "I have a horse.")
    assert [m.user for m in space.newest()] == ["I have a horse.", "I have a dog.", "I have a cat."]
    assert [m.user for m in space.newest(limit=1)] == ["I have a horse."]


def test_what_the_prompt_quotes_anyway_is_not_among_the_newest(model, four):
    talk, _, seqs = told(four.ana, "I have a cat.", "I have a dog.")
    space = ArmSpace(arms.load(talk.arm_id), Scope(1, seqs[1] - 1))
    assert [m.user for m in space.newest()] == ["I have a cat."]


def test_the_newest_can_be_of_one_kind_only(model, four):
    _, space, _ = told(four.ana, "I have a cat.")
    assert space.newest(where={"kind": ["summary"]}) == []
    assert len(space.newest(where={"kind": ["exchange", "summary"]})) == 1


def test_another_persons_memories_are_never_among_the_newest(model, four):
    _, hers, _ = told(four.ana, "I have a cat.")
    _, his, _ = told(four.ben, "I have a dog.")
    assert [m.user for m in his.newest()] == ["I have a dog."]
    assert [m.user for m in hers.newest()] == [m.user_text for m in remembered(people.session_of(four.ana).arm_id)]
