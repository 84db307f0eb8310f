"""Search by words, worked by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.lexical import bm25, fused, terms


def test_a_score_is_okapis_by_hand():
    scores = bm25("green tea", ["green tea please", "tea", "a dog"])
    idf_green, idf_tea = math.log(1 + 2.5 / 1.5), math.log(1 + 1.5 / 2.5)

    def norm(length: int) -> float:
        return 1.2 * (0.25 + 0.75 * length / 2)

    assert scores == pytest.approx([(idf_green + idf_tea) * 2.2 / (1 + norm(3)), idf_tea * 2.2 / (1 + norm(1)), 0.0])


def test_a_word_in_every_text_never_counts_against_one():
    assert (bm25("the", ["the dog", "the cat"]) > 0).all()


@pytest.mark.parametrize("query", ["", "?!", "word"])
def test_nothing_in_common_scores_nothing(query):
    assert bm25(query, ["other text", ""]).tolist() == [0.0, 0.0]
    assert bm25(query, []).shape == (0,)


def test_a_script_without_spaces_is_found_by_neighbouring_characters():
    scores = bm25("東京", ["先週、東京へ行った", "京都が好き"])
    assert scores[0] > 0
    assert scores[1] == 0
    assert terms("東") == ["東"]


def test_case_and_apostrophes_make_no_difference():
    assert terms("DOG’s") == terms("dog's")


def test_fusion_prefers_what_both_put_high():
    assert fused([3, 1, 2], [1, 2, 3])[0] == 1
    assert fused([5]) == [5]
    assert fused() == []


@given(st.permutations(range(7)), st.permutations(range(7)))
def test_fusion_keeps_every_item_once(one, other):
    assert sorted(fused(one, other)) == list(range(7))


@given(st.text(), st.lists(st.text(), max_size=5))
def test_any_text_can_be_searched(query, texts):
    scores = bm25(query, texts)
    assert np.isfinite(scores).all()
    assert (scores >= 0).all()
