"""What models say, as the database can hold it."""

import re

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_NULL_ESCAPE = re.compile(r"(?<!\\)((?:\\\\)*)\\u0000")


def storable(text: str) -> str:
    """U+0000 and halves of surrogate pairs are no text to Postgres: each becomes U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def storable_json(text: str) -> str:
    """JSON in which no string holds an escaped U+0000."""
    return _NULL_ESCAPE.sub(r"\1\\ufffd", text)
