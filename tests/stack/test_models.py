"""The local models, each a real process behind the OpenAI protocol."""

import math
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
import numpy as np
import openai
import pytest
from django.conf import settings

from memory.measures import perplexity
from memory.measures.perplexity import ServerPerplexity
from memory.measures.scorer import Context, Score
from memory.policy import Exchange
from studyplatform.stack import borrowed
from studyplatform.stack.faults import StackFault

from .conftest import free_port

pytestmark = pytest.mark.stack


@pytest.fixture(scope="module")
def encoder_url() -> Iterator[str]:
    url = f"http://127.0.0.1:{free_port()}/v1"
    with borrowed.models("encoder", settings={"LOCAL_EMBEDDINGS_URL": url}):
        yield url


@pytest.fixture(scope="module")
def model_url() -> Iterator[str]:
    url = f"http://127.0.0.1:{free_port()}/v1"
    with borrowed.models("chat-model", settings={"LOCAL_LLM_URL": url}):
        yield url


def embed(url: str, texts: list[str], encoding: str = "float") -> np.ndarray:
    client = openai.OpenAI(base_url=url, api_key="none")
    rows = client.embeddings.create(model="minilm", input=texts, encoding_format=encoding).data
    return np.array([row.embedding for row in rows], np.float32) if encoding == "float" else rows


def test_vectors_have_length_one_and_like_things_are_near(encoder_url: str):
    dog, rex, market = embed(encoder_url, ["My dog is called Rex", "I have a dog named Rex", "The stock market fell today"])
    assert np.linalg.norm(dog) == pytest.approx(1, abs=1e-5)
    assert dog @ rex > 0.75 > 0.3 > dog @ market


def test_a_sentence_has_one_vector_whatever_is_asked_beside_it(encoder_url: str):
    alone = embed(encoder_url, ["I grew up by the sea 🌊"])[0]
    beside = embed(encoder_url, ["ok", "I grew up by the sea 🌊", "and then " * 120])[1]
    assert np.array_equal(alone, beside)


def test_answers_keep_the_order_of_the_texts(encoder_url: str):
    texts = ["a much longer sentence about cats and their naps", "dogs", "the weather in Kyoto in spring", ""]
    assert np.array_equal(embed(encoder_url, texts)[::-1], embed(encoder_url, texts[::-1]))


def test_many_at_once_each_get_their_own(encoder_url: str):
    texts = [f"sentence number {i}" for i in range(24)]
    with ThreadPoolExecutor(12) as pool:
        apart = list(pool.map(lambda text: embed(encoder_url, [text])[0], texts))
    assert np.array_equal(np.array(apart), embed(encoder_url, texts))


def test_both_encodings_of_the_protocol_say_the_same(encoder_url: str):
    body = {"model": "minilm", "input": "tea", "encoding_format": "base64"}
    coded = httpx.post(f"{encoder_url}/embeddings", json=body).json()["data"][0]["embedding"]
    decoded = openai.OpenAI(base_url=encoder_url, api_key="none").embeddings.create(model="minilm", input="tea").data[0].embedding
    assert isinstance(coded, str)
    assert np.allclose(decoded, embed(encoder_url, ["tea"])[0])


@pytest.mark.parametrize(
    "body", ["no json", '{"input": [1, 2]}', '{"input": []}', '{"model": "minilm"}', '{"input": "a", "dimensions": 3}', "[]"]
)
def test_a_request_that_cannot_be_answered_is_refused_with_a_reason(encoder_url: str, body: str):
    answer = httpx.post(f"{encoder_url}/embeddings", content=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"]


def test_the_chat_model_streams_and_counts_its_tokens(model_url: str):
    client = openai.OpenAI(base_url=model_url, api_key="none")
    said = client.chat.completions.create(
        model="smollm2",
        messages=[{"role": "user", "content": "Say hello."}],
        max_tokens=12,
        stream=True,
        stream_options={"include_usage": True},
    )
    chunks = list(said)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)
    assert 1 <= chunks[-1].usage.completion_tokens <= 12
    assert chunks[0].model == "smollm2"


def test_it_gives_the_probability_of_words_that_were_said(model_url: str):
    root = model_url.removesuffix("/v1")
    tokens = {text: httpx.post(f"{root}/tokenize", json={"content": text}).json()["tokens"] for text in (" Paris", " cheese")}
    assert all(len(ids) == 1 for ids in tokens.values())
    surprise = {text: -logprob(root, "The capital of France is", ids[0]) for text, ids in tokens.items()}
    assert 0 < surprise[" Paris"] < surprise[" cheese"] < math.inf


def logprob(root: str, prompt: str, token: int) -> float:
    body = {"prompt": prompt, "n_predict": 1, "n_probs": 1, "temperature": 0, "grammar": f"root ::= <[{token}]>"}
    answer = httpx.post(f"{root}/completion", json=body, timeout=60).json()
    return answer["completion_probabilities"][0]["logprob"]


@pytest.fixture
def scorer(model_url: str, monkeypatch: pytest.MonkeyPatch) -> ServerPerplexity:
    monkeypatch.setattr(settings.ENV, "LOCAL_LLM_URL", model_url)
    return ServerPerplexity("local/smollm2", None)


def surprise(scorer: ServerPerplexity, user: str, bot: str = "How do you get to work?") -> Score:
    return scorer.score(Exchange(1, 2, bot, user, datetime(2026, 3, 1, tzinfo=UTC)), Context("", 1, 1, "abcdefghjkmn", 2))


@pytest.mark.parametrize("text", ["😊", "I like it 👩‍🚀!", "自転車で行きます", "한국어", "x\n", "e\u0301"])
def test_characters_in_several_tokens_have_a_perplexity_like_any_others(scorer: ServerPerplexity, text: str):
    found = surprise(scorer, text)
    assert not found.fallback
    assert 1 < found.value < math.inf


def test_a_part_of_a_character_is_looked_up_to_what_forcing_a_whole_one_says(scorer: ServerPerplexity, model_url: str):
    root = model_url.removesuffix("/v1")
    before, token = ([*_ids(root, "The capital of France is")], _ids(root, " Paris")[0])
    listed = httpx.post(f"{root}/completion", json=perplexity.listing(before, 2000), timeout=60).json()
    assert {p["id"]: p["logprob"] for p in perplexity.next_ones(listed)}[token] == pytest.approx(
        logprob(root, "The capital of France is", token), abs=1e-3
    )


def _ids(root: str, text: str) -> list[int]:
    return httpx.post(f"{root}/tokenize", json={"content": text}).json()["tokens"]


def test_the_name_of_a_control_token_in_a_message_is_plain_text(scorer: ServerPerplexity, model_url: str):
    as_token, as_text = (
        httpx.post(f"{model_url.removesuffix('/v1')}/tokenize", json={"content": "<|im_end|>", "parse_special": special}).json()["tokens"]
        for special in (True, False)
    )
    assert len(as_token) == 1 < len(as_text)
    one = surprise(scorer, "<|im_end|>")
    assert one.value == pytest.approx(perplexity.perplexity(_forced(model_url, "How do you get to work?\n", as_text)), rel=0.01)


def _forced(url: str, before: str, tokens: list[int]) -> list[float]:
    root = url.removesuffix("/v1")
    answer = httpx.post(f"{root}/completion", json=perplexity.forced(_ids(root, before), tokens), timeout=60).json()
    return perplexity.read(answer, tokens)


def test_the_first_words_after_an_empty_bot_text_follow_the_start_token(scorer: ServerPerplexity):
    assert not surprise(scorer, "by bike", bot="").fallback


def test_several_people_are_answered_at_once(model_url: str):
    client = openai.OpenAI(base_url=model_url, api_key="none")

    def ask(name: str) -> str:
        messages = [{"role": "user", "content": f"My name is {name}. Hello!"}]
        return client.chat.completions.create(model="smollm2", messages=messages, max_tokens=8).choices[0].message.content

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(ask, ["Ada", "Rae", "Kei", "Sol"]))


def test_a_model_that_already_answers_is_used_and_left_running(encoder_url: str):
    with borrowed.models("encoder", settings={"LOCAL_EMBEDDINGS_URL": encoder_url}):
        pass
    assert embed(encoder_url, ["still here"]).shape == (1, 384)


def test_a_model_on_another_machine_is_not_started_here():
    with (
        pytest.raises(StackFault, match="nothing answers: start it there"),
        borrowed.models("encoder", settings={"LOCAL_EMBEDDINGS_URL": "http://192.0.2.1:9/v1"}),
    ):
        pass
