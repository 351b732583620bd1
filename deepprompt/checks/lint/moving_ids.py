"""How ids, processes and counts give themselves away: a session's id, a random one, an address, a turn, a budget."""

from __future__ import annotations

import re
from itertools import pairwise

from deepprompt.checks.lint.look import (
    CASELESS,
    LABEL_END,
    LINE_START,
    LINES,
    NEAR,
    ROW,
    UUID,
    Look,
    before,
    is_stated,
    line_around,
)  # fmt: skip

_RANDOM = re.compile(
    rf"(?<![\w./=@:#&-])(?P<value>{UUID}|01[0-9A-HJKMNP-TV-Z]{{24}}|(?=\d{{0,40}}[a-f])(?=[a-f]{{0,40}}\d)[0-9a-f]{{24,}}+"
    r"|(?:req|sess|session|msg|run|thread|conv|chatcmpl|resp|call|toolu)[_-](?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{14,64}+)(?![\w-])"
)
# A folder or a file that has a random name; an address of the web is none.
_RANDOM_PATH = re.compile(
    rf"(?<![\w:/.])(?P<value>(?:[A-Za-z]:|[\w.~@+-]{{0,60}}+)(?:[\\/]{{1,2}}[\w.@+-]{{1,80}}+){{0,12}}?[\\/]{{1,2}}"
    rf"(?:[\w.]{{1,20}}[-_])??(?:{UUID}|01[0-9A-HJKMNP-TV-Z]{{24}}|(?=\d{{0,40}}[a-f])(?=[a-f]{{0,40}}\d)[0-9a-f]{{16,64}}+))"
    r"(?![\w-])"
)
# Words that say that such a value is constant.
_STATIC = re.compile(
    r"\b(?:sha-?\d{0,3}|md5|digest|checksum|hash|integrity|etag|commit|revision|rev|ref|tenant|subscription|client|app"
    r"|application|project|org|organi[sz]ation|account|namespace|[ug]uid|clsid|schema|role|definition|template|policy|image"
    r"|layer|pinned|package|product|plan|price|service|characteristic|team|channel|folder|document|page|board|database|table"
    r"|dataset|model|licen[sc]e|fingerprint|cluster|vpc|zone|bucket|component|azure|oauth|flag|environment|version|fixture"
    r"|constant|key|seed)s?\b",
    CASELESS,
)
_SAMPLES = ("123e4567", "550e8400", "01234567", "12345678", "deadbeef", "01arz3ndekt", "abcdef", "xxxx")
_ID = re.compile(
    r"(?<![\w/])(?:session|request|req|trace|span|correlation|conversation|chat|thread|run|invocation|execution|interaction"
    rf"|turn|message|job|transaction|workflow)(?P<id>[ _-]?(?:id|uuid|key|token|number)(?!\w))?{LABEL_END}"
    r"(?P<value>[A-Za-z0-9][A-Za-z0-9_.-]{3,80})",
    CASELESS,
)
_ID_LINE = re.compile(
    rf"{LINE_START}(?:session|request|trace|conversation|thread|run)[ _-]?id{LABEL_END}(?P<value>\d{{1,4}})"
    r"(?=[ \t]*$|<)",
    LINES,
)
_NO_ID = re.compile(
    r"(?:[a-z]{1,12}[_-])?(?:abc|xyz|foo|bar|test|demo|example|sample|your|my|0+1?$|12345|u?int\d|float\d|[ug]uid|varchar"
    r"|char|string|base64|utf|sha\d|v\d|iso|rfc|hex|\d{4}-\d\d-\d\d)",
    CASELESS,
)
# A header on the first lines of a prompt, such as a client puts there to be counted by.
_HEADER = re.compile(
    r"(?P<value>^[A-Za-z][\w-]{1,60}+(?:\.[\w-]{1,40}+){0,4}[ \t]?[:=][ \t]*[^\s][^\n]{2,400})", re.MULTILINE
)
_FIELDS = re.compile(r"(?:[\w.-]{1,40}+=[^\s;,=]{1,80}+[;,]?[ \t]*+){1,20}")
_PIECE = re.compile(r"[0-9A-Za-z]{3,64}+")
_BUILD = re.compile(r"\d{1,4}\.\d{1,4}\.\d{1,4}[.+-](?=[0-9a-f]{0,40}[a-f])[0-9a-f]{3,40}(?![\w.])")

_PROCESS = re.compile(
    r"(?<![\w-])(?P<value>(?:pid|process[ _-]?id)['\"*`]{0,3}[ \t]{0,2}(?:[:=#]|is\b)?[ \t*`\"']{0,4}(?<=\W)\d{3,8})"
    r"(?![\w-])",
    CASELESS,
)
_ADDRESS = re.compile(r"(?P<value><[\w.'<> ]{0,80}\bat 0x[0-9a-fA-F]{6,16}>)")
_COUNTER = re.compile(
    r"\b(?P<value>(?:turn|iteration|request|message)(?: number| no\.?)?[ :#]{1,3}\d{1,6}(?: of | ?/ ?| out of )"
    r"\d{1,6}\b"
    r"|(?:this is|you are (?:on|at|in)|now (?:on|at)) (?:turn|iteration|step|message)(?: number)? #?\d{1,6}\b"
    r"|(?:current (?:turn|iteration|step)|(?:turn|iteration) (?:count|number)|(?:turns|messages|steps) (?:so far|used"
    r"|taken|left|remaining)) ?[:=] ?\d{1,6})",
    CASELESS,
)
_TURN_LINE = re.compile(rf"{LINE_START}(?P<value>(?:turn|iteration|round){LABEL_END}\d{{1,6}})(?=[ \t*]*$|<)", LINES)
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
    CASELESS,
)
_CONDITION = re.compile(
    r"\b(?:than|when|if|with|least|most|until|under|below|over|about|keep|reserve|leave|every|once|per)\b[^\n.]{0,24}$",
    CASELESS,
)


def _is_sample(value: str) -> bool:
    value = value.lower()
    return len(set(value) - set("-_")) < 8 or any(sample in value for sample in _SAMPLES)


def _is_random(match: re.Match[str], text: str) -> bool:
    static = _STATIC.search(line_around(match, text)) or _STATIC.search(before(match, text)[-NEAR // 2 :])
    return not static and not _is_sample(match["value"]) and is_stated(match, text)


def _is_random_path(match: re.Match[str], text: str) -> bool:
    name = re.split(r"[\\/]+", match["value"])[-1]
    address = re.search(
        r"\b(?:https?|GET|POST|PUT|PATCH|DELETE|api|endpoint|url)\b", line_around(match, text), CASELESS
    )
    return not address and not _is_sample(name) and is_stated(match, text)


def _is_id(match: re.Match[str], text: str) -> bool:
    value = match["value"].rstrip(".-_")
    digits, letters = sum(map(str.isdigit, value)), sum(map(str.isalpha, value))
    if _NO_ID.match(value) or not is_stated(match, text) or any(sample in value.lower() for sample in _SAMPLES):
        return False
    if match["id"]:
        drawn = any(len(piece) >= 6 and _is_drawn(piece) for piece in _PIECE.findall(value))
        return digits >= 5 or drawn
    if re.fullmatch(r"[0-9a-f]{8,64}", value):
        return digits >= 2 and letters >= 1
    return digits >= 3 and letters >= 3 and len(value) >= 12


def _is_number(match: re.Match[str], text: str) -> bool:
    return match["value"] not in ("0", "1", "123", "1234") and is_stated(match, text)


def _is_header(match: re.Match[str], text: str) -> bool:  # noqa: ARG001
    """Whether a line is a header at the start of a prompt with a random piece in its value."""
    name, _, value = re.split(r"([:=])", match["value"], maxsplit=1)
    fields = "-" in name or _FIELDS.fullmatch(value.strip()) is not None
    return fields and (_BUILD.search(value) is not None or any(_is_drawn(piece) for piece in _PIECE.findall(value)))


def _is_drawn(piece: str) -> bool:
    """Whether a word changes between letters and digits as no name does: `a3f`, `x7k2q`, and not `arm64` or `70b`."""
    switches = sum(one.isdigit() != other.isdigit() for one, other in pairwise(piece))
    return switches >= 2 and not re.fullmatch(r"v?\d+[a-z]\d*|[a-z]+\d+[a-z]?|x86|h26\d", piece.lower())


def _is_process(match: re.Match[str], text: str) -> bool:
    return not match["value"].endswith(("123", "1234", "12345", "123456")) and is_stated(match, text)


def _is_turn(match: re.Match[str], text: str) -> bool:
    return not re.search(r"\b[01]$", match["value"]) and is_stated(match, text)


def _is_left(match: re.Match[str], text: str) -> bool:
    return _CONDITION.search(before(match, text)) is None and is_stated(match, text)


_SESSION = "the id of a session, a request or a run"
# In a document of a person, ids and counts are records of the past: all of these count in rendered texts only.
SESSIONS = (
    Look("DP103", "a path with a random name", (ROW,), _RANDOM_PATH, _is_random_path, only_rendered=True),
    Look(
        "DP103", _SESSION,
        ("session", "req", "trace", "span", "correlation", "conversation", "chat", "thread", "run", "invocation",
         "execution", "interaction", "turn", "message", "job", "transaction", "workflow"),
        _ID, _is_id, only_rendered=True,
    ),
    Look("DP103", _SESSION, ("id",), _ID_LINE, _is_number, only_rendered=True),
)  # fmt: skip
PROCESSES = (
    Look("DP107", "an object's address", (" at 0x",), _ADDRESS, is_stated, only_rendered=True),
    Look("DP106", "a process id", ("pid", "process"), _PROCESS, _is_process, only_rendered=True),
)
COUNTS = (
    Look(
        "DP109", "a count of turns", ("turn", "iteration", "request", "message", "step"), _COUNTER, is_stated,
        only_rendered=True,
    ),
    Look("DP109", "a count of turns", ("turn", "iteration", "round"), _TURN_LINE, _is_turn, only_rendered=True),
    Look(
        "DP110", "what is used or left",
        ("token", "credit", " left", "remaining", "context", "cost ", "spent", "budget"), _BUDGET, _is_left,
        only_rendered=True,
    ),
)  # fmt: skip
RANDOM = (
    Look("DP102", "a random id", (ROW,), _RANDOM, _is_random, only_prose=True, only_rendered=True),
    Look("DP102", "a header with a random value", (), _HEADER, _is_header, only_rendered=True, head=True),
)
