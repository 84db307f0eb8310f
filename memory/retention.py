"""How many memories survive a session's end: one rule, shared by the policies that forget."""

from fractions import Fraction
from math import ceil


def keep_count(held: int, session: int, share: float, *, session_slots: bool = True) -> int:
    """ceil(share · held + s − 1), computed in integers, never more than are held.

    `held`: memories in the store, summaries included; `session`: s, the session that just ended. The `s − 1` is one place per
    earlier session's summary; without `session_slots` the rule is the plain share (memory-systems 1.6 and 4, item 0; LUFY,
    reference code; the paper says only "top 10 %").

    >>> [keep_count(n, s, 0.1) for n, s in ((29, 1), (37, 2), (39, 3), (36, 4))]
    [3, 5, 6, 7]
    """
    extra = session - 1 if session_slots else 0
    return min(held, ceil(Fraction(str(share)) * held + extra))
