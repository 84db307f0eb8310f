"""Numbers, days, times and places in words, in the reader's language and zone."""

from datetime import date, datetime
from decimal import Decimal
from zoneinfo import ZoneInfo

from django.utils.formats import date_format
from django.utils.translation import get_language, gettext, gettext_lazy, ngettext, pgettext

from studyplatform.study.config import StudyConfig

_NUMBERS = (
    gettext_lazy("none"), gettext_lazy("one"), gettext_lazy("two"), gettext_lazy("three"), gettext_lazy("four"), gettext_lazy("five"),
    gettext_lazy("six"), gettext_lazy("seven"), gettext_lazy("eight"), gettext_lazy("nine"), gettext_lazy("ten"), gettext_lazy("eleven"),
    gettext_lazy("twelve"), gettext_lazy("thirteen"), gettext_lazy("fourteen"), gettext_lazy("fifteen"), gettext_lazy("sixteen"),
    gettext_lazy("seventeen"), gettext_lazy("eighteen"), gettext_lazy("nineteen"), gettext_lazy("twenty"),
)  # fmt: skip


def number(n: int) -> str:
    """A small number in words, a large one in digits."""
    return str(_NUMBERS[n]) if 0 <= n < len(_NUMBERS) else str(n)


def sentence(text: str) -> str:
    """With a capital at its beginning."""
    return text[:1].upper() + text[1:]


def together(*sentences: str) -> str:
    """Sentences one after the other; Japanese ones stand without a space between them. Empty ones are left out."""
    space = "" if get_language() == "ja" else " "
    return space.join(s for s in sentences if s)


def day_format() -> str:
    # Translators: a date format of Django, as for "Thu 12 November"
    return gettext("D j F")


def moment_format() -> str:
    # Translators: a date format of Django, as for "12 November 2026, 18:05"
    return gettext("j F Y, H:i")


def place(zone: str) -> str:
    """The city of an IANA zone."""
    return zone.rsplit("/", 1)[-1].replace("_", " ")


def day(of: date, today: date) -> str:
    if of == today:
        return gettext("Today")
    if (of - today).days == 1:
        return gettext("Tomorrow")
    return date_format(of, day_format())


def time(at: datetime, zone: ZoneInfo) -> str:
    return at.astimezone(zone).strftime("%H:%M")


def moment(at: datetime, now: datetime, zone: ZoneInfo) -> str:
    """A time within a sentence: "18:00 today", "08:00 tomorrow", "08:00 on Thu 12 November"."""
    local, today = at.astimezone(zone), now.astimezone(zone).date()
    clock = time(at, zone)
    if local.date() == today:
        return gettext("%(time)s today") % {"time": clock}
    if (local.date() - today).days == 1:
        return gettext("%(time)s tomorrow") % {"time": clock}
    return gettext("%(time)s on %(day)s") % {"time": clock, "day": date_format(local.date(), day_format())}


def length(config: StudyConfig) -> str:
    """How long one conversation takes."""
    rules = config.sessions
    parts = []
    if rules.min_minutes:
        minutes = round(rules.min_minutes)
        parts.append(ngettext("About %(n)s minute.", "About %(n)s minutes.", minutes) % {"n": minutes})
    if rules.min_turns > 1:
        parts.append(gettext("At least %(n)s messages of yours.") % {"n": number(rules.min_turns)})
    if rules.questions:
        n = number(rules.questions)
        parts.append(ngettext("Then %(n)s question to write.", "Then %(n)s questions to write.", rules.questions) % {"n": n})
    return together(*parts) or gettext("As long as you like.")


def money(amount: float, currency: str) -> str:
    """An amount with its currency; empty for none."""
    if not amount:
        return ""
    return pgettext("money", "%(amount)s %(currency)s") % {"amount": Decimal(str(amount)).quantize(Decimal("0.01")), "currency": currency}
