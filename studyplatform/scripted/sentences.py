"""What the scripted model says: small, deterministic, and about the text it was given.

Nothing here is meant to be clever. It has to differ from text to text, so that figures which depend on it (importance, recall
of answers) vary honestly, and to be the same on every run.
"""

import re
from typing import Any
from zlib import crc32

_WORD = re.compile(r"[\w'’-]+")
_FRAMES = (
    "Thank you for telling me about {topic}. What was it like for you?",
    "I see. {topic} sounds like something that matters to you. How did it begin?",
    "That is interesting. Who else knows about {topic}?",
    "It makes sense that you mention {topic}. What would you change about it?",
    "Tell me a little more about {topic}. When did you last think of it?",
    "I had not thought of {topic} in that way. What do you enjoy most?",
)
_OPENERS = (
    "Hello, it is good to talk with you. What has been on your mind today?",
    "Welcome back. What happened since we last spoke?",
    "Good to see you. Is there something you were looking forward to?",
)
_FILLERS_TEXT = """
and so it goes on from one day to the next with small things that stay and others that pass
"""
_FILLERS = _FILLERS_TEXT.split()
_COMMON_TEXT = """
a about after again all also an and any are as at be because been before but by can could did do does for from get got
had has have he her here him his how i i'm if in into is it it's its just know like me more much my no not now of on
one only or our out really said say she so some than that that's the their them then there these they thing things
think this to today too up us very was we well were what when where which while who why will with would you your
"""
_COMMON = frozenset(_COMMON_TEXT.split())
LEAST_OVERLAP = 0.3


def draw(seed: int, *parts: object) -> int:
    """A number fixed by its arguments, 0 to 2**32 - 1."""
    return crc32("\x1f".join(map(str, (seed, *parts))).encode())


def content_words(text: str) -> list[str]:
    """The words of a text that carry meaning, lower case, in order."""
    return [w for w in (m.lower() for m in _WORD.findall(text)) if w not in _COMMON and len(w) > 2]


def reply(last: str, seed: int, tokens: int | None) -> str:
    """An answer to the participant's last message; exactly `tokens` words where a length is asked for."""
    words = content_words(last)
    topic = " ".join(words[:3]) if words else "that"
    text = _FRAMES[draw(seed, last) % len(_FRAMES)].format(topic=topic)
    return text if tokens is None else stretch(text, tokens)


def opener(seed: int, session: str, tokens: int | None) -> str:
    text = _OPENERS[draw(seed, session) % len(_OPENERS)]
    return text if tokens is None else stretch(text, tokens)


def stretch(text: str, tokens: int) -> str:
    """The text cut or continued to exactly `tokens` words."""
    words = text.split()
    words += [_FILLERS[i % len(_FILLERS)] for i in range(max(0, tokens - len(words)))]
    return " ".join(words[:tokens])


def summary(text: str, limit: int = 40) -> str:
    """The first sentence-like words of the longest lines of what is to be summarised, `limit` words at most."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    longest = sorted(sorted(range(len(lines)), key=lambda i: (-len(lines[i]), i))[:4])
    words = [word for i in longest for word in lines[i].split()[:12]]
    return " ".join(words[:limit])


def answer(question: str, passages: list[str]) -> str | None:
    """The passage that shares most content words with the question; none when none shares enough."""
    asked = set(content_words(question))
    if not asked:
        return None
    scored = [(len(asked & set(content_words(p))) / len(asked), -i, p) for i, p in enumerate(passages)]
    best = max(scored, default=None)
    return best[2].strip() if best is not None and best[0] >= LEAST_OVERLAP else None


def fit(schema: dict[str, Any], text: str, seed: int, answered: str | None, *, root: dict[str, Any] | None = None, name: str = "") -> Any:
    """A value that fits a JSON schema. Strings are `answered`; numbers and choices are fixed by a hash of `text`."""
    root = root if root is not None else schema
    if "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        return fit(target, text, seed, answered, root=root, name=name)
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][draw(seed, name, text) % len(schema["enum"])]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _fit_choice(schema[key], text, seed, answered, root, name)
    return _fit_type(schema, text, seed, answered, root, name)


def _fit_choice(options: list[dict[str, Any]], text: str, seed: int, answered: str | None, root: dict[str, Any], name: str) -> Any:
    if answered is None and any(o.get("type") == "null" for o in options):
        return None
    chosen = next((o for o in options if o.get("type") != "null"), options[0])
    return fit(chosen, text, seed, answered, root=root, name=name)


def _fit_type(schema: dict[str, Any], text: str, seed: int, answered: str | None, root: dict[str, Any], name: str) -> Any:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        return _fit_choice([{**schema, "type": k} for k in kind], text, seed, answered, root, name)
    if kind == "object":
        return {key: fit(part, text, seed, answered, root=root, name=key) for key, part in schema.get("properties", {}).items()}
    if kind == "array":
        item = schema.get("items", {"type": "string"})
        return [fit(item, f"{text}{i}", seed, answered, root=root, name=name) for i in range(int(schema.get("minItems", 0)))]
    if kind in ("integer", "number"):
        return _fit_number(schema, draw(seed, name, text), whole=kind == "integer")
    if kind == "boolean":
        return bool(draw(seed, name, text) % 2)
    if kind == "null":
        return None
    return _fit_string(schema, answered or "")


def _fit_number(schema: dict[str, Any], drawn: int, *, whole: bool) -> float | int:
    low = schema.get("minimum", schema.get("exclusiveMinimum", 1 if whole else 0))
    high = schema.get("maximum", schema.get("exclusiveMaximum", low + (9 if whole else 1)))
    if whole:
        low += "exclusiveMinimum" in schema
        high -= "exclusiveMaximum" in schema
        return int(low) + drawn % max(1, int(high) - int(low) + 1)
    return float(low) + (drawn % 1001) / 1001 * (float(high) - float(low))


def _fit_string(schema: dict[str, Any], text: str) -> str:
    text = text.ljust(int(schema.get("minLength", 0)), ".")
    return text[: int(schema["maxLength"])] if "maxLength" in schema else text
