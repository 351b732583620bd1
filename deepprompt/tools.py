"""The tools that a model calls: their names, their canonical JSON, and the fingerprint of a prefix.

A provider caches tools together with the system prompt, so a fingerprint covers both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from deepprompt.arguments import expect
from deepprompt.errors import ToolError
from deepprompt.prompt import sha256_hex
from deepprompt.text.hygiene import scrub


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """SHA-256 digests in hex: of the system prompt, of the canonical tools, and of both."""

    system: str
    tools: str
    combined: str


def fingerprint(system: str, tools: Iterable[Mapping[str, object]] | None = None) -> Fingerprint:
    """Return the fingerprint of a prefix. The order of tools and of their keys does not change it.

    Raises `ToolError` for a tool without a name, or one that is not JSON.
    """
    expect(system, str, "fingerprint: system", "text, such as prompt.text", ToolError)
    system_hash = sha256_hex(scrub(system))
    tools_hash = sha256_hex(canonical_tools(tools or ()))
    return Fingerprint(system_hash, tools_hash, sha256_hex(f"{system_hash}:{tools_hash}"))


def canonical_tools(tools: Iterable[Mapping[str, object]]) -> str:
    """Return tools as JSON that is equal when they are: sorted by name, keys sorted, no blanks; "" for none."""
    ordered = sorted(tools, key=tool_name)  # a stable sort: tools of one name keep their order
    if not ordered:
        return ""
    import json

    try:
        text = json.dumps(
            ordered, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False, default=as_dict
        )
    except (TypeError, ValueError, RecursionError) as error:
        raise ToolError(f"tools are not JSON: {why_not_json(error)}") from None
    return scrub(text)


def why_not_json(error: Exception) -> str:
    """Return what is wrong with a value that json refused, in the same words on every Python version."""
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)


def as_dict(value: object) -> object:
    """Return a mapping that is not a dict as a dict, for json."""
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def tool_name(tool: Mapping[str, object]) -> str:
    """Return a tool's name, whether it is written plainly or in the OpenAI function shape."""
    if not isinstance(tool, Mapping):
        raise ToolError(f"a tool is a mapping with a name, not {type(tool).__name__}")
    function = tool.get("function")
    name = function.get("name") if isinstance(function, Mapping) else tool.get("name")
    if not isinstance(name, str) or not name:
        raise ToolError(f"a tool needs a name, as 'name' or 'function.name': {str(tool)[:80]}")
    return name
