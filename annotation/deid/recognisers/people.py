"""Names of people in any case, and facts about people's health, offences and sexuality."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from annotation.deid.recognisers.found import Found, Recogniser, matches

ANY_CASE = re.IGNORECASE
_STOP = (
    r"(?!(?:not|so|a|an|the|in|on|at|to|of|for|from|and|or|but|just|very|really|too|still|also|here|there|fine|good|ok|okay|tired|sorry|sure|happy|sad|"
    r"going|gonna|doing|trying|working|living|feeling|looking|thinking|always|never|my|your|his|her|their|our|it|he|she|they|we|you|i|who|that|this|"
    r"what|is|was|are|were|with|like|kind|kinda|sort|pretty|back|home|glad|afraid|bored|new|old|off|out|up|down|about|all|now|then|said|says|told|changing|funny|friend|mum|mom|dad|common|hard|weird|"
    r"long|short|stupid|hilarious|great|terrible|because|if|when|how|than|no|yes|lol|haha|single|married|pregnant|sick|cold|hot)\b)"
)
_WORD = r"[^\W\d_][\w'’-]*"
_NAMES = rf"(?P<it>{_STOP}{_WORD}(?: {_STOP}{_WORD})?)"
_CAPS = r"(?-i:[A-ZÀ-ÖØ-Þ])[\w'’-]+"
SAID = re.compile(
    rf"\b(?:my|his|her|their|the)? ?(?:real |full |first |last |maiden |middle )?(?:name'?s|names?(?: is| was|:)|called|named|goes by)(?: actually| just)? {_NAMES}",
    ANY_CASE,
)
INTRODUCED = re.compile(
    rf"(?:^|[.!?,;\n] ?|\b(?:hey|hi|hello|yo|sup)[ ,!]+)(?:it'?s|this is|i'?m|im|i am) (?P<it>{_CAPS}(?: {_CAPS})?)(?=\W|$)", ANY_CASE
)
TITLE = re.compile(
    rf"\b(?:dr|mr|mrs|ms|miss|prof|professor|doctor|sir|aunt(?:ie|y)?|uncle|coach|pastor|nurse|officer|judge|sister|father)\b\.? (?P<it>{_STOP}{_WORD}(?: {_CAPS})?)",
    ANY_CASE,
)
RELATION = re.compile(
    rf"\bmy (?:\w+ )?(?:friend|best friend|bestie|bff|boss|wife|husband|partner|boyfriend|bf|girlfriend|gf|ex|son|daughter|kid|baby|brother|sister|bro|sis|mom|mum|mother|dad|father|cousin|"
    rf"aunt|uncle|niece|nephew|grandma|grandpa|neighbou?r|roommate|flatmate|coworker|colleague|teacher|therapist|doctor|manager),? (?P<it>{_CAPS}(?: {_CAPS})?)",
    ANY_CASE,
)
PAIR = re.compile(
    r"(?<![\w.] )(?<!^)(?<![.!?] )\b(?-i:[A-Z][a-z]+(?:[-'’][A-Z]?[a-z]+)? (?:[A-Z]\. |van |von |de |da |al-|O['’])?[A-Z][a-z]+(?:-[A-Z][a-z]+)?)\b"
)
JAPANESE = re.compile(
    r"(?P<it>[一-龠]{1,4}|[ァ-ヶー]{2,8})(?:さん|くん|君|ちゃん|先生|様)|(?:私は|僕は|名前は)(?P<me>[一-龠]{2,5}|[ァ-ヶー]{2,8})(?:です|と(?:い|言)い|って)"
)
OTHER = re.compile(
    r"(?:меня зовут|мене звати|اسمي|שמי|קוראים לי|με λένε|제 이름은|我叫|我的名字是|मेरा नाम|me llamo|je m'appelle|ich hei(?:ß|ss)e|mi chiamo|meu nome é)\s*(?P<it>[\w'’-]{2,}(?: (?-i:[A-ZÀ-ÞА-ЯΑ-Ω])[\w'’-]+)?)",
    ANY_CASE,
)
_CONDITIONS = (
    "lupus|diabet(?:es|ic)|cancer|leuka?emia|tumou?r|asthma|epilep(?:sy|tic)|hiv|aids|hepatitis|depress(?:ion|ed)|anxiety|bipolar|schizophreni[ac]|adhd|autis(?:m|tic)|ptsd|ocd|anorexi[ac]|bulimi[ac]|"
    "dementia|alzheimer'?s|parkinson'?s|stroke|heart attack|multiple sclerosis|crohn'?s|endometriosis|miscarriage|chemo(?:therapy)?|dialysis|migraines?|arthritis|fibromyalgia|"
    "kidney (?:disease|failure|stones?)|alcoholi(?:c|sm)|rehab|overdose[d]?|suicid(?:e|al)|self[- ]harm|pregnan(?:t|cy)|infertil(?:e|ity)|covid|tuberculosis|celiac|eating disorder|antidepressants?|insulin|prozac|zoloft|lithium|糖尿病|うつ病|癌|喘息"
)
HEALTH = re.compile(rf"(?<!\w)(?:{_CONDITIONS})(?!\w)", ANY_CASE)
CRIME = re.compile(
    r"(?<!\w)(?:arrested|convicted|felony|felon|in (?:jail|prison)|on (?:probation|parole)|dui|shoplift(?:ed|ing)|restraining order|embezzl\w+|did time|domestic violence|dealing drugs|stole (?:a|the|from)|逮捕)(?!\w)",
    ANY_CASE,
)
SEXUAL = re.compile(
    r"(?<!\w)(?:gay|lesbian|bisexual|trans(?:gender)?|queer|asexual|came out|sexually (?:abused|assaulted)|raped?|molested|affair|std|sti|chlamydia|herpes|abortion)(?!\w)",
    ANY_CASE,
)


@cache
def _lexicon() -> Recogniser:
    """Given names that are hardly ever another word, in any case, with a family name where one follows in the same case."""
    names = (Path(__file__).parent / "given_names.txt").read_text("utf-8").split()
    either = "|".join(sorted(names, key=len, reverse=True))
    any_name = f"(?:{either})"
    pattern = re.compile(rf"(?<![\w@#])(?P<it>{any_name}(?: (?-i:[A-ZÀ-Þ][\w'’-]+))*)(?=['’]s\b|(?![\w'’]))", ANY_CASE)
    return matches(pattern, "name", "given names in any case", 0.75, "it")


def names_of_lexicon(text: str) -> Iterator[Found]:
    """As `_lexicon`; the file is read at the first text."""
    return _lexicon()(text)


RECOGNISERS = (
    matches(SAID, "name", "names after their word", 0.88, "it"),
    matches(INTRODUCED, "name", "introductions", 0.7, "it"),
    matches(TITLE, "name", "names after a title", 0.85, "it"),
    matches(RELATION, "name", "names after a relation", 0.85, "it"),
    matches(PAIR, "name", "two capitalised words", 0.45),
    matches(JAPANESE, "name", "names in Japanese", 0.8, "it"),
    matches(JAPANESE, "name", "names in Japanese", 0.8, "me"),
    matches(OTHER, "name", "names after their word in other languages", 0.88, "it"),
    names_of_lexicon,
    matches(HEALTH, "health", "health words", 0.8),
    matches(CRIME, "crime", "words of offences", 0.7),
    matches(SEXUAL, "sexual", "words of sexuality", 0.7),
)
