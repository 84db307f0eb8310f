"""Perplexity of what the participant said, given what the bot had said: exp of the mean negative log-probability of its tokens.

An OpenAI-compatible chat endpoint gives no log-probabilities of a given text, so this speaks to a llama.cpp-like server: `/tokenize`,
then `/completion` with a grammar that leaves it no choice but the utterance's own token ids, and reads what each would have cost it.
Full precision, no token dropped (the LUFY paper's code rounds and drops the most surprising ones).

Both texts are sent as token ids, read as plain text: `<|im_start|>` in a message is eight ordinary tokens and not a turn of a dialogue. The
utterance is tokenised by itself, so its first token follows the line break without a space of its own.
"""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import httpx

from memory.measures.scorer import Context, Score, Scorer
from memory.policy import Exchange, Scale
from studyplatform.llm import providers
from studyplatform.llm.streaming import ModelFailed

MAX_TOKENS = 400
TIMEOUT_S = 120.0


class ServerPerplexity(Scorer):
    """`model`: `provider/model` of the server. Context: the bot's text and a line break; after an empty bot text the start token alone.

    A text without tokens, or a server that does not return every probability, counts as the cap, marked as a fallback.
    """

    measure: ClassVar[str] = "perplexity"

    def __init__(self, model: str, scale: Scale | None) -> None:
        self.id = f"server:{model}"
        self.version = "2"
        self.scale = scale
        self._model = model

    def score(self, exchange: Exchange, context: Context) -> Score:
        target = providers.resolve(self._model)
        headers = {"X-Client-Request-Id": context.purpose("perplexity").tag(1)}
        if target.key:
            headers["Authorization"] = f"Bearer {target.key}"
        server = _Server(target.url.removesuffix("/v1"), headers)
        try:
            tokens = server.tokens(exchange.user)[:MAX_TOKENS]
            before = server.tokens(f"{exchange.bot}\n") if exchange.bot else server.start()
            answer = server.post("/completion", forced(before, tokens)) if tokens else {}
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise ModelFailed("unreachable", f"perplexity from {self._model}: {type(error).__name__}: {error}") from error
        log_probabilities = read(answer, tokens)
        if not log_probabilities:
            return Score(self.scale.cap if self.scale else 0.0, fallback=True)
        return Score(perplexity(log_probabilities))


@dataclass(frozen=True)
class _Server:
    """The requests that go to one server. They raise httpx.HTTPError, ValueError or KeyError where its answer is no good."""

    root: str
    headers: Mapping[str, str]

    def tokens(self, text: str, *, special: bool = False) -> list[int]:
        """Token ids; `special`: names of control tokens are read as those tokens."""
        found: list[int] = self.post("/tokenize", {"content": text, "add_special": False, "parse_special": special})["tokens"]
        return found

    def start(self) -> list[int]:
        """The token that a text starts with, as the model declares it."""
        properties = _client().get(f"{self.root}/props", headers=self.headers).raise_for_status().json()
        return self.tokens(properties["bos_token"], special=True)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(_client().post(self.root + path, json=body, headers=self.headers).raise_for_status().content)
        return answer


def perplexity(log_probabilities: list[float]) -> float:
    """exp(−mean of natural logarithms).

    >>> round(perplexity([math.log(0.5), math.log(0.125)]), 6)
    4.0
    """
    return math.exp(-sum(log_probabilities) / len(log_probabilities))


def forced(before: list[int], tokens: list[int]) -> dict[str, Any]:
    """The request that makes the server say exactly these tokens after the ones before."""
    return {
        "prompt": before,
        "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in tokens),
        "n_predict": len(tokens),
        "n_probs": 1,
        "temperature": 0,
        "cache_prompt": False,
    }


def read(answer: dict[str, Any], tokens: list[int]) -> list[float]:
    """The log-probability of each token; empty unless the server returned exactly these tokens."""
    found = answer.get("completion_probabilities") or []
    if [p.get("id") for p in found] != list(tokens):
        return []
    return [float(p["logprob"]) for p in found]


@lru_cache(maxsize=1)
def _client() -> httpx.Client:
    return httpx.Client(timeout=TIMEOUT_S)
