"""The scripted model server, spoken to as the product does: through an OpenAI client and over plain HTTP."""

import json
import math

import httpx
import openai
import pytest

from chat.turns import EMPTY_MARKER
from studyplatform.scripted import hashing, scripts
from tests.scripted_server import Scripted


@pytest.fixture
def client(script: Scripted) -> openai.OpenAI:
    return openai.OpenAI(base_url=script.url, api_key="none", max_retries=0)


def say(client: openai.OpenAI, text: str, tag: str = "abc.reply.2.1") -> str:
    answer = client.chat.completions.create(
        model="script", messages=[{"role": "user", "content": text}], extra_headers={"X-Client-Request-Id": tag}
    )
    return answer.choices[0].message.content or ""


def stream(client: openai.OpenAI, text: str = "hello") -> list[str]:
    chunks = client.chat.completions.create(model="script", messages=[{"role": "user", "content": text}], stream=True)
    return [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]


def test_a_streamed_reply_is_the_whole_reply_in_pieces(client: openai.OpenAI) -> None:
    pieces = stream(client, "I ride my bicycle")
    assert len(pieces) > 5
    assert "".join(pieces) == say(client, "I ride my bicycle")


def test_it_reports_usage_at_the_end_of_a_stream_when_asked(client: openai.OpenAI) -> None:
    chunks = list(
        client.chat.completions.create(
            model="script", messages=[{"role": "user", "content": "two words"}], stream=True, stream_options={"include_usage": True}
        )
    )
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens > 0


def test_two_people_who_say_different_things_get_different_answers(client: openai.OpenAI) -> None:
    assert say(client, "My parrot bit the postman") != say(client, "I study geology")


def test_the_recorded_bot_answers_by_turn_and_on_every_attempt(client: openai.OpenAI, script: Scripted) -> None:
    script.record("abc", ["Hello Ava!", "", "Bye now. "])
    assert say(client, "x", "abc.opener.0.1") == "Hello Ava!"
    assert say(client, "x", "abc.reply.2.3") == EMPTY_MARKER
    assert say(client, "x", "abc.reply.4.1") == "Bye now. "
    assert say(client, "x", "abc.reply.6.1") not in ("", "Bye now. ")


def test_the_mark_for_an_empty_utterance_is_the_one_the_chat_knows() -> None:
    assert scripts.EMPTY_MARKER == EMPTY_MARKER


def test_a_schema_is_answered_with_json_that_fits_it(client: openai.OpenAI) -> None:
    schema = {"type": "object", "properties": {"importance": {"type": "integer", "minimum": 1, "maximum": 10}}, "required": ["importance"]}
    scores = set()
    for text in ("I like tea", "My sister is ill", "It rains", "I got married", "The bus was late", "I lost my job"):
        answer = client.chat.completions.create(
            model="script",
            messages=[{"role": "user", "content": text}],
            response_format={"type": "json_schema", "json_schema": {"name": "score", "schema": schema}},
            extra_headers={"X-Client-Request-Id": "abc.importance.2.1"},
        )
        scores.add(json.loads(answer.choices[0].message.content or "")["importance"])
    assert scores <= set(range(1, 11))
    assert len(scores) > 1


def ask(client: openai.OpenAI, question: str) -> str | None:
    schema = {"type": "object", "properties": {"answer": {"anyOf": [{"type": "string"}, {"type": "null"}]}}}
    prompt = f"What is remembered:\nThe person said: my parrot is called Biscuit.\n\nQuestion: {question}"
    answer = client.chat.completions.create(
        model="script",
        messages=[{"role": "user", "content": prompt}],
        response_format={"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}},
        extra_headers={"X-Client-Request-Id": "abc.answer.0.1"},
    )
    found: str | None = json.loads(answer.choices[0].message.content or "")["answer"]
    return found


def test_it_answers_from_what_is_remembered_and_else_says_nothing(client: openai.OpenAI) -> None:
    assert "Biscuit" in (ask(client, "What is the name of the parrot?") or "")
    assert ask(client, "Where did the train journey end?") is None


def test_texts_about_the_same_thing_are_nearer_than_others() -> None:
    bread, again, storm = (hashing.embed(t) for t in ("I bake rye bread", "The rye bread was soft", "A storm banged the shutters"))
    assert math.isclose(sum(x * x for x in bread), 1, rel_tol=1e-9)
    assert sum(a * b for a, b in zip(bread, again, strict=True)) > 0.3
    assert abs(sum(a * b for a, b in zip(bread, storm, strict=True))) < 0.2


def test_embeddings_come_in_the_order_they_were_asked_for(client: openai.OpenAI) -> None:
    found = client.embeddings.create(model="hash", input=["one bicycle", "two parrots"])
    assert [d.index for d in found.data] == [0, 1]
    assert found.data[1].embedding == pytest.approx(hashing.embed("two parrots"), abs=1e-6)


def test_forced_tokens_come_back_with_their_log_probabilities(script: Scripted) -> None:
    ids = httpx.post(f"{script.root}/tokenize", json={"content": "the parrot said the word"}).json()["tokens"]
    grammar = "root ::= " + " ".join(f"<[{i}]>" for i in ids)
    answer = httpx.post(f"{script.root}/completion", json={"prompt": "a parrot", "grammar": grammar, "n_probs": 1}).json()
    found = answer["completion_probabilities"]
    assert [p["id"] for p in found] == ids
    assert all(p["logprob"] < 0 for p in found)
    assert found[3]["logprob"] > found[0]["logprob"]  # the second "the" is no surprise


def test_a_rate_limit_says_when_to_come_back(client: openai.OpenAI, script: Scripted) -> None:
    script.fail("rate_limit", retry_after=7)
    with pytest.raises(openai.RateLimitError) as refused:
        say(client, "hello")
    assert refused.value.response.headers["retry-after"] == "7"
    assert say(client, "hello")


def test_a_server_error_is_for_the_purpose_it_was_asked_for(client: openai.OpenAI, script: Scripted) -> None:
    script.fail("server_error", purpose="importance")
    assert say(client, "hello")
    with pytest.raises(openai.InternalServerError):
        say(client, "hello", "abc.importance.2.1")


@pytest.mark.parametrize("kind", ["cut", "malformed"])
def test_a_stream_that_breaks_off_is_an_error_for_the_caller(client: openai.OpenAI, script: Scripted, kind: str) -> None:
    script.fail(kind, after_tokens=2)
    with pytest.raises((openai.APIError, httpx.HTTPError, ValueError)):
        stream(client)


def test_an_empty_reply_is_empty(client: openai.OpenAI, script: Scripted) -> None:
    script.fail("empty")
    assert stream(client) == []


def test_faults_by_chance_are_the_same_on_every_run(client: openai.OpenAI, script: Scripted) -> None:
    def run() -> list[bool]:
        script.reset()
        script.fail("empty", count=None, share=0.4)
        return [say(client, "hello") == "" for _ in range(20)]

    first = run()
    assert 0 < sum(first) < 20
    assert run() == first


def test_it_counts_requests_and_tokens_by_purpose(client: openai.OpenAI, script: Scripted) -> None:
    script.set(tokens=12)
    say(client, "one", "abc.reply.2.1")
    say(client, "two", "abc.reply.4.1")
    counts = script.counts()["reply"]
    assert counts["requests"] == 2
    assert counts["completion_tokens"] == 24


def test_what_it_does_not_understand_is_refused(script: Scripted) -> None:
    assert httpx.put(f"{script.root}/script/settings", json={"token_ms": -1}).status_code == 400
    assert httpx.post(f"{script.root}/script/faults", json={"kind": "earthquake"}).status_code == 400
    assert httpx.post(f"{script.url}/chat/completions", content=b"{").status_code == 400
    assert httpx.get(f"{script.url}/audio").status_code == 404
