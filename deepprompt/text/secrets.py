"""Redaction of keys in text that is shown, such as paths, branches and commit subjects.

A note has the kind of the key and the start of its SHA-256, so that its owner can find it. Neither the key nor a part
of it is kept anywhere. The contents of instruction files are not searched: they are the user's own words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from deepprompt.prompt import Note, sha256_hex

# The start of each kind of key, and what follows it. Prefixes are those of the vendors. To keep the time linear, a
# class of characters is never followed by another that overlaps it, or else it is bounded.
_KEYS = (
    ("AWS key", r"(?:AKIA|ASIA)[0-9A-Z]{12,}+"),
    ("GitHub token", r"(?:gh[pousr]_[A-Za-z0-9]{16,}+|github_pat_[A-Za-z0-9_]{16,}+)"),
    ("GitLab token", r"glpat-[A-Za-z0-9_-]{16,}+"),
    ("API key", r"sk-(?:(?:ant|proj|svcacct|or|live|test|admin)-[A-Za-z0-9_-]{12,}+|[A-Za-z0-9]{20,}+)"),
    ("Stripe key", r"[sr]k_(?:live|test)_[A-Za-z0-9]{12,}+"),
    ("Slack token", r"xox[abeoprs]-[0-9][A-Za-z0-9-]{9,}+"),
    ("Google key", r"AIza[A-Za-z0-9_-]{30,}+"),
    ("Google token", r"ya29\.[A-Za-z0-9_-]{16,}+"),
    ("Hugging Face token", r"hf_[A-Za-z0-9]{24,}+"),
    ("npm token", r"npm_[A-Za-z0-9]{30,}+"),
    ("PyPI token", r"pypi-AgE[A-Za-z0-9_-]{29,}+"),
    ("JSON web token", r"eyJ[A-Za-z0-9_-]{8,256}+\.eyJ[A-Za-z0-9_-]{8,}+(?:\.[A-Za-z0-9_-]*+)?"),
    ("private key", r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----[A-Za-z0-9+/=\s]*+(?:-----END [A-Z ]{0,30}KEY-----)?"),
    ("password in an address", r"(?<=://)[^\s/:@]{0,256}+:[^\s/@]{1,256}+(?=@)"),
)

# Every key contains one of these words. Most texts contain none, and this check takes a tenth of the time.
_WORDS = (
    "AKIA", "ASIA", "AIza", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "sk-", "k_live_",
    "k_test_", "xox", "ya29.", "hf_", "npm_", "pypi-AgE", "eyJ", "-----BEGIN ", "://",
)  # fmt: skip


def find_secrets(text: str) -> Iterator[tuple[str, re.Match[str]]]:
    """Yield the kind of each key in a text, and the match."""
    for word in _WORDS:
        if word in text:
            break
    else:
        return
    for match in _pattern().finditer(text):
        yield next(kind for number, (kind, _) in enumerate(_KEYS) if match.group(f"k{number}") is not None), match


def redact(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    """Write `[redacted: KIND]` for each key in a text, and note its kind, place and the start of its SHA-256."""
    pieces, start = [], 0
    for kind, match in find_secrets(text):
        if notes is not None:
            notes.append(Note("redacted", source, f"{kind}, SHA-256 {sha256_hex(match.group())[:12]}", match.start()))
        pieces += [text[start : match.start()], f"[redacted: {kind}]"]
        start = match.end()
    return "".join([*pieces, text[start:]]) if pieces else text


@cache
def _pattern() -> re.Pattern[str]:
    # A prefix in the middle of a word does not count. The address has its own start.
    kinds = "|".join(f"(?P<k{number}>{pattern})" for number, (_, pattern) in enumerate(_KEYS))
    return re.compile(rf"(?<![A-Za-z0-9])(?:{kinds})")
