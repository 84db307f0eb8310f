"""A study file: all its faults at once, each with its line; its hash; and what is frozen."""

import pytest

from studyplatform.study import loading
from studyplatform.study.loading import BadStudyFile, Frozen, parse
from studyplatform.study.models import Condition, Study
from studyplatform.study.moving import move
from studyplatform.study.studies import Refused, config_of
from tests.cast import Cast, agree, make_study, person, study_toml


def faults_of(text: str) -> list[tuple[int, str]]:
    with pytest.raises(BadStudyFile) as bad:
        parse(text)
    return [(fault.line, fault.path) for fault in bad.value.faults]


def line_with(text: str, part: str) -> int:
    return next(i for i, line in enumerate(text.splitlines(), start=1) if part in line)


def test_it_tells_all_faults_at_once_each_with_its_line() -> None:
    text = study_toml("two").replace("min_turns = 2", 'min_turns = "two"').replace('encoder = "scripted/hash"', 'encoder = "hash"')
    text = text.replace('colour = "ochre"', 'colour = "pink"')
    assert faults_of(text) == [
        (line_with(text, "min_turns"), "sessions.min_turns"),
        (line_with(text, "encoder"), "memory.encoder"),
        (line_with(text, "pink"), "aliases.2.colour"),
    ]


def test_a_rule_between_fields_is_checked_even_where_another_table_cannot_be_read() -> None:
    text = study_toml("two", sessions="max_turns = 1").replace('encoder = "scripted/hash"', "encoder = 7")
    assert {path for _, path in faults_of(text)} == {"sessions.max_turns", "memory.encoder"}


def test_an_unknown_key_is_told_with_the_one_that_was_meant() -> None:
    text = study_toml("two", sessions="gap_hour = 3")
    with pytest.raises(BadStudyFile, match=r"line \d+: sessions.gap_hour: unknown key; did you mean gap_hours\?"):
        parse(text)


def test_what_is_missing_is_told_at_the_table_that_lacks_it() -> None:
    text = study_toml("two").replace('encoder = "scripted/hash"', "")
    assert faults_of(text) == [(line_with(text, "[memory]"), "memory.encoder")]


def test_what_is_not_toml_is_told_with_its_line() -> None:
    text = study_toml("two").replace("participants = 8", "participants = = 8")
    assert faults_of(text) == [(line_with(text, "participants = ="), "")]


@pytest.mark.parametrize(
    ("old", "new", "path"),
    [
        ("per_arm = 3", "per_arm = 1", "sessions.per_arm"),
        ("min_turns = 2", "min_turns = 9\nmax_turns = 8", "sessions.max_turns"),
        ("min_turns = 2", "min_turns = 2\nmin_minutes = 30\nmax_minutes = 20", "sessions.max_minutes"),
        ("min_turns = 2", "min_turns = 2\nmin_minutes = 90\nwindow_hours = 1", "sessions.window_hours"),
        ('name = "Sora"', 'name = "aki"', "aliases.2.name"),
        ('name = "Sora"', 'name = "kai"', "shared_session.alias.name"),
        ('name = "cond_lufy"', 'name = "cond_naive_rag"', "conditions.2.name"),
        ('name = "Sora"\ncolour = "ochre"\nshape = "square"', 'name = "Sora"\ncolour = "pine"\nshape = "circle"', "aliases.2.shape"),
        ('name = "Sora"', 'name = "Lufy"', "aliases.2.name"),
    ],
)
def test_what_contradicts_itself_is_refused(old: str, new: str, path: str) -> None:
    assert path in {found for _, found in faults_of(study_toml("two").replace(old, new))}


def test_three_aliases_for_four_conditions_are_refused_and_one_for_all_is_not() -> None:
    four = study_toml("four")
    last = four.index('[[aliases]]\nname = "Nao"')
    assert "aliases" in {path for _, path in faults_of(four[:last])}
    parse(four[: four.index('[[aliases]]\nname = "Sora"')])


def test_lines_are_found_behind_strings_that_look_like_tables() -> None:
    text = study_toml("two").replace('title = "Everyday Conversations"', 'title = """\n[sessions]\nmin_turns = 0\n"""')
    text = text.replace("questions = 1", "questions = -1")
    assert faults_of(text) == [(line_with(text, "questions = -1"), "sessions.questions")]


def test_a_fault_in_an_inline_table_has_its_line() -> None:
    text = study_toml("two") + '\n[shared_session]\nalias = { name = "Kai", colour = "grey", shape = "circle" }\n'
    assert faults_of(text) == [(line_with(text, "grey"), "shared_session.alias.colour")]


def test_the_hash_is_of_the_design_and_not_of_its_comments() -> None:
    text = study_toml("two")
    assert parse(text).sha256 == parse("# a remark\n" + text).sha256
    assert parse(text).sha256 != parse(text.replace("min_turns = 2", "min_turns = 3")).sha256


@pytest.mark.django_db
def test_loading_the_same_file_twice_is_one_study() -> None:
    loaded = parse(study_toml("two"))
    assert loading.store(loaded).pk == loading.store(loaded).pk
    assert Condition.objects.count() == 2


@pytest.mark.django_db
def test_before_the_first_consent_a_study_may_change_altogether() -> None:
    study = make_study("two", slug="s")
    loading.store(parse(study_toml("four", slug="s")))
    assert [c.name for c in study.conditions.order_by("order")][2:] == ["cond_lufy", "cond_amu"]


def test_the_first_consent_freezes_and_a_pilot_consent_does_not(db: None) -> None:
    study = make_study("two")
    person(study, pilot=True)
    study.refresh_from_db()
    assert study.frozen_at is None
    person(study)
    study.refresh_from_db()
    assert study.frozen_at is not None


def test_a_simulated_consent_freezes_nothing(db: None) -> None:
    study = make_study("two", simulated=True)
    person(study)
    study.refresh_from_db()
    assert study.frozen_at is None


def test_a_frozen_study_refuses_another_design_and_lists_what_differs(two: Cast) -> None:
    other = study_toml("two").replace("min_turns = 2", "min_turns = 5").replace('preset = "lufy"', 'preset = "amu"')
    with pytest.raises(Frozen) as refused:
        loading.store(parse(other))
    assert refused.value.differences == ("conditions", "sessions.min_turns")


def test_an_amendment_changes_what_may_change_and_keeps_what_was_frozen(two: Cast) -> None:
    before = two.study.config_sha256
    longer = study_toml("two", sessions="window_hours = 48")
    two.study.refresh_from_db()
    amendment = loading.amend(two.study, parse(longer), reason="People work in shifts", reference="EB-12/3")
    assert amendment.number == 1
    assert config_of(two.study).sessions.window_hours == 48
    assert two.study.amendments.get(number=0).config_sha256 == before


def test_an_amendment_of_conditions_is_refused(two: Cast) -> None:
    two.study.refresh_from_db()
    other = study_toml("two", sessions="window_hours = 48").replace('preset = "lufy"', 'preset = "amu"')
    with pytest.raises(Frozen) as refused:
        loading.amend(two.study, parse(other), reason="Curiosity")
    assert refused.value.differences == ("conditions",)
    assert not two.study.amendments.exists()


def test_an_amendment_needs_a_reason(two: Cast) -> None:
    two.study.refresh_from_db()
    with pytest.raises(Refused, match="reason"):
        loading.amend(two.study, parse(study_toml("two", sessions="window_hours = 48")), reason=" ")


def test_after_an_amended_consent_ana_is_asked_again_and_keeps_her_place(two: Cast) -> None:
    two.study.refresh_from_db()
    amended = study_toml("two").replace('[consent]\nversion = "1"\ntext = "You', '[consent]\nversion = "2"\ntext = "From now on you')
    loading.amend(two.study, parse(amended), reason="Clearer wording")
    number, arms = two.ana.number, two.ana.arms.count()
    two.ana.study.refresh_from_db()
    agree(two.ana)
    assert (two.ana.number, two.ana.arms.count()) == (number, arms)
    assert {c.version for c in two.ana.consents.all()} == {"1", "2"}


def test_a_study_cannot_run_again_from_nowhere(db: None) -> None:
    study = make_study("two", state="running")
    with pytest.raises(Refused, match="paused"):
        move(study, "draft")
    assert Study.objects.get(pk=study.pk).state == "running"
