"""Perplexity of what the participant said, given what the bot had said: exp of the mean negative log-probability of its tokens.

An OpenAI-compatible chat endpoint gives no log-probabilities of a given text, so this speaks to a llama.cpp-like server: `/tokenize`,
then `/completion` with a grammar that leaves it no choice but the utterance's own token ids, and reads what each would have cost it.
Full precision, no token dropped (the LUFY paper's code rounds and drops the most surprising ones).
"""

import json
import math
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
    """`model`: `provider/model` of the server. Context: the bot's text and a line break; none after an empty bot text.

    A text without tokens, or a server that does not return every probability, counts as the cap, marked as a fallback.
    """

    measure: ClassVar[str] = "perplexity"

    def __init__(self, model: str, scale: Scale | None) -> None:
        self.id = f"server:{model}"
        self.version = "1"
        self.scale = scale
        self._model = model

    def score(self, exchange: Exchange, context: Context) -> Score:
        target = providers.resolve(self._model)
        root = target.url.removesuffix("/v1")
        headers = {"X-Client-Request-Id": context.purpose("perplexity").tag(1)}
        if target.key:
            headers["Authorization"] = f"Bearer {target.key}"
        prefix = f"{exchange.bot}\n" if exchange.bot else ""
        try:
            tokens = _post(f"{root}/tokenize", {"content": exchange.user, "add_special": False}, headers)["tokens"][:MAX_TOKENS]
            answer = _post(f"{root}/completion", forced(prefix, tokens), headers) if tokens else {}
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise ModelFailed("unreachable", f"perplexity from {self._model}: {type(error).__name__}: {error}") from error
        log_probabilities = read(answer, tokens)
        if not log_probabilities:
            return Score(self.scale.cap if self.scale else 0.0, fallback=True)
        return Score(perplexity(log_probabilities))


def perplexity(log_probabilities: list[float]) -> float:
    """exp(−mean of natural logarithms).

    >>> round(perplexity([math.log(0.5), math.log(0.125)]), 6)
    4.0
    """
    return math.exp(-sum(log_probabilities) / len(log_probabilities))


def forced(prefix: str, tokens: list[int]) -> dict[str, Any]:
    """The request that makes the server say exactly these tokens after the prefix."""
    return {
        "prompt": prefix,
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


def _post(url: str, body: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(_client().post(url, json=body, headers=headers).raise_for_status().content)
    return answer
