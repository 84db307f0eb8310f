"""What a model is asked about conversations: every prompt as the scripted server got it, taken apart into its sections."""

import asyncio
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.utils import timezone

from chat import occasions, replies
from chat.composing import Utterance
from memory import asking, registry
from memory.policy import Query
from memory.recalling import Recalled, recall
from studyplatform.llm import prompts, streaming
from studyplatform.study.models import Arm, Participant, Session
from tests import cast as people
from tests.scripted_server import Scripted


@dataclass(frozen=True)
class Heard:
    """One request: whose session it was for, the prompt that it was made from, what stood in each slot, and the utterances after the prompt."""

    session: str
    purpose: str
    label: str
    slots: dict[str, str]
    talk: list[dict[str, str]]
    whole: str


def presets() -> list[str]:
    return sorted(registry.PRESETS)


def study_of(preset: str, monkeypatch: Any, *, other: str = "memory_bank", **changes: Any) -> Any:
    """A study with this preset and one other, without a shared session."""
    monkeypatch.setitem(people.CONDITIONS, "safe", (preset, other if preset != other else "naive_rag"))
    return people.make_study("safe", slug=f"safe-{preset}".replace("_", "-"), **{"shared_first": "false", "per_arm": 2} | changes)


def session_in(participant: Participant, arm: Arm, number: int) -> Session:
    return Session.objects.select_related("participant__study", "arm").get(participant=participant, arm=arm, number=number)


def speak(session: Session, text: str | None) -> Recalled:
    """What the chat asks the model for as the reply to this message, or as the session's opener, over HTTP; nothing is stored."""
    occasion = occasions.load(session.pk)
    query = Query("opening", "") if text is None else Query("reply", text, (text,))
    recent = () if text is None else (Utterance(10_000, "user", text),)
    found = recall(session=occasion.memory, query=query, instant=timezone.now(), context_from_seq=10_000)

    async def send() -> None:
        writing = replies.Writing(occasion, 0, None if text is None else 10_000, 1, recent, set())
        request, _ = replies._request(writing, found)
        async for _piece in streaming.stream(request, streaming.Usage()):
            pass
        await streaming.close()

    asyncio.run(send())
    return found


def heard(model: Scripted) -> list[Heard]:
    """Every request so far."""
    return [_read(request) for request in model.requests()]


def _read(request: dict[str, Any]) -> Heard:
    messages = [(m["role"], m["content"]) for m in request["messages"]]
    for label, blocks in _templates().items():
        roles = [role for role, _ in messages[: len(blocks)]]
        if roles != [role for role, _ in blocks]:
            continue
        found = [pattern.fullmatch(content) for (_, pattern), (_, content) in zip(blocks, messages, strict=False)]
        if all(found):
            slots = {name: text for match in found if match for name, text in match.groupdict().items()}
            talk = [{"role": role, "content": content} for role, content in messages[len(blocks) :]]
            return Heard(request["tag"]["session"], request["tag"]["purpose"], label, slots, talk, "\n".join(c for _, c in messages))
    raise AssertionError(f"no prompt of ours has this shape: {messages}")


@cache
def _templates() -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    """By label, the roles of a prompt's messages and a pattern for each: its own words to the letter, and anything in its slots."""
    made = {}
    for folder in (prompts.FOLDER, asking.FOLDER):
        for path in sorted(folder.glob("*@*.txt"), reverse=True):
            blocks = prompts.load(path.stem, folder).blocks
            made[path.stem] = [(role, _pattern(text)) for role, text in blocks]
    return made


def _pattern(text: str) -> re.Pattern[str]:
    parts = re.split(r"\{\{\s*([a-z_]+)\s*\}\}", text)
    seen: set[str] = set()
    made = []
    for i, part in enumerate(parts):
        if i % 2 == 0:
            made.append(re.escape(part))
        else:
            made.append(f"(?P={part})" if part in seen else f"(?P<{part}>.*)")
            seen.add(part)
    return re.compile("".join(made), re.DOTALL)
