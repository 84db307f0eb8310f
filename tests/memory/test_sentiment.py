"""Sentiment of what was said: defined for every text, whatever came before it."""

from datetime import UTC, datetime

import pytest

from memory.measures import sentiment
from memory.measures.scorer import Context
from memory.policy import Exchange

CONTEXT = Context("", 1, 1, "abcdefghjkmn", 2)
TEXTS = [
    "I love this, it is wonderful!",
    "I hate it, it was terrible.",
    "The table has four legs.",
    "",
    " ",
    "a",
    "🙂",
    "今日は楽しかった",
    "so good " * 2000,
]


def said(user: str) -> Exchange:
    return Exchange(1, 2, "How are you?", user, datetime(2026, 3, 1, tzinfo=UTC))


@pytest.mark.parametrize("scorer", sentiment.scorers_for("scripted/hash"), ids=lambda scorer: scorer.id)
def test_every_text_has_a_sign_whatever_the_order(scorer, script, db):
    there = [scorer.score(said(text), CONTEXT) for text in TEXTS]
    back = [scorer.score(said(text), CONTEXT) for text in reversed(TEXTS)]
    assert there == back[::-1]
    assert {score.value for score in there} <= {-1.0, 0.0, 1.0}
    assert [score.fallback for score in there] == [not text.strip() for text in TEXTS]


def test_vader_tells_love_from_hate():
    (vader,) = sentiment.scorers_for(names=["vader"])
    assert [vader.score(said(text), CONTEXT).value for text in TEXTS[:3]] == [1.0, -1.0, 0.0]


def test_a_name_that_no_scorer_has_is_refused_with_the_names_there_are():
    with pytest.raises(sentiment.UnknownScorer, match="vader, valence_ridge"):
        sentiment.scorers_for(names=["vadr"])
