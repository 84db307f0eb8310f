"""The documentation says what the code does."""

import dataclasses
import importlib.util
import re

import pytest

from memory.registry import PRESETS
from tests.house.source import ROOT

DOCS = ROOT / "docs"
PAGE_OF = {
    "naive_rag": "naive-rag",
    "memory_bank": "memorybank",
    "memory_bank_original": "memorybank-original",
    "lufy": "lufy",
    "amu": "amu",
}
BOUNDS = [name for name, preset in PRESETS.items() if preset.bound]
ROW = re.compile(r"^\| `([a-z0-9_]+)` \| ([^|]*) \|", re.M)


def study_file():
    spec = importlib.util.spec_from_file_location("study_file", DOCS / "study_file.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_study_file_reference_is_current():
    assert (DOCS / "study-file.md").read_text("utf-8") == study_file().page(), "run python docs/study_file.py"


def test_the_study_file_reference_explains_no_key_that_is_gone():
    module = study_file()
    from studyplatform.study.config import StudyConfig

    keys = {f"{name}.{key}" for name, field in StudyConfig.model_fields.items() if (t := module._table(field)) for key in t.model_fields}
    assert set(module.WORDS) <= keys


@pytest.mark.parametrize("name", [*PAGE_OF, *BOUNDS])
def test_a_memory_system_s_page_gives_every_parameter_with_its_default(name):
    policy = PRESETS[name].policy()
    written = dict(ROW.findall(_page(name)))
    expected = {f.name: _shown(getattr(policy, f.name)) for f in dataclasses.fields(policy)}
    assert {key: value.strip() for key, value in written.items()} == expected


def _page(name):
    """A system's page, or a bound's section, without the list of presets."""
    if name in BOUNDS:
        return (DOCS / "memory" / "bounds.md").read_text("utf-8").split(f"## `{name}`")[1].split("\n## ")[0]
    return (DOCS / "memory" / f"{PAGE_OF[name]}.md").read_text("utf-8").split("## Presets")[0]


def test_every_memory_system_has_a_page():
    assert {preset.policy.name for preset in PRESETS.values()} == {*PAGE_OF, *BOUNDS}


@pytest.mark.parametrize("name", PAGE_OF)
def test_a_memory_system_s_page_says_what_is_open_and_what_its_limits_are(name):
    page = (DOCS / "memory" / f"{PAGE_OF[name]}.md").read_text("utf-8")
    assert re.search(r"leaves? open|Left open", page, re.I)
    assert re.search(r"Limits|What it does wrong", page)


def _shown(value):
    if value is None:
        return "none"
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


def test_every_preset_is_in_the_list_of_memory_systems():
    page = (DOCS / "memory" / "README.md").read_text("utf-8")
    assert [preset for preset in PRESETS if f"`{preset}`" not in page] == []


def test_every_decision_is_listed_and_has_its_three_parts():
    listed = (DOCS / "adr" / "README.md").read_text("utf-8")
    decisions = sorted(p for p in (DOCS / "adr").glob("[0-9]*.md"))
    assert decisions
    for decision in decisions:
        text = decision.read_text("utf-8")
        assert decision.name in listed
        assert [part for part in ("## Context", "## Decision", "## Consequences") if part not in text] == []
        assert len(text.splitlines()) <= 30


def test_commands_named_in_the_documentation_exist():
    from django.core.management import get_commands

    named = {name for p in [*DOCS.rglob("*.md"), *ROOT.glob("*.md")] for name in re.findall(r"manage\.py ([a-z_]+)", p.read_text("utf-8"))}
    assert named - set(get_commands()) == set()
