"""Conditions of a preset's rows: words with `not`, `and`, `or` and parentheses. Nothing is evaluated as code.

A word is a flag, or a question such as `tool:Bash`. What a word means, and whether it is known, is not decided here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

_KEYWORDS = ("and", "or", "not", "(", ")")
_MOST_TOKENS = 200


class Condition:
    """A parsed condition: its text, its words in order, and whether it holds for given facts."""

    __slots__ = ("_tree", "text", "words")

    def __init__(self, text: str, tree: object, words: tuple[str, ...]) -> None:
        self.text = text
        self.words = words
        self._tree = tree

    def holds(self, fact: Callable[[str], bool]) -> bool:
        """Whether the condition holds. `fact` answers for one word."""
        return _holds(self._tree, fact)

    def why(self, fact: Callable[[str], bool]) -> str:
        """Return the state of every word, such as `tool:Bash is on, dry_run is off`."""
        words = [word for word in self.words if word != "always"]
        return ", ".join(f"{word} is {'on' if fact(word) else 'off'}" for word in words) or "always"


@lru_cache(maxsize=1024)
def parse_condition(text: str) -> Condition:
    """Return a condition. A text that is none is a `ValueError` that says why."""
    tokens = text.replace("(", " ( ").replace(")", " ) ").replace("!", " not ").split()
    if len(tokens) > _MOST_TOKENS:
        raise ValueError(f"more than {_MOST_TOKENS} words")
    words = tuple(dict.fromkeys(token for token in tokens if token not in _KEYWORDS))
    tree = _either(tokens)
    if tokens:
        raise ValueError(f"{tokens[0]!r} is left over; write 'and' or 'or' between two words")
    return Condition(text, tree, words)


def _either(tokens: list[str]) -> object:
    """Take alternatives off the front of the tokens."""
    tree = _both(tokens)
    while tokens and tokens[0] == "or":
        del tokens[0]
        tree = ("or", tree, _both(tokens))
    return tree


def _both(tokens: list[str]) -> object:
    tree = _single(tokens)
    while tokens and tokens[0] == "and":
        del tokens[0]
        tree = ("and", tree, _single(tokens))
    return tree


def _single(tokens: list[str]) -> object:
    if not tokens:
        raise ValueError("a word is missing at the end")
    token = tokens.pop(0)
    if token == "not":
        return ("not", _single(tokens), None)
    if token == "(":
        tree = _either(tokens)
        if not tokens or tokens.pop(0) != ")":
            raise ValueError("a parenthesis is not closed")
        return tree
    if token in _KEYWORDS:
        raise ValueError(f"a word is missing before {token!r}")
    return token


def _holds(tree: object, fact: Callable[[str], bool]) -> bool:
    if isinstance(tree, tuple):
        kind, first, second = tree
        if kind == "not":
            return not _holds(first, fact)
        if kind == "and":
            return _holds(first, fact) and _holds(second, fact)
        return _holds(first, fact) or _holds(second, fact)
    return tree == "always" or fact(str(tree))
