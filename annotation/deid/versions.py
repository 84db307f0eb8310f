"""Hashes of a transcript's text: of the originals, and of each de-identified version."""

from collections.abc import Iterable
from hashlib import sha256

from chat.models import Turn

Line = tuple[int, str, str]
"""seq, role, text"""


def hash_of(lines: Iterable[Line]) -> str:
    """SHA-256 over the lines in order of seq: every field is preceded by its length in bytes, so that no two texts run into one another."""
    digest = sha256()
    for seq, role, text in sorted(lines):
        for field in (str(seq), role, text):
            raw = field.encode("utf-8", "surrogatepass")
            digest.update(f"{len(raw)}:".encode())
            digest.update(raw)
    return digest.hexdigest()


def originals(session_id: int) -> list[Line]:
    """The session's finished utterances as they were said, in order."""
    turns = Turn.objects.filter(session_id=session_id, state=Turn.State.DONE, seq__isnull=False).order_by("seq")
    return [(seq, role, text) for seq, role, text in turns.values_list("seq", "role", "text") if seq is not None]
