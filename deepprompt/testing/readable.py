"""The content of a snapshot file: a text as it is, and anything structured as lines that a person can review.

Each leaf is a line `path: VALUE` with the value in JSON; a text of several lines follows its path, each line after
`| `. Two values have the same lines only if they are the same JSON with the same order of keys, so moving a key,
changing 1 to 1.0 or adding a final line end changes the file. `contrast` compares the contents.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from deepprompt.errors import MessageError
from deepprompt.prompt import Prompt

ACCEPTED = "a string, bytes, a Prompt, a list of messages, a request body (a mapping) or a Request"

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_SURROGATE = re.compile("[\ud800-\udfff]")


class Stored(bytes):
    """The content of a snapshot file, and the value it was made of."""

    prompt: Prompt | None = None
    """The prompt, if the content is or includes its text."""
    is_lines: bool = False
    """Whether the content is the lines of a structured value, not a text."""


def store(value: object) -> Stored:
    """Return the content of the snapshot file of a value."""
    if isinstance(value, str):
        return Stored(_checked(value, "the text").encode())
    if isinstance(value, bytes | bytearray | memoryview):
        return Stored(value)
    if isinstance(value, Prompt):
        stored = _store_prompt(value)
        stored.prompt = value
        return stored
    if not isinstance(value, Mapping | list | tuple):
        value = _body(value)
    stored = Stored(render_readable(value).encode())
    stored.is_lines = True
    return stored


def render_readable(value: object) -> str:
    """Return a mapping or a list as lines, one for each leaf."""
    lines: list[str] = []
    try:
        _write(value, "", lines)
    except RecursionError:
        raise MessageError("cannot store a value that is nested too deeply, or in itself") from None
    return "\n".join([*lines, ""])


def _store_prompt(prompt: Prompt) -> Stored:
    if not prompt.tools and not prompt.messages:
        return store(prompt.text)
    # In the order of a provider's cache: tools first.
    return store(
        {
            **({"tools": prompt.tools} if prompt.tools else {}),
            "text": prompt.text,
            **({"messages": prompt.messages} if prompt.messages else {}),
        }
    )


def _body(value: object) -> object:
    """Return the body of a `Request`, which is what is sent."""
    from deepprompt.request.outline import way_to_prompt
    from deepprompt.request.request import Request  # a caller that has one has imported it already

    if isinstance(value, Request):
        return value.body
    way = way_to_prompt(value)
    raise MessageError(f"cannot store {_kind(value)}: a snapshot takes {ACCEPTED}" + (f"; {way}" if way else ""))


def _write(value: object, path: str, lines: list[str]) -> None:
    start = f"{path}: " if path else ""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _write(item, _below(path, key), lines)
        lines += [] if value else [f"{start}{{}}"]
    elif isinstance(value, list | tuple):
        for number, item in enumerate(value):
            _write(item, f"{path}[{number}]", lines)
        lines += [] if value else [f"{start}[]"]
    elif isinstance(value, str) and "\n" in value:
        lines.append(f"{path}:")
        # No blank after the bar of an empty line: editors remove trailing blanks.
        lines += [f"| {line}" if line else "|" for line in _checked(value, path).split("\n")]
    else:
        lines.append(f"{start}{_scalar(value, path)}")


def _below(path: str, key: object) -> str:
    if not isinstance(key, str):  # json.dumps would write 1 and "1" alike
        raise MessageError(f"cannot store the key {key!r} ({_kind(key)}) {_at(path)}: a key of JSON is a string")
    name = key if _PLAIN_NAME.fullmatch(key) else json.dumps(_checked(key, f"a key {_at(path)}"), ensure_ascii=False)
    return f"{path}.{name}" if path else name


def _scalar(value: object, path: str) -> str:
    if isinstance(value, str):
        _checked(value, path)
    elif value is not None and not isinstance(value, int | float):  # a bool is an int
        raise MessageError(f"cannot store {_kind(value)} {_at(path)}: not JSON; convert it before you compare")
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:  # not a number, infinite, or of more digits than Python writes
        raise MessageError(f"cannot store a number {_at(path)} that JSON does not have: {_kind(value)}") from None


def _checked(text: str, what: str) -> str:
    """Return the text; raise if it cannot be encoded as UTF-8."""
    if found := _SURROGATE.search(text):
        code, place = f"U+{ord(found[0]):04X}", found.start()
        raise MessageError(f"cannot store a lone surrogate ({code}, character {place} of {what}): it has no UTF-8")
    return text


def _at(path: str) -> str:
    return f"at {path}" if path else "at the top"


def _kind(value: object) -> str:
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"{name} {value!r}" if isinstance(value, float) else name
