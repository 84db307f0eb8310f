"""What can be read off the surface of an English sentence: who is meant, what is named, whether it is denied or has changed.

Text without these signs (another script, say) passes through unchanged.
"""

import re

_SENTENCE = re.compile(r"[^.!?。！？\n]+[.!?。！？]*")
_WORD = re.compile(r"[\w'’-]+")
_FIRST_PERSON = re.compile(r"\b(?:i|me|my|mine|we|our|us|i['’](?:m|ve|d|ll))\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|never|nobody|nothing|without|stopped|quit|gave up|used to)\b|n['’]t\b", re.IGNORECASE)
_CHANGE = re.compile(
    r"\b(?:now|no longer|any ?more|instead|switched|changed|moved|stopped|quit|gave up|used to|started|became|actually|recently|these days|finally)\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d+")
_SPEECH = re.compile(r'("[^"]*"|“[^”]*”|„[^“”]*[“”]|«[^»]*»|「[^」]*」|『[^』]*』)')
_SPEAKER_DOES = re.compile(
    r"\bI((?:\s+(?:no longer|always|never|also|just|still|often|now|only|usually|then|even|\w+ly))*)\s+([a-z]+(?:n['’]t)?)\b(?!['’])"
)
_THIRD = (
    (re.compile(r"\bI['’]m\b|\bI am\b", re.IGNORECASE), "the user is"),
    (re.compile(r"\bI['’]ve\b|\bI have\b", re.IGNORECASE), "the user has"),
    (re.compile(r"\bI['’]d\b", re.IGNORECASE), "the user would"),
    (re.compile(r"\bI['’]ll\b", re.IGNORECASE), "the user will"),
    (re.compile(r"\bmyself\b", re.IGNORECASE), "themselves"),
    (re.compile(r"\bmine\b", re.IGNORECASE), "the user's"),
    (re.compile(r"\bmy\b", re.IGNORECASE), "the user's"),
    (re.compile(r"\bme\b", re.IGNORECASE), "the user"),
    (re.compile(r"\bi\b", re.IGNORECASE), "the user"),
)
_UNCHANGED_TEXT = """
was had did went came saw took gave got made said told thought knew felt left kept found lost met paid ran rode rose sang sat slept
spoke spent stood swam taught threw understood woke wore won wrote began bought brought broke built caught chose cut drank drove ate
fell fought flew forgot grew heard held hid hit hurt put quit sold sent set shut dreamt learnt became let read bet led lent meant
can could will would shall should may might must can't couldn't won't wouldn't shouldn't mustn't didn't wasn't hadn't
and or but who at in on to with for of from is as the a than too
"""
_UNCHANGED = frozenset(_UNCHANGED_TEXT.split())
_INFLECTED = {
    "need": "needs",
    "feed": "feeds",
    "do": "does",
    "don't": "doesn't",
    "have": "has",
    "haven't": "hasn't",
    "go": "goes",
    "am": "is",
}
_EMPTY_WORDS_TEXT = """
about after again also always because been being before could does doing done even ever every from getting going have
having here into just like little lot made make many maybe more most much need never often only other over quite really
said same should some something still such sure than that their them then there these they thing things think this those
today tomorrow too very want was were what when where which while will with would yeah yes yesterday you your been i'm
i've it's don't didn't that's know good great nice well back week year years time times feel felt
"""
_EMPTY_WORDS = frozenset(_EMPTY_WORDS_TEXT.split())


def sentences(text: str) -> list[str]:
    """The sentences of an utterance, without blanks around them; at most twelve, so that a long message costs no more than a short one."""
    found = [match[0].strip() for match in _SENTENCE.finditer(" ".join(text.split()))]
    return [sentence for sentence in found if sentence][:12]


def names_the_speaker(sentence: str) -> bool:
    return bool(_FIRST_PERSON.search(sentence))


def asks(sentence: str) -> bool:
    return sentence.rstrip().endswith(("?", "？"))


def denies(sentence: str) -> bool:
    """An odd number of negations."""
    return len(_NEGATION.findall(sentence)) % 2 == 1


def speaks_of_change(sentence: str) -> bool:
    return bool(_CHANGE.search(sentence))


def numbers(sentence: str) -> frozenset[str]:
    return frozenset(_NUMBER.findall(sentence))


def entities(sentence: str, limit: int = 3) -> tuple[str, ...]:
    """Up to three short names or things: capitalised words that do not begin the sentence, then numbers, then the longest content words."""
    words = _WORD.findall(sentence)
    named = [w for i, w in enumerate(words) if i > 0 and w[0].isupper() and not w.startswith(("I'", "I’")) and w != "I"]
    counted = [w for w in words if w.isdigit()]
    content = sorted((w.lower() for w in words if len(w) > 3 and w.lower() not in _EMPTY_WORDS), key=lambda w: -len(w))
    return tuple(dict.fromkeys([*named, *counted, *content]))[:limit]


def content_words(text: str) -> frozenset[str]:
    """The words that carry meaning, lower case, without "the user" and a plural's or possessive's ending."""
    words = (re.sub(r"['’]s$|s$", "", word.lower()) for word in _WORD.findall(text) if len(word) > 2)
    return frozenset(word for word in words if word not in _EMPTY_WORDS and word not in ("the", "and", "user"))


def third_person(sentence: str) -> str:
    """The same statement about "the user". Words after the first verb are left as they are, and so is quoted speech: its "I" may be another's.

    >>> third_person("My sister has a dog and I walk it.")
    "The user's sister has a dog and the user walks it."
    """
    parts = _SPEECH.split(sentence)
    sentence = "".join(part if i % 2 else _about_the_user(part) for i, part in enumerate(parts))
    return sentence[:1].upper() + sentence[1:]


def _about_the_user(words: str) -> str:
    words = _SPEAKER_DOES.sub(_does, words)
    for pattern, instead in _THIRD:
        words = pattern.sub(instead, words)
    return words


def _does(match: re.Match[str]) -> str:
    return f"the user{match[1]} {_inflected(match[2])}"


def _inflected(verb: str) -> str:
    """The third person of a verb in the present; a past form, or what is no verb, stays."""
    verb = verb.replace("’", "'")
    if verb in _INFLECTED:
        return _INFLECTED[verb]
    if verb in _UNCHANGED or verb.endswith(("ed", "ly", "ing")):
        return verb
    if verb.endswith(("s", "sh", "ch", "x", "z")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else f"{verb}s"
