"""What is said in any script comes back byte for byte: in the store, in what is recalled, and in the prompt that was sent."""

import pytest

from memory import registry
from memory.models import Memory
from tests import cast as people
from tests.memory import listening
from tests.memory.listening import heard, speak
from tests.memory.telling import tell, write

SAID = (
    "I have a cat, 私の猫の名前はモーです 🐈‍⬛ and I love her.",
    "My sister lives in القاهرة مع قطتها \u200fمو\u200f near the river.",
    "My son\u2019s name is Zoe\u0308 and not Zoë, 👩🏽‍🚀🏴󠁧󠁢󠁥󠁮󠁧󠁿❤️.",
    "می\u200cخواهم: I want to move to Hawai\u02bbi — Ünïcödé, naïve, Straße, ﬁn, 한국 \u1112\u1161\u11ab.",
)


def bound_or_exchange(preset):
    """Presets whose arms store exchanges, which are quoted as they were said; AMU stores statements made of them."""
    return registry.PRESETS[preset].policy.name not in ("amu", "no_memory")


@pytest.mark.parametrize("preset", listening.presets())
def test_any_script_round_trips_from_the_message_to_the_prompt(preset, model, monkeypatch):
    ana = people.person(listening.study_of(preset, monkeypatch))
    session = listening.session_in(ana, people.arm_of(ana, preset), 1)
    tell(session, *SAID)
    write(session)
    stored = dict(Memory.objects.filter(arm=session.arm_id, kind__in=("exchange", "record")).values_list("seq", "user_text"))
    assert all(text.encode() == SAID[seq // 2 - 1].encode() for seq, text in stored.items())
    if bound_or_exchange(preset):
        assert len(stored) == len(SAID)
    for said in SAID:
        found = speak(session, said)
        notes = heard(model)[-1].slots["notes"].encode()
        quoted = [hit.memory for hit in found.used]
        assert all(memory.embed_text.encode() in notes or memory.user.encode() in notes for memory in quoted)
        if bound_or_exchange(preset):
            assert said.encode() in notes


def test_a_note_on_a_person_keeps_her_name_as_it_was_spelt(model, monkeypatch):
    ana = people.person(listening.study_of("amu", monkeypatch))
    session = listening.session_in(ana, people.arm_of(ana, "amu"), 1)
    tell(session, "My sister Zoe\u0308 is allergic to peanuts 🥜.")
    write(session)
    (record,) = Memory.objects.filter(arm=session.arm_id)
    assert "The user's sister Zoe\u0308 is allergic to peanuts 🥜" in record.embed_text
