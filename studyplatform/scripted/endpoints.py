"""The scripted server: an OpenAI-compatible endpoint over real HTTP and server-sent events, as a bare ASGI application."""

import asyncio
import base64
import json
import re
import struct
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

from pydantic import ValidationError

from studyplatform.scripted import hashing, likelihood, purposes
from studyplatform.scripted.scripts import Fault, Script, Settings, Tag, read_tag

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
_TOKEN = re.compile(r"\s*\S+\s*$|\s*\S+|\s+")
_CREATED = 1_700_000_000


class Dropped(Exception):
    """The connection ends without a proper end: what a cut or a time-out looks like to the caller."""


class ScriptedServer:
    """One `Script` behind HTTP. Paths are served with and without `/v1`."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script or Script()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        path = scope["path"].removeprefix("/v1").rstrip("/")
        if path.startswith("/script"):
            await self._direct(path.removeprefix("/script").strip("/"), scope["method"], await _body(receive), send)
            return
        handler = _HANDLERS.get(path)
        if handler is None:
            await _json(send, 404, {"error": {"message": f"no such path: {path}", "type": "not_found"}})
            return
        await handler(self, scope, receive, send)

    async def _health(self, scope: Message, receive: Receive, send: Send) -> None:
        await _json(send, 200, {"status": "ok"})

    async def _models(self, scope: Message, receive: Receive, send: Send) -> None:
        models = [{"id": name, "object": "model", "created": _CREATED, "owned_by": "script"} for name in ("script", "hash")]
        await _json(send, 200, {"object": "list", "data": models})

    async def _chat(self, scope: Message, receive: Receive, send: Send) -> None:
        opened = await self._open("chat", scope, receive, send)
        if opened is None:
            return
        request, tag, fault = opened
        if purposes.refuses(request, self.script.settings.refuses_schemas):
            await _json(send, 400, {"error": {"message": "response_format is not supported", "type": "invalid_request_error"}})
            return
        text = "" if fault is not None and fault.kind == "empty" else purposes.answer_text(request, tag, self.script)
        pieces = _TOKEN.findall(text)
        usage: dict[str, Any] = _usage(request, len(pieces))
        self.script.count(tag.purpose, **{k: v for k, v in usage.items() if k != "total_tokens"})
        if self.script.settings.prefix_cache:
            words = [word for m in request.get("messages") or [] for word in purposes.content_of(m).split(" ")]
            usage = {**usage, "prompt_tokens_details": {"cached_tokens": self.script.cached(words)}}
        self.script.requests.append({"tag": tag.model_dump(), "messages": request.get("messages"), "answer": text})
        await _wait(self.script.settings.first_token_ms)
        if request.get("stream"):
            await self._stream(request, pieces, usage, fault, send)
            return
        await _wait(self.script.settings.token_ms * max(0, len(pieces) - 1))
        if fault is not None and fault.kind in ("cut", "malformed"):
            await _text(send, 200, text[: len(text) // 2] + "{", "application/json")
            return
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        await _json(send, 200, {**_head(request, "chat.completion"), "choices": [choice], "usage": usage})

    async def _stream(self, request: Message, pieces: list[str], usage: dict[str, Any], fault: Fault | None, send: Send) -> None:
        kind = fault.kind if fault is not None else ""
        allowed = fault.after_tokens if fault is not None and kind in ("cut", "malformed") else len(pieces)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        events = _events(request, pieces, usage)
        if self.script.settings.token_ms == 0 and not kind:
            await send({"type": "http.response.body", "body": b"".join(events), "more_body": False})
            return
        for number, event in enumerate(events):
            if number > allowed and kind == "malformed":
                await send({"type": "http.response.body", "body": b'data: {"choices": [{"delta"\n\n', "more_body": False})
                return
            if number > allowed and kind == "cut":
                raise Dropped
            await send({"type": "http.response.body", "body": event, "more_body": True})
            if 0 < number < len(pieces):
                await _wait(self.script.settings.token_ms)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _embeddings(self, scope: Message, receive: Receive, send: Send) -> None:
        opened = await self._open("embeddings", scope, receive, send)
        if opened is None:
            return
        request, _, fault = opened
        if fault is not None:
            await _text(send, 200, '{"data": [', "application/json")
            return
        texts = request.get("input", [])
        texts = [texts] if isinstance(texts, str) else texts
        await _wait(self.script.settings.embedding_ms)
        packed = request.get("encoding_format") == "base64"
        vectors = [hashing.embed(str(text)) for text in texts]
        data = [{"object": "embedding", "index": i, "embedding": _pack(v) if packed else v} for i, v in enumerate(vectors)]
        count = sum(len(str(text).split()) for text in texts)
        self.script.count("embeddings", prompt_tokens=count, texts=len(texts))
        usage = {"prompt_tokens": count, "total_tokens": count}
        await _json(send, 200, {"object": "list", "data": data, "model": request.get("model", "hash"), "usage": usage})

    async def _completion(self, scope: Message, receive: Receive, send: Send) -> None:
        opened = await self._open("completion", scope, receive, send)
        if opened is not None:
            request, _, fault = opened
            await _json(send, 200, {"content": ""} if fault is not None else likelihood.complete(request))

    async def _tokenize(self, scope: Message, receive: Receive, send: Send) -> None:
        request = json.loads(await _body(receive) or b"{}")
        await _json(send, 200, {"tokens": likelihood.tokenize(str(request.get("content", "")))})

    async def _properties(self, scope: Message, receive: Receive, send: Send) -> None:
        await _json(send, 200, {"bos_token": likelihood.START, "model_alias": "script"})

    async def _open(self, endpoint: str, scope: Message, receive: Receive, send: Send) -> tuple[Message, Tag, Fault | None] | None:
        """Read a request, count it, and let a fault answer it; None when it was answered."""
        tag = read_tag(_header(scope, b"x-client-request-id"))
        body = await _body(receive)
        try:
            request = json.loads(body or b"{}")
        except ValueError:
            await _json(send, 400, {"error": {"message": "the body is not JSON", "type": "invalid_request_error"}})
            return None
        self.script.count(tag.purpose if endpoint == "chat" else endpoint, requests=1)
        fault = self.script.fault_for(endpoint, tag)
        if self.script.over_rate():
            fault = Fault(kind="rate_limit")
        if fault is None or fault.kind in ("cut", "empty", "malformed"):
            return request, tag, fault
        self.script.count(tag.purpose if endpoint == "chat" else endpoint, faults=1)
        if fault.kind == "timeout":
            await asyncio.sleep(fault.seconds)
            raise Dropped
        status = 429 if fault.kind == "rate_limit" else 500
        headers = [(b"retry-after", f"{fault.retry_after:g}".encode())] if status == 429 else []
        await _json(send, status, {"error": {"message": f"scripted {fault.kind}", "type": fault.kind}}, headers)
        return None

    async def _direct(self, what: str, method: str, body: bytes, send: Send) -> None:
        """`/script/…`: read the counts, or tell the server what to do."""
        try:
            status, answer = self._obey(what, method, json.loads(body) if body else None)
        except (ValidationError, ValueError) as error:
            status, answer = 400, {"error": str(error)}
        await _json(send, status, answer)

    def _obey(self, what: str, method: str, value: Any) -> tuple[int, Any]:
        script = self.script
        name, _, key = what.partition("/")
        match name, method:
            case "state", "GET":
                counts = {purpose: dict(numbers) for purpose, numbers in sorted(script.counts.items())}
                faults = [fault.model_dump() for fault in script.faults]
                return 200, {
                    "settings": script.settings.model_dump(),
                    "counts": counts,
                    "faults": faults,
                    "recordings": len(script.recordings),
                }
            case "requests", "GET":
                return 200, {"requests": list(script.requests)}
            case "settings", "PUT":
                script.settings = Settings.model_validate(value)
            case "faults" | "answers", "POST":
                script.tell(name, value)
            case "faults", "DELETE":
                script.faults.clear()
            case "recordings", "PUT" if key and isinstance(value, list) and all(isinstance(text, str) for text in value):
                script.recordings[key] = value
            case "recordings", "DELETE":
                script.recordings.clear()
            case "reset", "POST":
                self.script = Script()
            case "counts", "DELETE":
                script.clear_counts()
            case _:
                return 404, {"error": f"{method} /script/{what} is not known"}
        return 200, {"done": True}


_HANDLERS: dict[str, Callable[[ScriptedServer, Message, Receive, Send], Awaitable[None]]] = {
    "": ScriptedServer._health,
    "/health": ScriptedServer._health,
    "/models": ScriptedServer._models,
    "/chat/completions": ScriptedServer._chat,
    "/embeddings": ScriptedServer._embeddings,
    "/completion": ScriptedServer._completion,
    "/tokenize": ScriptedServer._tokenize,
    "/props": ScriptedServer._properties,
}


def _events(request: Message, pieces: list[str], usage: dict[str, Any]) -> Iterator[bytes]:
    """The server-sent events of one answer: the role, one per token, the end, the usage if asked for, `[DONE]`."""
    head = json.dumps(_head(request, "chat.completion.chunk"))[:-1].encode()
    yield b'data: %s, "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}]}\n\n' % head
    for piece in pieces:
        content = json.dumps(piece).encode()
        yield b'data: %s, "choices": [{"index": 0, "delta": {"content": %s}, "finish_reason": null}]}\n\n' % (head, content)
    yield b'data: %s, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}\n\n' % head
    if (request.get("stream_options") or {}).get("include_usage"):
        yield b'data: %s, "choices": [], "usage": %s}\n\n' % (head, json.dumps(usage).encode())
    yield b"data: [DONE]\n\n"


def _head(request: Message, kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-script", "object": kind, "created": _CREATED, "model": request.get("model", "script")}


def _usage(request: Message, answered: int) -> dict[str, int]:
    asked = sum(purposes.content_of(m).count(" ") + 1 for m in request.get("messages") or [])
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered}


def _pack(vector: list[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def _header(scope: Message, name: bytes) -> str:
    return next((value.decode("latin-1") for key, value in scope["headers"] if key == name), "")


async def _wait(milliseconds: float) -> None:
    if milliseconds > 0:
        await asyncio.sleep(milliseconds / 1000)


async def _body(receive: Receive) -> bytes:
    parts = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise Dropped
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


async def _json(send: Send, status: int, value: Any, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    await _text(send, status, json.dumps(value), "application/json", headers)


async def _text(send: Send, status: int, text: str, kind: str, headers: list[tuple[bytes, bytes]] | None = None) -> None:
    body = text.encode()
    fixed = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": fixed + (headers or [])})
    await send({"type": "http.response.body", "body": body})


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return
