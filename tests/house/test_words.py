"""Words that must not be in what is committed."""

import re
from urllib.parse import urlsplit

from tests.house import source

UNFINISHED = re.compile(r"\b(?:TO" r"DO|FIX" r"ME|XX" r"X|HA" r"CK)\b")
MACHINE = re.compile(r"(?<![\w/.-])/(?:work|home|Users|tmp/dev|root(?!/\.cache/))/[\w.-]+")
LINK = re.compile(r"\]\((?!https?:|mailto:|#)([^)\s]+)\)")


def test_nothing_is_left_unfinished():
    assert [source.name(p) for p in source.texts() if UNFINISHED.search(p.read_text("utf-8"))] == []


def test_no_path_of_somebodys_machine_is_committed():
    assert [source.name(p) for p in source.texts() if MACHINE.search(p.read_text("utf-8")) and p.name != "test_words.py"] == []


def test_links_between_documents_lead_somewhere():
    documents = [p for p in source.texts() if p.suffix == ".md"]
    broken = [
        f"{source.name(p)} -> {target}"
        for p in documents
        for target in LINK.findall(p.read_text("utf-8"))
        if not (p.parent / urlsplit(target).path).exists()
    ]
    assert broken == []


def test_requirements_come_from_the_public_index_only():
    files = sorted((source.ROOT / "requirements").glob("*.txt"))
    assert files
    addressed = re.compile(r"https?://|--index-url|--find-links|@ file:")
    assert [source.name(p) for p in files if addressed.search(p.read_text("utf-8"))] == []
