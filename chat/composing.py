"""The prompt: one skeleton for every arm. Pure.

What is remembered goes in as quoted data: its length is capped, and whatever could end the quotation is taken out of it. With
nothing to show, the section is there all the same and reads the same in every arm.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory.quotation import quoted
from studyplatform.llm.prompts import Message, Prompt

NOTHING = "(nothing yet)"
_LANGUAGES = {"en": "English", "ja": "Japanese"}


@dataclass(frozen=True)
class Utterance:
    """One turn as the prompt sees it; role is `user` or `bot`."""

    seq: int
    role: str
    text: str


def window(turns: Iterable[Utterance], size: int) -> tuple[Utterance, ...]:
    """The last `size` utterances, oldest first."""
    return tuple(turns)[-size:]


def compose(
    prompt: Prompt, *, assistant: str, language: str, summary: str, lines: Sequence[str], recent: Sequence[Utterance], memory_chars: int
) -> list[Message]:
    """The messages for one reply: the skeleton with summary and notes, then the recent utterances in their roles.

    `lines`: recalled memories, one line each; together at most `memory_chars` characters go in, and no more of the summary.
    """
    system = prompt.render(
        assistant=assistant,
        language=language_name(language),
        summary=quoted(summary, memory_chars) or NOTHING,
        notes=_notes(lines, memory_chars) or NOTHING,
    )
    talk: list[Message] = [{"role": "user" if u.role == "user" else "assistant", "content": u.text} for u in recent if u.text]
    return [*system, *talk]


def language_name(code: str) -> str:
    """A participant's language, as a prompt names it."""
    return _LANGUAGES.get(code, code)


def _notes(lines: Sequence[str], at_most: int) -> str:
    notes: list[str] = []
    left = at_most
    for line in lines:
        if left <= 0:
            break
        note = quoted(line, left)
        notes.append(f"- {note}")
        left -= len(note)
    return "\n".join(notes)
