"""What the strict content policy and the blinding ask of templates and static files."""

import re

import pytest

from memory.registry import PRESETS
from studyplatform.headers import POLICY
from tests.house import source

INLINE = {
    "a style attribute": re.compile(r"<[^>]+\sstyle\s*="),
    "a style element": re.compile(r"<style[\s>]"),
    "an inline script": re.compile(r"<script(?![^>]*\ssrc=)(?![^>]*type=\"application/json\")[^>]*>"),
    "an event attribute": re.compile(r"<[^>]+\son(?:click|load|submit|change|input|key\w+|focus|blur|error)\s*="),
    "a script address": re.compile(r"javascript:"),
    "another host": re.compile(r"(?:src|href)=[\"'](?:https?:)?//"),
}
ARMS = re.compile(
    r"naive[\s_-]?rag|memory[\s_-]?bank|no_memory|sliding[\s_-]?window|(?:compressed|full)[\s_-]?history|(?<![a-z])(?:lufy|amu)(?![a-z])",
    re.I,
)


@pytest.mark.parametrize("what", INLINE)
def test_no_template_holds(what):
    assert [source.name(t) for t in source.templates() if INLINE[what].search(t.read_text("utf-8"))] == []


def test_the_content_policy_allows_nothing_inline():
    assert "unsafe" not in POLICY
    assert "default-src 'self'" in POLICY


def test_no_template_or_static_file_names_a_memory_system():
    files = [*source.templates(), *(a for a in source.assets() if a.suffix in {".js", ".css", ".svg", ".json"})]
    assert [source.name(f) for f in files if ARMS.search(f.read_text("utf-8"))] == []
    assert [source.name(f) for f in (*source.templates(), *source.assets()) if ARMS.search(source.name(f))] == []


def test_the_names_looked_for_are_those_that_are_registered():
    assert [preset for preset in PRESETS if not ARMS.search(preset)] == []


def test_every_template_page_says_its_language():
    documents = [t for t in source.templates() if "<html" in t.read_text("utf-8")]
    assert documents
    assert [source.name(t) for t in documents if not re.search(r"<html lang=", t.read_text("utf-8"))] == []
