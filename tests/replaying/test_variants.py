"""What is compared: presets, sweeps, ablations, a file of variants."""

import re
import shlex
from itertools import pairwise

import pytest
from django.core.management import BaseCommand

from memory import registry
from studyplatform.management.commands.replay import Command
from studyplatform.replaying.variants import ABLATIONS, BadVariant, chosen
from tests.house.source import ROOT


def shown(*args, **kwargs) -> list[str]:
    return [variant.shown for variant in chosen(*args, **kwargs)]


def test_without_a_choice_every_memory_system_is_replayed():
    assert [v.preset for v in chosen([])] == list(registry.PRESETS)


def test_a_sweep_varies_one_parameter_of_every_system_that_has_it():
    found = shown(["naive_rag", "lufy", "memory_bank"], sweeps=["keep_share=0.05,0.2"])
    assert found[3:] == ["lufy keep_share=0.05", "lufy keep_share=0.2", "memory_bank keep_share=0.05", "memory_bank keep_share=0.2"]


def test_a_sweep_may_name_one_system():
    assert shown(["lufy", "memory_bank"], sweeps=["lufy.threshold=0.3,none"])[2:] == ["lufy threshold=0.3", "lufy threshold=None"]


def test_each_part_of_lufy_is_left_out_once():
    assert shown(["lufy"], ablated=["lufy"]) == ["lufy", "lufy -A", "lufy -P", "lufy -L", "lufy -R1", "lufy -R2"]


@pytest.mark.parametrize("preset", ABLATIONS)
def test_every_ablation_changes_the_system_that_it_belongs_to(preset):
    for overrides in ABLATIONS[preset].values():
        assert registry.build(preset, overrides) != registry.build(preset)


def test_a_file_may_change_several_parameters_at_once(tmp_path):
    file = tmp_path / "sweep.toml"
    file.write_text('[[variants]]\npreset = "lufy"\nlabel = "lufy, bold"\noverrides = { alpha = 0.5, keep_share = 0.3 }\n', "utf-8")
    found = chosen(["naive_rag"], sweep_file=file)
    assert (found[1].shown, found[1].overrides) == ("lufy, bold", {"alpha": 0.5, "keep_share": 0.3})
    assert found[1].name == "lufy_bold"


def test_names_are_fit_for_a_study_file_and_tell_variants_apart():
    names = [v.name for v in chosen(["lufy"], sweeps=["alpha=0.1,0.01,1", "r2_sign=-1,1"], ablated=["lufy"])]
    assert len(set(names)) == len(names) == 11
    assert all(name.replace("_", "").isalnum() and name[0].isalpha() and name == name.lower() for name in names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sweeps": ["alpha"]}, "expected name=a,b,c"),
        ({"sweeps": ["beta=1"]}, "none of lufy has a parameter beta"),
        ({"sweeps": ["alpha=loud"]}, "lufy alpha=loud: lufy.alpha"),
        ({"ablated": ["naive_rag"]}, "known of lufy, amu only"),
        ({"ablated": ["mem0"]}, "no memory system mem0"),
    ],
)
def test_what_does_not_exist_is_refused_with_what_does(options, message):
    with pytest.raises(BadVariant, match=message):
        chosen(["lufy"], **options)


def documented() -> str:
    return (ROOT / "docs" / "replay.md").read_text("utf-8")


def options_of(line: str) -> dict[str, list[str]]:
    words = shlex.split(line.partition("manage.py replay ")[2])
    return {name: [word for flag, word in pairwise(words) if flag == f"--{name}"] for name in ("policies", "sweep", "ablate")}


def test_the_page_names_every_option_and_no_other():
    parser = Command().create_parser("manage.py", "replay")
    common = set(BaseCommand().create_parser("manage.py", "x")._option_string_actions)
    options = {name for name in parser._option_string_actions if name.startswith("--")} - common
    assert set(re.findall(r"--[a-z][a-z-]+", documented())) - {"--replay"} == options


@pytest.mark.parametrize("line", [line.strip() for line in documented().splitlines() if "manage.py replay lufy:" in line])
def test_the_page_s_commands_name_systems_and_parameters_that_exist(line):
    found = options_of(line)
    presets = found["policies"][0].split(",")
    ablated = [name for names in found["ablate"] for name in names.split(",")]
    assert len(chosen(presets, sweeps=found["sweep"], ablated=ablated)) >= len(presets)
