"""The pieces of a slow text that change from run to run: how DP1 and DP2 recognise them.

A value counts by its context, because a date in a changelog is as constant as any other word: a label must announce
it, or it is of a kind that nobody writes by hand, and no "for example" stands before it. Time is in proportion to the
text: every repeat in these patterns is bounded or possessive.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from deepprompt.checks.lint.slow_text import SENTENCE, SHOWN, SlowText, without_comments

_CASELESS, _LINES = re.IGNORECASE, re.IGNORECASE | re.MULTILINE
_NEAR = 160  # the characters around a value that may say what it is

_MONTH = (
    "(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    "|Nov(?:ember)?|Dec(?:ember)?)"
)
_SHORT_DAY = "(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_DAY = (
    r"(?:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:Mon|Diens|Donners|Frei|Sams|Sonn)tag|Mittwoch|(?:lun|mar|mercre|jeu"
    r"|vendre|same)di|dimanche|lunes|martes|miércoles|jueves|viernes|sábado|domingo|(?:segunda|terça|quarta|quinta|sexta)"
    r"-feira|понедельник|вторник|среда|четверг|пятница|суббота|воскресенье|星期[一二三四五六日天]|[月火水木金土日]曜日"
    rf"|[월화수목금토일]요일|{_SHORT_DAY}(?=,? \d))"
)
_TIME = r"\d\d?:\d\d(?::\d\d(?:[.,]\d{1,9})?)?(?: ?[AaPp]\.?[Mm]\b)?(?: ?(?:Z|UTC|GMT)\b| ?[+-]\d\d:?\d\d)?"
_DATE = (
    r"(?:\d{4}-\d\d-\d\d|\d{4}/\d\d?/\d\d?|\d\d?[./]\d\d?[./]\d{4}|\d{4} ?[年년] ?\d\d? ?[月월] ?\d\d? ?[日일]"
    rf"|{_MONTH}\.? \d\d?(?:st|nd|rd|th)?,? \d{{4}}"
    r"|\d\d?(?:\.|st|nd|rd|th|er)? (?:de |of )?[^\W\d_]{3,10}\.?,? (?:de )?\d{4})"
)
_MOMENT = (
    rf"(?:(?:{_DAY}[^\d\n]{{0,12}}{_DATE}|{_DAY}|{_DATE})(?:[T, ]{{1,3}}(?:at )?{_TIME})?|{_TIME}"
    rf"|{_MONTH} \d{{4}}|1[6-9]\d{{8}}(?:\d{{3}})?\b|20\d\d\b)"
)
# Between a label and its time: punctuation and filler words.
_LINK = (
    r"(?>(?:\((?!\d)[^()\n]{0,40}\)|[ \t*_`\"'’:：=|>(\[,，]|(?:is|and|time|date|day|now|today|utc|gmt|local|in|the|iso"
    r"|unix|epoch|der|den|le|el|est|es|è|é|on|at|it)(?!\w)|[是は은는に]){1,16})"
)
_NOW = (
    r"(?<!\w)(?:current(?:ly)?[ _-]?(?:(?:local|utc|system|server)[ _-]?)?(?:date[ _/-]?(?:and[ _])?(?:time)?"
    r"|time(?:stamp)?|day|year|month|weekday)|(?:today|now)['’]?s (?:date|day|time)|today(?= is\b| ?[:=>]|,? \(?\d)"
    r"|date today|time now|now(?= is\b| ?[:=>])|(?:it is|it['’]s|the time is|the date is) (?:now|currently)"
    r"|now,? it(?: is|['’]s)|^[ \t>*-]{0,8}the (?:date|time) is|(?<=[.!?] )the (?:date|time) is"
    r"|(?:server|system) time(?= is|[:=])"
    r"|heute ist|(?:aktuelle[sn]?|heutiges) (?:datum|uhrzeit|zeit)|date (?:du jour|actuelle)|heure actuelle|nous sommes"
    r"|fecha(?: y hora)? actual|hora actual|hoy es|data(?: e hora)? atual|hora atual|hoje é|oggi è|сегодня"
    r"|текущ(?:ая|ее) (?:дата|время))|今天(?:的日期)?|(?:当前|當前|现在|現在)[的の]?(?:时间|時間|日期|日時|時刻)?"
    r"|今日(?:の日付)?|本日|오늘(?:의 날짜)?|현재 ?(?:시간|시각|날짜)"
)
_LABEL_END = r"[*`\"']{0,3}[ \t]?(?:[:=>：]|is\b)[ \t*`\"']{0,6}"
_LINE_START = r"^[ \t>*<`-]{0,8}"
_CLOCK = re.compile(rf"(?:{_NOW}){_LINK}(?P<value>{_MOMENT})", _LINES)
# Without such a label, a date is today only at the start of a sentence, and written in full.
_DAY_STATED = re.compile(
    rf"(?:^[ \t>*-]{{0,8}}|(?<=[.!?] ))(?:It is|It['’]s) (?:{_DAY},? )?"
    rf"(?P<value>{_DATE}(?:[T, ]{{1,3}}(?:at )?{_TIME})?)",
    re.MULTILINE,
)
_MADE = re.compile(
    rf"\b(?:generated|rendered|printed|compiled|built) ?(?:on|at|:)? (?P<value>{_DATE}[T, ]{{1,3}}(?:at )?{_TIME})",
    _CASELESS,
)
_AS_OF = re.compile(rf"\b(?:as of|As of(?=.{{10,20}}\d:\d\d))(?: today,?)? (?P<value>{_DATE}(?:[T ]{_TIME})?)")
_DATE_LINE = re.compile(rf"{_LINE_START}(?:date|time|datetime|timestamp){_LABEL_END}(?P<value>{_MOMENT})", _LINES)
_STAMP = re.compile(
    r"(?<![\w:./-])(?P<value>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
    rf"|\d{{8}}T\d{{6}}Z?|{_SHORT_DAY},? (?:{_MONTH} [ \d]\d|\d\d? {_MONTH} \d{{4}}) \d\d:\d\d:\d\d"
    r"(?: [A-Z]{3,4}| [+-]\d{4})?(?: \d{4})?|datetime\.datetime\(\d{4}, [^)\n]{3,80}\))(?!\w)"
)
_DATE_ALONE = re.compile(
    rf"{_LINE_START}(?:date|time|datetime|timestamp){_LABEL_END}(?P<value>{_DATE}(?:[T, ]{{1,3}}{_TIME})?|{_TIME})"
    r"(?=[ \t*`\"']{0,6}(?:$|<))",
    _LINES,
)
# A document's header has its date among other such lines, and the date does not change.
_DOCUMENT = re.compile(
    rf"{_LINE_START}(?:author|by|version|status|title|subject|from|to|updated|last[ _]updated|created|deciders?|tags?"
    rf"|owner|category|name|event|location|venue|amount|total|vendor|invoice){_LABEL_END}",
    _LINES,
)
_PAST = re.compile(
    r"\b(?:incident|outage|breach|accident|crash|failure|post-?mortem|deadline)s?\b|\b(?:crashed|failed|happened)\b",
    _CASELESS,
)
_FACTS = re.compile(
    rf"{_LINE_START}(?:cwd|pwd|working[ _]?(?:directory|dir|folder)|platform|os(?: version)?|shell"
    rf"|day of (?:the )?week|time ?zone|host ?name){_LABEL_END}",
    _LINES,
)

_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
_RANDOM = re.compile(
    rf"(?<![\w./=@:#&-])(?P<value>{_UUID}|01[0-9A-HJKMNP-TV-Z]{{24}}|(?=\d{{0,40}}[a-f])(?=[a-f]{{0,40}}\d)[0-9a-f]{{24,}}+"
    r"|(?:req|sess|session|msg|run|thread|conv|chatcmpl|resp|call|toolu)[_-](?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{14,64}+)(?![\w-])"
)
# Words that say that such a value is constant.
_STATIC = re.compile(
    r"\b(?:sha-?\d{0,3}|md5|digest|checksum|hash|integrity|etag|commit|revision|rev|ref|tenant|subscription|client|app"
    r"|application|project|org|organi[sz]ation|account|namespace|[ug]uid|clsid|schema|role|definition|template|policy|image"
    r"|layer|pinned|package|product|plan|price|service|characteristic|team|channel|folder|document|page|board|database|table"
    r"|dataset|model|licen[sc]e|fingerprint|cluster|vpc|zone|bucket|component|azure|oauth|flag|environment|version|fixture"
    r"|constant|key|seed)s?\b",
    _CASELESS,
)
_SAMPLES = ("123e4567", "550e8400", "01234567", "12345678", "deadbeef", "01arz3ndekt", "abcdef", "xxxx")
_ID = re.compile(
    r"(?<![\w/])(?:session|request|req|trace|span|correlation|conversation|chat|thread|run|invocation|execution|interaction"
    rf"|turn|message|job|transaction|workflow)(?P<id>[ _-]?(?:id|uuid|key|token|number)(?!\w))?{_LABEL_END}"
    r"(?P<value>[A-Za-z0-9][A-Za-z0-9_.-]{3,80})",
    _CASELESS,
)
_ID_LINE = re.compile(
    rf"{_LINE_START}(?:session|request|trace|conversation|thread|run)[ _-]?id{_LABEL_END}(?P<value>\d{{1,4}})"
    r"(?=[ \t]*$|<)",
    _LINES,
)
_NO_ID = re.compile(
    r"(?:[a-z]{1,12}[_-])?(?:abc|xyz|foo|bar|test|demo|example|sample|your|my|0+1?$|12345|u?int\d|float\d|[ug]uid|varchar"
    r"|char|string|base64|utf|sha\d|v\d|\d{4}-\d\d-\d\d)",
    _CASELESS,
)

_BEGIN = r"(?<![\w.~/@$}\]-])"
_NAME = r"(?P<name>[^\s/\\:*?\"<>|`'(),;\[\]{}$%]{1,64}+)(?![<{$%])"
_BACK = r"[\\/]{1,2}"
_REST = rf"(?:{_BACK}(?:[^\s\"'`<>|,;)]{{0,200}}[^\s\"'`<>|,;).:])?)?"
_HOME = re.compile(rf"{_BEGIN}(?P<value>(?:/(?:home|Users)/|[A-Za-z]:{_BACK}Users{_BACK}){_NAME}{_REST})")
_ROOT = re.compile(rf"{_BEGIN}(?P<value>/root/(?=\w){_NAME}{_REST})")
_TEMP = re.compile(
    rf"{_BEGIN}(?P<value>(?:(?:/private)?/tmp/(?:tmp[a-z0-9_]{{6,10}}(?![\w-])|pytest-of-[\w.-]{{1,40}}+|{_UUID}"
    r"|(?=\d{0,16}[a-f])(?=[a-f]{0,16}\d)[0-9a-f]{8,40}(?![\w-])|[A-Za-z]{1,20}[.-](?=[A-Za-z]{0,12}\d)[A-Za-z0-9]{6,16}(?![\w-]))"
    rf"|(?:/private)?/var/folders/[\w+]{{2}}/[\w+]{{6,60}}|[A-Za-z]:{_BACK}Users{_BACK}{_NAME}{_BACK}AppData{_BACK}Local"
    rf"{_BACK}Temp\b){_REST})"
)
# User names of examples, containers and build machines.
_NOBODY = re.compile(
    r"you|me|someone|somebody|foo|bar|alice|bob|carol|john|jane|johndoe|janedoe|john\.doe|jdoe|example|test|tester|dev"
    r"|developer|runner|runneradmin|ubuntu|debian|node|app|vscode|codespace|coder|jovyan|git|deploy|deployer|docker|container"
    r"|circleci|jenkins|vagrant|pi|admin|administrator|root|guest|agent|sandbox|nonroot|linuxbrew|shared|public|default|www"
    r"|www-data|gitpod|project|\.\.|…|.{0,60}(?:user|name|your|xxx).{0,60}"
)
_ROUTE = re.compile(
    r"\b(?:rout(?:e|es|er|ing)|endpoint|page|screen|tab|ur[il]s?|redirect\w*|navigat\w*|GET|POST|link\w*)\b",
    _CASELESS,
)
_FOLDER = re.compile(
    r"(?<![\w-])(?<!/<)(?:cwd|pwd|(?:current[ _-]?)?work(?:ing)?[ _-]?(?:directory|dir|folder)"
    r"|current[ _-]?(?:directory|folder|dir)|(?:project|workspace|repo(?:sitory)?|root)"
    r"[ _-]?(?:root|directory|folder|path|dir)|workspace)"
    rf"(?: \([^()\n]{{0,40}}\))?{_LABEL_END}(?P<value>(?:/|[A-Za-z]:{_BACK})[^\s\"'`<>|,;)]{{0,300}}[^\s\"'`<>|,;).:])",
    _CASELESS,
)
# The usual working folders of containers.
_FIXED = (
    "/tmp", "/app", "/workspace", "/workspaces", "/repo", "/src", "/code", "/work", "/project", "/usr/src/app",
    "/github/workspace", "/testbed", "/mnt/data",
)  # fmt: skip
_NOWHERE = re.compile(
    r"/\.|/(?:path|your|some|absolute|full|abs|example|foo|my|the)(?:[/_-]|$)|[^\n]{0,200}?(?:\.\.\.|…|[{$%*])",
    _CASELESS,
)

_PROCESS = re.compile(
    r"(?<![\w-])(?P<value>(?:pid|process[ _-]?id)['\"*`]{0,3}[ \t]{0,2}(?:[:=#]|is\b)?[ \t*`\"']{0,4}(?<=\W)\d{3,8})"
    r"(?![\w-])",
    _CASELESS,
)
_ADDRESS = re.compile(r"(?P<value><[\w.'<> ]{0,80}\bat 0x[0-9a-fA-F]{6,16}>)")
_COUNTER = re.compile(
    r"\b(?P<value>(?:turn|iteration|request|message)(?: number| no\.?)?[ :#]{1,3}\d{1,6}(?: of | ?/ ?| out of )"
    r"\d{1,6}\b"
    r"|(?:this is|you are (?:on|at|in)|now (?:on|at)) (?:turn|iteration|step|message)(?: number)? #?\d{1,6}\b"
    r"|(?:current (?:turn|iteration|step)|(?:turn|iteration) (?:count|number)|(?:turns|messages|steps) (?:so far|used"
    r"|taken|left|remaining)) ?[:=] ?\d{1,6})",
    _CASELESS,
)
_TURN_LINE = re.compile(rf"{_LINE_START}(?P<value>(?:turn|iteration|round){_LABEL_END}\d{{1,6}})(?=[ \t*]*$|<)", _LINES)
_AMOUNT = r"(?<![\d.,])\d(?:[\d,._]{0,14}\d)?"
_COUNTED = "(?:tokens?|credits?)"
_BUDGET = re.compile(
    rf"(?P<value>{_AMOUNT} ?[kKM]? {_COUNTED} (?:left|remaining|remain)\b"
    r"|(?<![\w.,'\"])\d{1,6} (?:attempts?|tries|retries|turns?|requests?|messages?|(?:tool )?calls?)"
    r" (?:left|remaining)\b"
    rf"|\b(?:used|spent|consumed) {_AMOUNT} ?[kKM]? (?:of|out of|/) (?:your |the )?{_AMOUNT} ?[kKM]? {_COUNTED}\b"
    rf"|{_AMOUNT} ?[kKM]? ?(?:of|out of|/) ?{_AMOUNT} ?[kKM]? {_COUNTED} (?:used|spent|consumed|left|remaining)\b"
    r"|\b(?:tokens? (?:usage|used|left|remaining|consumed)|(?:remaining|used) (?:tokens?|budget|context)|token budget"
    r" (?:left|remaining|used)|context (?:window )?(?:used|left|remaining|usage)|cost (?:so far|to date)|spent so far)"
    r" ?[:=] ?[$€]? ?\d(?:[\d,._]{0,14}\d)? ?[kKM%]?)",
    _CASELESS,
)
_CONDITION = re.compile(
    r"\b(?:than|when|if|with|least|most|until|under|below|over|about|keep|reserve|leave|every|once|per)\b[^\n.]{0,24}$",
    _CASELESS,
)
_MACHINE = re.compile(
    rf"{_LINE_START}(?P<value>(?:host ?name|machine name|computer name){_LABEL_END}(?P<host>[A-Za-z0-9][\w.-]{{2,80}})"
    rf"|(?:system )?uptime{_LABEL_END}(?:up )?\d{{1,6}}(?: ?(?:d|days?|h|hours?|min|minutes?|s|seconds?)\b|:\d\d)"
    rf"[^\n]{{0,20}}|load averages?{_LABEL_END}\d[\d., ]{{2,30}}|(?:free|available|used) (?:memory|ram"
    rf"|disk(?: space)?){_LABEL_END}"
    r"\d[\d.,]{0,8} ?[KMGT]?i?B)(?=[ \t]*$|[,;<`])",
    _LINES,
)
_GIT = re.compile(
    rf"{_LINE_START}(?P<value>(?:current|git|active)[ _-]?branch{_LABEL_END}\w[\w./+-]{{0,100}}"
    r"(?=[ \t*`\"']{0,4}(?:$|\())|(?:HEAD|(?:last|latest|current|head|git)[ _]commit)(?: sha| hash| id)?"
    rf"{_LABEL_END}(?=[a-f]{{0,40}}\d)[0-9a-f]{{7,40}}\b)",
    _LINES,
)
_GIT_STATUS = re.compile(
    r"^(?P<value>On branch \w[\w./+-]{0,100}(?=[ \t]*$)|HEAD (?:is now|detached) at [0-9a-f]{7,40}\b"
    r"|Your branch is (?:ahead of|behind) ')",
    re.MULTILINE,
)
_GIT_LINE = re.compile(rf"{_LINE_START}(?P<value>branch{_LABEL_END}\w[\w./+-]{{0,100}})(?=[ \t]*$| \()", _LINES)


class Movement(NamedTuple):
    """A piece of a slow text that changes: the rule it breaks, what it is, and its position."""

    code: str
    what: str
    start: int
    end: int


def movements(slow: SlowText) -> list[Movement]:
    """Return the pieces that change in a text, in order. Where two rules match, the more specific one wins."""
    found: list[Movement] = []
    taken = bytearray(len(slow.text))
    heard = {text: without_comments(text) for text in (slow.stated, slow.prose)}
    for code, what, pattern, only_prose, holds in _LOOKS:
        text = slow.prose if only_prose else slow.stated
        for match in pattern.finditer(text):
            start, end = match.span("value")
            if taken.find(1, start, end) < 0 and holds(match, heard[text]):
                found.append(Movement(code, what, start, end))
                taken[match.start() : end] = b"\1" * (end - match.start())
    return sorted(found, key=lambda movement: movement.start)


def said_before(place: int, text: str) -> str:
    """Return the text before a position in its sentence."""
    before = text[max(0, place - _NEAR) : place]
    return before[max((end.end() for end in SENTENCE.finditer(before)), default=0) :]


def _before(match: re.Match[str], text: str) -> str:
    return said_before(match.start("value"), text)


def _line_around(match: re.Match[str], text: str) -> str:
    before = text[max(0, match.start() - _NEAR) : match.start()].rpartition("\n")[2]
    return before + " " + text[match.end() : match.end() + _NEAR].partition("\n")[0]


def _is_stated(match: re.Match[str], text: str) -> bool:
    """Whether nothing before a value says that it is an example."""
    return SHOWN.search(_before(match, text)) is None


def _is_clock(match: re.Match[str], text: str) -> bool:
    value, label = match["value"], text[match.start() : match.start("value")].lower()
    if re.fullmatch(r"20\d\d", value) and not ("year" in label or "month" in label):
        return False
    return SHOWN.search(label) is None and _is_stated(match, text)


def _is_stamp(match: re.Match[str], text: str) -> bool:
    # A person wrote a time without a label and without seconds.
    shown = re.search(r"\d:?\d\d:?00(?![:\d])", match["value"][:24]) or text[: match.start()].endswith(":\n")
    return not shown and not _PAST.search(_before(match, text)) and _is_stated(match, text)


def _is_dated(match: re.Match[str], text: str) -> bool:
    """Whether a bare date is *not* part of a document's header."""
    near = max(0, match.start() - _NEAR), match.end() + _NEAR
    return _DOCUMENT.search(text, *near) is None and _is_stated(match, text)


def _is_fact(match: re.Match[str], text: str) -> bool:
    """Whether a bare label stands in a list of facts about a machine."""
    listed = _FACTS.search(text, max(0, match.start() - _NEAR), match.end() + _NEAR)
    return listed is not None and _is_stated(match, text)


def _is_sample(value: str) -> bool:
    value = value.lower()
    return len(set(value) - set("-_")) < 8 or any(sample in value for sample in _SAMPLES)


def _is_random(match: re.Match[str], text: str) -> bool:
    static = _STATIC.search(_line_around(match, text)) or _STATIC.search(_before(match, text)[-_NEAR // 2 :])
    return not static and not _is_sample(match["value"]) and _is_stated(match, text)


def _is_id(match: re.Match[str], text: str) -> bool:
    value = match["value"].rstrip(".-_")
    digits, letters = sum(map(str.isdigit, value)), sum(map(str.isalpha, value))
    if _NO_ID.match(value) or not _is_stated(match, text) or any(sample in value.lower() for sample in _SAMPLES):
        return False
    if match["id"]:
        return digits >= 5 if not letters else digits >= 2 and len(value) >= 6
    if re.fullmatch(r"[0-9a-f]{8,64}", value):
        return digits >= 2 and letters >= 1
    return digits >= 3 and letters >= 3 and len(value) >= 12


def _is_number(match: re.Match[str], text: str) -> bool:
    return match["value"] not in ("0", "1", "123", "1234") and _is_stated(match, text)


def _is_somebody(match: re.Match[str], text: str) -> bool:
    if _NOBODY.fullmatch(match["name"].lower().rstrip(".")):
        return False
    routed = match["value"].startswith("/home/") and _ROUTE.search(_line_around(match, text))
    return not routed and _is_stated(match, text)


def _is_temporary(match: re.Match[str], text: str) -> bool:
    return (match["name"] is None or _is_somebody(match, text)) and _is_stated(match, text)


def _is_folder(match: re.Match[str], text: str) -> bool:
    path = match["value"].rstrip("/.")
    parts = re.split(r"[\\/]+", path)
    anybody = len(parts) > 2 and parts[1] in ("home", "Users") and _NOBODY.fullmatch(parts[2].lower())
    fixed = not path or path in _FIXED or anybody or _NOWHERE.match(path)
    return not fixed and _is_stated(match, text)


def _is_left(match: re.Match[str], text: str) -> bool:
    return _CONDITION.search(_before(match, text)) is None and _is_stated(match, text)


def _is_host(match: re.Match[str], text: str) -> bool:
    host = (match["host"] or "").lower()
    return not host.startswith(("localhost", "example", "your", "string")) and _is_stated(match, text)


_Holds = Callable[[re.Match[str], str], bool]
# The code, what it is, its pattern, whether it counts in prose only, and a further test; the more specific ones first.
_LOOKS: tuple[tuple[str, str, re.Pattern[str], bool, _Holds], ...] = (
    ("DP108", "the working folder", _FOLDER, False, _is_folder),
    ("DP105", "a temporary path", _TEMP, False, _is_temporary),
    ("DP104", "a path below a home folder", _HOME, False, _is_somebody),
    ("DP104", "a path below a home folder", _ROOT, False, _is_somebody),
    ("DP103", "the id of a session, a request or a run", _ID, False, _is_id),
    ("DP103", "the id of a session, a request or a run", _ID_LINE, False, _is_number),
    ("DP107", "an object's address", _ADDRESS, False, _is_stated),
    ("DP106", "a process id", _PROCESS, False, _is_stated),
    ("DP101", "a time", _CLOCK, False, _is_clock),
    ("DP101", "a time", _AS_OF, False, _is_stated),
    ("DP101", "a time", _DATE_LINE, False, _is_fact),
    ("DP101", "a time", _DATE_ALONE, True, _is_dated),
    ("DP101", "a time", _DAY_STATED, False, _is_stated),
    ("DP101", "a time", _MADE, True, _is_stated),
    ("DP101", "a time", _STAMP, True, _is_stamp),
    ("DP112", "what is checked out", _GIT, False, _is_stated),
    ("DP112", "what is checked out", _GIT_STATUS, True, _is_stated),
    ("DP112", "what is checked out", _GIT_LINE, False, _is_fact),
    ("DP109", "a count of turns", _COUNTER, False, _is_stated),
    ("DP109", "a count of turns", _TURN_LINE, False, _is_stated),
    ("DP110", "what is used or left", _BUDGET, False, _is_left),
    ("DP111", "a machine's name or state", _MACHINE, False, _is_host),
    ("DP102", "a random id", _RANDOM, True, _is_random),
)
