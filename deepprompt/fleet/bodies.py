"""Read request bodies out of their JSON text quickly: what an earlier body had at the same place is not parsed again.

A request repeats almost all of the one before it. So the messages that were seen are kept as a tree, and a text that
goes on with a known message skips it by comparing characters. The segments are those of `read_body`, and the same
message is the same object every time.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from deepprompt.errors import MessageError
from deepprompt.providers.reading import put_own_marks, read_body, read_head, read_messages, unknown_fields
from deepprompt.providers.recognise import MESSAGES
from deepprompt.providers.segments import Segment

_SKIP = re.compile(r"[ \t\n\r]*").match
_DECODE = json.JSONDecoder().raw_decode
_ENDS = frozenset(",]} \t\n\r")
# Shorter values are parsed faster than they are compared.
_SHORT = 64
_RECENT = 8
_CHILDREN = 64
_OVERHEAD = 1_000


@dataclass(slots=True, eq=False)
class Node:
    """A place in a conversation: after certain messages, wherever their marks stand."""

    children: list[Element] = field(default_factory=list)
    used: int = 0
    """The number of the last body that came by."""
    tips: dict[str, Any] = field(default_factory=dict)
    """What a caller stores about the bodies that ended here, by session."""


@dataclass(slots=True, eq=False)
class Element:
    """A message as it was written, and the place behind it. Messages that differ in marks only lead to one place."""

    raw: str
    segments: list[Segment]
    node: Node = field(default_factory=Node)


@dataclass(slots=True)
class ReadBody:
    """A body that was read: its segments, its messages in the tree, and its other fields."""

    head: list[Segment]
    """The segments before the messages; the same list for the same fields."""
    segments: list[Segment]
    path: list[Element]
    fields: Mapping[str, Any]
    unknown: tuple[str, ...]
    """The names of fields, items and parts that no provider's file knows."""
    number: int = 0
    """How many bodies were read up to this one."""


class BodyReader:
    """Reads bodies, and remembers what it read."""

    def __init__(self) -> None:
        self._roots: dict[str, Node] = {}
        self._values: dict[str, list[tuple[str, Any]]] = {}
        self._heads: dict[tuple[tuple[str, str], ...], tuple[list[Segment], tuple[str, ...]]] = {}
        self._last: list[Segment] = []
        """The head that was read last."""
        self._number = 0
        self.size = 0
        """About how many bytes the messages take that were not forgotten, and the bodies made of them."""

    def read(self, text: str) -> ReadBody:
        """Return a body by its JSON text. Raises `MessageError` if it is not one."""
        self._number += 1
        try:
            found = self._read(text)
        except (ValueError, IndexError) as error:
            raise MessageError(f"the body is not JSON: {error}") from None
        except RecursionError:
            raise MessageError("a body that is nested too deeply to be read") from None
        found.number = self._number
        self.size += size_of(found)
        return found

    def _read(self, text: str) -> ReadBody:
        at = _skip(text, 0)
        if text[at] != "{":
            raise MessageError("the body is no object")
        fields: dict[str, Any] = {}
        raws: dict[str, str] = {}
        path: list[Element] | None = None
        key = ""
        at = _skip(text, at + 1)
        while text[at] != "}":
            name, at = _DECODE(text, at)
            at = _skip(text, _skip(text, at, ":"))
            if name in MESSAGES and text[at] == "[" and path is None:
                key = name
                path, at = self._walk(name, text, at + 1)
            else:
                raws[name], fields[name], at = self._value(name, text, at)
            at = _skip(text, at)
            if text[at] == ",":
                at = _skip(text, at + 1)
        if _skip(text, at + 1) != len(text):
            raise MessageError("the body is not JSON: more follows")
        if path is None or any(name in fields for name in MESSAGES):
            return self._whole(text)
        head, unknown = self._head(fields, raws)
        segments = [*head]
        for element in path:
            segments += element.segments
        if "cache_control" in fields:
            put_own_marks({**fields, key: ()}, segments)
        return ReadBody(head, segments, path, fields, unknown)

    def _whole(self, text: str) -> ReadBody:
        """Return a body without a list of messages."""
        body = json.loads(text)
        segments = read_body(body)
        first = next((n for n, one in enumerate(segments) if one.role not in ("", "system")), len(segments))
        return ReadBody(segments[:first], segments, [Element(text, segments[first:])], body, (*unknown_fields(body),))

    def _head(self, fields: Mapping[str, Any], raws: Mapping[str, str]) -> tuple[list[Segment], tuple[str, ...]]:
        key = tuple(raws.items())
        if (found := self._heads.get(key)) is None:
            if len(self._heads) > 4 * _CHILDREN:
                self._heads.clear()
            head = read_head(fields)
            # Most of it is as before: the same objects take no more memory, and are compared faster.
            head = [two if two == one else one for one, two in zip_longest(head, self._last) if one is not None]
            self.size += sum(len(one.text) for one, two in zip_longest(head, self._last) if one is not two and one)
            self._last = head
            found = self._heads[key] = (head, (*unknown_fields(fields),))
        return found

    def _value(self, name: str, text: str, at: int) -> tuple[str, Any, int]:
        """Return a field: its text, its value, and where it ends."""
        recent = self._values.setdefault(name, [])
        for raw, value in recent:
            if text.startswith(raw, at) and text[at + len(raw)] in _ENDS:
                return raw, value, at + len(raw)
        value, end = _DECODE(text, at)
        raw = text[at:end]
        if len(raw) >= _SHORT:
            recent.insert(0, (raw, value))
            del recent[_RECENT:]
        return raw, value, end

    def _walk(self, name: str, text: str, at: int) -> tuple[list[Element], int]:
        """Return the messages of a list, and where it ends."""
        node = self._roots.setdefault(name, Node())
        path: list[Element] = []
        at = _skip(text, at)
        while text[at] != "]":
            for child in node.children:
                if text.startswith(child.raw, at) and text[at + len(child.raw)] in _ENDS:
                    break
            else:
                value, end = _DECODE(text, at)
                segments = read_messages([value], name, len(path))
                alike = next((one.node for one in node.children if same_text(one.segments, segments)), None)
                child = Element(text[at:end], segments, alike or Node())
                self.size += _size(child)
                node.children.insert(0, child)
                del node.children[_CHILDREN:]
            child.node.used = self._number
            at = _skip(text, at + len(child.raw))
            if text[at] == ",":
                at = _skip(text, at + 1)
            path.append(child)
            node = child.node
        return path, at + 1

    def forget(self) -> tuple[int, list[Node]]:
        """Forget the half of the messages that came by longest ago.

        Returns the number of the latest body that may be forgotten, and the places that are left.
        """
        used = sorted(child.node.used for node in self._nodes() for child in node.children)
        oldest = used[len(used) // 2] if used else self._number
        self.size = 0
        self._heads.clear()
        left = []
        for node in self._nodes():
            node.children = [child for child in node.children if child.node.used > oldest]
            self.size += sum(map(_size, node.children))
            left.append(node)
        return oldest, left

    def _nodes(self) -> Iterator[Node]:
        """Yield all places, each before those behind it."""
        waiting = list(self._roots.values())
        while waiting:
            yield (node := waiting.pop())
            waiting += {id(child.node): child.node for child in node.children}.values()


def size_of(body: ReadBody) -> int:
    """Return about how many bytes a body takes beside its messages."""
    return 16 * (len(body.segments) + len(body.path)) + _OVERHEAD


def _size(element: Element) -> int:
    return 2 * len(element.raw) + _OVERHEAD


def same_text(one: list[Segment], two: list[Segment]) -> bool:
    """Whether segments are the same but for their marks."""
    return len(one) == len(two) and all(map(_same, one, two))


def _same(one: Segment, two: Segment) -> bool:
    alike = one.text == two.text and one.kind == two.kind and one.role == two.role
    return one is two or (alike and (one.kind != "setting" or one.place == two.place))


def _skip(text: str, at: int, mark: str = "") -> int:
    """Return where the next character stands that is no blank; behind `mark`, if one has to come first."""
    at = _SKIP(text, at).end()  # type: ignore[union-attr]
    if mark:
        if text[at] != mark:
            raise ValueError(f"expected {mark} at character {at}")
        at += 1
    return at
