"""How fast a reply appears: a floor under the first character and a steady reveal, the same in every arm. Pure.

Recall costs differ between memory systems; without these two, the waiting time alone would tell them apart.
All times in ms from the ack.
"""


def begins_at(first_token_ms: float, floor_ms: float) -> float:
    """When the first character may appear."""
    return max(first_token_ms, floor_ms)


def revealed(now_ms: float, *, begins_ms: float, pace: float | None, length: int) -> int:
    """How many of `length` characters may show at `now_ms`; `pace` in characters per second, None: all at once."""
    if now_ms < begins_ms:
        return 0
    if pace is None:
        return length
    return min(length, 1 + int((now_ms - begins_ms) / 1000 * pace))


def whole_at(*, begins_ms: float, pace: float | None, length: int) -> float:
    """When all of `length` characters may show."""
    return begins_ms if pace is None else begins_ms + max(0, length - 1) / pace * 1000
