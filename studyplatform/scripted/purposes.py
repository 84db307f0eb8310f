"""From a chat request to the words of its answer, by the purpose that its tag names."""

import json
import re
from typing import Any

from studyplatform.scripted import sentences
from studyplatform.scripted.scripts import Script, Tag

_QUOTED = re.compile(r"“([^”]*)”")
_MARK = re.compile(r"^(?:<<<\w+|\w+>>>)\n?", re.MULTILINE)  # around data in a prompt
_QUESTION = re.compile(r"^\s*(?:the )?question\s*:?\s*(.*)$", re.IGNORECASE)


def content_of(message: dict[str, Any]) -> str:
    """A message's text; of a list of parts, the text parts."""
    content = message.get("content") or ""
    if isinstance(content, list):
        return "\n".join(str(part.get("text", "")) for part in content)
    return str(content)


def answer_text(request: dict[str, Any], tag: Tag, script: Script) -> str:
    """What the model says: what was told or recorded for it, else a text fixed by the seed and the request."""
    messages = request.get("messages") or []
    recorded = script.recorded(tag)
    told = script.answered(tag, content_of(messages[-1]) if messages else "") if recorded is None and script.answers else recorded
    if told is not None:
        return told
    last = next((_MARK.sub("", content_of(m)) for m in reversed(messages) if m.get("role") == "user"), "")
    schema = _schema(request)
    if schema is not None:
        return json.dumps(_structured(schema, messages, last, tag, script.settings.seed), ensure_ascii=False)
    if "summary" in tag.purpose:
        return sentences.summary(last)
    if tag.purpose == "importance":
        return str(1 + sentences.draw(script.settings.seed, last) % 10)
    if tag.purpose == "opener":
        return sentences.opener(script.settings.seed, tag.session, script.settings.tokens)
    return sentences.reply(last, script.settings.seed, script.settings.tokens)


def refuses(request: dict[str, Any], what: str) -> bool:
    """Whether a server that refuses such schemas refuses this request."""
    schema = _schema(request)
    if what == "none" or schema is None:
        return False
    return what == "all" or any(
        f'"{bound}"' in json.dumps(schema) for bound in ("maxLength", "minLength", "maxItems", "minimum", "maximum")
    )


def _schema(request: dict[str, Any]) -> dict[str, Any] | None:
    wanted = request.get("response_format") or {}
    if wanted.get("type") == "json_schema":
        schema = wanted.get("json_schema", {}).get("schema", {})
        return schema if isinstance(schema, dict) else {}
    return {"type": "object", "properties": {"text": {"type": "string"}}} if wanted.get("type") == "json_object" else None


def _structured(schema: dict[str, Any], messages: list[dict[str, Any]], last: str, tag: Tag, seed: int) -> Any:
    if tag.purpose == "answer":
        question, passages = read_question(messages)
        return sentences.fit(schema, last, seed, sentences.answer(question, passages))
    text = sentences.summary(last) if "summary" in tag.purpose else sentences.reply(last, seed, None)
    return sentences.fit(schema, last, seed, text)


def read_question(messages: list[dict[str, Any]]) -> tuple[str, list[str]]:
    """(question, the passages that may answer it) of an answering prompt, from what is not its instructions.

    The question is what follows the last line that begins with "Question", else the last line that ends in a question mark. Of a
    remembered exchange the passage is what the person said: the last quotation of its line.
    """
    lines = [line for m in messages if m.get("role") != "system" for line in _MARK.sub("", content_of(m)).splitlines() if line.strip()]
    marked = [i for i, line in enumerate(lines) if _QUESTION.match(line)]
    asking = [i for i, line in enumerate(lines) if line.rstrip().endswith("?")]
    at = (marked or asking or [len(lines) - 1])[-1]
    question = _QUESTION.sub(r"\1", lines[at]) if lines else ""
    passages = (line for i, line in enumerate(lines) if i != at and not line.rstrip().endswith(":"))
    return question, [(_QUOTED.findall(line) or [line])[-1] for line in passages]
