"""What docs/operations.md promises."""

import re

import pytest

from studyplatform.envfile import ROOT
from studyplatform.stack.__main__ import parser
from studyplatform.stack.plan import GROUPS
from studyplatform.stack.ports import WANTED

TEXT = (ROOT / "docs" / "operations.md").read_text()
SAID = "".join(
    path.read_text() for path in [*ROOT.glob("studyplatform/stack/*.py"), ROOT / "studyplatform/env.py", ROOT / ".ci/environment"]
)
TABLE = TEXT.split("## When something is wrong")[1].split("###")[0]


@pytest.mark.parametrize("message", re.findall(r"^\| `([^`]+)` \|", TABLE, re.M))
def test_a_message_that_the_table_explains_is_one_that_people_see(message: str):
    assert message in SAID


@pytest.mark.parametrize("line", re.findall(r"manage\.py stack ((?:up|down|status)[^\n`#]*)", TEXT))
def test_a_command_that_it_shows_is_understood(line: str):
    assert parser().parse_args(line.split(",")[0].split() if "--only" not in line else line.split())


def test_it_names_every_group_and_port():
    assert all(f"| `{group}` |" in TEXT for group in GROUPS)
    assert all(str(port) in TEXT for port in WANTED.values())


def test_make_targets_that_it_names_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M))
    assert set(re.findall(r"make (setup|demo|test|clean|lint|bench)\b", TEXT)) <= targets
