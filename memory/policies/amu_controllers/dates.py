"""Words for a day that mean another day when they are read later, written as dates: English and Japanese.

"Tomorrow" in a memory is wrong from the day after; so it is resolved when it is written, against the time and the zone of the turn. What has
no certain meaning ("soon", a bare "on Friday") stays.
"""

import re
from collections.abc import Callable
from datetime import datetime, timedelta

_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December")
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10}
_NUMBERS["a couple of"] = 2
_COUNT = r"(\d{1,3}|" + "|".join(sorted(_NUMBERS, key=len, reverse=True)) + ")"
_WAY = {"last": -1, "this": 0, "next": 1}

Replace = Callable[[re.Match[str], datetime], str]


def resolve(text: str, at: datetime) -> str:
    """The text with its relative dates as dates, seen from `at`, whose zone is the speaker's.

    >>> resolve("The user has an exam tomorrow.", datetime(2026, 3, 2))
    'The user has an exam on 3 March 2026.'
    """
    for pattern, replace in _RULES:
        text = pattern.sub(lambda match, replace=replace: replace(match, at), text)  # type: ignore[misc]  # a default argument binds the loop's value
    return text


def spoken(at: datetime) -> str:
    """A moment for a prompt: weekday, date, time and the zone's offset."""
    return f"{_DAYS[at.weekday()].title()}, {_date(at)}, {at:%H:%M} (UTC{at.strftime('%z')[:3] or '+00'}:{at.strftime('%z')[3:5] or '00'})"


def _date(day: datetime) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def _days(offset: int, phrase: str = "on {}") -> Replace:
    return lambda match, at: phrase.format(_date(at + timedelta(days=offset)))


def _weekday(match: re.Match[str], at: datetime) -> str:
    """The next such day after today; the last before it; "this": the coming one, today included."""
    way, day = match[1].lower(), _DAYS.index(match[2].lower())
    ahead = (day - at.weekday()) % 7
    offset = {"next": ahead or 7, "this": ahead, "last": ahead - 7}[way]
    return f"on {_date(at + timedelta(days=offset))}"


def _period(match: re.Match[str], at: datetime) -> str:
    way, what = _WAY[match[1].lower()], match[2].lower()
    monday = at - timedelta(days=at.weekday())
    if what == "week":
        return f"in the week of {_date(monday + timedelta(days=7 * way))}"
    if what == "weekend":
        return f"on the weekend of {_date(monday + timedelta(days=7 * way + 5))}"
    if what == "month":
        return f"in {_month(at, way)}"
    return f"in {at.year + way}"


def _month(at: datetime, ahead: int) -> str:
    number = at.year * 12 + at.month - 1 + ahead
    return f"{_MONTHS[number % 12]} {number // 12}"


def _from_now(match: re.Match[str], at: datetime) -> str:
    return _distance(_number(match[1]), match[2], at)


def _ago(match: re.Match[str], at: datetime) -> str:
    return _distance(-_number(match[1]), match[2], at)


def _number(word: str) -> int:
    return int(word) if word.isdigit() else _NUMBERS[word.lower()]


def _distance(count: int, unit: str, at: datetime) -> str:
    match unit.lower():
        case "day":
            return f"on {_date(at + timedelta(days=count))}"
        case "week":
            return f"around {_date(at + timedelta(days=7 * count))}"
        case "month":
            return f"in {_month(at, count)}"
        case _:
            return f"in {at.year + count}"


def _japanese(days: int) -> Replace:
    def replace(match: re.Match[str], at: datetime) -> str:
        day = at + timedelta(days=days)
        return f"{day.year}年{day.month}月{day.day}日"

    return replace


def _japanese_month(ahead: int) -> Replace:
    def replace(match: re.Match[str], at: datetime) -> str:
        number = at.year * 12 + at.month - 1 + ahead
        return f"{number // 12}年{number % 12 + 1}月"

    return replace


def _japanese_week(ahead: int) -> Replace:
    def replace(match: re.Match[str], at: datetime) -> str:
        monday = at - timedelta(days=at.weekday()) + timedelta(days=7 * ahead)
        return f"{monday.year}年{monday.month}月{monday.day}日の週"

    return replace


def _rule(pattern: str, replace: Replace) -> tuple[re.Pattern[str], Replace]:
    return re.compile(pattern, re.IGNORECASE), replace


_RULES = (
    _rule(r"\b(?:the )?day after tomorrow\b", _days(2)),
    _rule(r"\b(?:the )?day before yesterday\b", _days(-2)),
    _rule(r"\btomorrow (morning|afternoon|evening|night)\b", lambda m, at: f"in the {m[1].lower()} of {_date(at + timedelta(days=1))}"),
    _rule(r"\byesterday (morning|afternoon|evening)\b", lambda m, at: f"in the {m[1].lower()} of {_date(at - timedelta(days=1))}"),
    _rule(r"\btomorrow\b(?!['’])", _days(1)),
    _rule(r"\byesterday\b(?!['’])", _days(-1)),
    _rule(r"\blast night\b", _days(-1, "in the night of {}")),
    _rule(r"\btonight\b", _days(0, "in the evening of {}")),
    _rule(r"\bthis (morning|afternoon|evening)\b", lambda m, at: f"in the {m[1].lower()} of {_date(at)}"),
    _rule(r"\btoday\b(?!['’])", _days(0)),
    _rule(rf"\b(?:on )?(last|this|next) ({'|'.join(_DAYS)})\b(?!['’])", _weekday),
    _rule(r"\b(?:in |on |at )?(last|this|next) (weekend|week|month|year)\b(?!['’])", _period),
    _rule(rf"\bin {_COUNT} (day|week|month|year)s?(?: from now|['’] time)?\b", _from_now),
    _rule(rf"\b{_COUNT} (day|week|month|year)s? ago\b", _ago),
    _rule("明後日|あさって", _japanese(2)),
    _rule("明日|あした", _japanese(1)),
    _rule("一昨日|おととい", _japanese(-2)),
    _rule("昨日|きのう", _japanese(-1)),
    _rule("今日(?!は[、。!！]?$)", _japanese(0)),
    _rule("来週", _japanese_week(1)),
    _rule("先週", _japanese_week(-1)),
    _rule("来月", _japanese_month(1)),
    _rule("先月", _japanese_month(-1)),
    _rule("来年", lambda m, at: f"{at.year + 1}年"),
    _rule("去年|昨年", lambda m, at: f"{at.year - 1}年"),
)
