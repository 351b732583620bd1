"""Notices: how a session tells the model that its prompt has changed.

The model knows the frozen prefix and the notices sent since. A session compares the current prompt with both. It sends
each change once, at the end of the conversation, or lets it wait for the next prefix.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, get_args

from deepprompt.errors import SessionError
from deepprompt.prompt import CONTEXT_HEADINGS, Pace, Part, Prompt
from deepprompt.providers.neutral import Payload
from deepprompt.providers.notices import TAGS, notice, tools, wording
from deepprompt.session.difference import changed_lines, hunks
from deepprompt.session.messages import plain_json
from deepprompt.text.disarm import escape_tags
from deepprompt.text.hygiene import is_blank, one_line, scrub
from deepprompt.tools import canonical_tools, tool_name
from deepprompt.words import ChangeKind, OnChange

ON_CHANGE: tuple[OnChange, ...] = get_args(OnChange)

_UNKNOWN = -1  # the number of the message that sent a notice, if nobody recorded it

# The state of a tool. A tool whose definition differs from the prefix has that definition as its state.
# A session that tells tools by the provider's own means adds the definition to `unlisted`.
_LISTED, _UNLISTED, _GONE = "listed", "unlisted", "gone"


@dataclass(frozen=True, slots=True)
class Change:
    """A change of a part or a tool, since the prefix was frozen or since the last notice about it."""

    kind: ChangeKind
    source: str
    """The part or the tool."""
    text: str = ""
    """The new text; "" for a tool, and for a part that was removed."""
    told: bool = True
    """Whether the model gets a notice. If not, the change waits for the next epoch."""


@dataclass(slots=True)
class _News:
    """Content of notices, by name. A removed section of the context is "", a removed part is None."""

    context: dict[str, str] = field(default_factory=dict)
    parts: dict[str, str | None] = field(default_factory=dict)
    tools: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.context or self.parts or self.tools)

    def add(self, news: _News) -> None:
        """Take in what was sent later."""
        self.context |= news.context
        self.parts |= news.parts
        self.tools |= news.tools


class Notices:
    """The notices of one session. With `on_change` `wait`, changes of the prefix wait for the next epoch."""

    def __init__(self, on_change: OnChange) -> None:
        if on_change not in ON_CHANGE:
            raise SessionError(f"on_change is one of {', '.join(map(repr, ON_CHANGE))}, not {on_change!r}")
        self.on_change = on_change
        self.waiting: tuple[Change, ...] = ()
        self._frozen: dict[str, str] = {}
        self._slow: set[str] = set()
        self._listed: dict[str, str] = {}
        self._told = _News()
        self._news = _News()
        self._sent: list[tuple[int, _News]] = []  # with the number of the message that sent it
        self._known_from = 0

    def freeze(self, prompt: Prompt) -> tuple[Change, ...]:
        """Use the prefix of a prompt from now on, and return its changes since the previous prefix."""
        old, listed = self._frozen, self._listed
        self._listed = _definitions(prompt.tools)
        self._frozen = _texts(prompt.static_parts)
        self._slow = _released(prompt.static_parts)
        self.compare(prompt)  # earlier notices are still in the conversation, after the new prefix
        changes = [Change(kind, name, self._frozen.get(name, "")) for name, kind in _differences(old, self._frozen)]
        return (*changes, *[Change(kind, f"tool {name}") for name, kind in _differences(listed, self._listed)])

    def compare(self, prompt: Prompt) -> tuple[Change, ...]:
        """Compare a prompt with what the model knows. Return the changes to send, and those that now wait."""
        now = _texts(prompt.static_parts)
        parts = {name: now.get(name) for name, _ in _differences(self._known(), now)}
        tools = self._changed_tools(prompt.tools)
        waits = self.on_change == "wait"
        slow = self._slow | _released(prompt.static_parts)
        held = {name: text for name, text in parts.items() if waits or name in slow}
        sent = {name: text for name, text in parts.items() if name not in held}
        self._news = _News(self._changed_context(prompt), sent, {} if waits else tools)
        before = self.waiting
        self.waiting = tuple(replace(change, told=False) for change in self._changes(held, tools if waits else {}))
        return (*self.changes, *[change for change in self.waiting if change not in before])

    @property
    def changes(self) -> tuple[Change, ...]:
        """The changes of parts and tools that the next message sends."""
        return self._changes(self._news.parts, self._news.tools) if self._news else ()

    def text(self, *, native: bool = False) -> str:
        """Return the text of all pending notices, "" if there are none. With `native`, `tool_changes` has the tools."""
        if not self._news:
            return ""
        blocks = [self._part_notice(change) for change in self._changes(self._news.parts, {})]
        names: dict[tuple[ChangeKind, str], list[str]] = {}
        for name, state in self._news.tools.items():
            kind = _tool_kind(state)
            if not native or kind == "replaced":
                # A tool that is again as the prefix lists it is announced like a new instruction: it applies from here.
                names.setdefault((kind, "tools_listed" if state == _LISTED else f"tools_{kind}"), []).append(name)
        blocks += [notice(kind, tools(some), worded) for (kind, worded), some in names.items()]
        return "\n\n".join([*blocks, *self._context_notices()])

    def tool_changes(self) -> list[Payload]:
        """Return the tools that were added or removed, as the blocks of a system message."""
        blocks: list[Payload] = []
        for name, state in self._news.tools.items():
            tool: Payload = {"type": "tool_reference", "name": name}
            if state.startswith(_UNLISTED):
                tool = {"type": "tool_definition", "definition": json.loads(state.removeprefix(_UNLISTED))}
            if (kind := _tool_kind(state)) != "replaced":
                blocks.append({"type": "tool_addition" if kind == "added" else "tool_removal", "tool": tool})
        return blocks

    def _part_notice(self, change: Change) -> str:
        """Return the notice on a part: what changed in it, or its whole text if that is shorter or clearer."""
        known = self._known().get(change.source)
        if known is not None and change.kind == "replaced" and (edits := hunks(known, change.text)):
            return notice(change.kind, change.source, "edited", edits)
        return notice(change.kind, change.source, change.kind, change.text)

    def _context_notices(self) -> list[str]:
        """Return the sections of the context that changed: those of our own lists as the lines that changed."""
        whole: dict[str, str] = {}
        lines: dict[str, str] = {}
        for name, text in self._news.context.items():
            told = self._told.context.get(name)
            heading = CONTEXT_HEADINGS.get(name, "").strip("\n")
            is_list = bool(told and heading) and text.startswith(f"{heading}\n")
            short = changed_lines(told, text) if told and is_list else None
            if short is None:
                whole[name] = text
            elif short:
                lines[name] = short
        notices = [_context(whole, "context")] if whole else []
        notices += [_context(lines, "context_lines")] if lines else []
        at_once = _context(self._news.context, "context") if lines else ""
        return [at_once] if lines and len(at_once) <= sum(map(len, notices)) else notices

    def mark_sent(self, at: int, tools_at: int | None = None) -> None:
        """Mark every pending notice as sent, by the message of that number; those of tools perhaps by another one."""
        if self._news:
            self._sent.append((at, self._news))
            if tools_at is not None:
                self._sent[-1:] = [(at, replace(self._news, tools={})), (tools_at, _News(tools=self._news.tools))]
            self._told.add(self._news)
            self._news = _News()

    def sent_by(self, number: int) -> bool:
        """Whether the message of a number is ours, with notices."""
        return any(at == number for at, _ in reversed(self._sent))

    def rewind(self, size: int) -> None:
        """Forget what was sent by messages after the first `size`."""
        if self._sent and self._sent[0][0] == _UNKNOWN and size < self._known_from:
            raise SessionError(
                f"this session was saved by deepprompt 0.1, which did not say when it sent its notices: "
                f"go back to message {self._known_from} or later"
            )
        self._sent = [(at, news) for at, news in self._sent if at < size]
        self._told = _News()
        for _, news in self._sent:
            self._told.add(news)
        self._news = _News()

    def repeat(self) -> None:
        """Make everything that the model was told, and that still holds, pending again: its messages are gone."""
        told = self._told
        context = {name: text for name, text in told.context.items() if text}
        parts = {name: text for name, text in told.parts.items() if text != self._frozen.get(name)}
        usual = {name: _LISTED if name in self._listed else _GONE for name in told.tools}
        tools = {name: state for name, state in told.tools.items() if state != usual[name]}
        self._told, self._sent = _News(), []
        self._news = _News(context | self._news.context, parts | self._news.parts, tools | self._news.tools)

    def state(self) -> dict[str, object]:
        """Return the state to save in addition to the frozen prompt."""
        return {
            "told": [self._told.context, self._told.parts, self._told.tools],
            "news": [self._news.context, self._news.parts, self._news.tools],
            "waiting": [[change.kind, change.source, change.text] for change in self.waiting],
            "sent": [[at, news.context, news.parts, news.tools] for at, news in self._sent],
            "known_from": self._known_from,
        }

    def restore(self, state: Mapping[str, Any], size: int) -> None:
        """Restore a saved state of a conversation of `size` messages.

        A wrong one is a `TypeError`, a `ValueError` or a similar error.
        """
        rows = state.get("sent")
        if rows is None:  # saved by 0.1
            rows, self._known_from = [[_UNKNOWN, *state["told"]]] if any(state["told"]) else [], size
        else:
            self._known_from = int(state["known_from"])
        for table in (*state["told"], *state["news"], *(table for row in rows for table in row[1:])):
            if not all(isinstance(text, str | None) for text in table.values()):
                raise TypeError("a notice is text")
        self._sent = [(int(at), _News(*deepcopy(tables))) for at, *tables in rows]
        self._told, self._news = _News(*deepcopy(state["told"])), _News(*deepcopy(state["news"]))
        self.waiting = tuple(Change(kind, source, text, False) for kind, source, text in state["waiting"])

    def _known(self) -> dict[str, str]:
        """Return the parts that the model knows: from the frozen prefix, or from a later notice."""
        known = {**self._frozen, **self._told.parts}
        return {name: text for name, text in known.items() if text is not None}

    def _changes(self, parts: Mapping[str, str | None], tools: Mapping[str, str]) -> tuple[Change, ...]:
        known = self._known()
        changes = [Change(_kind(known.get(name), text), name, text or "") for name, text in parts.items()]
        return (
            *changes,
            *[Change(_tool_kind(state), f"tool {name}") for name, state in tools.items()],
        )

    def _changed_tools(self, given: Iterable[Mapping[str, object]]) -> dict[str, str]:
        given = list(given)
        now = _definitions(given)
        plain = {scrub(tool_name(tool)): plain_json(tool) for tool in given} if self.on_change == "native" else {}
        changed = {}
        for name in [*now, *[name for name in self._listed | self._told.tools if name not in now]]:
            state = now.get(name, _GONE)
            if name in now and self._listed.get(name, state) == state:
                state = _LISTED if name in self._listed else _UNLISTED + plain.get(name, "")
            if state != self._told.tools.get(name, _LISTED if name in self._listed else _GONE):
                changed[name] = state
        return changed

    def _changed_context(self, prompt: Prompt) -> dict[str, str]:
        told = self._told.context
        now = _texts(prompt.parts[len(prompt.static_parts) :])
        gone = {name: "" for name in told if name not in now}
        return {name: text for name, text in (now | gone).items() if told.get(name) != text}


def _texts(parts: Iterable[Part]) -> dict[str, str]:
    """Return the texts of parts by name, without empty lines around them, which depend on their neighbours."""
    texts: dict[str, str] = {}
    for part in parts:
        if part.origin != "deepprompt":  # that is a heading or the boundary
            name = scrub(part.name)
            texts[name] = texts.get(name, "") + scrub(part.text)
    return {name: text.strip("\n") for name, text in texts.items() if not is_blank(text)}


def _released(parts: Iterable[Part]) -> set[str]:
    return {scrub(part.name) for part in parts if part.pace is Pace.RELEASE}


def _definitions(tools: Iterable[Mapping[str, object]]) -> dict[str, str]:
    return {scrub(tool_name(tool)): canonical_tools([tool]) for tool in tools}


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> list[tuple[str, ChangeKind]]:
    """Return the names with different texts, each with the kind of change."""
    names = [*after, *[name for name in before if name not in after]]
    return [(name, _kind(before.get(name), after.get(name))) for name in names if before.get(name) != after.get(name)]


def _kind(before: str | None, after: str | None) -> ChangeKind:
    return "added" if before is None else "removed" if after is None else "replaced"


def _tool_kind(state: str) -> ChangeKind:
    if state == _GONE:
        return "removed"
    return "added" if state == _LISTED or state.startswith(_UNLISTED) else "replaced"


def _context(sections: Mapping[str, str], worded: str) -> str:
    texts = [text or f"(nothing is known of {one_line(name)} any more)" for name, text in sections.items()]
    said = "\n\n".join([escape_tags(text, TAGS) for text in texts])
    return f"<context>\n{wording(worded)}\n\n{said}\n</context>"


def summary_text(summary: str) -> str:
    """Return a summary as the message that replaces a conversation."""
    return f"<summary>\n{wording('summary')}\n\n{escape_tags(summary, TAGS)}\n</summary>"
