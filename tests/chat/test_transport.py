"""The HTTP of streamed replies, against small servers that answer in every way that HTTP/1.1 allows."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from studyplatform.llm.transport import Broken, Connections, NoConnection

CHUNKED = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n5;x=1\r\nhello\r\n1\r\n \r\n5\r\nworld\r\n0\r\n\r\n"
)
WITH_LENGTH = b"HTTP/1.1 201 Created\r\nContent-Length: 11\r\n\r\nhello world"
UNTIL_THE_END = b"HTTP/1.1 200 OK\r\n\r\nhello world"


@asynccontextmanager
async def serving(*answers: bytes, closes: bool = False, at_once: int = 65536):
    """A server that gives one of these answers per request, `at_once` bytes at a time; yields its address and the connections that were made."""
    made: list[int] = []
    left = list(answers)

    async def serve(reader, writer):
        made.append(len(made))
        while left:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0)
            await reader.readexactly(length)
            answer = left.pop(0)
            for begin in range(0, len(answer), at_once):
                writer.write(answer[begin : begin + at_once])
                await writer.drain()
                await asyncio.sleep(0)
            if closes or (b"Content-Length" not in answer and b"chunked" not in answer):
                break
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/x?y=1", made
    finally:
        server.close()


@pytest.fixture
async def connections():
    made = Connections()
    yield made
    made.close()


async def post(connections: Connections, url: str) -> tuple[int, bytes]:
    answer = await connections.post(url, {"Content-Type": "application/json"}, b'{"a": "b"}', connect_s=2)
    try:
        return answer.status, await answer.whole()
    finally:
        answer.close()


@pytest.mark.parametrize(("answer", "status"), [(CHUNKED, 200), (WITH_LENGTH, 201), (UNTIL_THE_END, 200)])
async def test_every_kind_of_body_is_read_whole(answer, status, connections):
    async with serving(answer) as (url, _):
        assert await post(connections, url) == (status, b"hello world")


async def test_a_connection_that_was_read_to_its_end_is_used_again(connections):
    async with serving(CHUNKED, WITH_LENGTH, CHUNKED) as (url, made):
        for _ in range(3):
            assert (await post(connections, url))[1] == b"hello world"
    assert made == [0]


async def test_a_connection_that_was_not_read_to_its_end_is_not_used_again(connections):
    async with serving(CHUNKED, WITH_LENGTH) as (url, made):
        answer = await connections.post(url, {}, b"", connect_s=2)
        answer.close()
        assert (await post(connections, url))[1] == b"hello world"
    assert made == [0, 1]


async def test_a_kept_connection_that_the_server_closed_costs_no_request(connections):
    async with serving(CHUNKED, WITH_LENGTH, closes=True) as (url, made):
        for _ in range(2):
            assert (await post(connections, url))[1] == b"hello world"
    assert made == [0, 1]


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nhalf", b"SMTP ready\r\n\r\n", CHUNKED[:-20]])
async def test_an_answer_that_stops_or_is_none_is_an_error(answer, connections):
    async with serving(answer, closes=True) as (url, _):
        with pytest.raises(Broken):
            await post(connections, url)


async def test_who_stops_waiting_leaves_no_connection_that_might_still_answer(connections):
    async def silent(reader, writer):
        await reader.read()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2):
            await post(connections, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
    assert not any(connections._idle.values())
    server.close()


async def test_nobody_at_the_address_is_a_connection_error(connections):
    with pytest.raises(NoConnection):
        await post(connections, "http://127.0.0.1:9/")


@pytest.mark.parametrize("at_once", [1, 2, 3, 7, 100])
async def test_chunks_are_put_together_wherever_the_network_cuts_them(at_once, connections):
    with_trailer = CHUNKED[:-2] + b"X-Sum: 1\r\n\r\n"
    async with serving(CHUNKED, with_trailer, WITH_LENGTH, at_once=at_once) as (url, made):
        assert [(await post(connections, url))[1] for _ in range(3)] == [b"hello world"] * 3
        assert len(made) == 1


@pytest.mark.parametrize("body", [b"-1\r\nx\r\n0\r\n\r\n", b"five\r\nhello\r\n", b"1" * 2000])
async def test_what_is_no_chunk_breaks_the_answer(body, connections):
    async with serving(CHUNKED.split(b"5;")[0] + body, closes=True) as (url, _):
        with pytest.raises(Broken):
            await post(connections, url)


async def test_a_connection_on_which_more_came_than_was_asked_for_is_not_used_again(connections):
    async with serving(CHUNKED + b"HTTP/1.1 200 OK", WITH_LENGTH) as (url, made):
        assert (await post(connections, url))[1] == b"hello world"
        assert not any(connections._idle.values())
        assert made
