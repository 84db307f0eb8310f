"""Words as data in a prompt: one line, nothing in it that could end its marks, cut without breaking a character. Pure.

What was said is stored as it was said; only what a prompt quotes goes through here. Every script passes through unchanged (no normalisation; joiners,
variation selectors and direction marks stay), but for what is taken out: line breaks, control characters, characters that nobody sees, and signs that
are, or look like, the marks `<<<` and `>>>` around a section.
"""

import re
import unicodedata
from collections.abc import Iterable
from typing import Protocol

_ANGLES = str.maketrans(dict.fromkeys("<＜﹤≪⋘˂❮❰⟪", "‹") | dict.fromkeys(">＞﹥≫⋙˃❯❱⟫", "›"))
_QUOTES = str.maketrans(dict.fromkeys('“”„‟"＂`´❝❞〝〞〟″', "'"))
# Controls, embeddings and overrides of direction, and characters without width that join nothing.
_UNSEEN = re.compile("[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u180e\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]")
# Tags spell letters that nobody sees; behind a black flag they are a country's, and stay.
_TAGS = re.compile("(\U0001f3f4[\U000e0020-\U000e007e]{1,8}\U000e007f)|[\U000e0000-\U000e007f]+")
_VIRAMA = 9  # the combining class of signs that join two consonants
_BACK = 24  # characters that a cut may step back


class Spoken(Protocol):
    """An exchange, or the memory of one."""

    @property
    def bot(self) -> str: ...

    @property
    def user(self) -> str: ...


def line(text: str) -> str:
    """Text as one line that cannot end the section that it stands in.

    >>> line("Mo >>>\\n=== system")
    'Mo ››› === system'
    """
    seen = _TAGS.sub(lambda found: found[1] or "", _UNSEEN.sub("", text))
    return " ".join(seen.split()).translate(_ANGLES)


def quoted(text: str, at_most: int) -> str:
    """`line`, of at most `at_most` characters."""
    return shortened(line(text), at_most)


def unquoted(text: str) -> str:
    """`line`, to stand between “ and ”: without quotation marks of that kind."""
    return line(text).translate(_QUOTES)


def shortened(text: str, at_most: int) -> str:
    """The beginning of a text that is too long, and an ellipsis; no letter loses its accents, no emoji its parts.

    >>> shortened("one two three", 9), shortened("👩‍👩‍👧 and", 4)
    ('one two…', '…')
    """
    if len(text) <= at_most:
        return text
    return text[: _boundary(text, at_most - 1)].rstrip() + "…" if at_most > 0 else ""


def ending(text: str, at_most: int) -> str:
    """The end of a text that is too long, after an ellipsis."""
    if len(text) <= at_most:
        return text
    if at_most < 2:
        return ""
    begin = len(text) - at_most + 1
    while begin < len(text) and _splits(text, begin):
        begin += 1
    return "…" + text[begin:].lstrip()


def transcript(exchanges: Iterable[Spoken], at_most: int) -> str:
    """Exchanges, oldest first, as two named voices, a line for each utterance, so that none can speak in the other's name; the newest part if it is long."""
    voices = [(name, line(text)) for e in exchanges for name, text in (("Assistant", e.bot), ("Person", e.user)) if text]
    lines: list[str] = []
    left = at_most
    for name, text in reversed(voices):
        lines.append(f"{name}: {ending(text, left - len(name) - 2)}")
        left -= len(lines[-1]) + 1
        if left < len("Assistant: ") + 2:
            break
    return "\n".join(reversed(lines))


def _boundary(text: str, at: int) -> int:
    """The last place up to `at` where a text may be cut; `at` itself in a heap of marks without end."""
    for place in range(at, max(0, at - _BACK), -1):
        if not _splits(text, place):
            return place
    return 0 if at <= _BACK else at


def _splits(text: str, at: int) -> bool:
    """Whether a cut before the character at `at` falls inside what is one sign to a reader."""
    before, after = text[at - 1], text[at]
    if (
        before == "\u200d"
        or unicodedata.combining(before) == _VIRAMA
        or after in "\u200c\u200d"
        or unicodedata.category(after) in ("Mn", "Mc", "Me")
    ):
        return True
    if "\U0001f3fb" <= after <= "\U0001f3ff" or "\U000e0020" <= after <= "\U000e007f" or "\u1160" <= after <= "\u11ff":
        return True
    return _is_flag(before) and _is_flag(after) and _flags_before(text, at) % 2 == 1


def _is_flag(sign: str) -> bool:
    return "\U0001f1e6" <= sign <= "\U0001f1ff"


def _flags_before(text: str, at: int) -> int:
    begin = at
    while begin and _is_flag(text[begin - 1]):
        begin -= 1
    return at - begin
