"""What people read: in their own language, at their own time."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django.urls import reverse
from django.utils import translation

from studyplatform.settings import BASE_DIR
from studyplatform.study import planning, wording
from studyplatform.study.models import Participant, Session
from studyplatform.study.studies import config_of
from tests.cast import Cast, seat, session_of

NOW = datetime(2026, 11, 2, 22, 30, tzinfo=UTC)
TOKYO, HELSINKI = ZoneInfo("Asia/Tokyo"), ZoneInfo("Europe/Helsinki")


def test_aiko_reads_her_page_in_japanese(two: Cast) -> None:
    Participant.objects.filter(pk=two.ana.pk).update(language="ja", time_zone="Asia/Tokyo")
    page = seat(two.ana).get(reverse("home", args=[two.ana.code])).text
    assert '<html lang="ja">' in page
    assert "あなたの会話" in page
    assert "Your conversations" not in page


def test_nothing_is_left_untranslated() -> None:
    entries = (BASE_DIR / "locale/ja/LC_MESSAGES/django.po").read_text("utf-8").split("\n\n")[1:]
    left = [entry for entry in entries if 'msgstr ""\n' in entry + "\n" or 'msgstr[0] ""\n' in entry + "\n"]
    assert left == []
    assert not any("fuzzy" in entry for entry in entries)


def test_every_translated_text_is_in_the_compiled_file() -> None:
    with translation.override("ja"):
        assert translation.gettext("Stop for today") == "今日はここまで"
        assert translation.ngettext("%(n)s is done.", "%(n)s are done.", 2) % {"n": 2} == "2回が終わりました。"


def test_times_are_the_readers_own() -> None:
    at = datetime(2026, 11, 3, 6, 0, tzinfo=UTC)
    assert wording.moment(at, NOW, HELSINKI) == "08:00 today"  # it is after midnight there already
    assert wording.moment(at, NOW, ZoneInfo("UTC")) == "06:00 tomorrow"
    assert wording.moment(datetime(2026, 11, 5, 6, 0, tzinfo=UTC), NOW, TOKYO) == "15:00 on Thu 5 November"


def test_a_gap_over_the_end_of_summer_time_shows_the_hour_that_the_clock_will_show() -> None:
    evening = datetime(2026, 10, 24, 18, 0, tzinfo=UTC)
    assert wording.time(evening, HELSINKI) == "21:00"
    assert wording.time(evening.replace(day=25), HELSINKI) == "20:00"


def plan_of(participant: Participant, **of_second: object) -> planning.Plan:
    Session.objects.filter(participant=participant, position=1).update(state="closed", closed_at=NOW)
    if of_second:
        Session.objects.filter(participant=participant, position=2).update(**of_second)
    mine = list(Session.objects.filter(participant=participant).select_related("arm"))
    return planning.plan(mine, config_of(participant.study), NOW, ZoneInfo("UTC"))


def test_while_an_arm_is_prepared_the_page_says_so_without_a_button(two: Cast) -> None:
    plan = plan_of(two.ana)
    assert plan.next.action == ""
    assert "being prepared" in plan.news
    assert plan.days[0].rows[1].when == "Being prepared"


def test_being_prepared_reads_the_same_in_every_arm(four: Cast) -> None:
    said = {plan_of(p).news for p in (four.ana, four.ben)}
    assert len(said) == 1
    assert {plan_of(p).next.about for p in (four.ana, four.ben)} == {"It is being prepared."}


def test_the_one_thing_to_do_has_the_button(two: Cast) -> None:
    plan = plan_of(two.ana, state="open", opens_at=NOW, closes_at=datetime(2026, 11, 2, 23, 30, tzinfo=UTC))
    assert (plan.next.action, plan.next.button) == ("begin", "Begin")
    assert "Open until 23:30 today." in plan.next.about


def test_conversations_that_nobody_can_date_yet_stand_together(two: Cast) -> None:
    later = plan_of(two.ana).days[-1]
    assert later.label == "Later"
    assert later.rows[0].numbers == "4–5"


def test_a_missed_conversation_is_said_to_be_missed(two: Cast) -> None:
    plan = plan_of(two.ana, state="missed", closes_at=NOW)
    assert plan.days[0].rows[1].when == "Missed"


def test_the_page_speaks_of_the_next_by_its_assistants_name(two: Cast) -> None:
    name = session_of(two.ana, 2).arm.alias_name
    assert plan_of(two.ana).next.title == f"Conversation 2, with {name}"


def test_sentences_stand_together_as_the_language_has_it() -> None:
    assert wording.together("One.", "", "Two.") == "One. Two."
    with translation.override("ja"):
        assert wording.together("一。", "二。") == "一。二。"
