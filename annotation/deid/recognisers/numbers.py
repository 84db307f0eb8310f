"""Addresses on the net and numbers: e-mail, handles, links, telephone, social security, records, accounts."""

import re
from collections.abc import Iterator

from annotation.deid.recognisers.found import Found, matches

ANY_CASE = re.IGNORECASE
EMAIL = re.compile(
    r"(?<![\w.+-])[\w.+-]+(?:@| ?\(at\) ?| \[at\] )[\w-]+(?:(?:\.| ?\(dot\) ?| \[dot\] )[\w-]+)*(?:\.| ?\(dot\) ?| \[dot\] )[a-z]{2,}",
    ANY_CASE,
)
HANDLE = re.compile(r"(?<![\w.@/+-])@[\w][\w.]{1,29}(?<![.])")
HANDLE_SAID = re.compile(
    r"\b(?:user ?name|nick(?:name)?|gamer ?tag|handle|insta(?:gram)?|ig|snap(?:chat)?|discord|tiktok|twitter|telegram|steam|psn)\b"
    r"(?: (?:is|name|handle|account|user))*[ :=]+(?!(?:is|me|and|or|on|but|it|the|a|my)\b)(?P<it>[a-z0-9](?:[\w.]*[\d_A-Z.][\w.]*|[\w]{5,})(?:#\d{4})?)",
    ANY_CASE,
)
CAMEL = re.compile(r"(?<!\w)(?:xX\w+Xx|[A-Za-z]+_\w*\d\w*|[A-Za-z]{3,}\d{2,}[A-Za-z_]*|\w{2,}#\d{4})(?!\w)")
URL = re.compile(
    r"(?:https?://|www\.)[^\s<>\"')\]]+[^\s<>\"')\].,!?]|(?<![\w@.])[a-z0-9-]+\.(?:com|org|net|io|me|co\.uk|de|jp)/[^\s<>\"')\]]+[^\s<>\"')\].,!?]",
    ANY_CASE,
)
SSN = re.compile(r"(?<![\d-])(?!000|666|9)\d{3}[- ](?!00)\d{2}[- ](?!0000)\d{4}(?![\d-])")
SSN_SAID = re.compile(
    r"\b(?:social(?: security)?(?: (?:number|no\.?|num|#))?|ssn)\b\D{0,15}(?P<it>\d{3}[- ]?\d{2}[- ]?\d{4})(?!\d)", ANY_CASE
)
PHONE = re.compile(r"(?<![\w.])(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,5}\)|\d{2,5})[ .-]?\d{2,4}[ .-]?\d{3,4}(?:[ .-]?\d{2,4})?(?!\w)")
RECORD = re.compile(
    r"\b(?:mrn|medical record|patient (?:id|no|number)|case|policy|passport|licen[cs]e|plate|student (?:id|no|number)|employee (?:id|no|number)|"
    r"member(?:ship)? (?:id|no|number)|account|acct|booking|reference|ref|order|nhs|id|badge|tax|insurance)\b"
    r"(?: (?:number|num|no\.?|id|is|was|code|#|plate))*[ :#]*(?P<it>(?=[A-Z0-9-]*\d{2})[A-Z0-9][A-Z0-9-]{3,19})(?!\w)",
    ANY_CASE,
)
CARD = re.compile(r"(?<!\d)(?:\d[ -]?){12,18}\d(?!\d)")
IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b")
IP = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")


def phones(text: str) -> Iterator[Found]:
    """Seven to fifteen digits in groups; not a date, not an amount."""
    for match in PHONE.finditer(text):
        digits = sum(c.isdigit() for c in match[0])
        if 7 <= digits <= 15 and not re.fullmatch(r"\d{4}[.-]\d{2}[.-]\d{2}|\d{1,2}[.-]\d{1,2}[.-]\d{4}", match[0]):
            yield Found(match.start(), match.end(), "phone", "telephone numbers", 0.6)


def cards(text: str) -> Iterator[Found]:
    """Payment cards: 13 to 19 digits that pass Luhn's check."""
    for match in CARD.finditer(text):
        digits = [int(c) for c in match[0] if c.isdigit()][::-1]
        if sum(d if i % 2 == 0 else sum(divmod(2 * d, 10)) for i, d in enumerate(digits)) % 10 == 0:
            yield Found(match.start(), match.end(), "account", "payment cards", 0.95)


RECOGNISERS = (
    matches(EMAIL, "email", "e-mail addresses", 0.98),
    matches(HANDLE, "handle", "handles", 0.9),
    matches(HANDLE_SAID, "handle", "user names after their word", 0.85, "it"),
    matches(CAMEL, "handle", "user names by their shape", 0.55),
    matches(URL, "url", "links", 0.95),
    matches(SSN, "ssn", "social security numbers", 0.9),
    matches(SSN_SAID, "ssn", "social security numbers after their word", 0.97, "it"),
    matches(RECORD, "record", "record numbers after their word", 0.92, "it"),
    matches(IBAN, "account", "bank accounts", 0.93),
    matches(IP, "url", "network addresses", 0.9),
    phones,
    cards,
)
