"""What lint is given, as subjects: a text, a `Prompt`, what commands wrote of one, a request, or several in order.

A request is read into segments by `read_request`; its body stays beside them, for the rules that look at its fields.
What stands behind the boundary of a system prompt says that it changes with the turn. Messages do not: they are
appended, and nobody knows of one that it moves.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from deepprompt.checks.blocks import items
from deepprompt.checks.lint.findings import Subject
from deepprompt.checks.segments import read_request
from deepprompt.checks.static import mark_changing
from deepprompt.errors import MessageError
from deepprompt.providers.segments import Segment

MESSAGES = ("messages", "input", "contents")
"""Where a body has its messages."""

_OF_GEMINI = ("contents", "systemInstruction", "system_instruction", "cachedContent", "generationConfig")
_OF_BEDROCK = ("modelId", "toolConfig", "inferenceConfig", "additionalModelRequestFields")
_OF_CONVERSE = ("text", "image", "document", "toolUse", "toolResult", "reasoningContent", "cachePoint")
_OF_ANTHROPIC = ("system", "anthropic_version", "anthropic_beta", "thinking", "cache_control")
_OF_OPENAI = ("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "max_completion_tokens")
_BLOCKS_OF_ANTHROPIC = ("tool_use", "tool_result", "thinking", "redacted_thinking")
_ROUTES = re.compile(
    r"(?:anthropic|azure|bedrock|dashscope|databricks|deepseek|gemini|hosted_vllm|minimax|mistral|openai|openrouter"
    r"|vertex_ai|xai|zai)/"
)
_GPT = re.compile(r"(?:chatgpt|gpt|o[134])(?:-|$)")


def subject_of(value: object, name: str, *, at: float | None = None, is_file: bool = False) -> Subject:
    """Return what `read_request` takes as a subject: a text is a prompt, a list the messages of a request."""
    return Subject(name, tuple(mark_changing(read_request(value))), body_of(value), at=at, is_file=is_file)


def subject_of_files(name: str, texts: Iterable[tuple[str, str]]) -> Subject:
    """Return text files as one subject. Each is a path and its text, and is cut at its own boundary."""
    segments = [Segment(path, "system", "system", text, joins=True) for path, text in texts]
    return Subject(name, tuple(piece for segment in segments for piece in mark_changing([segment])), is_file=True)


def subjects_of_requests(recorded: Iterable[object] | str, name: str) -> Subject:
    """Return the newest of recorded requests as a subject, with those before it.

    Each is a body, or `{"body": BODY, "at": TIME}`; as a text they are a JSON list or JSON Lines.
    """
    subjects = []
    for number, item in enumerate(_values(recorded, name) if isinstance(recorded, str) else recorded, 1):
        try:
            if not isinstance(item, Mapping):
                raise MessageError(f"expected the body of a request, not {type(item).__name__}")
            # Only beside a body is `at` a time; in one it would be somebody's field.
            at = item.get("at") if isinstance(item.get("body"), Mapping) else None
            subjects.append(subject_of(item, name, at=None if at is None else seconds_of(at)))
        except MessageError as error:
            raise MessageError(f"{name}: request {number}: {error}") from None
    if not subjects:
        raise MessageError(f"{name}: no request in it")
    return replace(subjects[-1], earlier=tuple(subjects[:-1]))


def body_of(value: object) -> Mapping[str, Any] | None:
    """Return the request in a value as it is sent, None where there is none: in a text, a prompt, a saved session."""
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return {"messages": value}
    while isinstance(value, Mapping):
        if isinstance(value.get("session"), Mapping) and "sha256" in value:
            return None
        if isinstance(value.get("text"), str) and isinstance(value.get("parts"), list):
            return None
        inner = next((value[key] for key in ("body", "request") if isinstance(value.get(key), Mapping)), None)
        if inner is None or any(key in value for key in MESSAGES):
            return value
        value = inner
    return None


def model_of(subject: Subject) -> str:
    """Return the model that a request names, in its body or beside it; "" where it names none."""
    named = (s.text for s in subject.segments if s.kind == "setting" and s.place in ("model", "modelId"))
    return next(named, "")


def provider_of(body: object) -> str:
    """Return whose request a body looks like, by its fields and its model's name; "" where that is unclear."""
    if not isinstance(body, Mapping):
        return ""
    if any(key in body for key in _OF_GEMINI):
        return "gemini"
    if any(key in body for key in _OF_BEDROCK) or _is_converse(body):
        return "bedrock"
    if "input" in body:
        return "openai-responses"
    return _of_messages(body) if isinstance(body.get("messages"), Sequence) else ""


def _of_messages(body: Mapping[str, Any]) -> str:
    """Return whose request a body with `messages` is: several providers call them so."""
    named = body.get("model")
    model = named.strip().lower() if isinstance(named, str) else ""
    marks = {key for holder in _holders(body) for key in ("cache_control", "prompt_cache_breakpoint") if key in holder}
    if _ROUTES.match(model):
        return "litellm"
    if model.startswith("deepseek"):
        return "deepseek"
    # Chat Completions has a system message and tool messages; with Anthropic's marks only LiteLLM takes it.
    roles = [message.get("role") for message in items(body["messages"]) if isinstance(message, Mapping)]
    is_chat = "tool" in roles or "developer" in roles or roles[:1] == ["system"]
    if _GPT.match(model):
        return "litellm" if "cache_control" in marks else "openai"
    if model.startswith("claude"):
        return "litellm" if is_chat else "anthropic"
    if "prompt_cache_breakpoint" in marks or any(key in body for key in _OF_OPENAI):
        return "openai"
    if is_chat:
        return "litellm" if "cache_control" in marks else ""
    typed = any(holder.get("type") in _BLOCKS_OF_ANTHROPIC for holder in _holders(body))
    named_so = any(key in body for key in _OF_ANTHROPIC) or "cache_control" in marks
    return "anthropic" if named_so or typed else ""


def _is_converse(body: Mapping[str, Any]) -> bool:
    """Whether a body's blocks are Bedrock's: each one field, and no type."""
    blocks = [block for message in items(body.get("messages")) if isinstance(message, Mapping)
              for block in items(message.get("content"))]  # fmt: skip
    return any(isinstance(b, Mapping) and len(b) == 1 and next(iter(b)) in _OF_CONVERSE for b in blocks)


def _holders(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield what may carry a mark of Anthropic's or OpenAI's, wherever it is allowed."""
    for tool in items(body.get("tools")):
        if isinstance(tool, Mapping):
            yield tool
            if isinstance(tool.get("function"), Mapping):
                yield tool["function"]
    yield from (block for block in items(body.get("system")) if isinstance(block, Mapping))
    for message in items(body.get("messages")):
        if isinstance(message, Mapping):
            yield message
            yield from (block for block in items(message.get("content")) if isinstance(block, Mapping))


def _values(text: str, name: str) -> list[Any]:
    """Return the values of a JSON list, or of JSON Lines."""
    try:
        found = json.loads(text)
        return found if isinstance(found, list) else [found]
    except RecursionError:
        raise MessageError(f"{name}: nested too deeply") from None
    except ValueError:
        pass
    values = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            values += [json.loads(line)] if line.strip() else []
        except RecursionError:
            raise MessageError(f"{name}:{number}: nested too deeply") from None
        except ValueError as error:
            raise MessageError(f"{name}:{number}: not JSON: {getattr(error, 'msg', error)}") from None
    return values


def seconds_of(at: object) -> float:
    """Return a time as seconds."""
    try:
        if isinstance(at, str):
            time = datetime.fromisoformat(at)
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        if isinstance(at, int | float) and not isinstance(at, bool) and isfinite(at):
            return float(at)
    except (ValueError, OverflowError):
        pass
    raise MessageError(f"at is seconds, or a time such as 2026-11-15T09:30:00Z, not {at!r:.40}")
