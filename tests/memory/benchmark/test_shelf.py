"""The benchmark's store does what the database's does."""

from datetime import UTC, datetime
from random import Random

import pytest

from memory import arms, forgetting, remembering, space
from memory.benchmark.encoding import Encoding, NoThreshold
from memory.benchmark.shelf import Shelf
from memory.models import MemoryWrite
from memory.policy import Discard, Draft, Exchange, Hit, Recall, Store, Update, Verdict
from memory.remembering import Decision
from memory.space import ArmSpace
from studyplatform.study.models import Arm
from tests import cast as people
from tests.memory.telling import tell

AT = datetime(2026, 3, 2, 10, tzinfo=UTC)
SAID = ("a cat called Mo", "a dog", "a cat", "tea at noon", "no tea", "a horse", "a cat and a dog", "coffee")


def draft(text: str, i: int) -> Draft:
    fields = {"aspect": ("health", "activity")[i % 2], "intent": ("inform", "plan", "reflect")[i % 3]}
    return Draft(("record", "exchange")[i % 4 == 3], "", text, text, fields=fields)


@pytest.fixture
def talk(model, four):
    return people.session_of(four.ana)


class Both:
    """The same exchanges and outcomes in an arm of the database and on a shelf; ids are given in the same order, from different numbers on."""

    def __init__(self, session) -> None:
        self.arm = arms.load(session.arm_id)
        self.shelf = Shelf(Encoding("scripted/hash"))
        self.session = session
        self.known: dict[int, int] = {}

    def write(self, text: str, outcome_of) -> None:
        (seq,) = tell(self.session, text)
        exchange = Exchange(self.session.number, seq, "", text, AT)
        row = remembering.claim(self.arm.id, "test")
        assert isinstance(row, MemoryWrite)
        outcome = outcome_of(lambda shelf_id: self.known[shelf_id])
        vector = self.shelf.embed([outcome.draft.embed_text])[0].tolist() if isinstance(outcome, Store | Update) else None
        version = Arm.objects.get(pk=self.arm.id).version
        remembering.commit(self.arm, row, exchange, Decision(outcome, version, vector))
        self.shelf.write(exchange, text, outcome_of(lambda shelf_id: shelf_id))
        for ours, theirs in zip(self.shelf.memories(), space.memories(self.arm), strict=True):
            self.known[ours.id] = theirs.id

    def agree(self) -> None:
        ours, theirs = self.shelf.memories(), space.memories(self.arm)
        assert [_seen(m) for m in ours] == [_seen(m) for m in theirs]


def _seen(m):
    return (m.kind, m.session, m.seq, m.user, m.embed_text, m.r1, m.r2, m.last_recalled, dict(m.fields))


@pytest.fixture
def both(talk) -> Both:
    held = Both(talk)
    for i, text in enumerate(SAID):
        held.write(text, lambda _, text=text, i=i: Store(draft(text, i)))
    return held


@pytest.mark.parametrize(
    "where", [None, {"aspect": ("health",)}, {"aspect": ("activity",), "intent": ("plan", "inform")}, {"kind": ("record",)}]
)
@pytest.mark.parametrize(("at_least", "limit"), [(None, None), (0.2, None), (None, 3), (0.5, 1)])
def test_a_search_finds_what_the_database_finds_in_the_same_order(both, where, at_least, limit):
    for text in ("a cat", "tea", "no such thing", "a cat called Mo and a dog"):
        ours = both.shelf.nearest(text, where=where, at_least=at_least, limit=limit)
        theirs = ArmSpace(both.arm).nearest(text, where=where, at_least=at_least, limit=limit)
        assert [_seen(hit.memory) for hit in ours] == [_seen(hit.memory) for hit in theirs]
        assert [hit.similarity for hit in ours] == pytest.approx([hit.similarity for hit in theirs], abs=1e-5)


def test_the_newest_are_the_database_s_newest(both):
    for where in (None, {"kind": ("record",)}):
        assert [_seen(m) for m in both.shelf.newest(limit=3, where=where)] == [
            _seen(m) for m in ArmSpace(both.arm).newest(limit=3, where=where)
        ]


def test_an_update_leaves_what_it_leaves_in_the_database(both):
    first, second, third = (m.id for m in reversed(both.shelf.memories()[-3:]))
    both.shelf.count(Recall((Hit(both.shelf.memories()[-1], 1.0),), (Hit(both.shelf.memories()[-2], 1.0),)), session=1)
    from memory.models import Memory

    Memory.objects.filter(pk=both.known[first]).update(r1=1)
    Memory.objects.filter(pk=both.known[second]).update(r2=1)
    both.write("a cat called Jo", lambda id_of: Update(draft("a cat called Jo", 0), (id_of(first),), (id_of(second),)))
    both.agree()
    newest = both.shelf.memories()[0]
    assert (newest.r1, newest.r2) == (1, 1)
    assert both.shelf.turns_of(newest.id) == {"a cat called Mo", "a dog", "a cat called Jo"}
    both.write("again", lambda id_of: Discard(id_of(third)))
    both.agree()


def test_forgetting_leaves_what_it_leaves_in_the_database(both):
    kept = {m.id: i % 3 == 0 for i, m in enumerate(both.shelf.memories())}
    theirs = space.memories(both.arm)
    ours = [Verdict(m, kept[m.id], 1, 0.0) for m in both.shelf.memories()]
    verdicts = [Verdict(m, verdict.kept, 1, 0.0) for m, verdict in zip(theirs, ours, strict=True)]
    from django.db import transaction

    with transaction.atomic():
        forgetting.apply(both.arm, both.session, verdicts, Arm.objects.get(pk=both.arm.id).version)
    both.shelf.keep(ours)
    both.agree()


def shelf(**values) -> Shelf:
    made = Shelf(Encoding("scripted/hash"), **values)
    for i, text in enumerate(SAID, start=1):
        made.write(Exchange(1, i, "", text, AT), f"t{i}", Store(draft(text, i)))
    return made


def test_what_the_prompt_quotes_is_out_of_scope():
    made = shelf()
    made.before_seq = 4
    assert {m.seq for m in made.newest()} == {1, 2, 3}


def test_without_structure_aspect_and_intent_do_not_filter_but_kind_does():
    made = shelf(structured=False)
    assert len(made.newest(where={"aspect": ("nothing",)})) == len(SAID)
    assert len(made.newest(where={"kind": ("exchange",)})) == 2


def test_a_copy_lives_its_own_life():
    made = shelf()
    other = made.copy()
    rng = Random(1)
    other.keep([Verdict(m, rng.random() < 0.5, 1, 0.0) for m in other.memories()])
    assert len(made.memories()) == len(SAID) > len(other.memories())


def test_a_text_is_charged_to_every_decision_once():
    encoding = Encoding("scripted/hash")
    encoding.embed(["a cat"])
    cost = encoding.charged
    encoding.begin()
    encoding.embed(["a cat", "a cat"])
    encoding.embed(["a cat"])
    assert encoding.charged == cost > 0


def test_an_encoder_without_the_threshold_says_how_to_give_one(db):
    with pytest.raises(NoThreshold, match="--threshold reply="):
        Encoding("elsewhere/unknown").threshold("reply")
    assert Encoding("elsewhere/unknown", {"reply": 0.4}).threshold("reply") == 0.4
