"""The floor under the first character and the steady pace."""

from hypothesis import given
from hypothesis import strategies as st

from chat.pacing import begins_at, revealed, whole_at


def test_nothing_shows_before_the_floor_however_fast_the_model_is():
    begins = begins_at(first_token_ms=30, floor_ms=800)
    assert revealed(799, begins_ms=begins, pace=None, length=50) == 0
    assert revealed(800, begins_ms=begins, pace=None, length=50) == 50


def test_a_slow_model_is_not_made_slower():
    assert begins_at(first_token_ms=1200, floor_ms=800) == 1200


def test_ten_characters_a_second_show_ten_more_after_a_second():
    assert revealed(2000, begins_ms=1000, pace=10, length=99) == 11


@given(st.floats(0, 1e5), st.floats(0, 1e4), st.floats(1, 500), st.integers(1, 8000))
def test_at_its_end_everything_shows_and_never_less_than_before(now, begins, pace, length):
    end = whole_at(begins_ms=begins, pace=pace, length=length)
    assert revealed(end + 1, begins_ms=begins, pace=pace, length=length) == length
    assert (
        revealed(now, begins_ms=begins, pace=pace, length=length)
        <= revealed(now + 50, begins_ms=begins, pace=pace, length=length)
        <= length
    )
