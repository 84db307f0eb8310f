"""The embeddings endpoint: on an event loop over `llm.transport`, as every reply needs it, and synchronously for the workers. No client library.

An HTTP client of the usual kind costs about a millisecond of this process's time per request; the standard library's, with one kept-alive
connection per thread, a quarter.
"""

import asyncio
import base64
import http.client
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

import numpy as np
from django.conf import settings
from numpy.typing import NDArray
from pydantic_core import from_json, to_json

from studyplatform.llm import providers, transport

TIMEOUT_S = 20.0
# What a kept-alive connection raises when the other side closed it meanwhile: worth one fresh connection.
_STALE = (http.client.RemoteDisconnected, http.client.CannotSendRequest, BrokenPipeError, ConnectionResetError)

_local = threading.local()


@dataclass
class _Memo:
    """Vectors by model and text, while `kept` is open."""

    vectors: dict[tuple[str, str], NDArray[np.float32]] | None = None


_memo = _Memo()


class EndpointFailed(Exception):
    """No usable answer from the embeddings endpoint; trying later may help."""


@contextmanager
def kept() -> Iterator[None]:
    """While this is open, this process asks for no text twice: for work that says the same in arm after arm, as a replay does."""
    before, _memo.vectors = _memo.vectors, {}
    try:
        yield
    finally:
        _memo.vectors = before


def embed(model_name: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """Vectors as the endpoint gives them, shape (len(texts), dimension), float32.

    Raises:
        EndpointFailed: unreachable, an error status, or an answer of another shape.
    """
    if not texts:
        return np.zeros((0, 0), dtype=np.float32)
    known = _memo.vectors
    if known is None:
        return _asked(model_name, texts)
    new = [text for text in dict.fromkeys(texts) if (model_name, text) not in known]
    if new:
        known.update(zip(((model_name, text) for text in new), _asked(model_name, new), strict=True))
    return np.stack([known[model_name, text] for text in texts])


async def embed_soon(model_name: str, texts: Sequence[str]) -> NDArray[np.float32]:
    """As `embed`, on an event loop; nothing is kept.

    Raises:
        EndpointFailed: as in `embed`.
    """
    if not texts:
        return np.zeros((0, 0), dtype=np.float32)
    url, body, headers = _question(model_name, texts)
    try:
        async with asyncio.timeout(TIMEOUT_S):
            answer = await transport.here().post(url, headers, body, connect_s=TIMEOUT_S)
            try:
                raw = await answer.whole()
            finally:
                answer.close()
    except (OSError, transport.NoConnection, transport.Broken) as error:
        raise EndpointFailed(f"{model_name}: {type(error).__name__}: {error}") from error
    return _vectors(model_name, texts, answer.status, raw)


def _asked(model_name: str, texts: Sequence[str]) -> NDArray[np.float32]:
    url, body, headers = _question(model_name, texts)
    try:
        status, raw = _post(url, body, headers)
    except (OSError, http.client.HTTPException) as error:
        raise EndpointFailed(f"{model_name}: {type(error).__name__}: {error}") from error
    return _vectors(model_name, texts, status, raw)


def _question(model_name: str, texts: Sequence[str]) -> tuple[str, bytes, dict[str, str]]:
    """Address, body and headers of a request."""
    target = providers.resolve(model_name)
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if target.key:
        headers["Authorization"] = f"Bearer {target.key}"
    return _base(target) + "/embeddings", to_json({"model": target.model, "input": list(texts), "encoding_format": "base64"}), headers


def _vectors(model_name: str, texts: Sequence[str], status: int, raw: bytes) -> NDArray[np.float32]:
    if status != 200:
        raise EndpointFailed(f"{model_name}: HTTP {status}: {raw[:200]!r}")
    try:
        rows = sorted(from_json(raw)["data"], key=lambda row: row["index"])
        vectors = np.array([_vector(row["embedding"]) for row in rows], dtype=np.float32)
    except (ValueError, KeyError, TypeError) as error:
        raise EndpointFailed(f"{model_name}: {type(error).__name__}: {error}") from error
    if vectors.ndim != 2 or len(vectors) != len(texts):
        raise EndpointFailed(f"{model_name}: asked for {len(texts)} vectors, got shape {vectors.shape}")
    return vectors


def _base(target: providers.Resolved) -> str:
    """The local encoder is a process of its own, beside the local chat model."""
    return settings.ENV.LOCAL_EMBEDDINGS_URL.rstrip("/") if target.provider == "local" else target.url


def _vector(embedding: str | list[float]) -> NDArray[np.float32]:
    """Packed little-endian floats, or a list from an endpoint that knows no packing."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding), dtype="<f4")
    return np.array(embedding, dtype=np.float32)


def _post(url: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    parts = urlsplit(url)
    key = (parts.scheme, parts.netloc)
    try:
        return _request(_connection(key), parts.path, body, headers)
    except _STALE:
        _close(key)
        return _request(_connection(key), parts.path, body, headers)
    except (OSError, http.client.HTTPException):
        _close(key)
        raise


def _request(connection: http.client.HTTPConnection, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, bytes]:
    connection.request("POST", path, body, headers)
    response = connection.getresponse()
    return response.status, response.read()


def _connections() -> dict[tuple[str, str], http.client.HTTPConnection]:
    if not hasattr(_local, "connections"):
        _local.connections = {}
    connections: dict[tuple[str, str], http.client.HTTPConnection] = _local.connections
    return connections


def _connection(key: tuple[str, str]) -> http.client.HTTPConnection:
    connections = _connections()
    if key not in connections:
        kind = http.client.HTTPSConnection if key[0] == "https" else http.client.HTTPConnection
        connections[key] = kind(key[1], timeout=TIMEOUT_S)
    return connections[key]


def _close(key: tuple[str, str]) -> None:
    connection = _connections().pop(key, None)
    if connection is not None:
        connection.close()
