"""What shows on the surface of an English utterance, and of two beside each other, as small numbers for a linear model.

Each sign is a pattern that says something about whether a sentence holds a lasting fact about its speaker, or repeats or changes one told before. Text
without them (another language, say) has zeros here, and is judged by its embedding alone.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from memory.policies.amu_controllers import wording

Row = NDArray[np.float64]

_PATTERNS = {
    "first_person": r"\b(?:i|me|my|mine|myself|im|ive|i['’](?:m|ve|d|ll))\b",
    "subject": r"\b(?:i|im|ive|we|i['’](?:m|ve|d|ll)|we['’](?:re|ve|d|ll))\b",
    "we": r"\b(?:we|our|ours|us|we['’](?:re|ve|d|ll))\b",
    "possession": r"\b(?:my|our)\b",
    "you": r"\b(?:you|your)\b",
    "third_person": r"\b(?:he|she|they|his|her|their)\b",
    "asks_for": r"\b(?:can|could|would|will) you\b|\b(?:please|tell me|explain|recommend|suggest|translate|write me|help me|give me|show me|remind me)\b",
    "orders": r"^\W*(?:so |ok |okay |now |please |pls |kindly |quick(?:ly)?,? |just )*(?:write|convert|translate|explain|give|tell|correct|make|draw|read|list|name|show|find|calculate|help|suggest|recommend|define|rephrase|summari[sz]e|check|remind|compare|turn|pick|say|sing|guess|rate|roast|spell|fix|invent|describe|compose|count|quiz|settle|act|pretend|think of|come up)\b",
    "of_a_stranger": r"\b(?:an?|some|this|that|the|another|one) (?:\w+ )?(?:bloke|guy|man|woman|lad|fella|chap|girl|boy|kid|lady|fellow|person|stranger|customer|cyclist|someone|somebody|neighbou?r|couple)\b|\b(?:someone|somebody|everybody|everyone|people|apparently|they say|i read|read that|heard that)\b",
    "of_a_second_hand": r"\b(?:my|our) [\w-]+['’]s\b|\bin-law\b",
    "begins_with_it": r"^\W*(?:it|that|this|there|what a|how|such)\b",
    "question_word": r"^\W*(?:what|who|where|when|why|how|which|is|are|do|does|did|can|could|should|would)\b",
    "greeting": r"^\W*(?:hi|hey|hello|good (?:morning|evening|night|afternoon)|bye|thanks|thank you|cheers|okay|ok|haha|lol|wow|hm+|ah|oh|yes|no|sure|right|nice|great|cool|fair enough)\b",
    "habit": r"\b(?:always|never|usually|every|often|most (?:days|weeks|mornings|evenings)|on (?:mon|tues|wednes|thurs|fri|satur|sun)days|regularly|each)\b",
    "taste": r"\b(?:like|love|hate|prefer|favou?rite|enjoy|can['’]t stand|rather|dislike|fan of|adore|avoid)\w*\b",
    "being": r"\b(?:i['’]m|i am|i was|i have|i['’]ve|i work|i live|i study|i play|i speak|i own|born|grew up|allergic|called|named)\b",
    "plan": r"\b(?:going to|plan(?:ning|s|ned)?|will|i['’]ll|want to|hope to|hoping|decided|booked|signed up|registered|next (?:week|month|year|spring|summer|autumn|winter))\b",
    "moment": r"\b(?:today|right now|just now|this (?:morning|afternoon|evening)|tonight|at the moment|yesterday|so (?:tired|hungry|bored|cold|hot))\b",
    "world": r"\b(?:weather|news|rain(?:ing|y|s)?|sunny|people|world|apparently|capital|planet|song|film|movie)\b",
    "feeling": r"\b(?:feel|feeling|felt|happy|sad|angry|proud|nervous|worried|scared|relieved|excited|glad|afraid|ashamed|frustrated)\b",
    "reminds": r"\b(?:as i (?:said|told|mentioned)|like i (?:said|told|mentioned)|i (?:told|mentioned)|as you know|you know (?:that|how)|still|again|remember|once more|same as|like before|as (?:always|ever|usual|before))\b",
    "changes": r"\b(?:now|no longer|any ?more|instead|switched|changed|moved|stopped|quit|gave up|given up|used to|became|actually|finally|turns out|turned out|cancell?ed|called off|postponed|rescheduled|replaced|swapped|broke up|lost|sold|dropped|ended up|after all|new plan|changed my mind|not going|pushed back|brought forward|went (?:up|down)|increased|raised|lowered|started|upgraded|in the end|since then|correction|not .{1,30} but)\b|\bis off\b",
    "compares": r"\b(?:than|more|less|better|worse|up to|down to|from .{1,25} to)\b",
    "someone": r"\b(?:mother|father|mum|mom|dad|sister|brother|wife|husband|partner|girlfriend|boyfriend|friend|cousin|aunt|uncle|son|daughter|kids?|child|grand\w+|boss|colleague|coworker|neighbou?r|roommate|flatmate|teacher|coach|dog|cat)\b",
    "denies": r"\b(?:not|no|never|nobody|nothing|without|none|dont|cant|wont|didnt|doesnt|isnt|arent|wasnt)\b|n['’]t\b",
    "number": r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|half)\b",
    "excited": r"!",
    "asks": r"[?？]",
    "ends_asking": r"[?？]\W*$",
}
_SIGNS = {name: re.compile(pattern, re.IGNORECASE) for name, pattern in _PATTERNS.items()}
_CAPITAL = re.compile(r"\b[A-Z][a-z]+")
_NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][a-z]+")
_VALUE = re.compile(
    r"\d+|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)days?|january|february|march|april|june|july|august|september|october|november|december"
    r"|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|half|morning|evening|afternoon|night|once|twice)\b",
    re.IGNORECASE,
)
KNOWN = ("known_name", "nearest", "shared_words")
UTTERANCE = (*_SIGNS, "name", "length", "short", "sentences")
PAIR = (
    "cosine", "cosine_squared", "overlap", "new_in_old", "old_in_new", "denial_differs", "values_differ", "value_added", "name_added", "name_shared",
    "same_aspect", "same_intent", "shorter", "longer", "first", "lead", "changes", "reminds", "compares", "moment", "plan_to_told", "alike_and_changes",
    "alike_and_differs", "weeks",
)  # fmt: skip


def utterance(text: str) -> Row:
    """`UTTERANCE`: which signs a text shows, and how long it is."""
    words = text.split()
    shown = [float(bool(sign.search(text))) for sign in _SIGNS.values()]
    return np.array(
        [*shown, float(bool(_NAME.search(text))), min(len(words), 40) / 20, float(len(words) < 7), min(len(wording.sentences(text)), 4) / 4]
    )


def known(text: str, records: Sequence[tuple[str, float]]) -> Row:
    """`KNOWN`: what of a text is known already, from (text, cosine) of the most similar records. Nothing is known: zeros.

    Who talks about somebody that a record names, or about what one is about, tells something even where the words alone do not show it.
    """
    if not records:
        return np.zeros(len(KNOWN))
    words = wording.content_words(text)
    names = set().union(*(_NAME.findall(record) for record, _ in records))
    shared = max(len(words & wording.content_words(record)) for record, _ in records) / (len(words) or 1)
    return np.array([float(bool(names & set(_CAPITAL.findall(text)))), max(0.0, max(cosine for _, cosine in records)), shared])


def pair(new: Mapping[str, Any], old: Mapping[str, Any], cosine: float, *, lead: float, weeks: float) -> Row:
    """`PAIR`: how a new record stands beside an old one; each a mapping with said, aspect, intent.

    `lead`: its cosine less the best other candidate's, positive for the first. `weeks`: between the two.
    """
    said, before = str(new["said"]), str(old["said"])
    words, earlier = wording.content_words(said), wording.content_words(before)
    shared = len(words & earlier)
    values, old_values = _values(said), _values(before)
    names, old_names = set(_NAME.findall(said)), set(_NAME.findall(before))
    changes = _shows("changes", said)
    denial = float(wording.denies(said) != wording.denies(before))
    differ = float(bool(values and old_values and values != old_values))
    ratio = np.log((len(words) + 1) / (len(earlier) + 1))
    return np.array(
        [
            cosine, cosine**2, shared / (len(words | earlier) or 1), shared / (len(words) or 1), shared / (len(earlier) or 1), denial, differ,
            float(bool(values - old_values)), float(bool(names - old_names)), float(bool(names & old_names)), float(new["aspect"] == old["aspect"]),
            float(new["intent"] == old["intent"]), max(0.0, -ratio), max(0.0, ratio), float(lead >= 0), float(np.clip(lead, -0.5, 0.5)), changes,
            _shows("reminds", said), _shows("compares", said), _shows("moment", said), float(old["intent"] == "plan" and new["intent"] != "plan"),
            cosine * changes, cosine * max(denial, differ), min(weeks, 8) / 8,
        ]
    )  # fmt: skip


def _shows(sign: str, text: str) -> float:
    return float(bool(_SIGNS[sign].search(text)))


def _values(text: str) -> frozenset[str]:
    """Numbers, days, months, times of day: what can take another value."""
    return frozenset(value.lower().rstrip("s") for value in _VALUE.findall(text))
