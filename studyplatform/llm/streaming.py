"""Streamed chat replies from an OpenAI-compatible endpoint: the hot path, so the events are read lightly.

The request goes out over `llm.transport`, and no client library's models are built: one reply has a hundred events, of which
three fields matter here, and building the rest took longer than everything else that a reply does. What is not on the hot path
asks through openai's client (`llm.asking`).
"""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic_core import from_json, to_json

from studyplatform.llm import transport
from studyplatform.llm.prompts import Message
from studyplatform.llm.providers import Resolved
from studyplatform.llm.texts import storable
from studyplatform.llm.transport import Broken, NoConnection, close

__all__ = ["ModelFailed", "Request", "Usage", "close", "stream"]

CONNECT_S = 5.0

FailureKind = Literal["unreachable", "timeout", "rate_limited", "server", "refused", "broken", "empty"]

# An endpoint that fails in one of these ways may be down for everybody; the others are about one request.
OUTAGES: frozenset[FailureKind] = frozenset({"unreachable", "timeout", "rate_limited", "server"})


class ModelFailed(Exception):
    """No usable reply came. `kind` says how; the message is for the log, never for a participant."""

    def __init__(self, kind: FailureKind, message: str = "") -> None:
        super().__init__(message or kind)
        self.kind: FailureKind = kind

    @property
    def is_outage(self) -> bool:
        return self.kind in OUTAGES


@dataclass(frozen=True)
class Request:
    """One chat completion. `tag` goes out as X-Client-Request-Id: opaque codes only."""

    model: Resolved
    messages: Sequence[Message]
    tag: str
    max_tokens: int
    temperature: float
    timeout_s: float


@dataclass
class Usage:
    """What came back, filled in while the stream is read. Times in ms from the request's start."""

    raw: str = ""
    model_answered: str = ""
    finish_reason: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None
    first_token_ms: float | None = None
    total_ms: float | None = None


class _BadStatus(Exception):
    """The endpoint answered with an error."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status}: {body[:300]}")
        self.status = status


async def stream(request: Request, usage: Usage) -> AsyncIterator[str]:
    """The reply's text, piece by piece; `usage` is complete when the iteration ends, also when it ends in an error.

    Raises:
        ModelFailed: kind `unreachable`, `timeout`, `rate_limited`, `server` (5xx), `refused` (any other status, or the
            provider's content filter), `broken` (the stream stopped or made no sense), `empty` (no text but white space).
    """
    started = time.perf_counter()
    try:
        async with asyncio.timeout(request.timeout_s):
            async for piece in _pieces(request, usage):
                if usage.first_token_ms is None:
                    usage.first_token_ms = (time.perf_counter() - started) * 1000
                usage.raw += piece
                yield piece
        _judge(usage)
    except TimeoutError as error:
        raise ModelFailed("timeout", f"no whole reply within {request.timeout_s:g} s") from error
    except _BadStatus as error:
        raise ModelFailed(_kind_of_status(error.status), str(error)) from error
    except (NoConnection, Broken) as error:
        raise ModelFailed("broken" if usage.raw else "unreachable", str(error)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelFailed("broken", f"the stream made no sense: {error!r}") from error
    finally:
        usage.total_ms = (time.perf_counter() - started) * 1000


def _judge(usage: Usage) -> None:
    if usage.finish_reason == "content_filter":
        raise ModelFailed("refused", "the provider's content filter")
    if not usage.finish_reason:
        raise ModelFailed("broken", "the stream stopped before its end")
    if not usage.raw.strip():
        raise ModelFailed("empty")


def _kind_of_status(status: int) -> FailureKind:
    if status == 429:
        return "rate_limited"
    return "server" if status >= 500 else "refused"


async def _pieces(request: Request, usage: Usage) -> AsyncIterator[str]:
    body = {
        "model": request.model.model,
        "messages": list(request.messages),
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    headers = {"Content-Type": "application/json", "X-Client-Request-Id": request.tag}
    if request.model.key:
        headers["Authorization"] = f"Bearer {request.model.key}"
    url = f"{request.model.url}/chat/completions"
    answer = await transport.here().post(url, headers, to_json(body), connect_s=min(CONNECT_S, request.timeout_s))
    try:
        if answer.status != 200:
            raise _BadStatus(answer.status, (await answer.whole()).decode(errors="replace"))
        rest = b""
        async for part in answer.parts():  # to the very end, so that the connection can be used again
            *lines, rest = (rest + part).split(b"\n")
            for piece in _read_lines(lines, usage):
                yield piece
    finally:
        answer.close()


def _read_lines(lines: Iterable[bytes], usage: Usage) -> Iterator[str]:
    """The text of each `data:` line but `[DONE]`, where it has any."""
    for line in lines:
        if not line.startswith(b"data:"):
            continue
        data = line[5:].strip()
        if data != b"[DONE]" and (piece := _read(from_json(data), usage)):
            yield piece


def _read(event: dict[str, Any], usage: Usage) -> str:
    """One event's text; everything else that it says goes into `usage`."""
    if "error" in event:
        raise ValueError(str(event["error"])[:300])
    usage.model_answered = usage.model_answered or str(event.get("model") or "")
    if counts := event.get("usage"):
        usage.tokens_in = counts.get("prompt_tokens")
        usage.tokens_out = counts.get("completion_tokens")
        usage.tokens_cached = (counts.get("prompt_tokens_details") or {}).get("cached_tokens")
    if not event.get("choices"):
        return ""
    choice = event["choices"][0]
    usage.finish_reason = choice.get("finish_reason") or usage.finish_reason
    return storable((choice.get("delta") or {}).get("content") or "")
