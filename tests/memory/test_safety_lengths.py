"""However much is said and kept, no prompt grows over its caps, and no cut leaves half a sign or an open quotation."""

import re

import pytest
from django.utils import timezone

from memory import arms, registry
from memory.models import Memory, Summary
from memory.policies.amu_controllers import language_model
from tests import cast as people
from tests.memory import listening
from tests.memory.listening import heard, speak
from tests.memory.telling import finish, tell, write

FAMILY = "👩‍👩‍👧"
LONG = ("I keep bees. " * 700)[:7000] + FAMILY * 200  # 8,000 characters, as many as the chat takes
KEPT = 300
TRANSCRIPT = 12_000
PORTRAIT = 2_000  # what the merge of the key summary, or the judge of importance, gets of it
LABELS = 400


@pytest.fixture
def asked(request, model, monkeypatch):
    """The preset, what its prompts may hold, and all that was asked about an arm with hundreds of memories and the longest messages."""
    ana = people.person(listening.study_of(request.param, monkeypatch))
    first, second = (listening.session_in(ana, people.arm_of(ana, request.param), number) for number in (1, 2))
    model.answer(LONG, purpose="session_summary", count=None)
    tell(first, (LONG, LONG), (LONG, FAMILY * 1600), "I keep bees.")
    write(first)
    arm = arms.load(first.arm_id)
    fill(arm)
    finish(first, (f"What do I keep? {LONG[:1500]}?", "Bees."))
    Summary.objects.filter(arm_id=arm.id).update(key_summary=LONG)
    speak(second, None)
    speak(second, "What do I keep?")
    return registry.build(request.param).prompt_chars(arm.config.chat.memory_chars), heard(model)


def fill(arm):
    """Hundreds of long memories that are all alike."""
    vector = arm.encoder.embed([LONG])[0].tolist()
    kind = "record" if arm.policy.name == "amu" else "exchange"
    fields = {"aspect": "activity", "intent": "inform", "entities": ["bees"], "sentiment": "neutral"} if kind == "record" else {}
    rows = [
        Memory(
            arm_id=arm.id, kind=kind, session_number=1, seq=1000 + 2 * i, bot_text=LONG, user_text=LONG, embed_text=LONG, vector=vector,
            encoder=arm.encoder.name, last_recalled=1, happened_at=timezone.now(), fields=fields,
        )
        for i in range(KEPT)
    ]  # fmt: skip
    Memory.objects.bulk_create(rows)


@pytest.mark.parametrize("asked", listening.presets(), indirect=True)
def test_eight_thousand_characters_and_hundreds_of_memories_keep_every_section_under_its_cap(asked):
    allowed, requests = asked
    assert {"reply@1", "opener@1", "session_summary@1", "answer@1"} <= {request.label for request in requests}
    for request in requests:
        for slot, text in request.slots.items():
            assert len(text) <= cap(request.label, slot, allowed), (request.label, slot, len(text))
            check_whole(text)


def cap(label, slot, allowed):
    """Characters: of the notes and the portrait what the arm's bound allows (and a dash and a line break for each note)."""
    if label.startswith("amu_"):
        return LABELS if slot in ("labels", "written") else language_model.MOST_CHARS
    if slot == "transcript" or label.startswith(("compressed_history", "memory_bank")):
        return TRANSCRIPT
    return {"question": 1000, "said": 2000, "earlier": PORTRAIT, "latest": PORTRAIT}.get(slot, allowed + 3 * KEPT)


def check_whole(text):
    left = text.replace(FAMILY, "")
    assert not re.search("[👩👧\u200d]", left), left[-40:]
    assert text.count("“") == text.count("”")


def test_the_longest_message_is_stored_whole_in_an_arm_that_stores_exchanges(model, monkeypatch):
    ana = people.person(listening.study_of("naive_rag", monkeypatch))
    session = listening.session_in(ana, people.arm_of(ana, "naive_rag"), 1)
    tell(session, LONG)
    write(session)
    assert len(LONG) == 8000
    assert Memory.objects.get(arm=session.arm_id).user_text == LONG
