"""What is remembered about ana, on her own page: when it opens, what it shows, and what her acts do."""

import re
from datetime import timedelta

import pytest
from django.urls import reverse
from django.utils import timezone

from chat.models import Turn
from memory.models import Memory, MemoryWrite, Wish
from studyplatform.study.models import Participant, Session
from tests import cast as people
from tests.cast import Cast, seat
from tests.memory.telling import session_with, tell, write
from tests.scripted_server import Scripted

FATHER = "My father died in May."


@pytest.fixture
def during(two: Cast, script: Scripted) -> Cast:
    """A study whose page is open while it runs; ana has agreed to that."""
    config = {**two.study.config, "memory": {**two.study.config["memory"], "about_me": "during"}}
    type(two.study).objects.filter(pk=two.study.pk).update(config=config, config_sha256="d" * 64)
    people.agree(Participant.objects.get(pk=two.ana.pk))
    return two


def page(cast: Cast, **query: str):
    return seat(cast.ana).get(reverse("about_me", args=[cast.ana.code]), query)


def press(cast: Cast, session: Session, seq: int, act: str, **more: str):
    return seat(cast.ana).post(reverse("about_me_line", args=[cast.ana.code, session.code, seq]), {"act": act, **more}, follow=True)


def test_in_a_blinded_study_it_opens_after_the_last_conversation(two, script):
    session = people.session_of(two.ana)
    (seq,) = tell(session, FATHER)
    assert "opens after your last conversation" in page(two).content.decode()
    press(two, session, seq, "delete")
    assert not Wish.objects.exists()
    Participant.objects.filter(pk=two.ana.pk).update(state="finished")
    assert FATHER in page(two).content.decode()


def test_it_lists_what_she_said_alike_in_every_arm_whatever_was_kept(during):
    shown = set()
    Session.objects.filter(participant=during.ana, position=1).update(state="closed")
    for preset in ("naive_rag", "lufy"):
        session = session_with(during.ana, people.arm_of(during.ana, preset).pk, 2)
        tell(session, FATHER, "My cat Mo sleeps all day.")
        write(session)
        Session.objects.filter(pk=session.pk).update(state="closed")
        if preset == "lufy":
            Memory.objects.filter(arm=session.arm_id).update(status="forgotten")
        html = page(during, conversation=str(session.position)).content.decode()
        said = html[html.index('<ol class="told') : html.index("</ol>")]
        shown.add(re.sub(r'csrfmiddlewaretoken" value="[^"]*|' + session.code, "", said))
    assert len(shown) == 1


def test_afterwards_it_says_which_assistant_still_remembers(two, script):
    session = session_with(two.ana, people.arm_of(two.ana, "lufy").pk, 2)
    tell(session, FATHER)
    write(session)
    Memory.objects.filter(arm=session.arm_id).update(status="forgotten")
    Participant.objects.filter(pk=two.ana.pk).update(state="finished")
    assert f"No longer remembered by {session.arm.alias_name}." in page(two).content.decode()


def test_deleting_undoing_and_silencing(during):
    session = people.session_of(during.ana)
    (seq,) = tell(session, FATHER)
    write(session)
    said = press(during, session, seq, "delete").content.decode()
    assert "Deleted. No assistant will find it" in said
    assert FATHER not in said
    assert "Undo" in said
    assert FATHER in press(during, session, seq, "restore").content.decode()
    assert "Not to be brought up again" in press(during, session, seq, "mute").content.decode()
    assert "It may be brought up again" in press(during, session, seq, "mute").content.decode()


def test_a_deletion_cannot_be_undone_after_a_day(during):
    session = people.session_of(during.ana)
    (seq,) = tell(session, FATHER)
    press(during, session, seq, "delete")
    Wish.objects.update(made_at=timezone.now() - timedelta(hours=25))
    assert "This can no longer be undone." in press(during, session, seq, "restore").content.decode()
    assert Wish.objects.filter(what="delete", ended_at=None).exists()


def test_a_correction_is_left_to_the_worker_and_a_stale_tab_changes_nothing(during):
    session = people.session_of(during.ana)
    (seq,) = tell(session, "I live in Hull.")
    write(session)
    address = reverse("about_me_line", args=[during.ana.code, session.code, seq])
    form = seat(during.ana).get(address).content.decode()
    have = re.search(r'name="have" value="(\w+)"', form)[1]
    assert "Corrected." in press(during, session, seq, "correct", have=have, text="I live in Leeds.").content.decode()
    assert MemoryWrite.objects.get(session=session, seq=seq).state == "open"
    assert "changed in another window" in press(during, session, seq, "correct", have=have, text="I live in York.").content.decode()
    assert Wish.objects.get(ended_at=None).text == "I live in Leeds."
    assert Turn.objects.get(session=session, seq=seq).text == "I live in Hull."


def test_a_correction_without_words_says_what_is_wrong(during):
    session = people.session_of(during.ana)
    (seq,) = tell(session, "I live in Hull.")
    form = seat(during.ana).get(reverse("about_me_line", args=[during.ana.code, session.code, seq])).content.decode()
    answer = press(during, session, seq, "correct", have=re.search(r'name="have" value="(\w+)"', form)[1], text=" ")
    assert answer.status_code == 422
    assert "Write between 1 and" in answer.content.decode()


def test_nobody_reaches_another_person_s_line(during):
    session = people.session_of(during.ana)
    (seq,) = tell(session, FATHER)
    his = reverse("about_me_line", args=[during.ben.code, session.code, seq])
    assert seat(during.ben).post(his, {"act": "delete"}).status_code in (302, 404)
    assert seat(during.ben).post(reverse("about_me_line", args=[during.ana.code, session.code, seq]), {"act": "delete"}).status_code == 404
    assert not Wish.objects.exists()
