"""The scorers: what they measure, and what they say when they cannot."""

import math
from datetime import UTC, datetime

import numpy as np
import pytest

from memory import calibration
from memory.measures import arousal, arousal_training, perplexity
from memory.measures.arousal_training import Split
from memory.measures.importance import read_number
from memory.measures.perplexity import ServerPerplexity
from memory.measures.scorer import Context
from memory.policy import Exchange, Scale
from studyplatform.llm.streaming import ModelFailed
from studyplatform.scripted import likelihood

AT = datetime(2026, 3, 1, tzinfo=UTC)
CONTEXT = Context("", 1, 1, "abcdefghjkmn", 2)


def said(user: str, bot: str = "How are you?") -> Exchange:
    return Exchange(1, 2, bot, user, AT)


@pytest.mark.parametrize(
    ("answer", "number"),
    [("7", 7), ("I would say 8 out of 10", 8), ('{"importance": 10}', 10), ("Importance: 3.", 3), ("100 or 4", 4), ("6.5", 6.5)],
)
def test_the_first_number_from_one_to_ten_counts(answer, number):
    assert read_number(answer) == number


@pytest.mark.parametrize("answer", ["", "high", "0", "11", "2024", "-"])
def test_an_answer_without_such_a_number_is_refused(answer):
    with pytest.raises(ValueError):
        read_number(answer)


def test_perplexity_is_the_inverse_geometric_mean_of_the_probabilities():
    assert perplexity.perplexity([math.log(1 / 100)] * 3) == pytest.approx(100)
    assert perplexity.perplexity([math.log(0.5), math.log(0.125)]) == pytest.approx(4)


def test_the_perplexity_server_is_made_to_say_the_participants_words(script):
    scorer = ServerPerplexity("scripted/script", Scale(400, 1000))
    usual, rare = scorer.score(said("and so it goes"), CONTEXT), scorer.score(said("zyzzyva quokka"), CONTEXT)
    assert usual.value != rare.value
    assert not usual.fallback
    assert scorer.score(said("and so it goes"), CONTEXT) == usual


def test_words_that_the_bot_said_before_surprise_less(script):
    scorer = ServerPerplexity("scripted/script", None)
    assert scorer.score(said("my quokka", bot="my quokka"), CONTEXT).value < scorer.score(said("my quokka", bot=""), CONTEXT).value


def test_after_an_empty_bot_text_the_words_follow_the_start_token(script):
    found = ServerPerplexity("scripted/script", Scale(400, 1000)).score(said("my quokka", bot=""), CONTEXT)
    start, words = likelihood.tokenize(likelihood.START), likelihood.tokenize("my quokka")
    answer = likelihood.complete(perplexity.forced(start, words))
    assert not found.fallback
    assert found.value == perplexity.perplexity(perplexity.read(answer, words))


def test_a_text_without_tokens_counts_as_the_cap_and_says_so(script):
    found = ServerPerplexity("scripted/script", Scale(400, 1000)).score(said(""), CONTEXT)
    assert (found.value, found.fallback) == (400, True)


def test_a_scale_cuts_at_the_95th_percentile_and_brings_the_term_to_the_mean_of_arousals():
    values = [*range(1, 100), 100_000]
    scale = calibration.perplexity_scale(values)
    capped = [min(v, scale.cap) for v in values]
    assert scale.cap == round(float(np.percentile(values, 95)), 1) < 100
    assert 2.8709762924617905 * float(np.mean(capped)) / scale.divisor == pytest.approx(0.304, abs=1e-3)
    low, high = calibration.cap_interval(values, seed=1)
    assert low < scale.cap < high


def test_a_threshold_is_judged_by_what_is_recalled_over_it():
    best = [(0.9, True), (0.8, False), (0.4, True), (0.1, False)]
    found = calibration.band(best, 0.8)
    assert (found.recalled, found.precision, found.recall) == (0.5, 0.5, 0.25)
    assert calibration.band(best, 0.95).f1 == 0
    thresholds = calibration.reply_thresholds([(n / 1000, True) for n in range(1000)])
    assert thresholds == {"reply": pytest.approx(0.274, abs=2e-3), "reply_reference": pytest.approx(0.1, abs=2e-3)}


def test_an_emoji_is_measured_by_its_name_and_stored_as_it_is(script):
    for scorer in (arousal.RidgeArousal("scripted/hash"), ServerPerplexity("scripted/script", Scale(400, 1000))):
        assert scorer.score(said("I won 🎉"), CONTEXT) == scorer.score(said("I won :party_popper:"), CONTEXT)
        assert scorer.score(said("I won 🎉"), CONTEXT) != scorer.score(said("I won 😭"), CONTEXT)


def test_a_server_that_is_down_is_not_a_measure(script):
    script.fail("server_error", endpoint="completion")
    with pytest.raises(ModelFailed):
        ServerPerplexity("scripted/script", None).score(said("hello there"), CONTEXT)


def test_probabilities_of_other_tokens_are_not_taken():
    answer = {"completion_probabilities": [{"id": 5, "logprob": -1.0}]}
    assert perplexity.read(answer, [5]) == [-1.0]
    assert perplexity.read(answer, [6]) == []
    assert perplexity.read(answer, [5, 6]) == []


def test_arousal_stays_on_its_scale_and_shouting_is_more_aroused_than_murmuring(script):
    scorer = arousal.RidgeArousal("scripted/hash")
    loud, quiet = scorer.score(said("WOW!!! I LOVE IT SO MUCH!!!"), CONTEXT), scorer.score(said("I sat and read."), CONTEXT)
    assert 1 <= quiet.value < loud.value <= 5


def test_a_text_without_words_has_the_mean_arousal_and_says_so(script):
    found = arousal.RidgeArousal("scripted/hash").score(said("  "), CONTEXT)
    assert found.fallback
    assert found.value == pytest.approx(3.04, abs=0.02)


@pytest.mark.parametrize("encoder", ["local/minilm", "scripted/hash"])
def test_the_committed_weights_fit_the_features_of_today(encoder):
    trained = arousal.weights(encoder)
    assert trained.coefficients.shape == (384 + len(arousal.surface("A text.")),)


def test_training_finds_weights_that_were_put_in():
    chance = np.random.default_rng(7)
    truth = chance.normal(size=12)

    def part(n: int) -> Split:
        design = chance.normal(size=(n, 12))
        return Split(design, 3 + design @ truth + chance.normal(scale=0.1, size=n))

    fit = arousal_training.fit(part(400), part(100), part(100))
    assert fit.coefficients == pytest.approx(truth, abs=0.1)
    assert fit.test_r > 0.99
    assert fit.mean == pytest.approx(3, abs=0.5)
