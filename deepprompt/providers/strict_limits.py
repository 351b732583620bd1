"""What the strict mode of each provider takes of JSON Schema, and what in a schema it does not take.

The facts are data, `assets/strict/<date>/strict.json`, since they change. `strict.py` writes schemas by them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, get_args

from deepprompt.catalog import bundled
from deepprompt.errors import ToolError
from deepprompt.text.suggest import did_you_mean
from deepprompt.words import StrictProvider

BOUNDS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "more than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "pattern": "matching the regular expression {}",
    "format": "in the format {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "minProperties": "at least {} keys",
    "maxProperties": "at most {} keys",
}
"""How a bound is said in a description."""


def strict_problems(schemas: Iterable[Mapping[str, Any]], provider: StrictProvider) -> list[str]:
    """Return the problems that a provider's strict mode has with the schemas of one request's tools.

    Some limits apply to all strict tools of a request together: Anthropic accepts twenty tools, with 24 optional
    parameters in total. The list is empty if there are no problems. Raises `ToolError` for a provider whose strict mode
    is not known.
    """
    facts = facts_of(provider)
    each = [dict(schema) for schema in schemas]
    problems = [
        f"{place}: {what}"
        for number, schema in enumerate(each)
        for place, what in _wrong(schema, f"schemas[{number}]" if len(each) > 1 else "schema", facts)
    ]
    counts = [_counts(schema) for schema in each]
    totals = {"tools": len(each)}
    for name in ("optional parameters", "parameters with several types"):
        totals[name] = sum(count[name] for count in counts)
    for name in ("properties", "levels", "enum values", "characters"):
        totals[name] = max([count[name] for count in counts], default=0)
    limits: Mapping[str, int] = facts["most"]
    return problems + [f"{totals[name]} {name}, at most {most}" for name, most in limits.items() if totals[name] > most]


@cache
def facts_of(provider: str) -> Mapping[str, Any]:
    """Return what the strict mode of a provider takes."""
    if provider not in get_args(StrictProvider):
        raise ToolError(
            f"no strict mode of {provider!r:.60}; {did_you_mean(str(provider), list(get_args(StrictProvider)))}"
        )
    family, version = bundled().resolve("strict")
    facts: Mapping[str, Any] = json.loads(bundled().file(family, version, "strict.json"))["providers"][provider]
    return facts


def takes(facts: Mapping[str, Any], key: str, value: Any) -> bool:
    """Whether a bound with this value is taken."""
    if key not in facts["keywords"]:
        return False
    if key == "format":
        return value in facts["formats"]
    if key == "pattern":
        return not any(sign in str(value) for sign in facts.get("no_pattern_with", ()))
    return key != "minItems" or value in facts.get("min_items", (value,))


def _children(schema: Mapping[str, Any], place: str) -> Iterator[tuple[str, Any]]:
    for key in ("properties", "$defs"):
        for name, each in (schema.get(key) or {}).items():
            yield f"{place}.{name}", each
    if "items" in schema:
        yield f"{place}[]", schema["items"]
    for number, each in enumerate(schema.get("anyOf") or ()):
        yield f"{place}|{number}", each


def _wrong(schema: object, place: str, facts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield each place of a schema that is not in a provider's part of JSON Schema, and what is wrong there."""
    if not isinstance(schema, Mapping):
        yield place, "not a schema"
        return
    for key in schema:
        if key not in facts["keywords"]:
            yield place, f"{key} is not taken"
        elif key in BOUNDS and not takes(facts, key, schema[key]):
            yield place, f"{key} {schema[key]!r:.40} is not taken"
    if not {"type", "anyOf", "$ref"} & {*schema}:
        yield place, "no type"
    if schema.get("type") == "object":
        if schema.get("additionalProperties") is not False:
            yield place, "additionalProperties is not false"
        optional = [name for name in schema.get("properties", {}) if name not in schema.get("required", ())]
        if optional and not facts["optional"]:
            yield place, f"not required: {', '.join(optional)}"
    if not facts["recursive"] and "$defs" in schema and _is_circular(schema["$defs"]):
        yield place, "a schema that contains itself is not taken"
    for below, child in _children(schema, place):
        yield from _wrong(child, below, facts)


def _is_circular(definitions: Mapping[str, Any]) -> bool:
    refers = {name: {*_references(each)} for name, each in definitions.items()}
    for start in refers:
        found, todo = set[str](), [*refers[start]]
        while todo:
            if (name := todo.pop()) not in found:
                found.add(name)
                todo += refers.get(name, ())
        if start in found:
            return True
    return False


def _references(schema: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield str(schema["$ref"]).rpartition("/")[2]
    for _, child in _children(schema, ""):
        yield from _references(child)


def _counts(schema: Mapping[str, Any], level: int = 1) -> dict[str, int]:
    """Return how much a schema has of what providers limit."""
    properties: Mapping[str, Any] = schema.get("properties") or {}
    values = [value for value in schema.get("enum", ()) if isinstance(value, str)]
    counts = {
        "properties": len(properties),
        "levels": level if properties else 0,
        "enum values": len(schema.get("enum", ())),
        "characters": sum(map(len, [*properties, *values, *(schema.get("$defs") or ())])),
        "optional parameters": len([name for name in properties if name not in schema.get("required", ())]),
        "parameters with several types": len(
            [each for each in properties.values() if isinstance(each.get("type"), list) or "anyOf" in each]
        ),
    }
    for _, child in _children(schema, ""):
        below = _counts(child, level + 1 if properties else level)
        for name in counts:
            counts[name] = max(counts[name], below[name]) if name == "levels" else counts[name] + below[name]
    return counts
