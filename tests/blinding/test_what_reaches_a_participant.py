"""Ana cannot find out which assistant is which: nothing that her browser gets names it, and nothing differs but the alias."""

import difflib
import inspect
import re

import pytest

from memory import policies
from memory.policy import MemoryPolicy
from memory.registry import PRESETS
from studyplatform.study.models import Session
from tests.blinding.conftest import MARKS, Walked, ids, sessions_of
from tests.house.source import assets, name

pytestmark = pytest.mark.django_db
SYSTEMS = re.compile(r"naive[\s_-]?rag|memory[\s_-]?bank|(?<![a-z])(?:lufy|amu)(?![a-z])", re.I)
WORDS = re.compile(r"\bpolic(?:y|ies)\b|\bpreset|\bcondition(?:s|ed)?\b|\bcontrol group|\bretention\b", re.I)


def everything(walked: list[Walked]):
    return [thing for one in walked for thing in one.luggage.got]


def found(walked, pattern: re.Pattern[str], *kinds: str) -> list[tuple[str, str, str]]:
    return [
        (t.what, t.where, pattern.search(t.text).group())
        for t in everything(walked)
        if (not kinds or t.what in kinds) and pattern.search(t.text)
    ]


def test_both_went_all_the_way_through_every_arm(walked):
    for one in walked:
        assert one.way.journal.errors == []
        assert {s.state for s in sessions_of(one)} == {"closed"}
        assert len({s.arm.condition_id for s in sessions_of(one)}) == 5  # the shared arm and four
    kinds = {t.what for t in everything(walked)}
    assert {"page", "header", "cookie", "file", "file name", "frame", "address"} <= kinds


def test_no_memory_system_is_named(walked):
    assert found(walked, SYSTEMS) == []


def test_no_preset_and_no_policy_class_is_named(walked):
    classes = [c.__name__ for c in MemoryPolicy.__subclasses__()]
    assert classes
    assert inspect.ismodule(policies)
    assert found(walked, re.compile("|".join(re.escape(n) for n in (*PRESETS, *classes)), re.I)) == []


def test_no_condition_is_named_nor_its_code(walked):
    names = [c.name for c in walked[0].participant.study.conditions.all()]
    assert len(names) == len(MARKS)
    assert found(walked, re.compile("|".join(map(re.escape, (*names, *MARKS))))) == []


def test_the_page_speaks_of_no_condition_or_policy(walked):
    assert found(walked, WORDS, "page", "frame", "address", "file name", "cookie") == []


def test_no_database_id_reaches_the_browser(walked):
    planted = ids()
    assert len(planted) > 100
    assert found(walked, re.compile("|".join(planted))) == []


def test_other_people_do_not_appear(walked):
    ana, ben = walked
    hers, his = ana.participant.code, ben.participant.code
    assert [t.where for t in ana.luggage.got if his in t.text] == []
    assert [t.where for t in ben.luggage.got if hers in t.text] == []


def test_no_static_file_is_named_after_a_system():
    assert assets()
    assert [name(a) for a in assets() if SYSTEMS.search(name(a))] == []


def neutral(page: str, session: Session) -> str:
    """A page of one arm with what may differ taken out: the alias, codes, tokens, times, what was said."""
    arm = session.arm
    page = re.sub(r'<p [^>]*dir="auto">.*?</p>', "<p>said</p>", page, flags=re.S)
    page = re.sub(r'(name="csrfmiddlewaretoken" value=|data-last=|<time[^>]*datetime=|data-day=)"[^"]*"', r'\1""', page)
    for own, blank in (
        (arm.alias_name, "NAME"),
        (f"shape-{arm.alias_shape}", "shape-S"),
        (f'data-shape="{arm.alias_shape}"', 'data-shape="S"'),
    ):
        page = page.replace(own, blank)
    page = re.sub(rf"\b{arm.alias_colour}\b", "COLOUR", page)
    page = page.replace(session.code, "CODE")
    page = re.sub(r"\b[Cc]onversation \d+", "conversation N", page)
    page = re.sub(r"<time.*?</time>", "", page, flags=re.S)
    page = re.sub(r"\b\d{1,2}:\d\d\b", "TIME", page)
    return re.sub(r"\s+", " ", page)


@pytest.mark.parametrize("kind", ["chats", "questions"])
def test_the_pages_of_two_arms_differ_in_the_alias_only(walked, kind):
    for one in walked:
        later = [s for s in sessions_of(one) if s.arm.condition_id is not None]
        pages = {neutral(getattr(one.luggage, kind)[s.code], s) for s in later}
        assert len(later) == 4
        assert len(pages) == 1, "\n".join(
            difflib.unified_diff(*[p.replace(">", ">\n").split("\n") for p in sorted(pages)[:2]], lineterm="", n=1)
        )


def test_the_frames_of_two_arms_have_the_same_shape(walked):
    """Kinds and keys in order, runs of tokens as one: how many pieces a reply has depends on the network only."""
    shapes = set()
    for one in walked:
        for session in [s for s in sessions_of(one) if s.arm.condition_id is not None]:
            kinds = [(f["type"], tuple(sorted(f))) for f in one.luggage.frames[session.code]]
            shapes.add(tuple(k for i, k in enumerate(kinds) if i == 0 or k != kinds[i - 1]))
    assert len(shapes) == 1


def test_every_answer_is_private_to_the_browser(walked):
    pages = [t for t in everything(walked) if t.what == "header" and t.where.startswith("/p/") and t.text.startswith("cache-control")]
    assert pages
    assert [t for t in pages if "no-store" not in t.text] == []
