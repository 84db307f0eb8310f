"""How many memories survive: the rule, and what it gives on the real exchange counts beside the paper's table 11."""

import pytest

from memory.policies.memory_bank import importance
from memory.retention import keep_count


@pytest.mark.parametrize(("held", "session", "kept"), [(29, 1, 3), (37, 2, 5), (39, 3, 6), (36, 4, 7)])
def test_the_keep_count_is_the_reference_codes(held, session, kept):
    assert keep_count(held, session, 0.1) == kept


def test_the_count_is_exact_where_floating_point_is_not():
    assert [keep_count(n, 1, 0.1) for n in (10, 30, 70, 100)] == [1, 3, 7, 10]
    assert keep_count(30, 2, 0.1) == 4


def test_the_plain_share_has_no_place_for_earlier_sessions():
    assert [keep_count(n, s, 0.1, session_slots=False) for n, s in ((29, 1), (37, 2), (39, 3), (36, 4))] == [3, 4, 4, 4]


def test_no_more_is_kept_than_there_is():
    assert keep_count(0, 1, 0.1) == 0
    assert keep_count(2, 4, 0.1) == 2


def test_a_memory_that_is_recalled_fades_slower_in_memory_bank():
    assert importance(3, 5) > importance(0, 5)


def test_an_unrecalled_memory_of_one_session_ago_is_worth_a_third_in_memory_bank():
    assert f"{importance(0, 1):.4f}" == "0.3679"
