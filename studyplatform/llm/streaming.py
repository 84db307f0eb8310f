"""Streamed chat replies from an OpenAI-compatible endpoint: the hot path, so the events are read lightly.

The transport (connections, keep-alive, errors) is openai's client; its per-event models are not built, because one reply
has a hundred events and only three of their fields matter here.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import httpx2
import openai
from openai import AsyncOpenAI

from studyplatform.llm.prompts import Message
from studyplatform.llm.providers import Resolved
from studyplatform.llm.transport import StreamTransport

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


_clients: dict[tuple[int, str, str], AsyncOpenAI] = {}


def _client(model: Resolved) -> AsyncOpenAI:
    """One client, so one pool of connections, per endpoint and event loop."""
    key = (id(asyncio.get_running_loop()), model.url, model.key)
    if key not in _clients:
        http = httpx2.AsyncClient(transport=StreamTransport(), follow_redirects=True)
        _clients[key] = AsyncOpenAI(base_url=model.url, api_key=model.key or "none", max_retries=0, http_client=http)
    return _clients[key]


async def close() -> None:
    """Close the clients of the running loop."""
    here = id(asyncio.get_running_loop())
    for key in [k for k in _clients if k[0] == here]:
        await _clients.pop(key).close()


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
    except (TimeoutError, openai.APITimeoutError) as error:
        raise ModelFailed("timeout", f"no whole reply within {request.timeout_s:g} s") from error
    except openai.APIStatusError as error:
        raise ModelFailed(_kind_of_status(error.status_code), f"{error.status_code}: {str(error)[:300]}") from error
    except openai.APIConnectionError as error:
        raise ModelFailed("broken" if usage.raw else "unreachable", str(error.__cause__ or error)) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ModelFailed("broken", f"the stream made no sense: {error!r}") from error
    except Exception as error:
        if type(error).__module__.split(".")[0] not in {"httpx", "httpx2", "httpcore", "httpcore2"}:
            raise
        raise ModelFailed("broken" if usage.raw else "unreachable", repr(error)) from error
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
    call = _client(request.model).chat.completions.with_streaming_response.create(
        model=request.model.model,
        messages=[],
        extra_body={"messages": list(request.messages)},  # goes out as it is: checking it part by part would take longer than all the rest
        max_tokens=request.max_tokens,
        temperature=request.temperature,
        stream=True,
        stream_options={"include_usage": True},
        extra_headers={"X-Client-Request-Id": request.tag},
        timeout=openai.Timeout(request.timeout_s, connect=min(CONNECT_S, request.timeout_s)),
    )
    async with call as response:
        async for event in _events(response.iter_bytes()):
            piece = _read(event, usage)
            if piece:
                yield piece


async def _events(chunks: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any]]:
    """The JSON of each `data:` line but `[DONE]`; lines may be cut anywhere, also inside a character.

    Read to the very end, so that the connection can be used again.
    """
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if not line.startswith(b"data:"):
                continue
            data = line[5:].strip()
            if data != b"[DONE]":
                yield json.loads(data)


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
    return (choice.get("delta") or {}).get("content") or ""
