"""The local encoder as a process: `POST /v1/embeddings` of the OpenAI protocol, `GET /health`.

Requests that arrive while the model is busy are answered together; a request with few texts (somebody waits for a reply)
goes before one with many (a whole session is being stored).
"""

import argparse
import asyncio
import base64
import json
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import uvicorn
from numpy.typing import NDArray

from studyplatform.stack.minilm import DIMENSION, MiniLM
from studyplatform.stack.ports import HOST

MODEL = "minilm"
AT_ONCE = 32  # texts per run of the model: bounds how long a short request waits, about 0.3 s
FEW = 4
MOST = 4096

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class BadRequest(Exception):
    """The request cannot be answered; the message goes to the caller."""


@dataclass(frozen=True)
class Request:
    texts: list[str]
    base64: bool

    @classmethod
    def parse(cls, body: bytes) -> "Request":
        """Raises BadRequest."""
        try:
            document = json.loads(body)
            given = document["input"]
        except (ValueError, TypeError, KeyError):
            raise BadRequest("the body must be a JSON object with `input`") from None
        texts = [given] if isinstance(given, str) else given
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise BadRequest("`input` must be a string or a list of strings")
        if not 1 <= len(texts) <= MOST:
            raise BadRequest(f"`input` must hold 1 to {MOST} strings")
        if document.get("dimensions", DIMENSION) != DIMENSION:
            raise BadRequest(f"this model has {DIMENSION} dimensions")
        return cls(texts, document.get("encoding_format") == "base64")


@dataclass(eq=False)
class Job:
    """What is left of one request."""

    texts: list[str]
    done: "asyncio.Future[None]"
    vectors: NDArray[np.float32]
    next: int = 0


class Batcher:
    """Runs the model in one thread over all waiting jobs, few texts first, at most `AT_ONCE` texts a run."""

    def __init__(self, model: MiniLM) -> None:
        self._model = model
        self._waiting: list[Job] = []
        self._runner: asyncio.Task[None] | None = None

    async def embed(self, texts: list[str]) -> NDArray[np.float32]:
        """Unit vectors, float32 (len(texts), 384)."""
        future = asyncio.get_running_loop().create_future()
        job = Job(texts, future, np.empty((len(texts), DIMENSION), np.float32))
        self._waiting.append(job)
        if self._runner is None or self._runner.done():
            self._runner = asyncio.create_task(self._run())
        await job.done
        return job.vectors

    async def _run(self) -> None:
        while self._waiting:
            pieces = self._take()
            try:
                vectors = await asyncio.to_thread(self._model.embed, [text for _, texts in pieces for text in texts])
            except Exception as error:
                self._refuse(pieces, error)
                continue
            self._hand_out(pieces, vectors)

    def _take(self) -> list[tuple[Job, list[str]]]:
        pieces, room = [], AT_ONCE
        for job in sorted(self._waiting, key=lambda job: len(job.texts) > FEW):
            texts = job.texts[job.next : job.next + room]
            pieces.append((job, texts))
            room -= len(texts)
            if not room:
                break
        return pieces

    def _hand_out(self, pieces: list[tuple[Job, list[str]]], vectors: NDArray[np.float32]) -> None:
        start = 0
        for job, texts in pieces:
            job.vectors[job.next : job.next + len(texts)] = vectors[start : start + len(texts)]
            start += len(texts)
            job.next += len(texts)
            if job.next == len(job.texts):
                self._waiting.remove(job)
                if not job.done.done():
                    job.done.set_result(None)

    def _refuse(self, pieces: list[tuple[Job, list[str]]], error: Exception) -> None:
        for job, _ in pieces:
            self._waiting.remove(job)
            if not job.done.done():
                job.done.set_exception(error)


def answer(request: Request, vectors: NDArray[np.float32], tokens: int) -> bytes:
    rows = (base64.b64encode(row.tobytes()).decode() if request.base64 else [float(x) for x in row] for row in vectors)
    data = [{"object": "embedding", "index": index, "embedding": row} for index, row in enumerate(rows)]
    return json.dumps({"object": "list", "model": MODEL, "data": data, "usage": {"prompt_tokens": tokens, "total_tokens": tokens}}).encode()


class Application:
    """The ASGI application."""

    def __init__(self, model: MiniLM) -> None:
        self._model = model
        self._batcher = Batcher(model)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        if scope["path"] in ("/health", "/v1/models"):
            await _send(send, 200, b'{"object": "list", "data": [{"id": "minilm", "object": "model"}]}')
        elif scope["path"] != "/v1/embeddings" or scope["method"] != "POST":
            await _send(send, 404, _error("there is only POST /v1/embeddings"))
        else:
            await self._embed(receive, send)

    async def _embed(self, receive: Receive, send: Send) -> None:
        try:
            request = Request.parse(await _body(receive))
        except BadRequest as error:
            await _send(send, 400, _error(str(error)))
            return
        vectors = await self._batcher.embed(request.texts)
        await _send(send, 200, answer(request, vectors, self._model.count_tokens(request.texts)))


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


async def _send(send: Send, status: int, body: bytes) -> None:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def _error(message: str) -> bytes:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error"}}).encode()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--port", type=int, required=True)
    options.add_argument("--host", default=HOST)
    options.add_argument("--threads", type=int, default=1)
    given = options.parse_args()
    uvicorn.run(Application(MiniLM(given.threads)), host=given.host, port=given.port, lifespan="off", access_log=False, log_level="warning")


if __name__ == "__main__":
    main()
