"""Every registered memory system keeps the contract; and how a fifth one is added."""

import sys
from pathlib import Path

import pytest

from memory import registry
from tests import cast as people
from tests.memory import contract
from tests.memory.telling import finish, remembered, tell

FIFTH = '''
"""Keeps the last few exchanges, and recalls the newest."""

from dataclasses import dataclass
from typing import ClassVar

from memory.policy import Ask, MemoryPolicy, Query, Recall, Space, Verdict, When, newest_first, query_text


@dataclass(frozen=True)
class LastFew(MemoryPolicy):
    name: ClassVar[str] = "last_few"
    version: ClassVar[int] = 1

    kept: int = 3

    def recall(self, query: Query, space: Space, now: When, ask: Ask) -> Recall:
        hits = sorted(space.nearest(query_text(query)), key=lambda hit: newest_first(hit.memory))
        return Recall(tuple(hits[:1]))

    def retain(self, memories, now, rng):
        ranked = sorted(memories, key=newest_first)
        return [Verdict(m, rank <= self.kept, rank, 1 / rank) for rank, m in enumerate(ranked, start=1)]
'''


@pytest.mark.parametrize("preset", sorted(registry.PRESETS))
def test_every_preset_keeps_the_contract(preset):
    contract.check(registry.build(preset))


@pytest.fixture
def fifth(tmp_path: Path, monkeypatch):
    """The file and the line."""
    (tmp_path / "last_few.py").write_text(FIFTH)
    monkeypatch.syspath_prepend(str(tmp_path))
    import last_few

    monkeypatch.setitem(registry.PRESETS, "last_few", registry.Preset(last_few.LastFew, {}, {}))
    yield last_few.LastFew
    sys.modules.pop("last_few")


def test_a_fifth_system_is_one_file_and_one_line_and_keeps_the_contract(fifth):
    contract.check(registry.build("last_few", {"kept": 2}))


def test_a_fifth_system_runs_in_a_study_to_its_forgetting(fifth, script, db, monkeypatch):
    monkeypatch.setitem(people.CONDITIONS, "five", ("naive_rag", "last_few"))
    ana = people.person(people.make_study("five"))
    talk = people.session_of(ana)
    tell(talk, *(f"I have {n} cats." for n in range(6)))
    finish(talk)
    assert len(remembered(people.arm_of(ana, "last_few").pk)) == 3
    assert len(remembered(people.arm_of(ana, "naive_rag").pk)) == 6


def test_a_parameter_that_a_system_does_not_have_is_refused():
    with pytest.raises(registry.UnknownParameter, match="no parameter alhpa"):
        registry.build("lufy", {"alhpa": 0.2})


def test_a_value_of_the_wrong_type_is_refused():
    with pytest.raises(registry.UnknownParameter, match="keep_share"):
        registry.build("lufy", {"keep_share": "a tenth"})


def test_a_study_may_override_any_parameter():
    assert registry.build("lufy", {"alpha": 0.3}).alpha == 0.3


def test_the_perplexity_scorers_constants_reach_lufy_and_its_reference_keeps_the_ratio():
    from memory.policy import Scale

    scales = {"perplexity": Scale(cap=500, divisor=800)}
    lufy, reference = registry.build("lufy", {}, scales), registry.build("lufy_reference", {}, scales)
    assert (lufy.perplexity_cap, lufy.d_recall, lufy.d_retain) == (500, 800, 800)
    assert (reference.d_recall, reference.d_retain) == (500, 800)


def test_a_study_with_an_uncalibrated_encoder_an_unknown_scorer_and_no_such_prompt_hears_of_all_three(db):
    from studyplatform.study import loading

    text = people.study_toml("four").replace('encoder = "scripted/hash"', 'encoder = "scripted/other"\narousal = "tarot"')
    config = loading.parse(text + '\n[prompts]\nreply = "reply@99"\n').config
    paths = {path for path, _ in registry.faults(config)}
    assert {("memory", "encoder"), ("memory", "arousal"), ("prompts", "reply")} <= paths


def test_a_sound_study_has_no_faults(db):
    from studyplatform.study import loading

    assert list(registry.faults(loading.parse(people.study_toml("four")).config)) == []
