"""Sentiment of what the participant said: +1 positive, 0 neutral, −1 negative; one scorer per name, each stored under a name of its own.

A scorer finds a polarity from −1 to +1; beyond ±0.05 it counts as positive or negative (the convention of VADER's authors, used for all
scorers that give a number).
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING

from memory import encoders
from memory.measures import arousal
from memory.measures.scorer import Context, Score, Scorer, in_words
from memory.policy import Exchange

if TYPE_CHECKING:
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

NEUTRAL = 0.05  # polarities within ± this are neutral
DEFAULT = ("vader", "valence_ridge")


class UnknownScorer(ValueError):
    """There is no sentiment scorer of that name; the message lists those there are."""


class Vader(Scorer):
    """The lexicon of Hutto and Gilbert (2014), English. A text without a word of the lexicon is neutral; an empty one too, marked as a fallback."""

    measure = "sentiment_vader"

    def __init__(self) -> None:
        self.id = "vader"
        self.version = f"1:vaderSentiment {version('vaderSentiment')}"

    def score(self, exchange: Exchange, context: Context) -> Score:
        if not exchange.user.strip():
            return Score(0.0, fallback=True)
        return Score(sign(_vader().polarity_scores(exchange.user)["compound"]))  # type: ignore[no-untyped-call]  # ships no types


class ValenceRidge(Scorer):
    """EmoBank's valence by the same ridge as arousal; 3 of 1 to 5 is neutral. An empty text is neutral, marked as a fallback."""

    measure = "sentiment_valence_ridge"

    def __init__(self, encoder: str = "local/minilm") -> None:
        self.id = "valence_ridge"
        self.version = f"1:{encoder}"
        self._encoder = encoder

    def score(self, exchange: Exchange, context: Context) -> Score:
        if not exchange.user.strip():
            return Score(0.0, fallback=True)
        said = in_words(exchange.user)
        vectors = encoders.get(self._encoder).embed([said])
        valence = float(arousal.predict(arousal.weights(self._encoder, "valence"), vectors, [said])[0])
        return Score(sign((valence - 3.0) / 2.0))


SCORERS: dict[str, Callable[[str], Scorer]] = {"vader": lambda encoder: Vader(), "valence_ridge": ValenceRidge}


def scorers_for(encoder: str = "local/minilm", names: Sequence[str] = DEFAULT) -> tuple[Scorer, ...]:
    """The sentiment scorers of these names, in their order. `encoder`: whose embeddings the ridge reads ("scripted/hash" in a simulated study).

    Raises:
        UnknownScorer: a name that no scorer has.
    """
    unknown = [name for name in names if name not in SCORERS]
    if unknown:
        raise UnknownScorer(f"There is no sentiment scorer {', '.join(unknown)}. There are: {', '.join(SCORERS)}.")
    return tuple(SCORERS[name](encoder) for name in names)


def sign(polarity: float) -> float:
    """+1, 0 or −1.

    >>> sign(0.3), sign(0.05), sign(-0.6)
    (1.0, 0.0, -1.0)
    """
    return float(polarity > NEUTRAL) - float(polarity < -NEUTRAL)


@lru_cache(maxsize=1)
def _vader() -> "SentimentIntensityAnalyzer":
    """Loaded once per process: reading the lexicon takes longer than scoring a text."""
    from vaderSentiment.vaderSentiment import SentimentIntensityAnalyzer

    return SentimentIntensityAnalyzer()  # type: ignore[no-untyped-call]  # ships no types
