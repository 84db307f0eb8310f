"""How many tokens a request took, by what its endpoint reports."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion


@dataclass(frozen=True)
class Used:
    """`tokens_cached`: of `tokens_in`, those that the server had computed for an earlier request; the rest it prefilled. None: not reported."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_cached: int | None = None


def of(answer: "ChatCompletion") -> Used:
    """From the `usage` of OpenAI's form; where that says nothing about the cache, from llama.cpp's `timings`."""
    told = answer.usage
    details = told.prompt_tokens_details if told else None
    cached = details.cached_tokens if details else None
    if cached is None:
        cached = cached_of_timings((answer.model_extra or {}).get("timings"))
    return Used(told.prompt_tokens if told else None, told.completion_tokens if told else None, cached)


def cached_of_timings(timings: Any) -> int | None:
    """llama.cpp: `cache_n` tokens were in the slot's cache, `prompt_n` were prefilled.

    >>> cached_of_timings({"cache_n": 900, "prompt_n": 40})
    900
    """
    cached = timings.get("cache_n") if isinstance(timings, dict) else None
    return cached if isinstance(cached, int) and cached >= 0 else None
