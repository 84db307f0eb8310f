"""AMU's controller as in the paper: a small language model that labels, describes, compares and merges, one JSON object at a time.

All five prompts begin with the same long text (rules, words, examples) and end with what is new, so that a server computes the long part once
for every task and every person: between two requests only the last message differs.
"""

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from memory import quotation
from memory.policies.amu_controllers import dates, wording
from memory.policies.amu_controllers.answers import Compared, Described, Labelled, LookedUp, Merged
from memory.policies.amu_controllers.interface import Controller, Labels, Record, Relation, Said, Slot
from memory.policy import Ask, Hit, Space, Unparsable

PROMPTS = {task: f"amu_{task}@1" for task in ("label", "describe", "compare", "merge", "lookup")}
FOLDER = Path(__file__).parent.parent
MOST_CHARS = 2000  # of one message; a longer one is cut, as it would be at the end of the model's window
_QUOTATION = re.compile(r'"([^"]{12,})"')  # sentences, not labels


class LanguageModel(Controller):
    """Asks for everything. What it is told about the past is the notes' fields, and never the bot's words."""

    def label(self, said: Said, space: Space, ask: Ask) -> Labels:
        found = ask(PROMPTS["label"], Labelled, said=quoted(said.text))
        return Labels(found.aspect, found.intent, found.is_personal, tuple(found.entities))

    def describe(self, said: Said, labels: Labels, space: Space, ask: Ask) -> Record:
        told = {"aspect": labels.aspect, "intent": labels.intent, "is_personal": labels.is_personal, "entities": list(labels.entities)}
        found = ask(PROMPTS["describe"], Described, said=quoted(said.text), written=dates.spoken(said.at), labels=_json(told))
        if borrowed(found.memory_summary, said.text):
            raise Unparsable("the model repeated the examples of its instructions", found.model_dump_json())
        return Record(
            aspect=labels.aspect,
            intent=labels.intent,
            is_personal=labels.is_personal,
            entities=labels.entities,
            summary=dates.resolve(found.memory_summary, said.at),
            sentiment=found.sentiment,
            confidence=found.confidence,
            said=said.text,
        )

    def relate(self, new: Record, old: Sequence[Hit], space: Space, ask: Ask) -> Sequence[Relation]:
        return [_compare(new, {**hit.memory.fields, "summary": hit.memory.embed_text}, ask) for hit in old]

    def fuse(self, new: Record, old: Sequence[Mapping[str, Any]], at: datetime, space: Space, ask: Ask) -> Record | None:
        earlier = "\n".join(_note(fields) for fields in old)
        try:
            found = ask(PROMPTS["merge"], Merged, new=_note(new.fields()), earlier=earlier, written=dates.spoken(at))
        except Unparsable:
            return None
        if borrowed(found.memory_summary, f"{new.summary} {earlier}"):
            return None
        summary = dates.resolve(found.memory_summary, at)
        return Record(new.aspect, new.intent, new.is_personal, tuple(found.entities), summary, found.sentiment, new.confidence, new.said)

    def aspect_of(self, query: Said, space: Space, ask: Ask) -> str | None:
        aspect = self.label(query, space, ask).aspect
        return aspect if aspect != "other" else None

    def slot_of(self, query: Said, space: Space, ask: Ask) -> Slot:
        found = ask(PROMPTS["lookup"], LookedUp, said=quoted(query.text))
        return Slot(found.slot, found.confidence)


def _compare(new: Record, old: Mapping[str, Any], ask: Ask) -> Relation:
    try:
        found = ask(PROMPTS["compare"], Compared, new=_note(new.fields()), earlier=_note(old))
    except Unparsable as error:
        return Relation("none", 0.0, {"unreadable": error.raw[:500]})
    return Relation(found.relation, found.confidence)


def quoted(text: str) -> str:
    """Words as data for a prompt: one line, at most `MOST_CHARS` characters, and nothing in it that could end its marks."""
    return quotation.quoted(text, MOST_CHARS)


def _note(fields: Mapping[str, Any]) -> str:
    """A record for comparison: what it says, about whom or what, and how it felt."""
    return _json({name: fields.get(name) for name in ("summary", "entities", "sentiment")})


def _json(value: Mapping[str, Any]) -> str:
    return quoted(json.dumps(value, ensure_ascii=False))


def borrowed(summary: str, said: str) -> bool:
    """Whether a summary is made of the instructions' examples, as a weak model makes one: it has a word of theirs and none that was said.

    >>> borrowed("The user plays the trombone.", "What is the weather like on Mars?")
    True
    >>> borrowed("The user plays the trombone.", "I play the trombone.")
    False
    """
    words = wording.content_words(summary)
    return not words & wording.content_words(said) and bool(words & _example_words())


@lru_cache(maxsize=1)
def _example_words() -> frozenset[str]:
    """The content words of everything that the shared part of the prompts quotes."""
    text = (FOLDER / f"{PROMPTS['describe']}.txt").read_text("utf-8")
    return frozenset().union(*(wording.content_words(quotation) for quotation in _QUOTATION.findall(text)))
