"""Why something happened to a memory, in words: every term of a decision as a sentence and as a line of a table. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memory.history import Happened

# How a term of a score is called, and the measure or count that it is made of.
TERMS = {
    "arousal_term": "arousal",
    "importance_term": "judged importance",
    "perplexity_term": "surprise of the wording",
    "r1_term": "recalled and used",
    "r2_term": "recalled, not used",
}
FACTORS = {
    "personal": "about the person",
    "aspect": "a known aspect",
    "intent": "a known intent",
    "entities": "names something",
    "summary": "has a summary",
    "confidence": "confidence",
}
WORDS = {
    "stored": "stored",
    "fused": "stored, fused with what it updates",
    "superseded": "replaced",
    "discarded": "not stored: it repeats another memory",
    "filtered": "not stored",
    "erred": "not stored: the write failed",
    "forked": "counts taken over from the shared session",
    "used": "recalled and used",
    "passed_over": "recalled, not used",
    "nothing": "nothing recalled",
    "kept": "kept",
    "forgotten": "forgotten",
    "corrected": "taken out: the participant corrected the words",
    "deleted": "taken out by the participant",
    "muted": "not to be brought up, says the participant",
    "unmuted": "may be brought up again, says the participant",
    "restored": "the participant undid the deletion",
}


@dataclass(frozen=True)
class Line:
    """One addend of a score: what it is called, and what it adds."""

    name: str
    adds: float


@dataclass(frozen=True)
class Explanation:
    """`title`: what happened; `sentences`: why; `lines`: the addends of the strength, largest first; `total`: their sum, after the floor."""

    title: str
    sentences: tuple[str, ...]
    lines: tuple[Line, ...] = ()
    total: float | None = None


def explain(event: Happened, beside: Iterable[Happened] = ()) -> Explanation:
    """One event in words. `beside`: the events of the same turn or close, from which places and rivals are counted."""
    made = {
        "kept": _verdict, "forgotten": _verdict, "used": _recall, "passed_over": _recall, "nothing": _nothing, "stored": _stored,
        "fused": _fused, "superseded": _superseded, "discarded": _discarded, "filtered": _filtered, "erred": _filtered, "forked": _forked,
        "corrected": _taken, "deleted": _taken,
    }.get(event.what)  # fmt: skip
    sentences = made(event, list(beside)) if made else ()
    terms = _terms(event.why)
    total = terms.get("strength")
    return Explanation(WORDS.get(event.what, event.what), tuple(sentences), lines(terms), total)


def sentence(event: Happened, beside: Iterable[Happened] = ()) -> str:
    """The whole explanation in one line.

    >>> from datetime import datetime
    >>> terms = {"arousal_term": 0.94, "r1_term": 0.65, "strength": 1.59, "dt": 1, "importance": 0.533}
    >>> why = {"rank": 3, "of": 41, "score": 0.533, "terms": terms}
    >>> sentence(Happened(1, 2, 0, "kept", 7, why, datetime(2026, 11, 14)))
    'kept: rank 3 of 41, importance .533 at strength 1.59 = arousal .94 + recalled and used .65'
    """
    found = explain(event, beside)
    return f"{found.title}: {'; '.join(found.sentences)}" if found.sentences else found.title


def lines(terms: Mapping[str, float]) -> tuple[Line, ...]:
    """The addends of a strength, largest first; those that add nothing are left out."""
    found = [Line(TERMS[name], float(value)) for name, value in terms.items() if name in TERMS and value]
    return tuple(sorted(found, key=lambda line: -abs(line.adds)))


def number(value: float) -> str:
    """A number as the papers write it.

    >>> number(0.5333), number(-1.2), number(3), number(0.004)
    ('.533', '−1.2', '3', '.004')
    """
    shown = f"{abs(value):.3f}".rstrip("0").rstrip(".") or "0"
    shown = shown[1:] if shown.startswith("0.") else shown
    return f"−{shown}" if value < 0 and shown != "0" else shown


def _terms(why: Mapping[str, Any]) -> Mapping[str, float]:
    found: Mapping[str, float] = why.get("terms", {})
    return found


def _sum(terms: Mapping[str, float]) -> str:
    parts = lines(terms)
    text = " ".join(f"{'+' if p.adds >= 0 else '−'} {p.name} {number(abs(p.adds))}" for p in parts)
    return text.removeprefix("+ ")


def _verdict(event: Happened, beside: Sequence[Happened]) -> list[str]:
    why, terms = event.why, _terms(event.why)
    if not why:
        return []
    judged = [e for e in beside if e.what in ("kept", "forgotten")]
    places = sum(e.what == "kept" for e in judged)
    said = [f"rank {why['rank']} of {why['of']}{_at(terms)}"]
    if "draw" in terms:
        said.append(f"drawn {number(terms['draw'])} against a chance of {number(terms['retention'])} after {number(terms['days'])} days")
    if terms.get("floored"):
        said.append(f"its strength was raised to the floor of {number(terms['strength'])}")
    if judged and places == len(judged):
        said.append("everything was kept")
    elif judged:
        said.append(f"there {'was 1 place' if places == 1 else f'were {places} places'}")
    return said


def _at(terms: Mapping[str, float]) -> str:
    """, importance .44 at strength 1.59 = arousal .94 + …"""
    if "importance" not in terms or "strength" not in terms:
        return ""
    added = _sum(terms)
    return f", importance {number(terms['importance'])} at strength {number(terms['strength'])}{f' = {added}' if added else ''}"


def _recall(event: Happened, beside: Sequence[Happened]) -> list[str]:
    why, terms = event.why, _terms(event.why)
    if not why:
        return []
    of = f" of {why['candidates']}" if "candidates" in why else ""
    said = [f"rank {why['rank']}{of}"]
    if "score" in terms:
        said[0] += f", score {number(terms['score'])} = similarity {number(why['similarity'])} + bonus {number(terms.get('bonus', 0.0))}"
        said[0] += _at(terms).replace(",", " for", 1)
    else:
        said[0] += f", similarity {number(why['similarity'])}"
    return said + _circumstances(why)


def _circumstances(why: Mapping[str, Any]) -> list[str]:
    said = []
    if why.get("threshold") is not None:
        said.append(f"the threshold was {number(why['threshold'])}")
    if why.get("branch") == "aspect":
        said.append(f"only memories about “{why.get('aspect')}” were looked at")
    if why.get("slot"):
        said.append(f"searched with “{why['slot']}”")
    if why.get("unseen_writes"):
        said.append(f"{why['unseen_writes']} earlier exchanges were not written yet and could not be found")
    return said


def _nothing(event: Happened, beside: Sequence[Happened]) -> list[str]:
    reached = "no memory reached it" if event.why.get("threshold") is not None else "there was nothing to find"
    return [*_circumstances(event.why), reached]


def _gate(why: Mapping[str, Any]) -> list[str]:
    if "gate" not in why:
        return []
    factors = " × ".join(f"{FACTORS.get(k, k)} {number(v)}" for k, v in _terms(why).items())
    return [f"gate {number(why['gate'])} against {number(why.get('admission', 0))} = {factors}"]


def _relations(why: Mapping[str, Any]) -> list[str]:
    found = [f"{r['relation']} of memory {r['memory']} ({number(r['confidence'])})" for r in why.get("relations", ())]
    return [f"compared: {', '.join(found)}"] if found else []


def _stored(event: Happened, beside: Sequence[Happened]) -> list[str]:
    said = ["the session's summary"] if event.why.get("summary") else []
    made = event.why.get("made", {})
    if made.get("instead_of"):
        said.append(f"written anew instead of memory {made['instead_of']}, whose counts it takes over")
    if made.get("muted"):
        said.append("not to be brought up, as the participant said of this turn")
    flags = event.why.get("flags") or []
    return said + _gate(event.why) + _relations(event.why) + ([f"marked {', '.join(flags)}"] if flags else [])


def _fused(event: Happened, beside: Sequence[Happened]) -> list[str]:
    old = [f"memory {pk}" for pk in event.why.get("replaces", ())]
    said = [f"together with {', '.join(old)}"] if old else []
    return said + _gate(event.why) + _relations(event.why)


def _superseded(event: Happened, beside: Sequence[Happened]) -> list[str]:
    if event.why.get("reason"):
        return [str(event.why["reason"])]
    how = "repeated" if event.why.get("archived_as") == "duplicate" else "updated"
    return [f"{how} by memory {event.why['by']}"] if event.why.get("by") else []


def _discarded(event: Happened, beside: Sequence[Happened]) -> list[str]:
    return [*([f"memory {event.memory}"] if event.memory else []), *_gate(event.why), *_relations(event.why)]


def _filtered(event: Happened, beside: Sequence[Happened]) -> list[str]:
    return [*([str(event.why["reason"])] if event.why.get("reason") else []), *_gate(event.why)]


def _forked(event: Happened, beside: Sequence[Happened]) -> list[str]:
    why = event.why
    return (
        [f"used {why.get('r1', 0)} times, passed over {why.get('r2', 0)} times, last in session {why.get('last_recalled')}"] if why else []
    )


def _taken(event: Happened, beside: Sequence[Happened]) -> list[str]:
    return [f"it was {event.why['was']} until then"] if event.why.get("was") else []
