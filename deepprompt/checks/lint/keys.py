"""Keys in a text, and how a message quotes a text without quoting a key.

`deepprompt.text.secrets` knows keys by their form. This module adds those that only the word before them announces,
such as a password, and tells which ones are examples: documentation is full of keys that open nothing, and a lint that
complains about each of them is soon switched off.
"""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from deepprompt.checks.lint.lines import digit_lines, small_letters
from deepprompt.prompt import sha256_hex
from deepprompt.text.display import display
from deepprompt.text.secrets import find_secrets

_LONGEST = 60

# A key ends at the next blank or quote; a private key spans lines.
_TOKEN = re.compile(r"[^\s\"'`<>]{1,4096}+")
_ADDRESS = re.compile(r"[^\s/@]{1,520}+@?[^\s\"'`<>]{0,80}+")
_PRIVATE = re.compile(r"-----BEGIN [A-Z ]{0,30}KEY-----[A-Za-z0-9+/=\s]*+(?:-----END [A-Z ]{0,30}KEY-----)?")
_EXTENTS = {"private key": _PRIVATE, "password in an address": _ADDRESS}
_FILLER = re.compile(
    r"x{4,}|\*{3}|\.{3}|…|0{6}|1234567|abc123|abcdef|example|beispiel|ejemplo|exemp[el]|esempio|przyk[lł]ad|contoh|sample|dummy|fake|placeholder|redacted|change|your|insert|test[-_]?key|xyz|JBSWY3DPEHPK3PXP|C2y6yDjf5/R\+ob0N8A7Cgv|Eby8vdM02xNOcqF|\.signature\b"
    # samples of web tokens, and the keys of emulators and of the usual second factor
    r"|a1b2c3|d4e5f6|1q2w3e|AKIAIOSFODNN7|eyJhbGciOiJub25lI|eyJzdWIiOiIxMjM0NTY3ODkw|SflKxwRJSMeKKF2QT4fwpM|YQSn-xWAQiiEh9qM58wZNny",
    re.IGNORECASE,
)
# Words that stand for a password, and hosts that only the author can reach: no real key is leaked there.
_WORDS = frozenset(("admin", "guest", "pass", "passwd", "password", "postgres", "pw", "pwd", "root", "secret", "token"))
_NEAR = re.compile(
    r"@(?:localhost|127\.|\[::1\]|host\.docker\.internal|[\w-]{1,63}+(?![\w.-])|(?:[\w-]{1,63}\.){0,5}example\b)"
)
# Keys that a label announces. The value must look random; a word in it makes it an example.
_VALUE_END = r"(?![\w(\[{$<…]|\.[\w.])"
_LABEL_END = r"['\"*`]{0,3}[ \t]{0,2}(?:[:=]|is\b)[ \t]{0,2}['\"*`]{0,3}"
_LABELLED = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:password|passwort|passwd|passphrase|pwd|mot de passe|contraseña|senha)"
    rf"{_LABEL_END}(?P<password>[A-Za-z0-9!@#%^&*+/=_?~-]{{8,64}}+){_VALUE_END}"
    rf"|(?:api[ _-]?key|secret(?:[ _-]?key)?|(?:access|auth|api)[ _-]?token){_LABEL_END}"
    rf"(?P<key>[A-Za-z0-9+/=_-]{{16,200}}+){_VALUE_END}"
    rf"|Bearer[ \t]{{1,4}}(?P<token>[A-Za-z0-9._~+/=-]{{20,2000}}+){_VALUE_END})",
    re.IGNORECASE,
)
_LABELS = ("passw", "passphrase", "pwd", "mot de passe", "contraseña", "senha", "api", "secret", "token", "bearer")
_HEADER = re.compile(r"eyJ[\w-]*+[.!?]*+")  # the header of a web token, which is nearly always the same
_BLAMED = re.compile(r"hard-?coded|anti-?pattern|❌|\bnever\b|\bbad\b|\bwrong\b", re.IGNORECASE)  # what not to do
_SETTING = re.compile(r"[A-Za-z_]+=\d+")  # the rule for a password, such as `minLength=8`
_HEX = re.compile(r"[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{128}", re.IGNORECASE)  # a digest, not a password
_WORDS_AND_YEAR = re.compile(r"(?:[A-Z][a-z]{3,12}){1,4}\d{0,4}[!@#]?")
_LOCAL = re.compile(r"://(?:localhost|127\.0\.0\.1)\b")  # a request to a program on the author's machine
_KINDS = {"password": "password", "key": "API key", "token": "bearer token"}
_SIGNS = str.maketrans("0134578@$!", "oieastbasi")
_WORDY = re.compile(
    r"pass|secret|word|admin|secur|strong|welcome|test|demo|user|login|token|guest|qwert|letme|hunter|correct|horse|sample|value"
    r"|hash|input|field|string|generate|base64|troub|dragon|winter|summer|spring|autumn|hello|world|root|some|this|that|here|prod|name"
)
_TALK = re.compile(r"s[e3]cret|passw|project\d?-|production|deploy", re.IGNORECASE)  # in a key with a known prefix
_CHANGE = re.compile(
    r"(?<=[a-z])[^a-z]|(?<=[A-Z])[^A-Za-z]|(?<=[A-Z])[a-z]|(?<=[0-9])[^0-9]|(?<=[^A-Za-z0-9])[A-Za-z0-9]"
)
# What a browser gets to see: the address that programs send errors to, and the role of those who did not log in.
_ERRORS = re.compile(r"@(?:[\w-]{1,63}\.){1,5}sentry\.io\b")
_CLAIMS = re.compile(r"\.(eyJ[\w-]{1,2000}+)")
_PUBLIC = re.compile(r'"role"\s*:\s*"anon"|"iss"\s*:\s*"supabase-demo"')
_LINK = 1_000  # the most characters of a link that are looked at on each side of its signature
_EXPIRY = re.compile(r"[?&;](?:se|ske|Expires|X-Amz-Expires|X-Goog-Expires|expiry)=", re.IGNORECASE)
_SIGNED = ("AWS key", "Azure signature")
_DIGEST_LABEL = 24  # characters before a value that may say that it is a checksum
_DIGEST = re.compile(
    r"(?:sha-?\d{1,3}|integrity|checksum|digest|hash|signature|page_?token|x-fb-debug)"
    r"[\"'`]?[ \t]{0,3}[:=-][ \t]{0,3}[\"'`]?$",
    re.IGNORECASE,
)
_CHANGES = 4  # the fewest switches between kinds of characters in a random value
_FEWEST = 8  # the fewest different characters in a value that is not filler
_SHORTEST = 40  # the fewest characters of a private key that is not only mentioned


@dataclass(frozen=True, slots=True)
class Key:
    """A key in a text: its kind, the start of its SHA-256, and where it stands."""

    kind: str
    digest: str
    start: int
    end: int
    is_example: bool


@lru_cache(maxsize=4)  # several rules ask for the keys of the same text
def keys(text: str) -> tuple[Key, ...]:
    """Return the keys of a text. The text between the start and the end of a key must never be shown."""
    end = 0
    found = []
    for key in sorted([*_prefixed(text), *_announced(text)], key=lambda key: key.start):
        if key.start >= end:
            found.append(key)
            end = key.end
    return tuple(found)


def _announced(text: str) -> Iterator[Key]:
    """Yield the values that a label announces as a key."""
    numbered = digit_lines(small_letters(text))  # without a digit it looks like no key
    look = numbered.text
    lines = sorted({place for word in _LABELS if word in look for place in numbered.having(word, look)})
    for found in (match for place in lines for match in _LABELLED.finditer(text, *place)):
        group = found.lastgroup or ""
        key, start = found[group].rstrip(".!?"), found.start(group)
        yield Key(_KINDS[group], sha256_hex(key)[:12], start, start + len(key), not _is_drawn(found))


def _is_drawn(found: re.Match[str]) -> bool:
    """Whether a labelled value looks random, so that no person would have written it."""
    key = found[found.lastgroup or ""]
    line = found.string[found.end() : found.end() + 80].partition("\n")[0]
    if _HEADER.fullmatch(key) or _BLAMED.search(line) or _SETTING.fullmatch(key) or _LOCAL.search(line):
        return False
    if _LOCAL.search(_command_before(found.string, found.start())):
        return False
    if _WORDY.search(_decoded(key).lower()):
        return False
    if found.lastgroup == "password" and (_HEX.fullmatch(key) or _WORDS_AND_YEAR.fullmatch(key)):
        return False
    changes = len(_CHANGE.findall(re.sub(r"[-_/]", "", key)))  # these separate the words of a name
    wordy = _WORDY.search(key.lower()) or _WORDY.search(key.lower().translate(_SIGNS)) or _FILLER.search(key)
    return not wordy and len(set(key)) >= _FEWEST and any(map(str.isdigit, key)) and changes >= _CHANGES


def _command_before(text: str, place: int) -> str:
    """Return what stands before a place on its line, and on the lines that a backslash joins to it."""
    start = text.rfind("\n", max(0, place - 200), place) + 1
    while start > 1 and text[start - 2] == "\\" and place - start < _LINK:
        start = text.rfind("\n", 0, start - 1) + 1
    return text[max(start, place - _LINK) : place]


def _decoded(value: str) -> str:
    """Return the text that a value is the base64 of, "" if it is of none."""
    try:
        return urlsafe_b64decode(value.rstrip("=") + "==").decode()
    except ValueError:
        return ""


def _is_public(token: str) -> bool:
    """Whether the claims of a web token say that everybody may have it."""
    claims = _CLAIMS.search(token)
    return claims is not None and _PUBLIC.search(_decoded(claims[1])) is not None


def _prefixed(text: str) -> Iterator[Key]:
    """Yield the keys that are known by their prefix."""
    for kind, start, stop, key in find_secrets(text):
        match = _EXTENTS.get(kind, _TOKEN).match(text, start)
        end = max(match.end(), stop) if match else stop
        harmless = _DIGEST.search(text, max(0, start - _DIGEST_LABEL), start) is not None
        harmless = harmless or (kind in _SIGNED and _expires(text, start, end))
        harmless = harmless or (kind == "Azure signature" and _HEX.fullmatch(key.partition("=")[2]) is not None)
        harmless = harmless or (kind == "token in an address" and _ERRORS.match(text, stop) is not None)
        yield Key(kind, sha256_hex(key)[:12], start, end, harmless or _is_example(kind, text[start:end]))


def _expires(text: str, start: int, end: int) -> bool:
    """Whether a signature stands in a link that says until when it is valid: such links are made to be given away."""
    before = text[max(0, start - _LINK) : start].rpartition("://")[2]
    link = before + text[start : end + _LINK]
    return _EXPIRY.search(re.split(r"[\s\"'<>`]", link, maxsplit=1)[0]) is not None


def excerpt(text: str) -> str:
    """Return a text quoted for a message: short, on one line, printable, without keys."""
    # Keys first: the rest of a truncated key would not be recognised.
    shown = display(_LABELLED.sub(_redacted, text[: 4 * _LONGEST])).strip()
    return f"'{shown}'" if len(shown) <= _LONGEST - 2 else f"'{shown[: _LONGEST - 3]}…'"


def _redacted(found: re.Match[str]) -> str:
    group = found.lastgroup or ""
    if not _is_drawn(found):
        return found[0]
    return f"{found[0][: found.start(group) - found.start()]}[redacted: {_KINDS[group]}]"


def _is_example(kind: str, key: str) -> bool:
    if kind == "private key":
        return len(re.sub(r"-----[A-Z ]+-----|\s", "", key)) < _SHORTEST
    if kind == "password in an address":
        user, _, rest = key.partition(":")
        password, _, _ = rest.partition("@")
        named = password.lower() in _WORDS or password == user or password[:1] in "$<{%[*"
        named = named or re.search(r"[\[\]()\\^|*+]", f"{user}{password}") is not None  # a pattern
        named = named or _WORDY.search(password.lower().translate(_SIGNS)) is not None
        named = named or _WORDY.search(password.lower()) is not None
        return named or _FILLER.search(password) is not None or _NEAR.match(rest, len(password)) is not None
    if kind == "JSON web token" and _is_public(key):
        return True
    return _FILLER.search(key) is not None or _TALK.search(key, 4) is not None or len(set(key)) < _FEWEST
