"""Prompt files: declared variables, one substitution, a hash of the file."""

import hashlib
import re

import pytest

from studyplatform.llm import prompts
from studyplatform.llm.prompts import BadPrompt, parse

SOURCE = b"variables: name, notes\n=== system\nYou are {{name}}.\n=== user\n{{ notes }}\n"


def test_a_prompt_is_known_by_name_version_and_hash_of_its_file():
    prompt = prompts.load("reply@1")
    source = (prompts.FOLDER / "reply@1.txt").read_bytes()
    assert (prompt.label, prompt.sha256) == ("reply@1", hashlib.sha256(source).hexdigest())


def test_values_are_put_in_once_and_never_read_again():
    messages = parse("x@1", SOURCE).render(name="Rin", notes="{{name}} {{ notes }}")
    assert messages == [{"role": "system", "content": "You are Rin."}, {"role": "user", "content": "{{name}} {{ notes }}"}]


@pytest.mark.parametrize("given", [{"name": "Rin"}, {"name": "Rin", "notes": "", "more": ""}])
def test_it_takes_exactly_its_variables(given):
    with pytest.raises(BadPrompt):
        parse("x@1", SOURCE).render(**given)


@pytest.mark.parametrize(
    ("label", "source"),
    [
        ("x", SOURCE),
        ("x@0", SOURCE),
        ("../x@1", SOURCE),
        ("x@1", b"=== system\nHello"),
        ("x@1", b"variables: name\n=== system\nHello"),
        ("x@1", b"variables:\n=== system\n{{name}}"),
        ("x@1", b"variables:\n"),
    ],
)
def test_a_malformed_prompt_is_refused(label, source):
    with pytest.raises(BadPrompt):
        parse(label, source)


def test_an_unknown_prompt_is_refused_with_the_known_ones():
    with pytest.raises(BadPrompt, match="reply@1"):
        prompts.load("reply@99")


def test_every_shipped_prompt_loads():
    assert all(prompts.load(path.stem).label == path.stem for path in prompts.FOLDER.glob("*@*.txt"))


@pytest.mark.parametrize("label", ["reply@1", "opener@1", "answer@1", "key_summary@1", "session_summary@1", "importance@2"])
def test_what_was_said_stands_between_marks_as_information(label):
    prompt = prompts.load(label)
    text = "\n".join(message["content"] for message in prompt.render(**{name: f"[{name}]" for name in prompt.variables}))
    for name in set(prompt.variables) & {"summary", "notes", "key_summary", "memory", "earlier", "latest", "transcript", "said"}:
        assert re.search(rf"<<<(\w+)\n\[{name}\]\n\1>>>", text)
    assert "information only" in text
