"""Collect the raw events of a streamed response into the response that a session appends.

Each provider streams in its own way; the shape of an event says which. If a stream breaks off, unfinished blocks are
left out, except for text, so that the rest can be appended.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from deepprompt.errors import MessageError
from deepprompt.providers.neutral import Payload
from deepprompt.session.messages import from_sdk

# Fields of a chunk that are said once; all other texts of a chunk are continued by the next one.
_SAID_ONCE = ("id", "type", "role", "name", "object", "model", "finish_reason", "index", "format", "signature")


# What Python raises at a field that is missing, or that has another shape than its provider gives it.
_ODD = (AttributeError, IndexError, KeyError, TypeError, ValueError)


class StreamedResponse:
    """A response while its events arrive, from any of the providers.

    Pass every event to `add`, as the SDK's object or as parsed JSON. `response` is what the provider would have sent
    without streaming: append it, and give it to `record`.
    """

    def __init__(self) -> None:
        self._collector: _Collector | None = None

    def add(self, event: object) -> str:
        """Take the next event, and return the text that it adds to the response, "" if it adds none.

        Raises `MessageError` if the stream reports an error, or if the event does not fit the ones before it.
        """
        plain = from_sdk(event)
        if not isinstance(plain, Mapping):
            raise MessageError(f"an event of a stream is a mapping or an SDK's object, not {type(event).__name__}")
        if "type" in plain and plain["type"] == "error":
            raise MessageError(f"the stream broke off: {json.dumps(plain.get('error') or plain)[:200]}")
        if self._collector is None:
            self._collector = _collector_for(plain)
        if self._collector is None:
            return ""
        try:
            return self._collector.add(dict(plain))
        except _ODD as error:
            raise MessageError(f"an event that does not fit those before it: {_shown(plain, error)}") from None

    @property
    def response(self) -> Payload:
        """The response so far, in the provider's own form. Raises `MessageError` if no event has arrived."""
        if self._collector is None:
            raise MessageError("no event of a response has arrived yet")
        try:
            return self._collector.response()
        except _ODD as error:
            raise MessageError(f"the events do not make a response: {_shown({}, error)}") from None


def _shown(event: Mapping[str, Any], error: Exception) -> str:
    names = ", ".join(map(str, list(event)[:4]))
    return f"{names} ({type(error).__name__}: {error!s:.60})" if names else f"{type(error).__name__}: {error!s:.60}"


class _Collector:
    """Collects the events of one API."""

    def add(self, event: Payload) -> str:
        raise NotImplementedError

    def response(self) -> Payload:
        raise NotImplementedError


def _collector_for(event: Mapping[str, Any]) -> _Collector | None:
    """Return the collector for a stream by its first event, None for an event that says nothing of it."""
    kind = str(event.get("type", ""))
    if kind == "message_start":
        return _Messages()
    if kind.startswith("response."):
        return _Responses()
    if "candidates" in event or "usageMetadata" in event or "promptFeedback" in event:
        return _Gemini()
    if "choices" in event:
        return _Chat()
    if any(key in event for key in ("messageStart", "contentBlockStart", "contentBlockDelta")):
        return _Converse()
    if kind == "ping":
        return None
    raise MessageError(f"not the first event of a stream that is known: {', '.join(map(str, list(event)[:8])) or '{}'}")


class _Messages(_Collector):
    """Anthropic's: blocks are started, continued by deltas, and stopped."""

    def __init__(self) -> None:
        self._message: Payload = {}
        self._blocks: dict[int, Payload] = {}
        self._json: dict[int, str] = {}
        self._open: set[int] = set()

    def add(self, event: Payload) -> str:
        kind, index = event.get("type"), event.get("index", -1)
        if kind == "message_start":
            self._message = dict(event["message"])
        elif kind == "content_block_start":
            self._blocks[index] = dict(event["content_block"])
            self._open.add(index)
        elif kind == "content_block_delta":
            return self._continue(index, event["delta"])
        elif kind == "content_block_stop":
            self._open.discard(index)
        elif kind == "message_delta":
            usage = {**self._message.get("usage", {}), **event.get("usage", {})}
            more = {key: value for key, value in event.items() if key not in ("type", "delta", "usage")}
            self._message = {**self._message, **event.get("delta", {}), **more, "usage": usage}
        return ""

    def _continue(self, index: int, delta: Mapping[str, Any]) -> str:
        block = self._blocks[index]
        for key, value in delta.items():
            if key == "partial_json":
                self._json[index] = self._json.get(index, "") + value
            elif key == "citation":
                block["citations"] = [*(block.get("citations") or ()), value]
            elif key == "signature" or not isinstance(value, str):
                block[key] = value
            elif key != "type":
                block[key] = (block.get(key) or "") + value
        return str(delta.get("text", "")) if delta.get("type") == "text_delta" else ""

    def response(self) -> Payload:
        blocks = []
        for index, block in sorted(self._blocks.items()):
            if index in self._open and block.get("type") != "text":
                continue
            given = {"input": _object(self._json[index])} if self._json.get(index) else {}
            blocks.append({**block, **given})
        return {**self._message, "content": blocks}


class _Chat(_Collector):
    """Chat Completions: each chunk continues the fields of the message."""

    def __init__(self) -> None:
        self._message: Payload = {"role": "assistant", "content": None}
        self._beside: Payload = {}
        self._choice: Payload = {}

    def add(self, event: Payload) -> str:
        self._beside |= {key: value for key, value in event.items() if key != "choices" and value is not None}
        for choice in event.get("choices") or ():
            if choice.get("index", 0) != 0:
                raise MessageError("a stream with several choices: ask for one, or append the message of one yourself")
            self._choice |= {key: value for key, value in choice.items() if key != "delta" and value is not None}
            _merge(self._message, choice.get("delta") or {})
            return str((choice.get("delta") or {}).get("content") or "")
        return ""

    def response(self) -> Payload:
        calls = [
            {key: value for key, value in call.items() if key != "index"}
            for call in self._message.get("tool_calls", ())
        ]
        message = {**self._message, **({"tool_calls": calls} if calls else {})}
        return {**self._beside, "choices": [{"index": 0, **self._choice, "message": message}]}


class _Responses(_Collector):
    """Responses: the last event has the whole response. Until then, the items that are done."""

    def __init__(self) -> None:
        self._response: Payload = {}
        self._items: dict[int, Payload] = {}

    def add(self, event: Payload) -> str:
        kind = str(event["type"])
        if isinstance(event.get("response"), Mapping):
            self._response = dict(event["response"])
        elif kind == "response.output_item.done":
            self._items[event.get("output_index", len(self._items))] = event["item"]
        return str(event.get("delta", "")) if kind == "response.output_text.delta" else ""

    def response(self) -> Payload:
        items = [item for _, item in sorted(self._items.items())]
        return {**self._response, "output": self._response.get("output") or items}


class _Gemini(_Collector):
    """Gemini: each chunk is a response with the next parts. Plain texts in a row become one, signed ones stay apart."""

    def __init__(self) -> None:
        self._beside: Payload = {}
        self._candidate: Payload = {}
        self._parts: list[Payload] = []

    def add(self, event: Payload) -> str:
        self._beside |= {key: value for key, value in event.items() if key != "candidates"}
        text = ""
        for candidate in (event.get("candidates") or ())[:1]:
            self._candidate |= {key: value for key, value in candidate.items() if key != "content"}
            for part in (candidate.get("content") or {}).get("parts") or ():
                self._add_part(part)
                text += str(part.get("text", "")) if not part.get("thought") else ""
        return text

    def _add_part(self, part: Payload) -> None:
        last = self._parts[-1] if self._parts else {}
        plain = ({"text"}, {"text", "thought"})
        if set(part) in plain and set(last) == set(part) and last.get("thought") == part.get("thought"):
            self._parts[-1] = {**last, "text": last["text"] + part["text"]}
        else:
            self._parts.append(dict(part))

    def response(self) -> Payload:
        content = {"role": "model", "parts": self._parts}
        return {**self._beside, "candidates": [{**self._candidate, "content": content}]}


class _Converse(_Collector):
    """Bedrock's: blocks have one member. It is named when the block starts, or by its first delta."""

    def __init__(self) -> None:
        self._role = "assistant"
        self._blocks: dict[int, Payload] = {}
        self._open: set[int] = set()
        self._beside: Payload = {}

    def add(self, event: Payload) -> str:
        ((kind, value),) = event.items() if len(event) == 1 else [("", {})]
        index = value.get("contentBlockIndex", 0) if isinstance(value, Mapping) else 0
        if kind == "contentBlockStart":
            self._blocks[index] = {member: dict(start) for member, start in value["start"].items()}
            self._open.add(index)
        elif kind == "contentBlockDelta":
            self._open.add(index)
            return self._continue(self._blocks.setdefault(index, {}), value["delta"])
        elif kind == "contentBlockStop":
            self._open.discard(index)
        elif kind in ("messageStop", "metadata"):
            self._beside |= value
        elif kind.endswith("Exception"):
            raise MessageError(f"the stream broke off: {kind}: {str(value)[:200]}")
        return ""

    def _continue(self, block: Payload, delta: Mapping[str, Any]) -> str:
        for member, value in delta.items():
            if member == "text":
                block["text"] = block.get("text", "") + value
            elif member == "citation":
                block.setdefault("citations", []).append(value)
            elif member == "reasoningContent":
                _merge_reasoning(block.setdefault(member, {}), value)
            elif isinstance(value, Mapping):
                _merge(block.setdefault(member, {}), value)
            elif member == "toolResult":
                block.setdefault(member, {}).setdefault("content", []).extend(value)
            else:
                block[member] = value
        return str(delta.get("text", ""))

    def response(self) -> Payload:
        content = []
        for index, block in sorted(self._blocks.items()):
            if index in self._open and "text" not in block:
                continue
            if isinstance(use := block.get("toolUse"), dict):
                block = {"toolUse": {**use, "input": _object(use["input"]) if use.get("input") else {}}}
            if citations := block.get("citations"):
                said = {"content": [{"text": block.get("text", "")}], "citations": citations}
                block = {"citationsContent": said}
            content.append(block)
        return {**self._beside, "output": {"message": {"role": self._role, "content": content}}}


def _merge(into: Payload, delta: Mapping[str, Any]) -> None:
    """Continue the fields of a message: texts are joined, elements of lists are found by their index."""
    for key, value in delta.items():
        known = into.get(key)
        if isinstance(value, list):
            into[key] = _merged(known or [], value)
        elif isinstance(value, Mapping):
            into[key] = known if isinstance(known, dict) else {}
            _merge(into[key], value)
        elif isinstance(value, str) and isinstance(known, str):
            into[key] = known + value if key not in _SAID_ONCE else value or known
        elif value is not None:
            into[key] = value


def _merged(known: list[Any], more: list[Any]) -> list[Any]:
    """Return a list with more elements, each of them a copy."""
    for element in more:
        if not isinstance(element, Mapping):
            known.append(element)
            continue
        index = element.get("index")
        same = [one for one in known if isinstance(one, dict) and index is not None and one.get("index") == index]
        if not same:
            known.append({})
        _merge(known[-1] if not same else same[0], element)
    return known


def _merge_reasoning(into: Payload, delta: Mapping[str, Any]) -> None:
    """Continue reasoning: its text and its signature are one member, redacted bytes another."""
    for key, value in delta.items():
        if key in ("text", "signature"):
            text = into.setdefault("reasoningText", {})
            text[key] = text.get(key, "") + value
        else:
            into[key] = into[key] + value if key in into else value


def _object(text: str) -> Any:
    """Return a tool's input that was streamed as JSON text, as an object; a text that is none, under a name of ours."""
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"arguments": text}
