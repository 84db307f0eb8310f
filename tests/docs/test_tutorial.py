"""The tutorial's memory system is read out of the tutorial, and works."""

import re
import sys
import types
from datetime import UTC, datetime
from random import Random

import pytest

from memory.policy import Memory, When
from tests.house.source import ROOT

PAGE = (ROOT / "docs" / "add-a-memory-system.md").read_text("utf-8")
AT = datetime(2026, 11, 30, 12, tzinfo=UTC)


@pytest.fixture
def exclaimed(monkeypatch):
    code = re.search(r"```python\n(.*?)```", PAGE, re.S).group(1)
    module = types.ModuleType("tutorial_exclaimed")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(code, "add-a-memory-system.md", "exec"), module.__dict__)
    return module.Exclaimed


def memory(seq, user):
    return Memory(seq, "exchange", 1, seq, "And?", user, user, 0, 0, 1, AT)


def test_only_what_was_exclaimed_survives_the_session(exclaimed):
    memories = [memory(2, "I moved."), memory(4, "I moved to Oulu!"), memory(6, "It is cold.")]
    verdicts = exclaimed().retain(memories, When(1, AT), Random(1))
    assert [v.memory.seq for v in verdicts if v.kept] == [4]
    assert len(verdicts) == len(memories)


def test_a_parameter_is_a_field(exclaimed):
    verdicts = exclaimed(least=2).retain([memory(2, "Yes!"), memory(4, "Yes!!")], When(1, AT), Random(1))
    assert [v.memory.seq for v in verdicts if v.kept] == [4]


def test_it_can_be_registered_with_one_line_and_named_by_a_study(exclaimed, monkeypatch):
    from memory import registry

    assert '"exclaimed": Preset(Exclaimed),' in PAGE
    monkeypatch.setitem(registry.PRESETS, "exclaimed", registry.Preset(exclaimed))
    assert registry.build("exclaimed", {"least": 2}).least == 2
    with pytest.raises(registry.UnknownParameter):
        registry.build("exclaimed", {"loudness": 2})
