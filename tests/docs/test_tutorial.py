"""The tutorial is done as it is written: the empty file, the whole file, the line, the contract, a study, the benchmark."""

import json
import re
import sys
import types
from datetime import UTC, datetime
from io import StringIO
from random import Random

import pytest
from django.core.management import call_command

from memory import registry
from memory.policy import Memory, Query, When
from tests import cast as people
from tests.house.source import ROOT
from tests.memory import contract
from tests.memory.telling import finish, remembered, tell

PAGE = (ROOT / "docs" / "add-a-memory-system.md").read_text("utf-8")
FILES = re.findall(r"```python\n(.*?)```", PAGE, re.S)
LINE = re.search(r'^ {4}"exclaimed": (Preset\(.*\)),$', PAGE, re.M)
COMMANDS = re.findall(r"^ {4}\.venv/bin/python manage\.py (.*)$", PAGE, re.M)
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


def module(number: int, monkeypatch) -> types.ModuleType:
    """The file as it stands in the tutorial's code block of that number."""
    made = types.ModuleType(f"tutorial_exclaimed_{number}")
    monkeypatch.setitem(sys.modules, made.__name__, made)
    exec(compile(FILES[number], "add-a-memory-system.md", "exec"), made.__dict__)
    return made


@pytest.fixture
def exclaimed(monkeypatch):
    return module(1, monkeypatch).Exclaimed


@pytest.fixture
def registered(exclaimed, monkeypatch):
    """The line, as the tutorial has it."""
    preset = eval(LINE[1], {"Preset": registry.Preset, "Exclaimed": exclaimed})
    monkeypatch.setitem(registry.PRESETS, "exclaimed", preset)
    return preset


def memory(seq, user):
    return Memory(seq, "exchange", 1, seq, "And?", user, user, 0, 0, 1, AT)


def test_the_least_file_is_a_system_that_keeps_the_contract(monkeypatch):
    first = module(0, monkeypatch).Exclaimed()
    contract.check(first)
    assert first.recall(Query("reply", "Hi", ("Hi",)), contract.filled(first), When(2, AT), contract.no_model).used == ()


def test_the_whole_file_keeps_the_contract_too(registered):
    contract.check(registry.build("exclaimed"))


def test_only_what_was_exclaimed_survives_the_session(exclaimed):
    memories = [memory(2, "I moved."), memory(4, "I moved to Oulu!"), memory(6, "It is cold.")]
    verdicts = exclaimed().retain(memories, When(1, AT), Random(1))
    assert [v.memory.seq for v in verdicts if v.kept] == [4]
    assert len(verdicts) == len(memories)


def test_a_parameter_is_a_field(registered):
    policy = registry.build("exclaimed", {"least": 2})
    verdicts = policy.retain([memory(2, "Yes!"), memory(4, "Yes!!")], When(1, AT), Random(1))
    assert [v.memory.seq for v in verdicts if v.kept] == [4]
    with pytest.raises(registry.UnknownParameter):
        registry.build("exclaimed", {"loudness": 2})


def test_it_runs_in_a_study_to_its_forgetting(registered, script, db, monkeypatch):
    monkeypatch.setitem(people.CONDITIONS, "loud", ("naive_rag", "exclaimed"))
    ana = people.person(people.make_study("loud"))
    talk = people.session_of(ana)
    tell(talk, "I moved.", "I moved to Oulu!")
    finish(talk)
    assert [m.user_text for m in remembered(people.arm_of(ana, "exclaimed").pk)] == ["I moved to Oulu!"]


def test_the_benchmark_measures_it(registered, script, db):
    command = next(line for line in COMMANDS if line.startswith("amu_benchmark") and "scripted/hash" in line)
    out = StringIO()
    call_command(*command.split(), "--json", stdout=out)
    found = json.loads(out.getvalue())
    row = next(row for row in found["rows"] if row["preset"] == "exclaimed")
    assert row["policy"] == "exclaimed"
    assert 0 <= row["hit_at_3"] <= 1


def test_every_command_of_the_page_takes_the_options_that_it_is_given():
    from django.core.management import load_command_class

    for line in COMMANDS:
        name, *options = line.split()
        app = "studyplatform"
        load_command_class(app, name).create_parser("manage.py", name).parse_args(options)
