"""Plant a name everywhere in a person's memory, withdraw, and look for it."""

from datetime import UTC, datetime

import numpy as np
import pytest
from django.apps import apps
from django.core import serializers
from django.db import DatabaseError, transaction

from memory.models import Memory, MemoryEvent, MemoryWrite, Summary, Wish
from studyplatform.llm.models import LLMCall
from studyplatform.study import erasing
from studyplatform.study.models import Participant
from tests.cast import Cast, arm_of, session_of

PLANTED = "Quentin Zuckerbrot"
NOW = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)


def plant(person: Participant, study: object) -> Memory:
    arm, session = arm_of(person, "lufy"), session_of(person)
    memory = Memory.objects.create(
        arm=arm, kind="exchange", session_number=1, seq=2, bot_text=PLANTED, user_text=PLANTED, embed_text=PLANTED,
        vector=np.ones(384, dtype=np.float32), encoder="scripted/hash", last_recalled=1, fields={"entities": [PLANTED]}, happened_at=NOW,
    )  # fmt: skip
    MemoryWrite.objects.create(arm=arm, session=session, seq=2, raw=PLANTED, reason=PLANTED)
    MemoryEvent.objects.create(arm=arm, memory=memory, session_number=1, seq=2, what="stored", why={"quote": PLANTED})
    Summary.objects.create(arm=arm, session=session, text=PLANTED, key_summary=PLANTED)
    Wish.objects.create(session=session, seq=2, what="correct", text=PLANTED)
    LLMCall.objects.create(study=study, session=session, purpose="reply", prompt="reply@1", prompt_sha256="0", model_asked="m",
                           messages=[{"content": PLANTED}], raw=PLANTED, error=PLANTED)  # fmt: skip
    return memory


def everything() -> str:
    """Every row of every table of the product, as text."""
    ours = [model for model in apps.get_models() if model._meta.app_label in ("study", "chat", "memory", "llm", "annotation")]
    return "\n".join(serializers.serialize("json", model.objects.all()) for model in ours)


def test_nothing_of_what_was_remembered_of_ana_can_be_found_after_she_left(two: Cast) -> None:
    plant(two.ana, two.study)
    assert PLANTED in everything()
    erasing.withdraw(two.ana, keep_until_now=False)
    assert PLANTED not in everything()
    assert Memory.objects.get().vector is None


def test_that_something_was_remembered_stays_in_the_ledger(two: Cast) -> None:
    plant(two.ana, two.study)
    receipt = erasing.withdraw(two.ana, keep_until_now=False)
    assert MemoryEvent.objects.count() == 1
    assert (receipt.rows["memories"], receipt.rows["ledger reasons"], receipt.rows["model calls"]) == (1, 1, 1)


def test_ben_keeps_every_memory_when_ana_leaves(two: Cast) -> None:
    plant(two.ana, two.study)
    bens = plant(two.ben, two.study)
    erasing.withdraw(two.ana, keep_until_now=False)
    bens.refresh_from_db()
    assert (bens.status, bens.user_text) == ("active", PLANTED)
    assert MemoryEvent.objects.get(memory=bens).why == {"quote": PLANTED}


def test_an_open_write_is_not_made_any_more(two: Cast) -> None:
    plant(two.ana, two.study)
    erasing.withdraw(two.ana, keep_until_now=False)
    assert MemoryWrite.objects.get().state == "done"


def test_keeping_until_now_keeps_the_memories(two: Cast) -> None:
    plant(two.ana, two.study)
    erasing.withdraw(two.ana, keep_until_now=True)
    assert Memory.objects.get().user_text == PLANTED


def test_after_a_withdrawal_the_ledger_is_closed_again(two: Cast) -> None:
    plant(two.ana, two.study)
    erasing.withdraw(two.ana, keep_until_now=False)
    with pytest.raises(DatabaseError), transaction.atomic():
        MemoryEvent.objects.update(seq=9)
