"""The style sheet and the scripts, as a browser gets them."""

from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.test import Client

SHEET = "/static/look.css"


def test_a_page_gets_the_style_sheet_whole_and_not_as_a_stream() -> None:
    answer = Client().get(SHEET)
    expected = Path(finders.find("look.css")).read_bytes()
    assert not answer.streaming
    assert (answer.status_code, answer["Content-Type"], answer.content) == (200, 'text/css; charset="utf-8"', expected)
    assert int(answer["Content-Length"]) == len(expected)


def test_a_browser_that_has_it_is_told_so() -> None:
    known = Client().get(SHEET)["ETag"]
    again = Client().get(SHEET, headers={"If-None-Match": known})
    assert (again.status_code, again.content) == (304, b"")


def test_a_part_is_sent_as_a_part() -> None:
    answer = Client().get(SHEET, headers={"Range": "bytes=0-9"})
    assert (answer.status_code, len(answer.content), answer["Content-Length"]) == (206, 10, "10")


def test_a_file_that_grew_while_the_process_ran_is_not_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "grown.css"
    file.write_text("a{}")
    monkeypatch.setattr(settings, "STATICFILES_DIRS", [tmp_path])
    finders.get_finder.cache_clear()
    browser = Client()
    assert browser.get("/static/grown.css").text == "a{}"
    file.write_text("a{} b{}")
    grown = browser.get("/static/grown.css")
    finders.get_finder.cache_clear()
    assert (grown.text, grown["Content-Length"]) == ("a{} b{}", "7")
