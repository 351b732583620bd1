"""Whether two requests belong to one conversation, judged by what they share and not by how they differ.

Agents send side requests between the turns of a conversation: a title, a commit message, a summary for a subagent. Such
a request has another system prompt and other tools or messages. Nothing broke there, so nothing is to be blamed.
"""

from __future__ import annotations

from collections.abc import Sequence

from deepprompt.providers.segments import Segment

SPEAKERS = ("user", "assistant")

# Two system prompts that share less than this share of their lines, or of their words if they are short, are unlike.
_FEW_LINES, _FEW_WORDS = 0.2, 0.5
_SHORT = 4
_FEW_TOOLS = 0.3


def begins_another(old: Sequence[Segment], new: Sequence[Segment]) -> bool:
    """Whether the later request belongs to another conversation than the earlier one."""
    said, says = _said(old), _said(new)
    if not said or not says:  # one of them is only a prompt
        return False
    before, after = _tools(old), _tools(new)
    apart = len(before & after) < _FEW_TOOLS * len(before | after) or said.isdisjoint(says)
    return apart and _is_unlike(_system(old), _system(new))


def _said(segments: Sequence[Segment]) -> set[tuple[str, str]]:
    return {(segment.kind, segment.text) for segment in segments if segment.role in SPEAKERS}


def _tools(segments: Sequence[Segment]) -> set[str]:
    return {segment.tool for segment in segments if segment.kind == "tool"}


def _system(segments: Sequence[Segment]) -> str:
    return "\n".join([segment.text for segment in segments if segment.role == "system"])


def _is_unlike(old: str, new: str) -> bool:
    """Whether two system prompts have little in common. One that is missing has nothing in common with any."""
    if not old or not new:
        return bool(old or new)
    if old.startswith(new) or new.startswith(old):
        return False
    was, now = ({line for line in text.splitlines() if line.strip()} for text in (old, new))
    few = _FEW_LINES
    if min(len(was), len(now)) < _SHORT:
        was, now, few = set(old.split()), set(new.split()), _FEW_WORDS
    return len(was & now) < few * max(min(len(was), len(now)), 1)
