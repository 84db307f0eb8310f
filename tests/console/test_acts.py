"""What a researcher may change, and that it is written down."""

import pytest
from django.urls import reverse

from studyplatform.console.entering import entry_url
from studyplatform.study import links
from studyplatform.study.models import AuditEvent, Participant, Session, StageRun, Study
from tests.cast import logged_in, session_of

WHY = {"reason": "The data are complete.", "confirmed": "on"}


def post(cast, name, *args, **data):
    return logged_in(cast.rae).post(reverse(name, args=[cast.study.slug, *args]), data)


def recorded(cast, act):
    return AuditEvent.objects.filter(study=cast.study, user=cast.rae, act=act)


def test_rae_invites_somebody_and_finds_the_link(two):
    before = set(Participant.objects.values_list("code", flat=True))
    response = post(two, "console:invite")
    new = Participant.objects.exclude(code__in=before).get()
    assert new.study == two.study
    assert not new.pilot
    assert recorded(two, "invited").get().detail == new.code
    page = logged_in(two.rae).get(response.url).content.decode()
    assert new.code in page
    assert "/j/" in page


def test_the_general_link_shows_where_the_person_s_own_id_goes(two):
    page = logged_in(two.rae).get(reverse("console:people", args=[two.study.slug])).content.decode()
    assert f"{links.general_url(two.study)}PERSON-ID" in page


def test_who_is_invited_during_a_pilot_never_counts(two):
    Study.objects.filter(pk=two.study.pk).update(state="pilot")
    post(two, "console:invite")
    assert Participant.objects.order_by("-pk").first().pilot


def test_nobody_is_invited_into_a_closed_study(two):
    Study.objects.filter(pk=two.study.pk).update(state="closed")
    before = Participant.objects.count()
    post(two, "console:invite")
    assert Participant.objects.count() == before


def test_rae_pauses_and_goes_on(two):
    post(two, "console:state", to="paused")
    two.study.refresh_from_db()
    assert two.study.state == "paused"
    post(two, "console:state", to="running")
    two.study.refresh_from_db()
    assert two.study.state == "running"


def test_a_move_that_makes_no_sense_changes_nothing_and_says_so(two):
    response = post(two, "console:state", to="draft")
    two.study.refresh_from_db()
    assert two.study.state == "running"
    assert recorded(two, "state: draft").count() == 0
    assert response.status_code == 302


def test_closing_asks_first(two):
    assert post(two, "console:state", to="closed").url == reverse("console:close", args=[two.study.slug])
    two.study.refresh_from_db()
    assert two.study.state == "running"
    post(two, "console:close", **WHY)
    two.study.refresh_from_db()
    assert two.study.state == "closed"


def test_unblinding_needs_a_reason_and_a_confirmation(two):
    for incomplete in ({}, {"reason": WHY["reason"]}, {"confirmed": "on"}, {"reason": "   ", "confirmed": "on"}):
        post(two, "console:conditions", **incomplete)
    two.study.refresh_from_db()
    assert two.study.unblinded_at is None
    assert not recorded(two, "unblinded").exists()


def test_unblinding_shows_the_names_and_is_recorded(two):
    page = logged_in(two.rae).get(reverse("console:conditions", args=[two.study.slug])).content.decode()
    names = list(two.study.conditions.values_list("name", flat=True))
    assert not any(name in page for name in names)
    post(two, "console:conditions", **WHY)
    page = logged_in(two.rae).get(reverse("console:conditions", args=[two.study.slug])).content.decode()
    assert all(name in page for name in names)
    assert recorded(two, "unblinded").get().detail == WHY["reason"]


def test_rae_ends_a_chat_for_somebody_who_cannot(two):
    session = session_of(two.ana)
    Session.objects.filter(pk=session.pk).update(state="chatting")
    post(two, "console:end_session", session.code, reason="Her battery is empty.", confirmed="on")
    session.refresh_from_db()
    assert session.state == "questions"
    assert session.end_reason == "experimenter"
    assert "Her battery is empty." in recorded(two, "ended a session").get().detail


def test_rae_ends_the_questions_of_somebody_who_left_them(two):
    session = session_of(two.ana)
    Session.objects.filter(pk=session.pk).update(state="questions")
    post(two, "console:end_session", session.code, reason="He will not come back.", confirmed="on")
    session.refresh_from_db()
    assert session.state == "closed"


def test_a_session_that_is_not_going_on_cannot_be_ended(two):
    session = session_of(two.ana, 2)
    post(two, "console:end_session", session.code, reason="A slip of the hand.", confirmed="on")
    session.refresh_from_db()
    assert session.state == "locked"
    assert not recorded(two, "ended a session").exists()


def test_retry_makes_a_failed_stage_due_once(two, django_capture_on_commit_callbacks):
    run = StageRun.objects.create(session=session_of(two.ana), stage="score", state="failed", attempt=3, error="no")
    with django_capture_on_commit_callbacks() as messages:
        post(two, "console:retry", run.code)
    run.refresh_from_db()
    assert run.state == "ready"
    assert len(messages) == 1
    post(two, "console:retry", run.code)
    assert recorded(two, "retried a stage").count() == 1


@pytest.mark.parametrize(("name", "of"), [("console:person", "noa"), ("console:end_session", "session"), ("console:retry", "run")])
def test_codes_of_another_study_are_not_found_under_this_one(two, name, of):
    session = session_of(two.noa)
    code = {
        "noa": two.noa.code,
        "session": session.code,
        "run": StageRun.objects.create(session=session, stage="score", state="failed").code,
    }[of]
    url = reverse(name, args=[two.study.slug, code])
    client = logged_in(two.rae)
    assert (client.post if of == "run" else client.get)(url).status_code == 404
    assert StageRun.objects.filter(state="ready").count() == 0


def test_the_demonstration_s_link_logs_in_with_one_click(client, two, settings):
    path = entry_url(two.rae).removeprefix(settings.PUBLIC_URL)
    assert client.get(path).url == reverse("console:studies")
    assert two.study.title in client.get(reverse("console:studies")).content.decode()


def test_a_sign_in_link_dies_with_the_password_and_when_altered(client, two, settings):
    path = entry_url(two.rae).removeprefix(settings.PUBLIC_URL)
    assert client.get(path[:-2] + "x/").status_code == 404
    two.rae.set_password("another-long-password")
    two.rae.save()
    assert client.get(path).status_code == 404
    assert "_auth_user_id" not in client.session


def test_an_annotator_and_a_reviewer_are_told_when_their_work_arrives(two):
    for person, place in ((two.lee, "console:annotating"), (two.max, "console:reviewing")):
        browser = logged_in(person)
        assert browser.get(reverse("console:studies")).url == reverse(place)
        assert "arrives with version" in browser.get(reverse(place)).content.decode()


def test_the_design_page_shows_the_file_as_it_was_loaded_and_its_hash(two):
    page = logged_in(two.rae).get(reverse("console:design", args=[two.study.slug])).content.decode()
    assert two.study.config_sha256 in page
    file = logged_in(two.rae).get(reverse("console:design_file", args=[two.study.slug]))
    assert file.content.decode() == two.study.source
