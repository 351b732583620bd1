"""Read one block of a message, in any provider's shape, into a segment: what it is, and its text to compare and count.

The text leaves out cache marks. A block that is not text becomes compact JSON with its keys in their own order. A
tool's result keeps its lines, after a line with its header. An image or a file is replaced by its SHA-256.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import chain
from typing import Any

from deepprompt.errors import MessageError
from deepprompt.providers.dialect import Body, items, time_of
from deepprompt.providers.recognise import DIALECTS, MARK_FIELDS, names
from deepprompt.providers.segments import Segment

_KINDS = dict(chain.from_iterable(dialect.kinds.items() for dialect in DIALECTS))
_KIND_ENDINGS = dict(chain.from_iterable(dialect.kind_endings.items() for dialect in DIALECTS))
_RESULTS = dict(chain.from_iterable(dialect.results.items() for dialect in DIALECTS))
_PLAIN = (str, int, float, type(None))  # asked first, because most values are, and a Mapping is slow to tell
_IMAGES = [dialect.is_image for dialect in DIALECTS if dialect.is_image is not None]
_OWN_DATA = names(lambda dialect: dialect.own_data)
_FILES = names(lambda dialect: dialect.files)


def read_block(block: Body, place: str, role: str, owner: str = "", index: int | None = None) -> Segment:
    """Return a block as a segment. `owner` and `index` are the message's, see `Segment`."""
    kind, mark, shown = kind_of(block), lifetime(block), unmarked(block)
    if kind == "tool_result":
        return read_result(*_result_of(block), place, mark, owner, index)
    if kind == "text" and isinstance(text := block.get("text"), str):
        rest = _rest(shown)
        kind = "thinking" if rest.get("thought") else "system" if role == "system" else "text"
        text += as_json(rest) if rest else ""
        return Segment(place, kind, role, text, mark, owner=owner, index=index)
    digests: list[str] = []
    text = as_json(shown if kind == "thinking" else _digested(shown, digests))
    digest, image = "".join(digests[:1]), kind == "image" and _is_image(block)
    return Segment(place, kind, role, text, mark, owner=owner, index=index, digest=digest, shows_image=image)


def kind_of(block: Body) -> str:
    """Return the kind of a block, by its type or, if it has none, by its one field."""
    name = block.get("type")
    if not isinstance(name, str):
        name = str(next((key for key in block if key in _KINDS), next(iter(block), "")))
    if name in _KINDS:
        return _KINDS[name]
    return next((kind for ending, kind in _KIND_ENDINGS.items() if name.endswith(ending)), name)


def _result_of(block: Body) -> tuple[Body, object]:
    """Return the header and the content of a tool's result, whichever provider it was written for."""
    for key, field in _RESULTS.items():
        inner = block.get(key)
        if isinstance(inner, Mapping):
            header = {name: value for name, value in inner.items() if name != field}
            content = inner.get(field)
            if isinstance(content, Mapping) and len(content) == 1:  # Gemini's {"output": TEXT} or {"error": TEXT}
                ((name, said),) = content.items()
                header, content = ({**header, field: name}, said) if isinstance(said, str) else (header, content)
            return {**block, key: header}, content
    field = "output" if "output" in block else "content"
    return {name: value for name, value in block.items() if name != field}, block.get(field)


def read_result(header: Body, content: object, place: str, mark: str | None, owner: str, index: int | None) -> Segment:
    """Return a tool's result: its header on one line, then its content. Its mark may be that of its last block."""
    lines = [as_json(unmarked(header))]
    digests: list[str] = []
    blocks: Sequence[Any] = [content] if isinstance(content, str | Mapping) else items(content)
    image = any(_is_image(block) for block in blocks)
    for number, block in enumerate(blocks):
        plain = block if isinstance(block, str) else None
        if isinstance(block, Mapping):
            mark = lifetime(block) if number == len(blocks) - 1 and mark is None else mark
            plain = block["text"] if isinstance(block.get("text"), str) and not _rest(unmarked(block)) else None
        if plain is None:
            lines.append(as_json(_digested(unmarked(block), digests)))
        else:  # a separator, so that two texts differ from their sum
            lines += [plain] if number == 0 else ['{"type":"text"}', plain]
    return Segment(
        place,
        "tool_result",
        "user",
        "\n".join(lines),
        mark,
        owner=owner,
        index=index,
        digest="".join(digests[:1]),
        shows_image=image,
    )


def _is_image(block: object) -> bool:
    return isinstance(block, Mapping) and any(is_image(block) for is_image in _IMAGES)


def _rest(block: Body) -> dict[str, Any]:
    """Return the other fields of a text block. Empty ones do not count, because SDKs write every possible field."""
    return {key: value for key, value in block.items() if value and key not in ("type", "text")}


def lifetime(holder: Body) -> str | None:
    """Return the lifetime of a block's mark, "" for the default one, None without a mark."""
    for field in MARK_FIELDS:
        if field in holder:
            return None if holder[field] is None else time_of(holder[field])
    return None


def unmarked(value: Any, key: str = "") -> Any:
    """Return a value without its marks. A tool's own data is left as it is."""
    if isinstance(value, _PLAIN) or key in _OWN_DATA:
        return value
    if isinstance(value, Mapping):
        return {name: unmarked(item, name) for name, item in value.items() if name not in MARK_FIELDS}
    return [unmarked(item) for item in value] if isinstance(value, list | tuple) else value


def _digested(value: Any, digests: list[str], key: str = "") -> Any:
    """Return a value with each file in it replaced by its SHA-256, which is added to `digests`."""
    if key in _OWN_DATA:
        return value
    if isinstance(value, Mapping):
        is_text = value.get("type") == "text"  # a document's, which the model reads
        return {
            name: item if is_text and name == "data" else _digested(item, digests, name) for name, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_digested(item, digests) for item in value]
    if isinstance(value, str) and value.startswith("data:"):
        head, comma, data = value.partition(",")
        return f"{head}{comma}{_digest(data, digests)}"
    return _digest(value, digests) if key in _FILES and isinstance(value, str | bytes) else value


def _digest(data: str | bytes, digests: list[str]) -> str:
    digests.append(sha256(data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data).hexdigest())
    return f"sha256:{digests[-1]}"


def as_json(value: object) -> str:
    """Return a value as compact JSON, its keys in their own order. Raises `MessageError` if it is not JSON."""
    try:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain)
    except (TypeError, ValueError) as error:
        raise MessageError(f"a request that is not JSON: {error}") from None


def _plain(value: object) -> object:
    return dict(value) if isinstance(value, Mapping) else str(value)
