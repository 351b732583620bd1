"""Schemas for the strict modes of providers: what is written, what is said instead, and what cannot be strict."""

from __future__ import annotations

import copy
import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import load_preset, strict_problems, strict_schema
from deepprompt.errors import ToolError
from deepprompt.words import StrictProvider
from tests.support.examples import examples

PROVIDERS: tuple[StrictProvider, ...] = get_args(StrictProvider)
PRESETS = ("claude_code@2.1.37", "claude_code", "coder", "deepseek")
TIMEOUT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "The command.", "minLength": 1},
        "timeout": {"type": "integer", "description": "Milliseconds", "minimum": 1, "maximum": 9, "default": 3},
        "mode": {"type": "string", "enum": ["a", "b"]},
        "rest": {"type": "array", "items": {"type": "string"}, "minItems": 2},
    },
    "required": ["command"],
}


def test_openai() -> None:
    """Every parameter is required, those that may be left out take null, and lengths are said."""
    assert strict_schema(TIMEOUT, "openai") == {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command. At least 1 character."},
            "timeout": {
                "type": ["integer", "null"],
                "description": "Milliseconds. Default 3. Null leaves it out.",
                "minimum": 1,
                "maximum": 9,
            },
            "mode": {"type": ["string", "null"], "enum": ["a", "b", None], "description": "Null leaves it out."},
            "rest": {
                "anyOf": [{"type": "array", "items": {"type": "string"}, "minItems": 2}, {"type": "null"}],
                "description": "Null leaves it out.",
            },
        },
        "required": ["command", "timeout", "mode", "rest"],
        "additionalProperties": False,
    }


def test_anthropic() -> None:
    """Parameters may be left out, defaults stay, and numbers and lengths are said."""
    assert strict_schema(TIMEOUT, "anthropic") == {
        "type": "object",
        "properties": {
            "command": {"type": "string", "description": "The command. At least 1 character."},
            "timeout": {"type": "integer", "description": "Milliseconds. At least 1; at most 9.", "default": 3},
            "mode": {"type": "string", "enum": ["a", "b"]},
            "rest": {"type": "array", "items": {"type": "string"}, "description": "At least 2 items."},
        },
        "required": ["command"],
        "additionalProperties": False,
    }


def test_deepseek() -> None:
    """Every parameter is required, null is one of several schemas, and all bounds are said."""
    written = strict_schema(TIMEOUT, "deepseek")
    assert written["required"] == ["command", "timeout", "mode", "rest"]
    assert written["properties"]["timeout"] == {
        "anyOf": [{"type": "integer"}, {"type": "null"}],
        "description": "Milliseconds. At least 1; at most 9; default 3. Null leaves it out.",
    }
    assert written["properties"]["mode"]["anyOf"] == [{"type": "string", "enum": ["a", "b"]}, {"type": "null"}]


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("ask", PRESETS)
def test_our_own_tools(ask: str, provider: StrictProvider) -> None:
    """Every tool of every bundled preset can be sent in every strict mode, and keeps its parameters."""
    preset = load_preset(ask)
    for tool in preset.tools(preset.own_tools):
        schema = tool["input_schema"]
        before = copy.deepcopy(schema)
        written = strict_schema(schema, provider)
        assert strict_problems([written], provider) == []
        assert list(written["properties"]) == list(schema["properties"])
        assert schema == before
        assert "$schema" not in json.dumps(written)


def test_the_new_schemas_have_no_address() -> None:
    """The second edition sends no `$schema`, and names that are identifiers in any language."""
    preset = load_preset("claude_code")
    tools = preset.tools(preset.own_tools)
    assert len(tools) == 21
    for tool in tools:
        assert "$schema" not in tool["input_schema"]
        assert all(name.isidentifier() for name in tool["input_schema"]["properties"])


def test_limits_of_a_request() -> None:
    """Some limits are for all strict tools of a request."""
    preset = load_preset("claude_code")
    schemas = [strict_schema(tool["input_schema"], "anthropic") for tool in preset.tools(preset.own_tools)]
    problems = strict_problems(schemas, "anthropic")
    assert problems[0] == "21 tools, at most 20"
    assert problems[1].endswith(" optional parameters, at most 24")
    many = {"type": "object", "properties": {f"p{n}": {"type": "string"} for n in range(5001)}}
    with pytest.raises(ToolError, match="5001 properties, at most 5000"):
        strict_schema(many, "openai")


FREE = "an object with free keys cannot be strict"
IMPOSSIBLE: dict[str, tuple[dict[str, Any], str]] = {
    "free keys": ({"type": "object", "additionalProperties": {"type": "string"}}, FREE),
    "any keys": ({"type": "object", "additionalProperties": True}, FREE),
    "anything": ({}, "no type, so that anything is allowed"),
    "true": (True, "anything is allowed here"),  # type: ignore[dict-item]
    "list of anything": ({"type": "array"}, "a list without items"),
    "condition": ({"type": "string", "if": {"minLength": 1}}, "if cannot be strict"),
    "not": ({"type": "string", "not": {"enum": ["a"]}}, "not cannot be strict"),
    "patterns of keys": ({"type": "object", "patternProperties": {}}, "patternProperties cannot be strict"),
    "all of two": ({"allOf": [{"type": "string"}, {"type": "string"}]}, "allOf cannot be strict"),
    "elsewhere": ({"$ref": "https://example.com/a.json"}, "a reference outside the schema"),
    "enum of lists": ({"enum": [["a"]]}, "an enum of lists or objects"),
}


@pytest.mark.parametrize("provider", PROVIDERS)
@pytest.mark.parametrize("name", IMPOSSIBLE)
def test_what_cannot_be_strict(name: str, provider: StrictProvider) -> None:
    """What no strict mode can say is an error with its place."""
    schema, said = IMPOSSIBLE[name]
    with pytest.raises(ToolError, match=said) as caught:
        strict_schema({"type": "object", "properties": {"x": schema}, "required": ["x"]}, provider)
    assert f"strict mode of {provider}: schema.x: " in str(caught.value)


def test_a_schema_that_contains_itself() -> None:
    """OpenAI takes one, Anthropic does not."""
    tree = {"type": "object", "properties": {"next": {"$ref": "#/$defs/tree"}}, "required": ["next"]}
    schema = {**tree, "$defs": {"tree": tree}}
    assert strict_schema(schema, "openai")["$defs"]["tree"]["required"] == ["next"]
    with pytest.raises(ToolError, match="a schema that contains itself is not taken"):
        strict_schema(schema, "anthropic")


def test_references_and_several_types() -> None:
    """Older spellings are written in the one that providers take."""
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/definitions/a", "description": "It."},
            "b": {"type": ["string", "integer"], "minimum": 1, "pattern": "^a"},
            "c": {"oneOf": [{"const": 1}, {"const": "x"}]},
        },
        "required": ["a", "b", "c"],
        "definitions": {"a": {"type": "string"}},
    }
    written = strict_schema(schema, "openai")
    assert written["properties"] == {
        "a": {"anyOf": [{"$ref": "#/$defs/a"}], "description": "It."},
        "b": {"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "integer", "minimum": 1}]},
        "c": {"anyOf": [{"enum": [1], "type": "integer"}, {"enum": ["x"], "type": "string"}]},
    }
    assert written["$defs"] == {"a": {"type": "string"}}


def test_unknown_provider() -> None:
    """A provider without a strict mode that we know is an error."""
    with pytest.raises(ToolError, match="no strict mode of 'opnai'; there are: anthropic, deepseek, openai"):
        strict_schema(TIMEOUT, "opnai")  # type: ignore[arg-type]


SCALARS = st.sampled_from(
    [
        {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^(?=a)", "format": "regex"},
        {"type": "integer", "minimum": 0, "default": 4},
        {"type": ["number", "null"], "multipleOf": 2},
        {"type": "boolean", "description": "Whether"},
        {"enum": ["a", 1]},
        {"const": "x"},
        {"type": "string", "format": "date-time", "title": "T", "examples": ["x"]},
    ]
)
NAMES = st.text("abc", min_size=1, max_size=3)


def objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Objects of such schemas, with any of their properties required."""
    return st.dictionaries(NAMES, inner, max_size=4).flatmap(
        lambda properties: st.fixed_dictionaries(
            {
                "type": st.just("object"),
                "properties": st.just(properties),
                "required": st.lists(st.sampled_from(sorted(properties)), unique=True) if properties else st.just([]),
            }
        )
    )


SCHEMAS = objects(
    st.recursive(
        SCALARS,
        lambda inner: (
            objects(inner)
            | inner.map(lambda items: {"type": "array", "items": items, "maxItems": 3, "uniqueItems": True})
            | st.lists(inner, min_size=1, max_size=3).map(lambda each: {"anyOf": each})
        ),
        max_leaves=6,
    )
)


@examples(200)
@given(SCHEMAS, st.sampled_from(PROVIDERS))
def test_what_is_written_is_taken(schema: dict[str, Any], provider: StrictProvider) -> None:
    """Whatever can be written is taken, is not changed when it is written again, and leaves the schema as it was."""
    before = copy.deepcopy(schema)
    written = strict_schema(schema, provider)
    assert schema == before
    assert strict_problems([written], provider) == []
    assert strict_schema(written, provider) == written
    assert list(written["properties"]) == list(schema["properties"])


@examples(100)
@given(SCHEMAS)
def test_one_way_to_leave_out(schema: dict[str, Any]) -> None:
    """Where every parameter is required, exactly those that could be left out take null at the top."""
    written = strict_schema(schema, "openai")
    for name, each in written["properties"].items():
        said = str(each.get("description", "")).endswith("ull leaves it out.")
        assert said == (name not in schema["required"])
