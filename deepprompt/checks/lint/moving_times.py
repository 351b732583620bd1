"""How times give themselves away: by a label such as "Current date:", by their seconds, in a list of facts."""

from __future__ import annotations

import re

from deepprompt.checks.lint.look import CASELESS, LABEL_END, LINE_START, LINES, NEAR, SHAPE, Look, before, is_stated
from deepprompt.checks.lint.slow_text import SHOWN

_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?)"
)
_SHORT_DAY = "(?:Mon|Tues?|Wed|Thurs?|Thu|Fri|Sat|Sun)"
_DAY = (
    r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|Mittwoch|(?:lun|mar|mercre|jeu"
    r"|vendre|same)di|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo|(?:segunda|terça|quarta|quinta|sexta)"
    r"-feira|понедельник|вторник|среда|четверг|пятница|суббота|воскресенье|星期[一二三四五六日天]|[月火水木金土日]曜日"
    rf"|[월화수목금토일]요일|{_SHORT_DAY}\.?(?=,? (?:\d|{_MONTH}\b)))"
)
_TIME = (
    r"\d\d?:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?[AaPp]\.?[Mm]\b\.?)?(?: ?(?:Z|UTC|GMT|CES?T|[ECMP][SD]?T)\b"
    r"| ?[+-]\d\d:?\d\d)?"
)
_DATE = (
    r"(?:\d{4}-\d\d-\d\d|\d{4}/\d\d?/\d\d?|\d{4}\.\d\d\.\d\d(?!\.?\d)|\d\d?[./-]\d\d?[./-]\d{4}(?!\d)"
    r"|\d{4} ?[年년] ?\d\d? ?[月월] ?\d\d? ?[日일]|(?:[0-2]?\d|3[01])/(?:[0-2]?\d|3[01])/\d\d(?![\d/])"
    rf"|{_MONTH}\.? \d\d?(?:st|nd|rd|th)?,? \d{{4}}|\d\d?[-/]{_MONTH}[-/]\d{{2,4}}|\d{{4}}[-/ ]{_MONTH}[-/ ]\d\d?"
    r"|\d\d?(?:\.|st|nd|rd|th|er)? (?:de |of )?[^\W\d_]{3,10}\.?,? (?:de )?\d{4})"
)
_AND_TIME = rf"(?:(?:[T, ]{{1,3}}| - | @ )(?:at |um |à )?{_TIME})?"
_MOMENT = (
    rf"(?:(?:{_DAY}[^\d\n]{{0,12}}{_DATE}|{_DAY},? (?:the )?\d\d?(?:\.|st|nd|rd|th)? (?:of )?{_MONTH}\b|{_DAY}|{_DATE})"
    rf"{_AND_TIME}|{_TIME}|{_MONTH},? \d{{4}}|20\d\d(?:0[1-9]|1[0-2])[0-3]\d\b|1[6-9]\d{{8}}(?:\d{{3}}|\.\d{{1,9}})?\b"
    r"|20\d\d(?:-(?:0[1-9]|1[0-2]))?\b)"
)
# Between a label and its time: punctuation and filler words.
_LINK = (
    r"(?>(?:\((?!\d)[^()\n]{0,40}\)|[ \t*_`\"'’:：=|>(\[,，]|(?:is|and|time|date|day|now|today|utc|gmt|local|in|the|iso"
    r"|8601|rfc|3339|format|formatted|as|of|timestamp|unix|epoch|der|den|le|el|est|es|è|é|on|at|it|currently|set|to)(?!\w)"
    r"|[是は은는に]){1,20})"
)
_NOW = (
    r"(?<!\w)(?:(?:current(?:ly)?|present|actual)[ _-]?(?:(?:local|utc|system|server|calendar|iso)[ _-]?)?"
    r"(?:date[ _/-]?(?:and[ _]|&[ _])?(?:time)?|time(?:stamp)?(?: and date)?|day|year|month|weekday)"
    r"|(?:today|now)['’]?s (?:date|day|time)|today(?= is\b| ?[:=>]|,? \(?\d)"
    r"|(?:date|day)(?: of)? today|time now|now(?= is\b| ?[:=>])"
    r"|(?:it is|it['’]s|the time is|the date is) (?:now|currently)"
    r"|now,? it(?: is|['’]s)|^[ \t>*-]{0,8}the (?:date|time|year|month) is|(?<=[.!?] )the (?:date|time|year|month) is"
    r"|(?:server|system|local|host) (?:time|date|clock)(?= is|[:=])"
    r"|(?:session|conversation|chat) (?:start(?:ed)?|began|opened|date|time)(?: at| on| time| date)?(?=[:= ])"
    r"|heute ist|(?:aktuelle[sn]?|heutiges) (?:datum|uhrzeit|zeit)|date (?:du jour|actuelle)|heure actuelle|nous sommes"
    r"|fecha(?: y hora)? actual|hora actual|hoy es|data(?: e hora)? atual|hora atual|hoje é|oggi è|сегодня"
    r"|текущ(?:ая|ее) (?:дата|время))|今天(?:的日期)?|(?:当前|當前|现在|現在)[的の]?(?:时间|時間|日期|日時|時刻)?"
    r"|今日(?:の日付)?|本日|오늘(?:의 날짜)?|현재 ?(?:시간|시각|날짜)"
)
_PLACEHOLDER = re.compile(r"\{\{?|\}|<\w+>|YYYY|\$\w|%[YmdH]")
_MONTH_ONLY = re.compile(rf"{_MONTH},? \d{{4}}", CASELESS)
_CLOCK = re.compile(rf"(?:{_NOW}){_LINK}(?P<value>{_MOMENT})", LINES)
_NOW_WORDS = (
    "current", "today", "now", "present", "the date", "the time", "the year", "the month", "system", "server", "local",
    "host", "session", "conversation", "chat", "actual", "heute", "aktuelle", "jour", "sommes", "hoy es", "atual",
    "hoje", "oggi", "сегодня", "текущ", "今", "当前", "當前", "现在", "現在", "本日", "오늘", "현재",
)  # fmt: skip
# Those after which a mere day of the week may stand.
_DAY_WORDS = (
    "day", "heute ist", "sommes", "hoy es", "hoje", "oggi", "сегодня", "今",
    "本日", "오늘",
)  # fmt: skip
# Without such a label, a date is today only at the start of a sentence, and written in full.
_DAY_STATED = re.compile(
    rf"(?:^[ \t>*-]{{0,8}}|(?<=[.!?] ))(?:It is|It['’]s) (?:{_DAY},? )?(?P<value>{_DATE}{_AND_TIME}|{_MONTH} \d{{4}})",
    re.MULTILINE,
)
_MADE = re.compile(
    rf"\b(?:generated|rendered|printed|compiled|built) ?(?:on|at|:)? (?P<value>{_DATE}[T, ]{{1,3}}(?:at )?{_TIME})",
    CASELESS,
)
_AS_OF = re.compile(rf"\b(?:as of|As of(?=.{{10,20}}\d:\d\d))(?: today,?)? (?P<value>{_DATE}(?:[T ]{_TIME})?)")
_DATE_LABEL = rf"{LINE_START}(?:date|time|datetime|date (?:and|&) time|date/time|timestamp){LABEL_END}"
_DATE_LINE = re.compile(rf"{_DATE_LABEL}(?P<value>{_MOMENT})", LINES)
_STAMP = re.compile(
    r"(?<![\w:./-])(?P<value>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
    rf"|\d{{8}}T\d{{6}}Z?|{_SHORT_DAY},? (?:{_MONTH} [ \d]\d|\d\d? {_MONTH} \d{{4}}) \d\d:\d\d:\d\d"
    r"(?: [A-Z]{3,4}| [+-]\d{4})?(?: \d{4})?|datetime\.datetime\(\d{4}, [^)\n]{3,80}\))(?!\w)"
)
# Parts of a second, which only a machine writes, also in code.
_FRACTION = re.compile(
    r"(?<![\w:./-])(?P<value>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{3,9}(?:Z|[+-]\d\d:?\d\d)?"
    r"|1[6-9]\d{8}\.\d{3,9})(?!\w)"
)
_FRACTION_ALONE = re.compile(r"(?<![\w:./-])(?P<value>\d\d:\d\d:\d\d[.,]\d{3,9})(?!\w)")
_DATE_ALONE = re.compile(
    rf"{_DATE_LABEL}(?P<value>{_DATE}(?:[T, ]{{1,3}}{_TIME})?|{_TIME})(?=[ \t*`\"')|]{{0,6}}(?:$|<))", LINES
)
# A document's header has its date among other such lines, and the date does not change.
_DOCUMENT = re.compile(
    rf"{LINE_START}(?:author|auditor|by|version|status|title|subject|from|to|updated|last[ _]updated|created|deciders?"
    rf"|tags?|owner|category|name|event|location|venue|amount|total|vendor|invoice|scope|context|decision|reviewer|branch"
    rf"|project|methodology|model|source|pr|issue|task|ticket|priority|assignee){LABEL_END}",
    LINES,
)
_PAST = re.compile(
    r"\b(?:incident|outage|breach|accident|crash|failure|post-?mortem|deadline)s?\b|\b(?:crashed|failed|happened)\b",
    CASELESS,
)
_FACTS = re.compile(
    rf"{LINE_START}(?:cwd|pwd|(?:primary |current )?working[ _]?(?:directory|dir|folder)|platform|os(?: version)?|shell"
    rf"|operating system|user(?:name)?|locale|day of (?:the )?week|time ?zone|host ?name){LABEL_END}",
    LINES,
)
# "in ISO format is", "(ISO 8601 format):" say how the time is written that follows, and not what a time looks like.
_WRITTEN = re.compile(
    r"(?:iso|8601|3339|utc|local|24h?)[ -](?:\w{1,12} )?format(?:ted)?[)\]]?[ \t]{0,2}(?:is\b|[:=])", CASELESS
)


def _is_clock(match: re.Match[str], text: str) -> bool:
    value, label = match["value"], text[match.start() : match.start("value")].lower()
    if re.fullmatch(r"20\d\d", value) and not ("year" in label or "month" in label):
        return False
    if re.fullmatch(r"20\d\d-\d\d", value) and "month" not in label:
        return False
    if _MONTH_ONLY.fullmatch(value) and "month" not in label and "date" not in label:
        return False
    if ("year" in label or "month" in label) and re.fullmatch(_TIME, value):
        return False
    row = text[text.rfind("\n", 0, match.start()) + 1 : match.start() + 400].partition("\n")[0]
    if row.lstrip().startswith("|") and _PLACEHOLDER.search(row):  # a table of what placeholders stand for
        return False
    if label.strip(" (,`\"'") == "today" and re.fullmatch(_TIME, value):  # "today 15:00" is an input
        return False
    earlier = before(match, text)[: -len(label)]
    return SHOWN.search(_WRITTEN.sub(" ", label)) is None and SHOWN.search(earlier) is None


def _is_stamp(match: re.Match[str], text: str) -> bool:
    # A person wrote a time without a label and without seconds.
    shown = re.search(r"\d:?\d\d:?00(?![:\d])", match["value"][:24]) or text[: match.start()].endswith(":\n")
    dated = _DOCUMENT.search(text, max(0, match.start() - NEAR), match.start())
    return not shown and not dated and not _PAST.search(before(match, text)) and is_stated(match, text)


def _is_outside_a_header(match: re.Match[str], text: str) -> bool:
    """Whether a bare date is stated outside a document's header."""
    near = max(0, match.start() - NEAR), match.end() + NEAR
    return _DOCUMENT.search(text, *near) is None and is_stated(match, text)


def is_fact(match: re.Match[str], text: str) -> bool:
    """Whether a bare label stands in a list of facts about a machine."""
    listed = _FACTS.search(text, max(0, match.start() - NEAR), match.end() + NEAR)
    return listed is not None and is_stated(match, text)


_STAMPS = (f"{SHAPE}00:00:00", f"{SHAPE}00000000t000000", "datetime.datetime(")
_FRACTIONS = (f"{SHAPE}00:00:00.000", f"{SHAPE}00:00:00,000", f"{SHAPE}0000000000.000")
_WHAT = "a time"
LOOKS = (
    Look("DP101", _WHAT, _NOW_WORDS, _CLOCK, _is_clock),
    Look("DP101", _WHAT, _DAY_WORDS, _CLOCK, _is_clock, digits=False),
    Look("DP101", _WHAT, ("as of",), _AS_OF, is_stated, only_rendered=True),
    Look("DP101", _WHAT, ("date", "time"), _DATE_LINE, is_fact),
    Look("DP101", _WHAT, ("date", "time"), _DATE_ALONE, _is_outside_a_header, only_prose=True, only_rendered=True),
    Look("DP101", _WHAT, ("it is", "it's", "it’s"), _DAY_STATED, is_stated),
    Look("DP101", _WHAT, ("generated", "rendered", "printed", "compiled", "built"), _MADE, is_stated, only_prose=True,
         only_rendered=True),
    Look("DP101", _WHAT, _STAMPS, _STAMP, _is_stamp, only_prose=True, only_rendered=True),
    Look("DP101", _WHAT, _FRACTIONS, _FRACTION, _is_stamp, only_rendered=True),
    Look("DP101", _WHAT, _FRACTIONS, _FRACTION_ALONE, _is_stamp, only_prose=True, only_rendered=True),
)  # fmt: skip
