"""Perplexity of what the participant said, given what the bot had said: exp of the mean negative log-probability of its tokens.

An OpenAI-compatible chat endpoint gives no log-probabilities of a given text, so this speaks to a llama.cpp-like server: `/tokenize`,
then `/completion` with a grammar that leaves it no choice but the utterance's own token ids, and reads what each would have cost it.
Full precision, no token dropped (the LUFY paper's code rounds and drops the most surprising ones).

Emoji in the utterance are read by their names. Both texts are sent as token ids, read as plain text: `<|im_start|>` in a message is eight ordinary tokens and not a turn of a dialogue. The
utterance is tokenised by itself, so its first token follows the line break without a space of its own.

A token that is a part of a character (of many letters beyond Latin) cannot be forced: the server says only whole characters. Its
log-probability is looked up in the list of all that may come next, which is as exact and costs one request per token.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, ClassVar

import httpx

from memory.measures.scorer import Context, Score, Scorer, in_words
from memory.policy import Exchange, Scale
from studyplatform.llm import providers
from studyplatform.llm.streaming import ModelFailed

MAX_TOKENS = 400
LISTED = (2_000, 300_000)  # next tokens to look a part of a character up in; the second is every vocabulary's all
TIMEOUT_S = 120.0


class ServerPerplexity(Scorer):
    """`model`: `provider/model` of the server. Context: the bot's text and a line break; after an empty bot text the start token alone.

    A text without tokens, or a server that does not return every probability, counts as the cap, marked as a fallback.
    """

    measure: ClassVar[str] = "perplexity"

    def __init__(self, model: str, scale: Scale | None) -> None:
        self.id = f"server:{model}"
        self.version = "3"
        self.scale = scale
        self._model = model

    def score(self, exchange: Exchange, context: Context) -> Score:
        target = providers.resolve(self._model)
        headers = {"X-Client-Request-Id": context.purpose("perplexity").tag(1)}
        if target.key:
            headers["Authorization"] = f"Bearer {target.key}"
        server = _Server(target.url.removesuffix("/v1"), headers)
        try:
            tokens = server.tokens(in_words(exchange.user))[:MAX_TOKENS]
            before = server.tokens(f"{exchange.bot}\n") if exchange.bot else server.start()
            log_probabilities = server.log_probabilities([token.id for token in before], tokens)
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise ModelFailed("unreachable", f"perplexity from {self._model}: {type(error).__name__}: {error}") from error
        if not log_probabilities:
            return Score(self.scale.cap if self.scale else 0.0, fallback=True)
        return Score(perplexity(log_probabilities))


@dataclass(frozen=True)
class Token:
    """`whole`: its text is one or more whole characters."""

    id: int
    whole: bool = True

    @classmethod
    def read(cls, entry: Any) -> "Token":
        """From `/tokenize`: an id, or an id with its piece, which is a list of bytes where these are no text."""
        return cls(entry["id"], isinstance(entry["piece"], str)) if isinstance(entry, dict) else cls(entry)


@dataclass(frozen=True)
class _Server:
    """The requests that go to one server. They raise httpx.HTTPError, ValueError or KeyError where its answer is no good."""

    root: str
    headers: Mapping[str, str]

    def tokens(self, text: str, *, special: bool = False) -> list["Token"]:
        """The text's tokens; `special`: names of control tokens are read as those tokens."""
        wanted = {"content": text, "add_special": False, "parse_special": special, "with_pieces": True}
        return [Token.read(entry) for entry in self.post("/tokenize", wanted)["tokens"]]

    def log_probabilities(self, before: list[int], tokens: Sequence["Token"]) -> list[float]:
        """One per token, each after all before it; empty where the server does not return every one."""
        found: list[float] = []
        for whole, run in groupby(tokens, key=lambda token: token.whole):
            ids = [token.id for token in run]
            if whole:
                new = read(self.post("/completion", forced(before, ids)), ids)
            else:
                new = [value for at, token in enumerate(ids) for value in self._listed(before + ids[:at], token)]
            if len(new) != len(ids):
                return []
            found += new
            before = before + ids
        return found

    def _listed(self, before: list[int], token: int) -> list[float]:
        """The log-probability of one token as the next, out of the most probable ones, else out of all; empty if it is in neither."""
        for most in LISTED:
            answer = self.post("/completion", listing(before, most))
            if found := [float(p["logprob"]) for p in next_ones(answer) if p["id"] == token]:
                return found[:1]
        return []

    def start(self) -> list["Token"]:
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


def listing(before: list[int], most: int) -> dict[str, Any]:
    """The request for the `most` most probable next tokens. What is said itself is a letter, for the list comes with a whole character."""
    return {
        "prompt": before,
        "grammar": "root ::= [a-z]",
        "n_predict": 1,
        "n_probs": most,
        "temperature": 0,
        "cache_prompt": True,
    }


def next_ones(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """The next tokens of an answer to `listing`, each with its id and logprob."""
    said = answer.get("completion_probabilities") or [{}]
    found: list[dict[str, Any]] = said[0].get("top_logprobs") or []
    return found


def read(answer: dict[str, Any], tokens: list[int]) -> list[float]:
    """The log-probability of each token; empty unless the server returned exactly these tokens."""
    found = answer.get("completion_probabilities") or []
    if [p.get("id") for p in found] != list(tokens):
        return []
    return [float(p["logprob"]) for p in found]


@lru_cache(maxsize=1)
def _client() -> httpx.Client:
    return httpx.Client(timeout=TIMEOUT_S)
