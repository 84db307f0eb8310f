"""Log-probabilities of given text without a model, in the shape of llama.cpp's `/tokenize` and `/completion`.

A token is a word with the space before it. A word is more probable when it is short and when the text before it already
holds it; the rest is fixed by its hash. That is enough for perplexities that vary from text to text and never change.
"""

import re
from typing import Any
from zlib import crc32

VOCABULARY = 49_152
START = "<start>"  # stands before a text that nothing precedes
_PIECE = re.compile(r"\s*\S+|\s+$")
_FORCED = re.compile(r"<\[(\d+)\]>")


def tokenize(text: str) -> list[int]:
    """One token id per word."""
    return [_id(piece) for piece in _PIECE.findall(text)]


def _id(piece: str) -> int:
    return crc32(piece.strip().lower().encode()) % VOCABULARY


def log_probability(token: int, before: set[int]) -> float:
    """Natural logarithm, from about -9 to -0.5; `before`: the ids that the text already holds."""
    surprise = 1.5 + 7.0 * ((token * 2_654_435_761) % 1000) / 1000
    return -(surprise * 0.4 if token in before else surprise)


def complete(request: dict[str, Any]) -> dict[str, Any]:
    """The answer to `/completion`: the token ids that the request's grammar forces, each with its log-probability.

    A request without a grammar of token ids gets one token of its own.
    """
    prompt = request.get("prompt", "")
    seen = set(prompt) if isinstance(prompt, list) else set(tokenize(str(prompt)))
    prompt_size = len(seen)
    ids = [int(i) for i in _FORCED.findall(str(request.get("grammar", "")))] or [crc32(str(prompt).encode()) % VOCABULARY]
    limit = int(request.get("n_predict", -1))
    ids = ids[:limit] if limit >= 0 else ids
    probabilities = []
    for token in ids:
        value = log_probability(token, seen)
        seen.add(token)
        entry = {"id": token, "token": f"<{token}>", "bytes": [], "logprob": value}
        probabilities.append({**entry, "top_logprobs": [entry]})
    return {
        "content": "".join(f"<{token}>" for token in ids),
        "tokens": ids,
        "completion_probabilities": probabilities,
        "tokens_predicted": len(ids),
        "tokens_evaluated": prompt_size,
        "model": "script",
        "stop": True,
        "stop_type": "limit",
    }
