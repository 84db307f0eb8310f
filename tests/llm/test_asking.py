"""Asking a model: constrained, validated, asked once more, and never unrecorded."""

import socket
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection
from pydantic import BaseModel, Field

from studyplatform.llm import asking, constraints, embeddings, prompts, usage
from studyplatform.llm.models import LLMCall
from studyplatform.llm.streaming import ModelFailed
from studyplatform.study import erasing
from tests import cast as people

PROMPT = prompts.parse("greet@1", b"variables: name\n=== user\nGreet {{name}}.\n")
MODEL = asking.Model("scripted/script", max_tokens=40)


class Greeting(BaseModel):
    words: str
    warmth: int


@pytest.fixture
def purpose(model):
    return asking.Purpose("greet", people.make_study("two").pk, "abcdefghjkmn", seq=4)


def test_an_answer_fits_its_schema_and_its_raw_text_is_kept(purpose):
    greeting = asking.ask(Greeting, purpose, MODEL, PROMPT, name="Ana")
    call = LLMCall.objects.get()
    assert Greeting.model_validate_json(call.raw) == greeting
    assert (call.purpose, call.prompt, call.model_asked, call.tag) == ("greet", "greet@1", "scripted/script", "abcdefghjkmn.greet.4.1")
    assert call.messages == [{"role": "user", "content": "Greet Ana."}]
    assert call.tokens_in
    assert call.total_ms


def test_an_unreadable_answer_is_asked_for_once_more(purpose, model):
    model.fail("empty", purpose="greet", count=1)
    assert asking.ask(Greeting, purpose, MODEL, PROMPT, name="Ana")
    assert list(LLMCall.objects.order_by("pk").values_list("tag", flat=True)) == ["abcdefghjkmn.greet.4.1", "abcdefghjkmn.greet.4.2"]


def test_two_unreadable_answers_are_a_bad_answer_with_the_raw_text(purpose, model):
    model.fail("empty", purpose="greet", count=2)
    with pytest.raises(asking.BadAnswer):
        asking.ask(Greeting, purpose, MODEL, PROMPT, name="Ana")
    assert LLMCall.objects.count() == 2


@pytest.mark.parametrize("kind", ["rate_limit", "server_error", "malformed"])
def test_a_failing_endpoint_is_told_apart_and_recorded(purpose, model, kind):
    model.fail(kind, purpose="greet", count=1)
    with pytest.raises(ModelFailed):
        asking.complete(purpose, MODEL, PROMPT, name="Ana")
    assert LLMCall.objects.get().error


def test_a_strict_schema_allows_nothing_beside_its_keys():
    wanted = constraints.response_format(Greeting)["json_schema"]["schema"]
    assert wanted["additionalProperties"] is False
    assert wanted["required"] == ["words", "warmth"]


@pytest.fixture
def bounded():
    class Bounded(BaseModel):
        words: str = Field(max_length=40)

    constraints.forget()
    yield Bounded
    constraints.forget()


@pytest.mark.parametrize(
    ("refused", "asked"), [("bounds", ["schema", "schema_without_bounds"]), ("all", ["schema", "schema_without_bounds", None])]
)
def test_an_endpoint_that_refuses_a_schema_is_asked_with_less_and_never_again_with_more(purpose, model, bounded, refused, asked):
    model.set(refuses_schemas=refused)
    model.answer('Here it is: {"words": "hello"}', count=None)
    for _ in range(2):
        assert asking.ask(bounded, purpose, MODEL, PROMPT, name="Ana").words == "hello"
    calls = list(LLMCall.objects.order_by("pk"))
    assert [call.parameters.get("constraint") for call in calls] == [*asked, asked[-1]]
    assert [bool(call.error) for call in calls] == [*[True] * (len(asked) - 1), False, False]


def test_a_request_that_is_wrong_in_itself_says_nothing_against_schemas(purpose, model, bounded):
    wrong = asking.Model("scripted/script", max_tokens=40, temperature=0.0, timeout_s=0.2)
    model.fail("timeout", seconds=1)
    with pytest.raises(ModelFailed) as failed:
        asking.ask(bounded, purpose, wrong, PROMPT, name="Ana")
    assert failed.value.kind == "timeout"
    model.answer('{"words": "hello"}')
    asking.ask(bounded, purpose, MODEL, PROMPT, name="Ana")
    assert LLMCall.objects.latest("pk").parameters["constraint"] == "schema"


def test_a_schema_without_bounds_keeps_a_property_that_is_named_like_one():
    class Odd(BaseModel):
        pattern: str = Field(max_length=3)

    (told,) = constraints.response_format(Odd, bounds=False)["json_schema"]["schema"]["properties"].items()
    assert told == ("pattern", {"title": "Pattern", "type": "string"})


def test_a_second_attempt_draws_another_answer_than_the_first(purpose, model):
    model.answer("nothing of use", count=1)
    assert asking.ask(Greeting, purpose, MODEL, PROMPT, name="Ana")
    assert [call.parameters["temperature"] for call in LLMCall.objects.order_by("pk")] == [0.0, asking.RETRY_TEMPERATURE]


def test_what_the_endpoint_had_in_its_prefix_cache_is_counted_apart(purpose, model):
    model.set(prefix_cache=True)
    for name in ("Ana", "Ben"):
        asking.ask(Greeting, purpose, MODEL, PROMPT, name=name)
    assert list(LLMCall.objects.order_by("pk").values_list("tokens_in", "tokens_cached")) == [(2, 0), (2, 1)]


def test_llama_cpps_timings_tell_what_was_cached_where_the_usage_does_not():
    from openai.types.chat import ChatCompletion

    told = {"prompt_tokens": 940, "completion_tokens": 8, "total_tokens": 948}
    answer = ChatCompletion.model_validate(
        {
            "id": "1",
            "object": "chat.completion",
            "created": 1,
            "model": "m",
            "choices": [],
            "usage": told,
            "timings": {"cache_n": 900, "prompt_n": 40},
        }
    )
    assert usage.of(answer) == usage.Used(940, 8, 900)


def test_an_endpoint_that_closed_an_idle_connection_costs_no_embedding(script):
    first = embeddings.embed("scripted/hash", ["a cat"])
    (connection,) = embeddings._connections().values()
    connection.sock.shutdown(socket.SHUT_RDWR)
    assert (embeddings.embed("scripted/hash", ["a cat"]) == first).all()


def test_an_encoder_that_fails_says_so(script):
    script.fail("server_error", endpoint="embeddings")
    with pytest.raises(embeddings.EndpointFailed):
        embeddings.embed("scripted/hash", ["a cat"])
    script.fail("malformed", endpoint="embeddings")
    with pytest.raises(embeddings.EndpointFailed):
        embeddings.embed("scripted/hash", ["a cat"])


def of_ana(two):
    session = people.session_of(two.ana)
    return asking.Purpose("greet", two.study.pk, session.code, session.pk, seq=4)


def test_no_model_is_asked_about_somebody_who_had_everything_erased(two, model):
    purpose = of_ana(two)
    erasing.withdraw(two.ana, keep_until_now=False)
    with pytest.raises(asking.Withdrawn):
        asking.ask(Greeting, purpose, MODEL, PROMPT, name="Ana")
    assert not LLMCall.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_an_answer_that_comes_after_a_withdrawal_is_not_kept(model):
    model.set(first_token_ms=1500)
    study = people.make_study("two")
    ana = people.person(study)
    purpose = asking.Purpose("greet", study.pk, people.session_of(ana).code, people.session_of(ana).pk, seq=4)
    with ThreadPoolExecutor(1) as worker:
        answer = worker.submit(in_a_thread_of_its_own, asking.complete, purpose, MODEL, PROMPT, name="Ana")
        while not LLMCall.objects.exists():
            time.sleep(0.02)
        erasing.withdraw(ana, keep_until_now=False)
        with pytest.raises(asking.Withdrawn):
            answer.result()
    call = LLMCall.objects.get()
    assert (call.messages, call.raw, call.error) == ([], "", "")


def in_a_thread_of_its_own(act, *args, **kwargs):
    try:
        return act(*args, **kwargs)
    finally:
        connection.close()
