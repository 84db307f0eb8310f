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


# Exchanges per session of the eight people of the released sample, per arm; the paper's table 11 is of all seventeen.
LUFY = (
    (19, 29, 26, 29), (20, 19, 23, 24), (64, 63, 60, 54), (24, 39, 37, 35),
    (21, 26, 36, 30), (30, 26, 28, 38), (19, 20, 19, 27), (17, 24, 30, 25),
)  # fmt: skip
MEMORY_BANK = (
    (19, 25, 24, 36), (20, 25, 24, 21), (64, 73, 66, 64), (24, 31, 41, 41),
    (21, 30, 23, 30), (30, 40, 37, 33), (19, 22, 22, 25), (17, 26, 20, 20),
)  # fmt: skip


def retention(counts, *, session_slots=True):
    """Memories kept, summaries included, in percent of the exchanges ever made, after each session, summed over people."""
    kept, ever = [0] * 4, [0] * 4
    for person in counts:
        held = made = 0
        for i, exchanges in enumerate(person):
            made += exchanges
            held = keep_count(held + exchanges + 1, i + 1, 0.1, session_slots=session_slots)
            kept[i] += held
            ever[i] += made
    return [round(100 * k / n, 1) for k, n in zip(kept, ever, strict=True)]


@pytest.mark.parametrize(
    ("counts", "ours", "all_seventeen"),
    [
        (LUFY, [12.1, 8.9, 7.1, 6.1], [11.9, 8.6, 6.8, 5.8]),
        (MEMORY_BANK, [12.1, 8.6, 6.6, 6.0], [11.9, 8.4, 6.6, 5.7]),
    ],
)
def test_retention_on_the_samples_counts_is_near_that_on_all_and_the_papers(counts, ours, all_seventeen):
    assert retention(counts) == ours
    assert retention(counts) == pytest.approx(all_seventeen, abs=0.35)


def test_a_plain_tenth_would_not_give_the_papers_table():
    paper = [12.7, 8.6, 6.9, 5.7]
    assert max(abs(a - b) for a, b in zip(retention(LUFY, session_slots=False), paper, strict=True)) > 2
