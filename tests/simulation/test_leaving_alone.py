"""A scripted person's bereavement: after telling it once she asks that nobody brings it up, and nobody does, in any arm."""

import json

import pytest

from memory.models import Memory
from memory.models import Wish as Asked
from studyplatform.llm.models import LLMCall
from studyplatform.simulation.casting import Wish
from studyplatform.simulation.people import speak
from tests.scripted_server import Scripted
from tests.simulation.test_simulated_study import simulate

GRANDMOTHER = "My grandmother died in March."


def test_the_script_s_second_person_tells_of_a_bereavement_and_wants_it_left_alone() -> None:
    part = speak(1, sessions=1, messages=4, questions=3).parts[0]
    assert [part.lines[n - 1].startswith(GRANDMOTHER) for n in part.leave_alone] == [True]
    assert speak(1, sessions=1, messages=3, questions=3).parts[0].leave_alone == ()


@pytest.mark.stack
def test_in_the_demonstration_s_study_no_later_prompt_holds_it(site: str, script: Scripted) -> None:
    _, _, tally = simulate(Wish(participants=2, sessions=2, messages=4), site, script)
    assert tally.errors == ()
    asked = Asked.objects.get(what="mute", ended_at=None)
    muted = Memory.objects.filter(session_number=1, seq=asked.seq, muted_at__isnull=False)
    assert muted.values("arm").distinct().count() >= 3  # one system may have found nothing in it to store
    talks = LLMCall.objects.filter(session__participant=asked.session.participant_id, purpose__in=["opener", "reply"])
    later = talks.exclude(session=asked.session)
    assert later.exists()
    assert [call.tag for call in later if "grandmother died" in json.dumps(call.messages)] == []
