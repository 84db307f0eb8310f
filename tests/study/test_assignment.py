"""Assignment: pure, repeatable, balanced."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studyplatform.study.assignment import latin_rows, orders, plan
from studyplatform.study.config import StudyConfig
from studyplatform.study.loading import parse
from tests.cast import study_toml


def config(kind: str = "four", **changes: object) -> StudyConfig:
    return parse(study_toml(kind, **changes)).config


def firsts(design: StudyConfig, people: range) -> list[tuple[str | None, ...]]:
    """For each person the conditions in the order in which they are first met."""
    return [tuple(arm.condition for arm in plan(design, n).arms if arm.condition) for n in people]


@given(st.integers(min_value=2, max_value=8))
def test_every_condition_holds_every_place_equally_often(n: int) -> None:
    rows = latin_rows(n)
    for place in range(n):
        assert len(set(Counter(row[place] for row in rows).values())) == 1


@given(st.integers(min_value=2, max_value=8))
def test_every_condition_follows_every_other_equally_often(n: int) -> None:
    pairs = Counter(pair for row in latin_rows(n) for pair in itertools.pairwise(row))
    assert len(pairs) == n * (n - 1)
    assert len(set(pairs.values())) == 1


def test_each_block_of_four_people_meets_the_four_orders() -> None:
    met = firsts(config(), range(8))
    assert len(set(met[:4])) == len(set(met[4:])) == 4
    assert set(met[:4]) == set(met[4:])


def test_the_order_of_people_within_a_block_is_shuffled_by_the_seed() -> None:
    design = config()
    other = design.model_copy(update={"seeds": design.seeds.model_copy(update={"assignment": 99})})
    assert firsts(design, range(40)) != firsts(other, range(40))
    assert firsts(design, range(40)) == firsts(design, range(40))


def test_aliases_are_spread_evenly_over_conditions() -> None:
    design = config()
    given_out = Counter((arm.condition, arm.alias.name) for n in range(8) for arm in plan(design, n).arms if arm.condition)
    assert set(given_out.values()) == {2}


def test_with_a_shared_first_session_everyone_begins_alike_and_meets_each_arm_from_its_second_on() -> None:
    made = plan(config(per_arm=4), 0)
    assert (made.sessions[0].arm_order, made.sessions[0].number) == (0, 1)
    assert made.arms[0].condition is None
    assert len(made.sessions) == 1 + 4 * 3
    assert {s.number for s in made.sessions[1:]} == {2, 3, 4}
    assert [s.position for s in made.sessions] == list(range(1, 14))


def test_without_a_shared_session_each_arm_begins_at_one() -> None:
    made = plan(config(shared_first="false", per_arm=2), 3)
    assert all(arm.condition for arm in made.arms)
    assert sorted(s.number for s in made.sessions) == [1] * 4 + [2] * 4


def test_each_round_is_another_row_so_that_nobody_always_meets_the_same_one_first() -> None:
    made = plan(config(per_arm=5), 0)
    firsts_of_rounds = [s.arm_order for s in made.sessions[1::4]]
    assert len(set(firsts_of_rounds)) == 4


@pytest.mark.parametrize("people", [4, 12])
def test_between_participants_each_block_holds_every_condition_once(people: int) -> None:
    design = config(design="between")
    met = [condition for (condition,) in firsts(design, range(people))]
    for start in range(0, people, 4):
        assert len(set(met[start : start + 4])) == 4


def test_three_conditions_need_six_orders() -> None:
    four = config()
    three = four.model_copy(update={"conditions": four.conditions[:3]})
    assert orders(three) == 6
    assert len(set(firsts(three, range(6)))) == 6


def test_a_fixed_order_is_the_files() -> None:
    design = config(sessions='order = "fixed"')
    assert set(firsts(design, range(6))) == {tuple(c.name for c in design.conditions)}
