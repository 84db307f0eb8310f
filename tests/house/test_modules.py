"""How a module should be: short, named by a noun, without hidden chains of calls."""

import ast
import re

import pytest

from tests.house import source
from tests.house.exceptions import LONG_FUNCTIONS, LONG_MODULES

LONGEST_MODULE = 400
LONGEST_FUNCTION = 50
LONGEST_CONSUMER = 60
NO_NAMES = {"utils", "helpers", "common", "misc", "services", "signals", "managers"}


def test_no_module_is_longer_than_a_reader_can_hold():
    lengths = {source.name(p): len(p.read_text("utf-8").splitlines()) for p in source.modules()}
    assert {m: n for m, n in lengths.items() if n > LONGEST_MODULE and m not in LONG_MODULES} == {}


def test_no_function_is_longer_than_a_page():
    lengths = {f.where: f.lines for p in source.modules() for f in source.functions(p)}
    assert {f: n for f, n in lengths.items() if n > LONGEST_FUNCTION and f not in LONG_FUNCTIONS} == {}


def test_every_exception_is_still_needed():
    long_modules = {source.name(p) for p in source.modules() if len(p.read_text("utf-8").splitlines()) > LONGEST_MODULE}
    long_functions = {f.where for p in source.modules() for f in source.functions(p) if f.lines > LONGEST_FUNCTION}
    assert set(LONG_MODULES) <= long_modules
    assert set(LONG_FUNCTIONS) <= long_functions


def test_modules_are_named_by_what_they_are():
    assert [source.name(p) for p in source.modules() if p.stem in NO_NAMES or p.parent.name in NO_NAMES] == []


def test_the_two_package_roots_stay_empty_so_that_analysis_runs_without_django():
    for package in ("studyplatform", "memory"):
        assert (source.ROOT / package / "__init__.py").read_text("utf-8").strip() == ""


def test_a_consumer_is_a_door_and_holds_no_rule():
    consumers = {source.name(p): len(p.read_text("utf-8").splitlines()) for p in source.modules(source.PRODUCT) if p.stem == "consumers"}
    assert consumers, "the chat's consumer was not found: this test looks for modules named consumers"
    assert {c: n for c, n in consumers.items() if n >= LONGEST_CONSUMER} == {}


def test_nothing_happens_by_signal():
    listening = [
        source.name(p)
        for p in source.modules(source.PRODUCT)
        if re.search(r"\bdispatch import .*receiver|@receiver\(", p.read_text("utf-8"))
    ]
    assert listening == []


@pytest.mark.parametrize("package", source.PRODUCT)
def test_every_module_says_what_it_is_for(package):
    speaking = [p for p in source.modules((package,)) if p.name != "apps.py" and p.read_text("utf-8").strip()]
    silent = [source.name(p) for p in speaking if not ast.get_docstring(source.tree(p))]
    assert silent == []


def test_suppressed_checks_give_their_reason():
    bare = re.compile(r"#\s*(?:noqa(?::\s*[A-Z0-9, ]+)?|type:\s*ignore(?:\[[^\]]*\])?)\s*$", re.M)
    assert [source.name(p) for p in source.modules() if p.name != "test_modules.py" and bare.search(p.read_text("utf-8"))] == []
