"""How many memories survive: the rule, and what it gives on the real exchange counts beside the paper's table 11."""

import re
from datetime import UTC, datetime
from random import Random

import pytest

from memory import registry
from memory.policies.memory_bank import importance
from memory.policy import Memory, When
from memory.retention import keep_count
from studyplatform.analysis.tables import published
from studyplatform.simulation import recordings
from tests.house.source import ROOT

SAMPLE = ROOT.parent / "shared" / "data" / "lufy-sample"
AT = datetime(2026, 3, 1, tzinfo=UTC)


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


# The page: each arm's own counts, each preset's own verdicts.
ARMS = {"lufy": "LUFY", "lufy_top10pct": "LUFY", "memory_bank": "MemoryBank"}
PAGE = (ROOT / "docs" / "memory" / "forgetting.md").read_text("utf-8")
LINE = re.compile(r"^\| `(\w+)` \| (\w[\w ]*) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \| ([\d.]+) \|", re.M)


def held_after(preset: str, person) -> list[int]:
    """How many memories the preset's verdicts leave after each session."""
    policy, held, found = registry.build(preset), [], []
    for number, exchanges in enumerate(person, start=1):
        made = [(seq, "exchange") for seq in range(2, 2 * exchanges + 1, 2)] + [(0, "summary")]
        held += [Memory(number * 1000 + seq, kind, number, seq, "", "", "", 0, 0, number, AT) for seq, kind in made]
        held = [v.memory for v in policy.retain(held, When(number, AT), Random(1)) if v.kept]
        found.append(len(held))
    return found


def by_verdicts(preset: str, counts) -> list[float]:
    kept = [held_after(preset, person) for person in counts]
    return [round(100 * sum(k[i] for k in kept) / sum(sum(person[: i + 1]) for person in counts), 1) for i in range(4)]


def printed(preset: str, what: str) -> list[float]:
    rows = {(name, said): [float(n) for n in numbers] for name, said, *numbers in LINE.findall(PAGE)}
    return rows[preset, what]


@pytest.mark.parametrize("preset", ARMS)
def test_the_page_prints_what_the_verdicts_leave_of_the_samples_exchanges(preset):
    assert printed(preset, "here") == by_verdicts(preset, LUFY if ARMS[preset] == "LUFY" else MEMORY_BANK)


def test_the_page_prints_how_many_each_person_keeps():
    rows = re.findall(r"^\| (\d+), (\d+), (\d+), (\d+) \| (\d+), (\d+), (\d+), (\d+) \|", PAGE, re.M)
    assert [(tuple(map(int, row[:4])), list(map(int, row[4:]))) for row in rows] == [
        (person, held_after("lufy", person)) for person in LUFY
    ]


@pytest.mark.parametrize("preset", ["lufy", "memory_bank"])
def test_the_page_prints_the_papers_table_11_beside_it(preset):
    assert tuple(printed(preset, "paper")) == published.RETENTION[preset]


@pytest.mark.skipif(not SAMPLE.is_dir(), reason="the released sample is not beside the checkout (../shared/data/lufy-sample)")
@pytest.mark.parametrize(("system", "counts"), [("LUFY", LUFY), ("MemoryBank", MEMORY_BANK)])
def test_the_counts_are_those_of_the_released_sample(system, counts):
    found = recordings.read(f"lufy:{SAMPLE}", system=system, seed=1)
    assert sorted(tuple(len(session.user) for session in r.sessions) for r in found) == sorted(counts)
