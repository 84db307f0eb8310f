"""The transport under the chat's HTTP client, against small servers that answer in every way that HTTP/1.1 allows."""

import asyncio
from contextlib import asynccontextmanager

import httpx
import pytest

from studyplatform.llm.transport import StreamTransport

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n"
)
WITH_LENGTH = b"HTTP/1.1 201 Created\r\nContent-Length: 11\r\n\r\nhello world"
UNTIL_THE_END = b"HTTP/1.1 200 OK\r\n\r\nhello world"


@asynccontextmanager
async def serving(*answers: bytes, closes: bool = False):
    """A server that gives one of these answers per request; yields its address and the connections that were made."""
    made: list[int] = []
    left = list(answers)

    async def serve(reader, writer):
        made.append(len(made))
        while left:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
            await reader.readexactly(length)
            answer = left.pop(0)
            writer.write(answer)
            await writer.drain()
            if closes or (b"Content-Length" not in answer and b"chunked" not in answer):
                break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/x?y=1", made
    finally:
        server.close()


def client() -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=StreamTransport(), timeout=httpx.Timeout(2, connect=2), trust_env=False)


@pytest.mark.parametrize(("answer", "status"), [(CHUNKED, 200), (WITH_LENGTH, 201), (UNTIL_THE_END, 200)])
async def test_every_kind_of_body_is_read_whole(answer, status):
    async with serving(answer) as (url, _), client() as http:
        got = await http.post(url, json={"a": "b"})
    assert (got.status_code, got.text) == (status, "hello world")


async def test_a_connection_that_was_read_to_its_end_is_used_again():
    async with serving(CHUNKED, WITH_LENGTH, CHUNKED) as (url, made), client() as http:
        for _ in range(3):
            assert (await http.post(url)).text == "hello world"
    assert made == [0]


async def test_a_kept_connection_that_the_server_closed_costs_no_request():
    async with serving(CHUNKED, WITH_LENGTH, closes=True) as (url, made), client() as http:
        for _ in range(2):
            assert (await http.post(url)).text == "hello world"
    assert made == [0, 1]


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf", b"SMTP ready\r\n\r\n", CHUNKED[:-20]])
async def test_an_answer_that_stops_or_is_none_is_an_error(answer):
    async with serving(answer, closes=True) as (url, _), client() as http:
        with pytest.raises(httpx.TransportError):
            await http.post(url)


async def test_a_server_that_says_nothing_runs_into_the_time_limit():
    async def silent(reader, writer):
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with httpx.AsyncClient(transport=StreamTransport(), timeout=0.2, trust_env=False) as http:
        with pytest.raises(httpx.ReadTimeout):
            await http.post(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    server.close()


async def test_nobody_at_the_address_is_a_connection_error():
    async with client() as http:
        with pytest.raises(httpx.ConnectError):
            await http.post("http://127.0.0.1:9/")
