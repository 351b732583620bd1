"""Every type of block, item, part and member that the SDKs' own type definitions list, with a sample of each.

A sample has every field of its type, optional ones too. With a new version of an SDK new types appear here by
themselves. `tests/data/blocks.json` records the samples, so that the law over them also holds where no SDK is
installed; `python scripts/write_blocks.py` rewrites it.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Literal

from tests.support.paths import DATA
from tests.support.recorder import sdk

RECORDED = DATA / "blocks.json"
Side = Literal["answer", "user", "result"]
"""Who says it: the model, the user, or a tool."""

_DEPTH = 6
_TEXTS = {
    "url": "https://example.org/a.png",
    "image_url": "https://example.org/a.png",
    "file_url": "https://example.org/a.pdf",
    "media_type": "image/png",
    "mime_type": "image/png",
    "data": "aGVsbG8=",
    "arguments": '{"path": "a"}',
    "call_id": "call_1",
    "tool_use_id": "call_1",
    "toolUseId": "call_1",
    "name": "look",
    "thought_signature": "c2ln",
}


MESSAGE = {
    "type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
    "content": [{"type": "output_text", "text": "So.", "annotations": []}],
}  # fmt: skip
"""An item with a text."""


@dataclass(frozen=True)
class Sample:
    """A sample of one type."""

    api: str
    side: Side
    kind: str
    block: dict[str, Any]

    @property
    def name(self) -> str:
        """A name for the test's report."""
        return f"{self.api} {self.side} {self.kind}"

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages that are appended. An answer goes on with a text, so that reasoning is followed by something."""
        is_answer = self.side == "answer"
        role = "assistant" if is_answer else "user"
        if self.api == "openai-responses" and not self.kind.startswith("input_"):
            return [self.block, MESSAGE] if is_answer else [self.block]
        if self.api == "gemini":
            said: list[dict[str, Any]] = [{"text": "So."}] if is_answer else []
            return [{"role": "model" if is_answer else "user", "parts": [self.block, *said]}]
        if self.api == "openai" and is_answer:
            return [{"role": role, **self.block}]
        content = [self.block]
        if self.side == "result":
            wrapped = {"toolUseId": "call_1", "content": content}
            typed = {"type": "tool_result", "tool_use_id": "call_1", "content": content}
            content = [{"toolResult": wrapped} if self.api == "bedrock" else typed]
        if is_answer:
            content.append({"text": "So."} if self.api == "bedrock" else {"type": "text", "text": "So."})
        return [{"role": role, "content": content}]

    @property
    def answers_call(self) -> bool:
        """Whether it is the result of a call, so that one has to stand before it."""
        return (
            self.side == "result"
            or (self.kind.split()[0] in ("tool_result", "toolResult", "functionResponse") and self.side == "user")
            or self.kind in ("function_call_output", "custom_tool_call_output")
        )


def recorded() -> list[Sample]:
    """Return the samples that were written down."""
    return [Sample(**row) for row in json.loads(RECORDED.read_text("utf-8"))]


def generated() -> list[Sample]:
    """Return the samples of the installed SDKs; without one of them, the test that asks is skipped."""
    found: dict[str, Sample] = {}
    for one in (*_anthropic(), *_chat(), *_responses(), *_gemini(), *_bedrock()):
        found.setdefault(one.name, _without_none(one))
    return list(found.values())


def _without_none(one: Sample) -> Sample:
    ((key, value), *rest) = one.block.items()
    if not rest and isinstance(value, dict):
        return replace(one, block={key: {name: inner for name, inner in value.items() if inner is not None}})
    return one


def _anthropic() -> Iterator[Sample]:
    types = sdk("anthropic.types.beta")
    for kind in _members(types.BetaContentBlock):
        yield _typed("anthropic", "answer", kind)
    for kind in _members(types.BetaContentBlockParam):
        yield _typed("anthropic", "user", kind)
    content = typing.get_type_hints(types.BetaToolResultBlockParam)["content"]
    for kind in _members(next(part for part in typing.get_args(content) if part is not str)):
        yield _typed("anthropic", "result", kind)


def _typed(api: str, side: Side, kind: Any) -> Sample:
    block = sample(kind)
    return Sample(api, side, block.get("type", "message"), block)


def _chat() -> Iterator[Sample]:
    chat = sdk("openai.types.chat")
    fields = sample(chat.ChatCompletionMessage)
    for name in fields:
        if name not in ("role", "content", "refusal", "tool_calls"):
            yield Sample("openai", "answer", name, {"content": "Said.", name: fields[name]})
    yield Sample("openai", "answer", "content", {"content": "Said."})
    yield Sample("openai", "answer", "refusal", {"content": None, "refusal": "No."})
    for kind in _members(chat.chat_completion_message_tool_call.ChatCompletionMessageToolCallUnion):
        call = sample(kind)
        yield Sample("openai", "answer", f"tool_calls {call['type']}", {"content": None, "tool_calls": [call]})
    for kind in _members(chat.ChatCompletionContentPartParam):
        yield _typed("openai", "user", kind)


def _responses() -> Iterator[Sample]:
    types = sdk("openai.types.responses")
    for kind in _members(types.ResponseOutputItem):
        yield _typed("openai-responses", "answer", kind)
    for kind in _members(types.ResponseInputItemParam):
        item = sample(kind)
        if item.get("type", "message") != "message":
            yield Sample("openai-responses", "user", item["type"], item)
    for kind in _members(types.ResponseInputContentParam):
        yield _typed("openai-responses", "user", kind)


def _gemini() -> Iterator[Sample]:
    part = sdk("google.genai.types").Part
    for side in typing.get_args(Side)[:2]:
        for name, field in part.model_fields.items():
            wire = field.alias or part.model_config["alias_generator"](name)
            value = sample(field.annotation, name)
            if wire == "functionResponse":
                value["id"] = "call_1"
            beside: dict[str, Any] = {"thought": {"text": "Hm."}, "thoughtSignature": {"text": "Said."}}.get(wire, {})
            if wire in ("videoMetadata", "mediaResolution", "partMetadata", "mediaProcessing", "speechMetadata"):
                beside = {"fileData": {"fileUri": "files/a", "mimeType": "video/mp4"}}
            yield Sample("gemini", side, wire, {**beside, wire: value})


def _bedrock() -> Iterator[Sample]:
    model = sdk("botocore.session").get_session().get_service_model("bedrock-runtime")
    sides: tuple[tuple[Side, str], ...] = (
        ("answer", "ContentBlock"), ("user", "ContentBlock"), ("result", "ToolResultContentBlock"),
    )  # fmt: skip
    for side, shape in sides:
        for name, member in model.shape_for(shape).members.items():
            block = {name: _of_shape(member, name)}
            yield Sample("bedrock", side, name, block)
            if name in ("toolUse", "toolResult"):  # with a type, the provider runs it
                yield Sample("bedrock", side, f"{name} of ours", {name: {**block[name], "type": None}})


def _of_shape(shape: Any, name: str, depth: int = 0) -> Any:
    """Return a value of one of botocore's shapes. Of a union, it has the first member."""
    if shape.type_name == "structure":
        members = list(shape.members.items())
        if getattr(shape, "is_document_type", False) or depth > _DEPTH:
            return {"path": "a"}
        members = members[:1] if getattr(shape, "is_tagged_union", False) else members
        return {key: _of_shape(member, key, depth + 1) for key, member in members}
    if shape.type_name == "list":
        return [_of_shape(shape.member, name, depth + 1)]
    if shape.type_name == "string":
        return shape.enum[0] if getattr(shape, "enum", None) else _TEXTS.get(name, f"some_{name}")
    return {"integer": 1, "long": 1, "float": 1.0, "double": 1.0, "boolean": True, "blob": "aGVsbG8="}.get(
        shape.type_name, {"path": "a"}
    )


def _members(union: Any) -> Iterator[Any]:
    """Yield the types of a union, of those inside it too."""
    origin = typing.get_origin(union)
    if origin is typing.Annotated:
        yield from _members(typing.get_args(union)[0])
    elif origin is typing.Union or type(union).__name__ == "UnionType":
        for part in typing.get_args(union):
            yield from _members(part)
    elif origin in (list, Iterable) or getattr(origin, "__name__", "") in ("Iterable", "Sequence"):
        yield from _members(typing.get_args(union)[0])
    elif union is not type(None):
        yield union


def sample(kind: Any, name: str = "", depth: int = 0) -> Any:
    """Return a value of an SDK's type, as on the wire, with all fields that it can have."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Literal:
        return arguments[0]
    if origin in (typing.Annotated, typing.Required, typing.NotRequired):
        return sample(arguments[0], name, depth)
    if origin is typing.Union or type(kind).__name__ == "UnionType":
        return sample(next(part for part in arguments if part is not type(None)), name, depth)
    if origin is dict or kind is dict:
        return {"path": "a"}
    if origin in (list, tuple) or getattr(origin, "__name__", "") in ("Iterable", "Sequence"):
        return [] if depth > _DEPTH else [sample(arguments[0], name, depth + 1)]
    if hasattr(kind, "model_fields"):
        aliases = {field: info.alias or _camel(kind, field) for field, info in kind.model_fields.items()}
        fields = {aliases[field]: info.annotation for field, info in kind.model_fields.items()}
        return {} if depth > _DEPTH else {key: sample(fields[key], key, depth + 1) for key in fields}
    if hasattr(kind, "__total__"):  # a TypedDict, of typing or of typing_extensions
        hints = typing.get_type_hints(kind, include_extras=True)
        left_out = ("cache_control", "prompt_cache_breakpoint")  # marks are ours to put
        found = {key: sample(hint, key, depth + 1) for key, hint in hints.items() if key not in left_out}
        return {} if depth > _DEPTH else found
    plain = {str: _TEXTS.get(name, f"some_{name}"), int: 1, float: 1.0, bool: True, bytes: "aGVsbG8="}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return next(iter(kind)).value
    return plain.get(kind, {"path": "a"})


def _camel(kind: Any, field: str) -> str:
    """Return a field's name as google-genai spells it on the wire."""
    generator = kind.model_config.get("alias_generator")
    return generator(field) if callable(generator) else field
