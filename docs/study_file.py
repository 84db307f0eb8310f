"""Write docs/study-file.md from the schema of study files. Run `python docs/study_file.py`; a test checks that it is current."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from annotated_types import Ge, Gt, Le, MaxLen, MinLen
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from studyplatform.study.config import AMENDABLE, StudyConfig

PAGE = Path(__file__).with_name("study-file.md")

# What a key says where the schema itself does not.
WORDS = {
    "study.slug": "the study's name in addresses and commands; small letters, digits, hyphens",
    "study.title": "shown to everybody",
    "study.language": "of the pages, until a participant chooses",
    "study.design": "`within`: each person meets every condition; `between`: one",
    "study.contact": "whom participants may ask; at the foot of every page",
    "study.pay_per_session": "paid for each session that was held",
    "study.currency": "of pay and costs",
    "study.raw_text_for_annotators": "whether annotators may read text before it was de-identified (the consent must allow it too)",
    "study.completion_code": "shown at the end for a recruiting platform; after everything is stored",
    "consent.version": "kept with each consent, with the hash of the text",
    "consent.text": "what the study does, in full",
    "consent.scopes": "how far a person may let the data reach; `study` is always asked for",
    "instructions.version": "read again when it changes",
    "instructions.text": "how to talk",
    "instructions.do_not_tell": "what people are asked to leave out",
    "instructions.try_out": "a one-minute try-out that is not remembered",
    "device.allow": "other devices are refused politely, before the visit counts",
    "sessions.per_arm": "sessions with each condition, a shared first one included",
    "sessions.shared_first": "the first session is held once, and every arm starts from it",
    "sessions.min_minutes": "before which a session cannot be finished",
    "sessions.max_minutes": "after which it ends by itself",
    "sessions.min_turns": "messages of the participant before finishing",
    "sessions.max_turns": "messages of the participant at which it ends by itself",
    "sessions.questions": "question-answer pairs after each session; 0: none",
    "sessions.questions_deadline_h": "hours after the chat within which they can be written",
    "sessions.order": "`balanced`: a Latin square over participants; `fixed`: as in this file",
    "chat.response_model": "the model that answers, the same in all arms",
    "chat.max_tokens": "of one reply",
    "chat.temperature": "of the response model",
    "chat.same_session_recall": "whether exchanges of the running session, outside the context window, may be recalled; the same in all arms",
    "chat.max_chars": "of one message",
    "chat.reply_timeout_s": "after which a reply counts as failed and can be asked for again",
    "memory.encoder": "turns text into vectors; frozen with the study",
    "memory.arousal": "scorer of arousal",
    "memory.perplexity": "scorer of perplexity",
    "memory.summary_model": "none: the response model",
    "memory.answer_model": "none: the response model",
    "memory.controller_model": "for memory systems that ask one; none: the response model",
    "memory.about_me": "when people may see, correct and delete what is remembered of them: `after_debriefing` is after their last conversation",
    "memory.about_me_reason": "needed where it is `off`",
    "shared_session.policy": "the memory system during the shared session",
    "shared_session.alias": "the assistant of the shared session; a table with `name`, `colour`, `shape`",
    "conditions.name": "yours; nobody sees it before unblinding",
    "conditions.preset": "a memory system with its parameters (see [the memory systems](memory/README.md))",
    "conditions.overrides": "parameters that differ from the preset's, by name",
    "aliases.name": "gender-neutral",
    "aliases.colour": "identity, never meaning",
    "aliases.shape": "told apart without colour",
    "seeds.assignment": "of the order of conditions",
    "seeds.aliases": "of who is called what",
    "seeds.forgetting": "of policies that forget by chance",
}
WORDS |= {f"prompts.{name}": "`name@version` of a file in `studyplatform/llm/prompts/`" for name in ("reply", "opener", "session_summary", "key_summary", "importance", "answer")}  # fmt: skip
LIMITS = {Ge: ("≥", "ge"), Gt: (">", "gt"), Le: ("≤", "le"), MinLen: ("at least", "min_length"), MaxLen: ("at most", "max_length")}

HEAD = """# The study file

Every decision of a study's design, in one TOML file. Generated from the schema (`studyplatform/study/config.py`) by
`docs/study_file.py`; do not edit. An unknown key is an error, and every fault is told with its line.

Units are in the names: minutes, hours, `_h` hours, `_s` seconds, `_ms` milliseconds, characters. **A** marks what may still change by an
amendment after the first consent. Start from `studies/demo.toml`.
"""


def page() -> str:
    """The whole reference."""
    return HEAD + "".join(_sections()).rstrip() + "\n"


def _sections() -> Iterator[str]:
    plain = [(name, field) for name, field in StudyConfig.model_fields.items() if not _table(field)]
    yield "\n## At the top\n\n" + _table_of("", plain)
    for name, field in StudyConfig.model_fields.items():
        model = _table(field)
        if model is not None:
            many = get_origin(field.annotation) is tuple
            yield f"\n## `{'[[' if many else '['}{name}{']]' if many else ']'}`\n\n" + _table_of(name, list(model.model_fields.items()))


def _table(field: FieldInfo) -> type[BaseModel] | None:
    candidates = (field.annotation, *get_args(field.annotation))
    return next((c for c in candidates if isinstance(c, type) and issubclass(c, BaseModel)), None)


def _table_of(table: str, fields: list[tuple[str, FieldInfo]]) -> str:
    rows = ["| key | value | default | says |", "|---|---|---|---|"]
    for name, field in fields:
        path = f"{table}.{name}" if table else name
        mark = " **A**" if path in AMENDABLE or table in AMENDABLE else ""
        rows.append(f"| `{name}`{mark} | {_kind(field)} | {_default(field)} | {words(path, field)} |")
    return "\n".join(rows) + "\n"


def words(path: str, field: FieldInfo) -> str:
    """What the key says.

    Raises:
        KeyError: neither the schema nor this page says it.
    """
    return field.description or WORDS[path]


def _kind(field: FieldInfo) -> str:
    limits = [f"{LIMITS[type(m)][0]} {getattr(m, LIMITS[type(m)][1])}" for m in field.metadata if type(m) in LIMITS]
    return ", ".join([_name(field.annotation), *limits])


def _name(kind: Any) -> str:
    origin, args = get_origin(kind), [a for a in get_args(kind) if a is not NoneType]
    if origin is Literal:
        return " or ".join(f"`{a}`" for a in args)
    if origin is Annotated:
        return _name(args[0])
    if origin in (Union, UnionType):
        return _name(args[0])
    if origin is tuple:
        return f"list of {_name(args[0])}"
    if origin is dict:
        return "table"
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return "table"
    return {str: "text", int: "whole number", float: "number", bool: "true or false"}[kind]


def _default(field: FieldInfo) -> str:
    if field.default is PydanticUndefined:
        return "required"
    value = field.default
    if isinstance(value, BaseModel):
        return "{ " + ", ".join(f'{k} = "{v}"' for k, v in value.model_dump().items()) + " }"
    if value is None or value in ("", {}, ()):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(f"`{v}`" for v in value) if isinstance(value, tuple) else f"`{value}`"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
