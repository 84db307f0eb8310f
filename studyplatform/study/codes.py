"""Random public codes: what a page, an address or a frame may show instead of a database id."""

import secrets

# Without look-alikes (0 o, 1 l i), so that a code can be read out on the telephone.
ALPHABET = "23456789abcdefghjkmnpqrstuvwxyz"


def code12() -> str:
    """Twelve characters, 59 bits: not guessable, unique in practice (and by constraint)."""
    return "".join(secrets.choice(ALPHABET) for _ in range(12))


def code4() -> str:
    """Four characters, for the opaque name of a condition within one study."""
    return "".join(secrets.choice(ALPHABET) for _ in range(4))


def code8() -> str:
    """Eight characters, for a study in the address that its participants share."""
    return "".join(secrets.choice(ALPHABET) for _ in range(8))
