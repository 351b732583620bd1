"""Requests out of random scenes, as a conversation that grows sends them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from deepprompt import Pace, Part, Prompt, Request
from deepprompt.errors import MessageError, ToolError
from tests.support.conversations import Scene


def as_prompt(scene: Scene) -> Prompt:
    """Return what a scene starts with as a prompt, with its tools."""
    if isinstance(scene.prompt, Prompt):
        return replace(scene.prompt, tools=tuple(scene.tools or ()))
    if isinstance(scene.prompt, str):
        return Prompt((Part("text", scene.prompt, Pace.RELEASE, "test"),), tuple(scene.tools or ()))
    return Prompt((), tuple(scene.tools or ()), messages=tuple(scene.prompt))


def outcome(build: Callable[[], Request]) -> Request | str:
    """Return a request, or why there is none."""
    try:
        return build()
    except (MessageError, ToolError) as error:
        return f"{type(error).__name__}: {error}"
