"""Token counters: an estimate by bytes, a ratio learnt from recorded usage, or a model's own vocabulary.

`ends` counts texts that are sent one after another: the difference of two ends is the count of the texts between them,
and the last end is the count of the whole. The vocabularies come with the optional package of the extra `tokens`,
inside its wheel: nothing is ever downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import import_module
from typing import Protocol

from deepprompt.errors import UsageError

_PLAIN = "estimated: bytes divided by four"

# The vocabulary of a model by the start of its name, as in OpenAI's and DeepSeek's own packages. Longer names come
# first. A model that is not here has no public vocabulary, or none that is known yet.
_VOCABULARIES = (
    ("gpt-3.5", "cl100k_base"),
    ("gpt-35", "cl100k_base"),
    ("gpt-4.1", "o200k_base"),
    ("gpt-4.5", "o200k_base"),
    ("gpt-4o", "o200k_base"),
    ("gpt-4", "cl100k_base"),
    ("gpt-5", "o200k_base"),
    ("gpt-oss", "o200k_base"),
    ("chatgpt-4o", "o200k_base"),
    ("o1", "o200k_base"),
    ("o3", "o200k_base"),
    ("o4-mini", "o200k_base"),
    ("deepseek", "deepseek_v3"),
)

# No token of any of these vocabularies reaches over a newline to what is neither blank nor a slash, whatever stands
# around: there a text may be cut without changing how many tokens it has.
_SAFE_CUT = re.compile(r"\n(?=[^\s/])")
_PIECE = 1 << 16
_KEPT = 1 << 16


class Counter(Protocol):
    """Counts the tokens of texts, and describes how it does."""

    @property
    def basis(self) -> str:
        """A description of how it counts."""

    @property
    def exact(self) -> bool:
        """Whether the count is the model's own."""

    def __call__(self, text: str) -> int:
        """Return how many tokens a text has."""

    def ends(self, texts: Sequence[str], joined: Sequence[bool]) -> list[int]:
        """Return how many tokens there are up to the end of each text.

        `joined` says of each whether it goes on with the text before it, so that a token may have bytes of both.
        """


@dataclass(frozen=True, slots=True)
class ByBytes:
    """An estimate: a fixed number of tokens per byte, rounded down."""

    tokens: int = 1
    bytes: int = 4
    basis: str = _PLAIN

    @property
    def exact(self) -> bool:
        """An estimate is never exact."""
        return False

    def __call__(self, text: str) -> int:
        """Return how many tokens a text has, by estimate."""
        return size_of(text) * self.tokens // self.bytes

    def ends(self, texts: Sequence[str], joined: Sequence[bool]) -> list[int]:  # noqa: ARG002 - bytes just add up
        """Return how many tokens there are up to the end of each text, by estimate."""
        found, size = [], 0
        for text in texts:
            size += size_of(text)
            found.append(size * self.tokens // self.bytes)
        return found


class ByVocabulary:
    """The exact count of a vocabulary. Pieces of text that were counted before are cached."""

    exact = True

    def __init__(self, name: str, encode: Callable[[str], Sequence[int]]) -> None:
        self.name = name
        self.basis = f"exact for the texts: {name}; what a chat template adds around them is not counted"
        self._encode = encode
        self._known: dict[bytes, int] = {}

    def __call__(self, text: str) -> int:
        """Return how many tokens a text has."""
        return sum(map(self._count, _pieces(text)))

    def ends(self, texts: Sequence[str], joined: Sequence[bool]) -> list[int]:
        """Return how many tokens there are up to the end of each text: those of all before it as one text."""
        found: list[int] = []
        done, open_end = 0, ""
        for text, goes_on in zip(texts, joined, strict=True):
            if not goes_on:
                done, open_end = (found[-1] if found else 0), ""
            # What was counted before is cut off where that is safe; the rest may yet be merged with what follows.
            whole = open_end + text
            cuts = [match.end() for match in _SAFE_CUT.finditer(whole)]
            first, last = (cuts[0], cuts[-1]) if cuts else (0, 0)
            done += self(whole[:first]) + self(whole[first:last])
            open_end = whole[last:]
            found.append(done + self(open_end))
        return found

    def _count(self, piece: str) -> int:
        # A lone surrogate becomes U+FFFD before it is sent, wherever it is sent.
        data = piece.encode(errors="surrogatepass")
        key = blake2b(data, digest_size=16).digest()
        if key not in self._known:
            if len(self._known) >= _KEPT:
                self._known.clear()
            self._known[key] = len(self._encode(re.sub("[\ud800-\udfff]", "\ufffd", piece)))
        return self._known[key]


def size_of(text: str) -> int:
    """Return how many bytes a text has; a lone surrogate is as long as the U+FFFD that it becomes."""
    return len(text.encode(errors="surrogatepass"))


def _pieces(text: str) -> Iterator[str]:
    """Yield a text in pieces that can be counted separately, which is much faster than counting one long text."""
    start = end = 0
    for match in _SAFE_CUT.finditer(text) if len(text) > _PIECE else ():
        if match.end() - start > _PIECE and end > start:
            yield text[start:end]
            start = end
        end = match.end()
    if end > start and len(text) - start > _PIECE:
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


ESTIMATE = ByBytes()
"""The estimate of the whole package."""


def vocabulary_of(model: str) -> str:
    """Return the vocabulary of a model, "" if none is public. The name may start with a provider."""
    name = model.rpartition("/")[2].lower()
    return next((vocabulary for start, vocabulary in _VOCABULARIES if name.startswith(start)), "")


def counter_for(model: str = "", calibrated: Counter | None = None) -> Counter:
    """Return the best counter for a model: its vocabulary, a ratio learnt from usage, or else the estimate."""
    vocabulary = vocabulary_of(model)
    if vocabulary and (exact := _by_vocabulary(vocabulary)):
        return exact
    if calibrated is not None:
        return calibrated
    if vocabulary:
        return ByBytes(basis=f"{_PLAIN}; pip install 'deepprompt[tokens]' counts {model} exactly")
    if model:
        return ByBytes(basis=f"{_PLAIN}; no vocabulary of {model} is known here, recorded usage can calibrate it")
    return ESTIMATE


def count_tokens(text: str, model: str = "") -> int:
    """Return how many tokens a text has: exactly for a model whose vocabulary is installed, else by estimate."""
    return counter_for(model)(text)


def calibrate(measured: Iterable[tuple[int, int]]) -> ByBytes:
    """Return an estimate learnt from recorded requests, given as pairs of bytes and counted input tokens.

    Raises `UsageError` if there is no pair with both numbers.
    """
    pairs = [(size, tokens) for size, tokens in measured if size > 0 and tokens > 0]
    if not pairs:
        raise UsageError("nothing to calibrate by: no request with both a text and its input tokens")
    size, tokens = sum(size for size, _ in pairs), sum(tokens for _, tokens in pairs)
    answers = "one recorded answer" if len(pairs) == 1 else f"{len(pairs):,} recorded answers"
    return ByBytes(tokens, size, f"estimated: {size / tokens:.2f} bytes a token, by {answers}")


@cache
def _by_vocabulary(name: str) -> ByVocabulary | None:
    """Return the counter of a vocabulary, None if its package is not installed. Special tokens count as plain text."""
    try:
        package = import_module("splintr")
    except ImportError:
        return None
    return ByVocabulary(name, package.Tokenizer.from_pretrained(name).encode_ordinary)
