"""Agreement among readers, worked out by hand."""

import pytest

from memory.benchmark.reading import drawn, fleiss_kappa, percent_agreement


def test_agreement_is_over_all_pairs_of_readers():
    assert percent_agreement([["a", "a", "b"], ["a", "a", "a"]]) == pytest.approx(4 / 6)


def test_kappa_takes_out_what_chance_gives():
    """Labels a: 5 of 8, b: 3 of 8: chance gives (25 + 9) / 64, observed 3/4. Then a: 4 of 6, b: 2 of 6: 20/36 by chance, 1/3 observed."""
    assert fleiss_kappa([["a", "a"], ["b", "b"], ["a", "a"], ["a", "b"]]) == pytest.approx((3 / 4 - (25 + 9) / 64) / (1 - 34 / 64))
    assert fleiss_kappa([["a", "a"], ["a", "b"], ["a", "b"]][:3]) == pytest.approx((1 / 3 - 20 / 36) / (1 - 20 / 36))


def test_one_reader_or_one_label_leaves_kappa_undefined():
    assert percent_agreement([["a"]]) is None
    assert fleiss_kappa([["a", "a"], ["a", "a"]]) is None


def test_the_same_seed_draws_the_same_ids_whatever_their_order():
    ids = [f"t{i}" for i in range(50)]
    assert drawn(ids, 30, "1") == drawn(ids[::-1], 30, "1")
    assert drawn(ids, 30, "1") != drawn(ids, 30, "2")
    assert len(drawn(ids, 30, "1")) == 30
