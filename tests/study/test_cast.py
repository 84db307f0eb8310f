from studyplatform.study.models import Session
from tests.cast import Cast, session_of


def test_ana_begins_with_the_shared_session_and_waits_for_the_rest(two: Cast) -> None:
    assert session_of(two.ana).state == "open"
    later = Session.objects.filter(participant=two.ana, position__gt=1)
    assert {s.state for s in later} == {"locked"}
    assert later.count() == 4


def test_the_four_arms_of_ana_have_four_aliases(four: Cast) -> None:
    arms = four.ana.arms.exclude(condition=None)
    assert {a.alias_name for a in arms} == {"Aki", "Sora", "Rin", "Nao"}
