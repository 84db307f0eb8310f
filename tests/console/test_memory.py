"""The memory inspector: a reason first, then every memory, event and recall of one arm, however many there are."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from memory import arms, forgetting, taking_back
from memory.models import Memory, MemoryEvent
from memory.taking_back import Said
from studyplatform.llm.models import LLMCall
from studyplatform.study.models import AuditEvent, Session
from tests import cast as people
from tests.cast import Cast, logged_in
from tests.memory.telling import ask, session_with, tell, write
from tests.memory.test_recalling import count
from tests.scripted_server import Scripted

CAT = "My cat Mo sleeps all day."


@pytest.fixture
def talk(two: Cast, script: Scripted) -> Session:
    session = session_with(two.ana, people.arm_of(two.ana, "lufy").pk, 2)
    tell(session, CAT, "The harvest was late.", "I love green tea.")
    write(session)
    found, ref = ask(session, CAT)
    count(found, ref, 6)
    Session.objects.filter(pk=session.pk).update(state="closed", chat_ended_at=timezone.now())
    session.refresh_from_db()
    verdicts, version = forgetting.judge(arms.load(session.arm_id), session)
    forgetting.apply(arms.load(session.arm_id), session, verdicts, version)
    return session


def address(cast: Cast, session: Session, name: str = "memory", *more: int) -> str:
    return reverse(f"console:{name}", args=[cast.study.slug, cast.ana.code, session.arm.condition.code, *more])


@pytest.fixture
def rae(two: Cast, talk: Session):
    """A researcher who gave her reason."""
    client = logged_in(two.rae)
    client.post(address(two, talk), {"reason": "A check of the forgetting rule.", "confirmed": "on"})
    return client


def html(client, url: str, **query: object) -> str:
    answer = client.get(url, query)
    assert answer.status_code == 200
    return answer.content.decode()


def test_looking_at_an_arm_of_a_blinded_study_needs_a_reason_which_is_recorded(two, talk):
    client = logged_in(two.rae)
    closed = [address(two, talk), address(two, talk, "memory_events"), address(two, talk, "memory_turn", 2, 6)]
    assert [CAT in html(client, url) for url in closed] == [False] * 3
    client.post(address(two, talk), {"reason": "A check of the forgetting rule.", "confirmed": "on"})
    assert CAT in html(client, address(two, talk))
    event = AuditEvent.objects.get(act="looked at an arm's memories")
    assert "A check of the forgetting rule." in event.detail
    assert event.user == two.rae


def test_after_unblinding_no_reason_is_asked(two, talk):
    type(two.study).objects.filter(pk=two.study.pk).update(unblinded_at=timezone.now())
    assert CAT in html(logged_in(two.rae), address(two, talk))


def test_a_memory_s_fate_is_explained_and_its_plot_has_words(two, talk, rae):
    code = Memory.objects.get(arm=talk.arm_id, user_text=CAT).code
    shown = html(rae, address(two, talk), memory=code)
    assert "Kept, after session 2" in shown
    assert "Rank 1 of 3, importance" in shown
    assert 'aria-label="Strength' in shown
    assert "used 1 time in session 2" in shown


@pytest.mark.parametrize(
    ("query", "there", "gone"),
    [
        ({"words": "harvest"}, "harvest", CAT),
        ({"fate": "forgotten"}, "harvest", CAT),
        ({"session": 1}, "No memory fits.", "harvest"),
        ({"kind": "summary"}, "No memory fits.", "harvest"),
    ],
)
def test_the_filters(two, talk, rae, query, there, gone):
    shown = html(rae, address(two, talk), **query)
    table = shown[shown.index('id="mem"') : shown.index('id="why"')]
    assert there in table
    assert gone not in table


def test_a_turn_shows_the_recall_s_ranking_and_the_prompt_that_was_sent(two, talk, rae):
    LLMCall.objects.create(
        study=two.study, session=talk, seq=7, purpose="reply", prompt="reply@1", prompt_sha256="0", model_asked="scripted/script",
        messages=[{"role": "system", "content": "You are <kind>."}], tag=f"{talk.code}.reply.6.1",
    )  # fmt: skip
    shown = html(rae, address(two, talk, "memory_turn", 2, 6))
    assert "Recalled and used" in shown
    assert "score" in shown
    assert "You are &lt;kind&gt;." in shown


def test_the_events_are_told_in_words(two, talk, rae):
    shown = html(rae, address(two, talk, "memory_events"))
    assert "Recalled and used" in shown
    assert "Stored" in shown
    assert "Stored" not in html(rae, address(two, talk, "memory_events"), what="used").split("<tbody>")[1]


def test_a_thousand_memories_take_as_many_statements_as_three(two, talk, rae):
    with CaptureQueriesContext(
        connection,
    ) as few:
        html(rae, address(two, talk))
    made = Memory.objects.bulk_create(
        Memory(arm_id=talk.arm_id, kind="exchange", session_number=2, seq=100 + n, user_text=f"Line {n}", encoder="x", last_recalled=2,
               happened_at=timezone.now(), sources=[f"2:{100 + n}"])
        for n in range(1000)
    )  # fmt: skip
    MemoryEvent.objects.bulk_create(
        MemoryEvent(
            arm_id=talk.arm_id, memory=m, session_number=2, seq=0, what="kept", why={"rank": n + 1, "of": 1000, "score": 1 / (n + 1)}
        )
        for n, m in enumerate(made)
    )
    with CaptureQueriesContext(connection) as many:
        shown = html(rae, address(two, talk))
    assert len(many) == len(few)
    assert shown.count('<svg viewBox="0 0 240 48"') == 50
    assert "Sheet 1 of 21" in shown


def test_what_people_do_not_want_to_be_brought_up_is_counted_per_arm(two, talk):
    taking_back.mute(Said(talk, 2))
    shown = html(logged_in(two.rae), reverse("console:memories", args=[two.study.slug]))
    row = shown[shown.index("What participants asked for") :]
    assert f'<th scope="row">{talk.arm.condition.code}</th><td class="r">1</td>' in row


def test_a_deleted_memory_is_found_by_no_search_and_shown_without_words(two, talk, rae):
    taking_back.delete(Said(talk, 2))
    assert "No memory fits." in html(rae, address(two, talk), words="cat Mo")
    assert "The words were taken out" in html(rae, address(two, talk), fate="deleted")
