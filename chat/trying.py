"""The one-minute try-out: a real answer over plain HTTP. Nothing of it is stored anywhere."""

import asyncio
import logging
from collections.abc import Sequence

from chat import composing
from studyplatform.llm import prompts, providers, streaming
from studyplatform.llm.prompts import Message
from studyplatform.study.config import StudyConfig
from studyplatform.study.models import Participant

log = logging.getLogger(__name__)

PROMPT = "try_out@1"
MOST_MESSAGES = 2
MOST_CHARS = 1000
MOST_TOKENS = 120
PATIENCE_S = 45.0


def answer(participant: Participant, design: StudyConfig, before: Sequence[tuple[str, str]], text: str) -> str | None:
    """What the response model says to `text`, after the exchanges `before`; None if no answer came."""
    try:
        return asyncio.run(_answer(participant, design, before, text))
    except (streaming.ModelFailed, providers.UnknownProvider) as error:
        log.warning("no answer in the try-out: %s", error)
        return None


async def _answer(participant: Participant, design: StudyConfig, before: Sequence[tuple[str, str]], text: str) -> str:
    messages: list[Message] = prompts.load(PROMPT).render(language=composing.language_name(participant.language))
    for said, answered in before:
        messages += [{"role": "user", "content": said}, {"role": "assistant", "content": answered}]
    messages.append({"role": "user", "content": text})
    request = streaming.Request(
        model=providers.resolve(design.chat.response_model),
        messages=messages,
        tag=f"{participant.code}.try_out.0.1",
        max_tokens=min(MOST_TOKENS, design.chat.max_tokens),
        temperature=design.chat.temperature,
        timeout_s=min(PATIENCE_S, design.chat.reply_timeout_s),
    )
    usage = streaming.Usage()
    try:
        async for _piece in streaming.stream(request, usage):
            pass
    finally:
        await streaming.close()
    return usage.raw.strip()
