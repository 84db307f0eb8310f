"""Ages in any form, and dates."""

import re

from annotation.deid.recognisers.found import matches

ANY_CASE = re.IGNORECASE
_WORDS = (
    "(?:(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?"
    "|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|(?:thir|four|fif|six|seven|eigh|nine)teen|a hundred)"
)
_AGE = rf"(?P<it>1[01]\d|\d{{1,2}}|{_WORDS})(?![\d:.,]\d|%)"
_MONTH = "(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
_NOT_A_UNIT = r"(?! ?(?:minutes?|mins?|hours?|hrs?|days?|weeks?|months?|times?|miles?|km|dollars?|bucks|euros?|people|kids|percent|of|pm|am|o'?clock|more|or|cats?|dogs?|brothers?|sisters?|siblings)\b)"

AGE_YEARS = re.compile(
    rf"\b{_AGE}[- ]?(?:years?|yrs?|y/?o)(?:[- ]?olds?| of age)?\b(?! (?:ago|later|now|in|at|of (?!age)|married|together|experience|back))",
    ANY_CASE,
)
AGE_IS = re.compile(
    rf"\b(?:i'?m|im|i am|i was|he'?s|she'?s|he is|she is|he was|she was|they'?re|is|was|am) (?:only |just |now |nearly |almost |about |like |already )*{_AGE}(?!\w){_NOT_A_UNIT}",
    ANY_CASE,
)
AGE_TURN = re.compile(
    rf"\b(?:turn(?:s|ed|ing)?|aged?|age is|age of|at the age of|age:)(?: only| just)? {_AGE}(?!\w){_NOT_A_UNIT}", ANY_CASE
)
AGE_SEX = re.compile(r"(?<![\w/])(?P<it>[1-9]\d) ?/?[mf](?!\w)|(?<!\w)[mf] ?/?(?P<other>[1-9]\d)(?!\w)", ANY_CASE)
AGE_LIST = re.compile(r"(?<!\w)(?:hey|hi|hello)?\b[^.!?\n]{0,25}, ?(?P<it>[1-9]\d)(?= (?:from|in|and from|living|m\b|f\b)|,)", ANY_CASE)
AGE_JA = re.compile(r"[0-9０-９]{1,3}(?:歳|才)")
DECADE = re.compile(
    r"\b(?:in (?:my|his|her|their) )(?:early |mid[- ]?|late )?(?P<it>\d0s|(?:twen|thir|for|fif|six|seven|eigh|nine)ties)\b", ANY_CASE
)

DATE_WORDS = re.compile(
    rf"\b{_MONTH}\.?,? (?:the )?\d{{1,2}}(?:st|nd|rd|th)?\b(?:,? (?:of )?(?:19|20)\d\d|,? '\d\d)?|\b(?:the )?\d{{1,2}}(?:st|nd|rd|th)? (?:of )?{_MONTH}\b(?:,? (?:19|20)\d\d)?",
    ANY_CASE,
)
DATE_MONTH_YEAR = re.compile(rf"\b{_MONTH}\.? (?:of )?(?:19|20)\d\d\b", ANY_CASE)
DATE_NUMBERS = re.compile(r"(?<![\d.-])(?:(?:19|20)\d\d[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:(?:19|20)?\d\d))(?![\d-])")
YEAR_BORN = re.compile(r"\b(?:born|birth ?year|graduated|married)\b[^.!?\n]{0,20}?\b(?P<it>(?:19|20)\d\d)\b", ANY_CASE)
DATE_JA = re.compile(r"(?:[0-9０-９]{4}年)?[0-9０-９]{1,2}月[0-9０-９]{1,2}日|(?:昭和|平成|令和)[0-9０-９]{1,2}年|(?:19|20)[0-9]{2}年")

RECOGNISERS = (
    matches(AGE_YEARS, "age", "ages in years", 0.9, "it"),
    matches(AGE_IS, "age", "ages after a verb", 0.8, "it"),
    matches(AGE_TURN, "age", "ages after turned or aged", 0.9, "it"),
    matches(AGE_SEX, "age", "ages with a letter", 0.8, "it"),
    matches(AGE_SEX, "age", "ages with a letter", 0.8, "other"),
    matches(AGE_LIST, "age", "ages in an introduction", 0.7, "it"),
    matches(AGE_JA, "age", "ages in Japanese", 0.95),
    matches(DECADE, "age", "decades of life", 0.8, "it"),
    matches(DATE_WORDS, "date", "dates in words", 0.85),
    matches(DATE_MONTH_YEAR, "date", "dates in words", 0.8),
    matches(DATE_NUMBERS, "date", "dates in numbers", 0.85),
    matches(YEAR_BORN, "date", "years of birth", 0.8, "it"),
    matches(DATE_JA, "date", "dates in Japanese", 0.9),
)
