"""Read one message into neutral values: texts, images, tool calls and their results, reasoning.

A message may be written as in OpenAI's Chat Completions or as in Anthropic's Messages, or as a mixture of both; the
blocks of these two are read in `typed_block`. The modules of Gemini, Bedrock and Responses read their own forms. A
block of a response that nobody knows is kept as it is. The caller's objects are never changed.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache

from deepprompt.errors import MessageError
from deepprompt.prompt import Note
from deepprompt.providers import anthropic, bedrock, gemini, openai, responses
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.neutral import (
    Api,
    Block,
    Image,
    Message,
    Native,
    Payload,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolChange,
    ToolResult,
    required,
)
from deepprompt.providers.recognise import MARK_FIELDS
from deepprompt.request.typed_block import (
    as_json,
    as_wire,
    last_mark,
    mark_of,
    plain,
    read_content,
    result_content,
    text_of,
)
from deepprompt.text.hygiene import scrub

ROLES: Mapping[str, Role] = {
    "system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "user",
}  # fmt: skip
"""The roles that a caller can give a message, each with its neutral one."""

_KNOWN_FIELDS = frozenset(
    ("role", "content", "tool_calls", "refusal", "reasoning_content", "thinking_blocks", "provider_specific_fields",
     "parsed", *openai.OWN_FIELDS, *anthropic.ENVELOPE, *MARK_FIELDS)
)  # fmt: skip
"""The fields of a response that are read, or that say nothing to a model."""

_USUAL_FIELDS = frozenset(("role", "content", "tool_calls", "tool_call_id"))
"""The fields that nearly every message has at most. The others need not be looked for in it, one by one."""

_OWN = frozenset(openai.OWN_FIELDS)
_OUTPUTS = ("function_call_output", "custom_tool_call_output")

# The fields by which a response of Chat Completions is known.
_OF_CHAT = frozenset(("tool_calls", "refusal", "annotations", "reasoning_content", *openai.OWN_FIELDS[1:]))

# Where a call of Chat Completions may have Gemini's signature.
_SIGNED = frozenset(("extra_content", "provider_specific_fields"))


def read_message(message: Mapping[str, object], index: int) -> Message:
    """Return one message in neutral values, or say what in it cannot be sent and why."""
    notes: list[Note] = []
    place = f"messages[{index}]"
    try:
        if not isinstance(message, (dict, Mapping)):  # dict first: an abstract class is three times as slow to ask
            raise MessageError(f"a message is a mapping with a role and content, not {type(message).__name__}", place)
        usual = message.keys() <= _USUAL_FIELDS
        is_item = not usual and responses.is_item(message)
        if is_item:
            role, blocks = _item(plain(responses.bare_item(message), place, notes), index, notes)
        elif reader := _reader(message):
            role, blocks = reader(json.loads(as_json(message, place, notes, as_wire)), index)
        else:
            role, blocks = _read(message, place, notes, usual)
    except RecursionError:
        raise MessageError("nested too deeply", place) from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        # No reader checks every field of what it reads. What none of them expects is no provider's message.
        raise MessageError(f"no provider spells a message so ({type(error).__name__}: {error!s:.60})", place) from None
    _check_role(role, blocks, place)
    if len(blocks) > 1:  # providers want tool results before anything else in a message
        blocks.sort(key=lambda block: not isinstance(block, ToolResult))
    paused = role == "assistant" and anthropic.is_paused(message, blocks)
    name = "" if usual or is_item or role == "assistant" else _name(message, place, notes)
    return Message(role, tuple(blocks), index, tuple(notes), is_item, paused, name)


def _name(message: Mapping[str, object], place: str, notes: list[Note]) -> str:
    """Return the name of the speaker of a user's or system message. A tool's message needs none: its call has it."""
    name = message.get("name")
    if name is None or message.get("role") == "tool":
        return ""
    if not isinstance(name, str):
        raise MessageError(f"the name of a speaker is text, not {type(name).__name__}", place)
    return scrub(name, place, notes)


def is_wire_form(message: Mapping[str, object]) -> bool:
    """Whether a message is Gemini's or Bedrock's, whose SDKs have bytes where JSON has base64."""
    return _reader(message) is not None


def _reader(message: Mapping[str, object]) -> Callable[[Payload, int], tuple[Role, list[Block]]] | None:
    """Return the function that reads a message in a provider's own form."""
    if "parts" in message:
        return gemini.read_content
    return bedrock.read_message if bedrock.is_message(message) else None


def _item(item: Payload, index: int, notes: list[Note]) -> tuple[Role, list[Block]]:
    """Return the role and the block of an item of Responses."""
    place = f"messages[{index}]"
    if item.get("type") not in _OUTPUTS:
        return responses.read_item(item, index)
    inner = result_content(read_content(item.get("output"), place, notes, "output"), place)
    return "user", [ToolResult(required(item, "call_id", place), inner, own=Native(item, api="openai-responses"))]


def _read(message: Mapping[str, object], place: str, notes: list[Note], usual: bool) -> tuple[Role, list[Block]]:
    """Return the role and the blocks of a message, which has no field but the usual ones if it is `usual`."""
    given = message.get("role")
    if given is None:
        raise MessageError(f"no role; its fields are {_fields(message)}, and the roles are {', '.join(ROLES)}", place)
    if not isinstance(given, str) or given not in ROLES:
        raise MessageError(f"unknown role {given!r}; the roles are {', '.join(ROLES)}", place)
    role = ROLES[given]
    if role != "assistant" and "content" not in message:
        raise MessageError(f"no content; its fields are {_fields(message)}", place)
    said: Api | None = None
    if role == "assistant":
        said = "anthropic" if _OF_CHAT.isdisjoint(message) else "openai"
    blocks = read_content(message.get("content"), place, notes, said=said)
    if given == "tool":
        call_id = message.get("tool_call_id")
        if not isinstance(call_id, str) or not call_id:
            raise MessageError("a tool message needs the tool_call_id of its call", place)
        call_id = scrub(call_id, place, notes)
        blocks = [ToolResult(call_id, result_content(blocks, place), mark=last_mark(blocks))]
    if usual:
        return role, blocks + _calls(message.get("tool_calls") if said else None, place, notes)
    if said is not None:
        blocks = [*_reasoning(message, place, notes), *blocks]
        if message.get("refusal"):
            blocks.append(Text(text_of(message, "refusal", place, notes)))
        blocks += [*_calls(message.get("tool_calls"), place, notes), *_own_fields(message, place, notes)]
    # A mark beside the content, as LiteLLM takes it, means the last block.
    if (mark := mark_of(message, place)) is not None and blocks:
        blocks[-1] = replace(blocks[-1], mark=mark)
    return role, blocks


def _own_fields(message: Mapping[str, object], place: str, notes: list[Note]) -> list[Block]:
    """Return what an answer of Chat Completions has beside its content, and note what cannot go back."""
    if lost := [key for key, value in message.items() if value and key not in _KNOWN_FIELDS]:
        notes.append(Note("skipped", place, f"fields that are not sent: {', '.join(map(str, lost[:8]))}"))
    found: list[Block] = []
    for field in openai.OWN_FIELDS if not _OWN.isdisjoint(message) else ():
        if message.get(field):
            own = Native(plain({field: message[field]}, place, notes), api="openai")
            found.append(openai.read_audio(own) if field == "audio" else own)
    return found


def check_known(message: Message) -> None:
    """Refuse a user's block with a type that no provider takes."""
    for block in message.blocks:
        for one in block.content if isinstance(block, ToolResult) else (block,):
            if isinstance(one, Native) and one.api == "anthropic" and one.kind not in _known_kinds():
                raise MessageError(f"no provider takes a block of type {one.kind!r}", message.place)


@cache
def _known_kinds() -> frozenset[str]:
    """Return the types of blocks that a user can give, by the bundled facts and of engines."""
    facts = bundled_facts()
    rules = [facts.rules(provider, "") for provider in facts.providers()]
    return frozenset(openai.PARTS_OF_ENGINES).union(*[one.carriers | one.blocks for one in rules])


def _fields(message: Mapping[str, object]) -> str:
    return ", ".join(str(key)[:40] for key in list(message)[:8]) or "none"


def _check_role(role: Role, blocks: list[Block], place: str) -> None:
    """Refuse blocks that a role cannot have."""
    for block in blocks:
        if isinstance(block, Text):  # belongs anywhere
            continue
        if isinstance(block, (ToolCall, Thinking)):
            if role == "assistant":
                continue
            raise MessageError(f"only the assistant's messages have {block.kind} blocks", place)
        if isinstance(block, ToolResult):
            if role == "user":
                continue
            raise MessageError("a tool result belongs in a user's or a tool's message", place)
        if isinstance(block, ToolChange) and role != "system":
            raise MessageError(f"a {block.kind} belongs in a system message", place)
        if role == "system" and not isinstance(block, ToolChange):
            raise MessageError(f"a system message is text, not {block.kind}", place)
        if isinstance(block, Image) and role == "assistant":
            raise MessageError("an image belongs in a user's message or in a tool result", place)


def _reasoning(message: Mapping[str, object], place: str, notes: list[Note]) -> list[Block]:
    """Return the reasoning beside an assistant's content: LiteLLM's signed blocks, or DeepSeek's text."""
    if blocks := read_content(message.get("thinking_blocks"), place, notes, "thinking_blocks"):
        return blocks
    reasoning = message.get("reasoning_content")
    return [Thinking(scrub(reasoning, place, notes))] if isinstance(reasoning, str) and reasoning else []


def _calls(calls: object, place: str, notes: list[Note]) -> list[Block]:
    """Return the tool calls of an assistant's message in the form of Chat Completions."""
    if calls is None:
        return []
    if not isinstance(calls, Sequence) or isinstance(calls, str):
        raise MessageError("tool_calls is a list", place)
    read: list[Block] = []
    for number, call in enumerate(calls):
        where = f"{place}.tool_calls[{number}]"
        fields = call if isinstance(call, (dict, Mapping)) else {}
        kind = fields.get("type")
        if kind != "function" and isinstance(kind, str) and isinstance(fields.get(kind), Mapping):
            read.append(openai.read_other_call(plain(fields, where, notes), where))
            continue
        function = fields.get("function")
        if not isinstance(function, (dict, Mapping)):
            raise MessageError('a tool call is {"id", "type": "function", "function": {"name", "arguments"}}', where)
        arguments = function.get("arguments")
        if not isinstance(arguments, str):
            arguments = "" if arguments is None else as_json(arguments, where, notes)
        signature = ""
        if not _SIGNED.isdisjoint(fields):
            signature = _signature(fields, "extra_content", "google") or _signature(fields, "provider_specific_fields")
            signature = scrub(signature, where, notes)
        read.append(
            ToolCall(
                text_of(fields, "id", where, notes),
                text_of(function, "name", where, notes),
                scrub(arguments, where, notes),
                signature,
            )
        )
    return read


def _signature(call: Mapping[str, object], *keys: str) -> str:
    """Return Gemini's signature of a call from where Google's OpenAI endpoint or LiteLLM puts it; "" without one."""
    found: object = call
    for key in (*keys, "thought_signature"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, str) else ""
