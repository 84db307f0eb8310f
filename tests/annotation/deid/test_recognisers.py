"""What is suggested: at least every identifier of these sentences, at offsets that quote it."""

import json
from itertools import pairwise
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.deid.recognisers.finding import find
from annotation.deid.recognisers.profile import profile

SENTENCES = [
    ("hey im sarah, 34 from austin lol", {"sarah": "name", "34": "age", "austin": "location"}),
    ("my social is 536904399 dont tell anyone", {"536904399": "ssn"}),
    ("call me at 512 555 0143 or (212) 555-0187", {"512 555 0143": "phone", "(212) 555-0187": "phone"}),
    ("i live at 1420 Maple Ave Apt 3B, Denver CO 80203", {"1420 Maple Ave Apt 3B, Denver CO 80203": "address"}),
    ("u can reach me @janedoe_99 on insta or jane.doe@gmail.com", {"@janedoe_99": "handle", "jane.doe@gmail.com": "email"}),
    ("my mrn is 00482913 and dr. Okafor said i have lupus", {"00482913": "record", "Okafor": "name", "lupus": "health"}),
    ("i was born on july 4th 1987 and my grandma just turned 93", {"july 4th 1987": "date", "93": "age"}),
    ("MY NAME IS JOHN SMITH", {"JOHN SMITH": "name"}),
    ("my nick is xXdragonXx, my real name's tomasz kowalczyk", {"xXdragonXx": "handle", "tomasz kowalczyk": "name"}),
]


@pytest.mark.parametrize(("text", "expected"), SENTENCES)
def test_every_identifier_of_the_sentence_is_suggested_and_nothing_else(text: str, expected: dict[str, str]) -> None:
    assert {text[f.start : f.end]: f.kind for f in find(text)} == expected


@pytest.mark.parametrize(
    "text",
    [
        "i was happy that it rained all day",
        "we had 3 cats and 2 dogs back then",
        "it took 45 minutes and cost 20 dollars",
        "I think that May was nice, and so was June",
        "the name of the game is patience",
        "can you remember what i said about the garden?",
    ],
)
def test_harmless_sentences_are_left_alone(text: str) -> None:
    assert [text[f.start : f.end] for f in find(text)] == []


def test_anas_own_profile_is_found_everywhere_and_inside_words_apart() -> None:
    text = "Zuckerbrots? no, ZUCKERBROT! mail quentinzuckerbrot42 and Quentin\nZuckerbrot"
    found = sorted(profile(text, ["zuckerbrot", "Quentin Zuckerbrot", ""]))
    assert [(text[f.start : f.end], f.inside_word) for f in found] == [
        ("Zuckerbrot", True), ("ZUCKERBROT", False), ("zuckerbrot", True), ("Quentin\nZuckerbrot", False), ("Zuckerbrot", False),
    ]  # fmt: skip


TROUBLE = (
    "👩🏽‍🚀",
    "🇯🇵",
    "🏴󠁧󠁢󠁳󠁣󠁴󠁿",
    "é",
    "e\u0301",
    "日本語",
    "שלום",
    "مرحبا",
    "\r\n",
    "\u200f",
    "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    " ",
    "ß",
    "İ",
)
PLANTED = ("jane.doe@gmail.com", "@janedoe_99", "+44 20 7946 0958", "1987-07-04")


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(TROUBLE), max_size=8), st.sampled_from(PLANTED), st.lists(st.sampled_from(TROUBLE), max_size=8))
def test_offsets_are_code_points_whatever_stands_around(before: list[str], planted: str, after: list[str]) -> None:
    text = "".join(before) + " " + planted + " " + "".join(after)
    assert planted in [text[f.start : f.end] for f in find(text)]


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=80))
def test_suggestions_lie_in_the_text_and_never_overlap(text: str) -> None:
    found = find(text, ["ana", "é"])
    assert all(0 <= f.start < f.end <= len(text) for f in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


def test_the_command_prints_one_document_with_recall_and_precision(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "texts.jsonl"
    rows = [{"text": "im sarah", "spans": [[3, 8, "name"]]}, {"text": "we met Xqwz", "spans": [[7, 11, "name"]]}, {"text": "ask ilse"}]
    file.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    call_command("suggest_pii", file=file, json=True)
    said = json.loads(capsys.readouterr().out)
    assert (said["overall"]["recall"], said["overall"]["precision"]) == (0.5, 1.0)
    assert said["by_type"]["name"]["n_gold"] == 2
    assert said["texts"][2]["spans"] == [[4, 8, "name"]]


def test_all_faults_of_a_file_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "texts.jsonl"
    file.write_text('{"text": "ab", "spans": [[0, 9, "name"]]}\nnot json\n{"txt": 1}\n', "utf-8")
    with pytest.raises(CommandError) as refused:
        call_command("suggest_pii", file=file, json=True)
    assert [f"line {n}" in str(refused.value) for n in (1, 2, 3)] == [True] * 3
