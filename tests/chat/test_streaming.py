"""Streamed replies from the scripted server: text, usage, and how each fault is named."""

import pytest

from studyplatform.llm import providers, streaming
from studyplatform.llm.streaming import ModelFailed, Request, Usage


def request(model="scripted/script", timeout_s=5.0):
    messages = [{"role": "user", "content": "Tell me about rusks."}]
    return Request(providers.resolve(model), messages, "abc.reply.2.1", 50, 0.0, timeout_s)


async def read(wanted):
    usage = Usage()
    try:
        pieces = [piece async for piece in streaming.stream(wanted, usage)]
    finally:
        await streaming.close()
    return pieces, usage


async def test_the_pieces_make_up_the_text_and_the_usage_is_known(script):
    script.set(token_ms=1, tokens=10)
    pieces, usage = await read(request())
    assert "".join(pieces) == usage.raw
    assert len(pieces) > 3
    assert (usage.finish_reason, usage.model_answered, usage.tokens_out) == ("stop", "script", len(pieces))
    assert usage.first_token_ms is not None
    assert usage.total_ms is not None


async def test_the_request_carries_its_tag(script):
    await read(request())
    assert script.requests("reply")[-1]["tag"] == {"session": "abc", "purpose": "reply", "reply_to": 2, "attempt": 1}


@pytest.mark.parametrize(
    ("fault", "kind", "is_outage"),
    [
        ("rate_limit", "rate_limited", True),
        ("server_error", "server", True),
        ("empty", "empty", False),
        ("malformed", "broken", False),
        ("cut", "broken", False),
    ],
)
async def test_every_fault_has_its_kind(script, fault, kind, is_outage):
    script.set(token_ms=1)
    script.fail(fault)
    with pytest.raises(ModelFailed) as failed:
        await read(request())
    assert (failed.value.kind, failed.value.is_outage) == (kind, is_outage)


async def test_a_model_that_hangs_runs_into_the_time_limit(script):
    script.fail("timeout", seconds=2)
    with pytest.raises(ModelFailed) as failed:
        await read(request(timeout_s=0.3))
    assert failed.value.kind == "timeout"


async def test_nobody_at_the_address_is_an_outage(script, settings):
    settings.ENV = settings.ENV.model_copy(update={"SCRIPTED_URL": "http://127.0.0.1:9/v1"})
    with pytest.raises(ModelFailed) as failed:
        await read(request())
    assert failed.value.is_outage


def test_an_unknown_provider_is_refused_with_the_known_ones():
    with pytest.raises(providers.UnknownProvider, match="scripted"):
        providers.resolve("nobody/nothing")
