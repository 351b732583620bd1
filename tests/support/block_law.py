"""What becomes of a block in a session, for each target: what the law about blocks and the page about them both say."""

from __future__ import annotations

import json
from typing import Any

from deepprompt import Prompt, Session
from deepprompt.errors import MessageError
from deepprompt.prompt import Pace, Part
from deepprompt.words import Target
from tests.support.sdk_types import Sample

MODELS: dict[Target, str] = {
    "anthropic": "claude-opus-5-5",
    "openai": "gpt-5.6-sol",
    "openai-responses": "gpt-5.6-sol",
    "gemini": "gemini-3.8-flash",
    "bedrock": "us.anthropic.claude-opus-4-5-20251101-v1:0",
    "deepseek": "deepseek-v4-pro",
    "litellm": "anthropic/claude-opus-5-5",
}
PROMPT = Prompt(
    (Part("rules", "Be brief.", Pace.RELEASE, "test"),), ({"name": "look", "description": "Looks.", "parameters": {}},)
)
LEFT_OUT = "(Left out here: a block of type"
WORDS = ("some_", "Said", "No.", "aGVsbG8=", "https://")
CALL = {
    "role": "assistant",
    "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}],
}


def conversation(sample: Sample) -> Session:
    """Return a session in which a sample was appended, and somebody went on. `append` may refuse the sample."""
    session = Session(PROMPT)
    session.user("Begin.")
    if sample.answers_call:
        session.append(CALL)
    session.extend(sample.messages)
    results = [{"type": "tool_result", "tool_use_id": call.id, "content": "Seen."} for call in session.open_calls]
    if results:
        session.append({"role": "user", "content": results})
    session.user("Go on.")
    return session


def outcome(sample: Sample, session: Session, to: Target) -> str:
    """Say what a target is sent of a sample: this raises if the session is bricked."""
    request = session.request(to=to, model=MODELS[to], marks="none")
    if holds(request.body, sample.block):
        return "kept"
    kinds = {note.kind for note in request.notes if note.source.startswith("messages[")}
    if "replaced" in kinds and LEFT_OUT in json.dumps(request.body):
        return "replaced"
    said = "\n".join(strings(request.body))
    if any(word in said for word in strings(sample.block) if word.startswith(WORDS)) or _has_call(sample, said):
        return "translated, with a note" if "skipped" in kinds else "translated"
    return "left out, with a note" if "skipped" in kinds else "LOST"


def _has_call(sample: Sample, said: str) -> bool:
    """Whether a call is in what was sent: nothing but its name, its id and its arguments is its own."""
    return any(word in sample.kind for word in ("call", "tool_use", "toolUse", "json")) and said.count("look") > 1


def row(sample: Sample) -> dict[Target, str] | str:
    """Say what every target is sent of a sample, or that it is refused."""
    try:
        session = conversation(sample)
    except MessageError:
        return "refused"
    return {to: outcome(sample, session, to) for to in MODELS}


def holds(value: Any, block: dict[str, Any]) -> bool:
    """Whether a block is somewhere in a value, with all of its fields; None says as much as nothing."""
    if isinstance(value, dict) and all(key in value and value[key] == block[key] for key in _said(block)):
        return True
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return any(holds(one, block) for one in inner)


def _said(block: dict[str, Any]) -> list[str]:
    return [key for key, value in block.items() if value is not None]


def strings(value: Any) -> list[str]:
    """Return all texts in a value."""
    if isinstance(value, str):
        return [value]
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inner for text in strings(one)]
