"""Schemas of tools for the strict mode of a provider, which takes only a part of JSON Schema.

What each provider takes is in `strict_limits.py`. A bound that it does not take goes into the description. Where every
parameter is required, one that may be left out becomes one that may be null. What cannot be said otherwise, such as an
object with free keys, is an error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deepprompt.arguments import expect
from deepprompt.errors import ToolError
from deepprompt.providers.strict_limits import BOUNDS, facts_of, strict_problems, takes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.words import StrictProvider

_SILENT = (
    "$schema", "$id", "$comment", "title", "examples", "deprecated", "readOnly", "writeOnly", "contentEncoding",
    "contentMediaType",
)  # fmt: skip
"""What a model does not need, so that it is left out."""
_MOST_LEVELS = 64  # of a schema that is read at all
_Schema = dict[str, Any]


def strict_schema(schema: Mapping[str, Any], provider: StrictProvider) -> dict[str, Any]:
    """Return a copy of a tool's input schema that the strict mode of a provider accepts.

    Limits that the mode does not support, such as `minimum`, move into descriptions. If the mode requires every
    parameter, an optional one becomes one that may be null: drop the nulls from the arguments before you use them.
    Raises `ToolError`, with every place, for a schema that the mode cannot express.
    """
    writer = _Writer(facts_of(provider), provider)
    expect(schema, Mapping, "strict_schema: schema", "the input schema of a tool", ToolError)
    written = writer.node(schema, "schema", 0)
    if schema.get("type") != "object" or "anyOf" in written:
        writer.problems.append("schema: the schema of a tool is an object")
    problems = [*writer.problems, *(() if writer.problems else strict_problems([written], provider))]
    if problems:
        raise ToolError(f"strict mode of {provider}: {'; '.join(problems)}")
    return written


class _Writer:
    """Writes schemas for one provider, and collects what cannot be written."""

    def __init__(self, facts: Mapping[str, Any], provider: str) -> None:
        self.facts = facts
        self.provider = provider
        self.problems: list[str] = []

    def node(self, schema: object, place: str, level: int) -> _Schema:
        """Return one schema."""
        if not isinstance(schema, Mapping) or level > _MOST_LEVELS:
            self.problems.append(f"{place}: anything is allowed here, which cannot be strict")
            return {}
        merged = self.merged(schema, place)
        written: _Schema = {}
        said: list[str] = []
        for key, value in merged.items():
            self.keyword(key, value, written, said, (place, level))
        self.typed(written, place)
        if written.get("type") == "object":
            self.object(merged, written, place)
        if written.get("type") == "array" and "items" not in written:
            self.problems.append(f"{place}: a list without items allows anything, which cannot be strict")
        if isinstance(kinds := written.get("type"), list):
            written = self.several(written, kinds)
        _describe(written, said)
        if "$ref" in written and len(written) > 1:  # providers refuse other keys beside a reference
            written = {"anyOf": [{"$ref": written.pop("$ref")}], **written}
        return written

    def merged(self, schema: Mapping[str, Any], place: str) -> _Schema:
        """Return a schema in one spelling: `allOf` of one is that one, `oneOf` any of them, `const` an enum of one."""
        merged = dict(schema)
        if len(all_of := merged.get("allOf", ())) == 1 and isinstance(all_of[0], Mapping):
            del merged["allOf"]
            merged = {**all_of[0], **merged}
        if "oneOf" in merged and "anyOf" not in merged:
            merged["anyOf"] = merged.pop("oneOf")
        if "const" in merged:
            merged["enum"] = [merged.pop("const")]
        if "definitions" in merged and "$defs" not in merged:
            merged["$defs"] = merged.pop("definitions")
        if "enum" in merged and any(isinstance(value, list | dict) for value in merged["enum"]):
            self.problems.append(f"{place}: an enum of lists or objects cannot be strict")
        return merged

    def keyword(self, key: str, value: Any, written: _Schema, said: list[str], where: tuple[str, int]) -> None:
        """Write one keyword, say it, leave it out, or report it."""
        place, level = where
        if key in ("properties", "$defs") and isinstance(value, Mapping):
            written[key] = {name: self.node(each, f"{place}.{name}", level + 1) for name, each in value.items()}
        elif key == "items":
            written[key] = self.node(value, f"{place}[]", level + 1)
        elif key == "anyOf" and isinstance(value, list):
            written[key] = [self.node(each, f"{place}|{number}", level + 1) for number, each in enumerate(value)]
        elif key == "$ref":
            written[key] = str(value).replace("#/definitions/", "#/$defs/")
            if not str(written[key]).startswith(("#/$defs/", "#")):
                self.problems.append(f"{place}: a reference outside the schema cannot be strict: {value!r:.60}")
        elif key in BOUNDS:
            if takes(self.facts, key, value):
                written[key] = value
            else:
                text = BOUNDS[key].format(value)
                said.append(text.removesuffix("s") if value == 1 else text)
        elif key == "uniqueItems":
            said += ["no item twice"] if value else []
        elif key == "default":
            if key in self.facts["keywords"]:
                written[key] = value
            else:
                said.append(f"default {json.dumps(value, ensure_ascii=False)}")
        elif key in self.facts["keywords"]:
            written[key] = value
        elif key not in _SILENT:
            self.problems.append(f"{place}: {key} cannot be strict")

    def typed(self, written: _Schema, place: str) -> None:
        """Give a schema its type if it has none: by its keywords, or by the values of its enum."""
        if "type" in written or "anyOf" in written or "$ref" in written:
            return
        if "properties" in written:
            written["type"] = "object"
        elif "items" in written:
            written["type"] = "array"
        elif written.get("enum"):
            kinds = list(dict.fromkeys(_kind(value) for value in written["enum"]))
            written["type"] = kinds[0] if len(kinds) == 1 else kinds
        else:
            self.problems.append(f"{place}: no type, so that anything is allowed, which cannot be strict")

    def object(self, schema: Mapping[str, Any], written: _Schema, place: str) -> None:
        """Close an object, and require every parameter where the provider does."""
        if schema.get("additionalProperties") not in (None, False):
            self.problems.append(f"{place}: an object with free keys cannot be strict")
        properties = written.setdefault("properties", {})
        required = [name for name in schema.get("required", ()) if name in properties]
        if not self.facts["optional"]:
            for name in properties:
                if name not in required:
                    properties[name] = self.nullable(properties[name])
            required = list(properties)
        written |= {"required": required, "additionalProperties": False}

    def nullable(self, schema: _Schema) -> _Schema:
        """Return a schema that takes null too, which stands for an argument that is left out."""
        said = ["null leaves it out"]
        kind = schema.get("type")
        if self.facts["nullable"] == "type" and isinstance(kind, str) and kind not in ("object", "array", "null"):
            schema = {**schema, "type": [kind, "null"]}
            if "enum" in schema and None not in schema["enum"]:
                schema["enum"] = [*schema["enum"], None]
        elif "anyOf" in schema:
            if {"type": "null"} not in schema["anyOf"]:
                schema = {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
        elif "null" not in (kind if isinstance(kind, list) else [kind]):
            description = {key: schema[key] for key in ("description",) if key in schema}
            inner = {key: value for key, value in schema.items() if key != "description"}
            schema = {"anyOf": [inner, {"type": "null"}], **description}
        _describe(schema, said)
        return schema

    def several(self, written: _Schema, kinds: list[str]) -> _Schema:
        """Return a schema with several types. One type or null is a list of types where the provider takes that."""
        others = [kind for kind in kinds if kind != "null"]
        if self.facts["nullable"] == "type" and len(others) == 1 and others[0] not in ("object", "array"):
            return written
        shared: _Schema = {key: written[key] for key in ("description", "default") if key in written}
        inner = {key: value for key, value in written.items() if key not in ("type", *shared)}
        return {"anyOf": [{"type": kind, **_of_kind(inner, kind)} for kind in kinds], **shared}


def _describe(schema: _Schema, said: list[str]) -> None:
    """Add to the description of a schema what its keywords cannot say."""
    if said:
        text = str(schema.get("description", "")).rstrip()
        text = text if not text or text.endswith((".", "!", "?")) else f"{text}."
        more = "; ".join(said)
        schema["description"] = f"{text} {more[0].upper()}{more[1:]}.".lstrip()


def _kind(value: object) -> str:
    kinds = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
    return kinds.get(type(value), "object")


_KEYWORDS_OF = {
    "string": ("pattern", "format"),
    "integer": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": ("items", "minItems", "maxItems"),
    "object": ("properties", "required", "additionalProperties"),
}


def _of_kind(schema: _Schema, kind: str) -> _Schema:
    """Return the keywords of a schema that are about one type, with the values of its enum that are of it."""
    kept = {key: value for key, value in schema.items() if key in _KEYWORDS_OF.get(kind, ())}
    if values := [value for value in schema.get("enum", ()) if _kind(value) == kind]:
        kept["enum"] = values
    return kept
