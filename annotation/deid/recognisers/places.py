"""Street addresses, postal codes, places where somebody lives, and where somebody works or studies."""

import re

from annotation.deid.recognisers.found import matches

ANY_CASE = re.IGNORECASE
_STREET = "(?:street|st|avenue|ave|road|rd|lane|ln|drive|dr|boulevard|blvd|court|ct|way|place|pl|terrace|close|crescent|square|sq|parkway|pkwy|highway|hwy|circle|row|hill|gardens)"
_STATES = "(?:A[LKZR]|C[AOT]|D[EC]|FL|GA|HI|I[DLNA]|K[SY]|LA|M[EDAINSOT]|N[EVHJMYCD]|O[HKR]|PA|RI|S[CD]|T[NX]|UT|V[TA]|W[AVIY])"
_UNIT = r"(?:,? (?:apt|apartment|unit|suite|ste|flat|room|#)\.? ?\w{1,5})?"
ADDRESS = re.compile(
    rf"(?<!\w)\d{{1,5}}[a-z]?,? (?:[nsew]\.? )?(?:[\w'’.-]+ ){{1,3}}{_STREET}\b\.?{_UNIT}"
    rf"(?:,? [a-z][a-z .'-]{{1,25}}?,? {_STATES}(?:,? \d{{5}}(?:-\d{{4}})?)?(?!\w))?",
    ANY_CASE,
)
ADDRESS_TURNED = re.compile(
    r"\b(?:[A-Z][\w'’.-]+ ){1,2}(?:Street|Lane|Road|Avenue|Way|Close|Drive|Square) \d{1,4}[a-z]?\b|\b\w{3,}(?:stra(?:ße|sse)|str\.|weg|gasse|platz|allee) \d{1,4}[a-z]?\b|\b(?:rue|via|calle|avenida|rua) (?:[\w'’.-]+ ){1,4}\d{1,4}\b",
    re.U,
)
ADDRESS_JA = re.compile(
    r"(?:[一-龠]{2,3}[都道府県])?[一-龠ぁ-んァ-ヶ]{1,6}[市区町村][一-龠ぁ-んァ-ヶ]{0,8}[0-9０-９]+(?:[-−ー丁目番地の0-9０-９])*号?|〒 ?[0-9]{3}-[0-9]{4}"
)
ZIP = re.compile(
    rf"\b{_STATES},? \d{{5}}(?:-\d{{4}})?\b|\b(?:zip|postcode|postal code)(?: code| is|:)* (?P<it>\d{{5}}|[A-Z]{{1,2}}\d[A-Z\d]? ?\d[A-Z]{{2}})\b|\b[A-Z]{{1,2}}\d[A-Z\d]? \d[A-Z]{{2}}\b"
)
_CITIES = (
    "austin|denver|boston|chicago|houston|dallas|seattle|portland|phoenix|atlanta|miami|orlando|tampa|detroit|cleveland|columbus|nashville|memphis|"
    "new york(?: city)?|nyc|brooklyn|queens|bronx|manhattan|los angeles|san francisco|san diego|san jose|oakland|sacramento|las vegas|salt lake city|"
    "philadelphia|philly|pittsburgh|baltimore|milwaukee|minneapolis|st\\.? louis|kansas city|new orleans|charlotte|raleigh|richmond|albuquerque|tucson|el paso|"
    "san antonio|omaha|boise|spokane|honolulu|anchorage|toronto|vancouver|montreal|ottawa|calgary|edmonton|london|manchester|birmingham|leeds|liverpool|"
    "glasgow|edinburgh|cardiff|belfast|dublin|cork|galway|paris|lyon|marseille|berlin|hamburg|munich|münchen|cologne|köln|frankfurt|stuttgart|leipzig|vienna|wien|graz|"
    "zurich|zürich|geneva|madrid|barcelona|valencia|seville|lisbon|porto|rome|roma|milan|milano|naples|turin|amsterdam|rotterdam|brussels|antwerp|copenhagen|"
    "oslo|bergen|stockholm|helsinki|warsaw|krakow|kraków|prague|budapest|bucharest|sofia|athens|istanbul|ankara|moscow|kyiv|kiev|lviv|tel aviv|jerusalem|cairo|"
    "lagos|abuja|nairobi|accra|cape town|johannesburg|durban|mumbai|delhi|bangalore|bengaluru|chennai|kolkata|hyderabad|karachi|lahore|dhaka|colombo|"
    "singapore|kuala lumpur|jakarta|manila|bangkok|hanoi|saigon|hong kong|taipei|shanghai|beijing|shenzhen|seoul|busan|tokyo|osaka|kyoto|nagoya|sapporo|yokohama|"
    "sydney|melbourne|brisbane|perth|adelaide|auckland|wellington|mexico city|guadalajara|bogota|bogotá|lima|santiago|buenos aires|sao paulo|são paulo|rio de janeiro"
)
_REGIONS = "texas|california|florida|ohio|michigan|colorado|oregon|arizona|nevada|utah|alaska|hawaii|montana|idaho|kansas|nebraska|iowa|minnesota|wisconsin|illinois|indiana|kentucky|tennessee|alabama|louisiana|arkansas|missouri|oklahoma|virginia|maryland|delaware|new jersey|pennsylvania|connecticut|massachusetts|vermont|new hampshire|ontario|quebec|bavaria|scotland|wales|cornwall|kent|essex|yorkshire"
PLACE = re.compile(rf"(?<!\w)(?:{_CITIES}|{_REGIONS})(?:,? (?:{_STATES}|{_REGIONS}))?(?!\w)", ANY_CASE)
PLACE_SAID = re.compile(
    r"\b(?:live[sd]?|living|grew up|born|raised|moved|moving|based|from)(?: up)?(?: here| back)? (?:in|to|near|from|from)? ?(?P<it>(?-i:[A-Z])[\w'’-]+(?: (?-i:[A-Z])[\w'’-]+)*)",
    ANY_CASE,
)
PLACE_JA = re.compile(r"東京|大阪|京都|横浜|札幌|名古屋|福岡|神戸|仙台|広島|[一-龠]{1,3}(?:県|市|区)(?=[^一-龠]|$)")
PLACE_OTHER = re.compile(
    r"Москв[аеуы]|Санкт-Петербург\w*|Киев\w*|Київ\w*|北京|上海|서울|부산|القاهرة|دبي|بيروت|תל אביב|ירושלים|Αθήνα|मुंबई|दिल्ली"
)
SCHOOL = re.compile(
    r"\b(?:university of (?:[\w'’-]+)(?: (?-i:[A-Z])[\w'’-]+)*|(?:(?-i:[A-Z])[\w'’.-]+ ){1,4}(?:University|College|Academy|High School|Elementary|Middle School|Institute)(?: of (?-i:[A-Z])\w+)?|"
    r"(?:harvard|stanford|yale|princeton|mit|ucla|nyu|oxford|cambridge|berkeley|utexas|waseda|keio)\b)",
    ANY_CASE,
)
SCHOOL_LOWER = re.compile(
    r"\b(?:go|goes|went|study|studied|teach|taught|enrolled|student|freshman|senior|graduated)(?: \w+)? (?:at|to|from) (?P<it>[\w'’.-]+(?: [\w'’.-]+){0,2} (?:high|university|uni|college|elementary|academy|school))\b(?!s)",
    ANY_CASE,
)
EMPLOYER = re.compile(
    r"\b(?:work(?:s|ed|ing)?|job|shift|intern(?:ed|ing)?|employed|hired)(?: \w+){0,2} (?:at|for|by|with) (?:the )?(?P<it>(?-i:[A-Z])[\w'’&.-]+(?: (?:(?-i:[A-Z])[\w'’&.-]+|of|and|&))*(?: (?-i:[A-Z])[\w'’&.-]+)?)",
    ANY_CASE,
)
EMPLOYER_KNOWN = re.compile(
    r"(?<!\w)(?:walmart|target store|starbucks|mcdonald'?s|amazon|google|microsoft|deloitte|fedex|ups|costco|home depot|tesco|siemens|boeing|toyota|verizon|comcast|chase bank|wells fargo)(?!\w)(?= (?:warehouse|store|office|hq|branch)|)",
    ANY_CASE,
)
INSTITUTION = re.compile(
    r"\b(?:St\.? |Saint )?(?:(?-i:[A-Z])[\w'’.-]+ ){1,3}(?:Hospital|Clinic|Medical Center|Church|Library|Bank|Bakery|Inc|Ltd|LLC|GmbH)\b|\bSt\.? (?-i:[A-Z])[\w]+['’]s\b"
)

RECOGNISERS = (
    matches(ADDRESS, "address", "street addresses", 0.95),
    matches(ADDRESS_TURNED, "address", "street addresses, number last", 0.93),
    matches(ADDRESS_JA, "address", "addresses in Japanese", 0.93),
    matches(ZIP, "address", "postal codes", 0.8),
    matches(PLACE, "location", "cities and regions", 0.7),
    matches(PLACE_SAID, "location", "places after where somebody lives", 0.6, "it"),
    matches(PLACE_JA, "location", "places in Japanese", 0.7),
    matches(PLACE_OTHER, "location", "cities in other scripts", 0.7),
    matches(SCHOOL, "school", "schools and universities", 0.85),
    matches(SCHOOL_LOWER, "school", "schools after a verb", 0.7, "it"),
    matches(EMPLOYER, "employer", "employers after a verb", 0.75, "it"),
    matches(EMPLOYER_KNOWN, "employer", "large employers", 0.5),
    matches(INSTITUTION, "employer", "institutions", 0.65),
)
