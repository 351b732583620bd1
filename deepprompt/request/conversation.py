"""A conversation in neutral values: every message is read once, when it is added.

`content` reads a single message. Here messages are held together: results stand beside their calls and have their
names, and every call has an id of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from deepprompt.errors import MessageError
from deepprompt.prompt import Note
from deepprompt.providers.neutral import Message, ToolCall, ToolChange, ToolResult, is_common
from deepprompt.providers.responses import result_of
from deepprompt.request.content import check_known, read_message


class Conversation:
    """The messages of a conversation that only grows.

    With `known`, a user's block has to be one that some provider takes, because the conversation outlives a request.
    """

    def __init__(self, messages: Iterable[Mapping[str, object]] = (), *, known: bool = False) -> None:
        self._known = known
        self.messages: list[Message] = []
        """The messages in neutral values; neighbours that hold nothing but tool results, or items, are one message."""
        self.size = 0
        """How many messages the caller added."""
        self.begun = False
        """Whether anything but system messages was said."""
        self._calls: dict[str, ToolCall] = {}
        self._caller = 0
        self._ids: dict[str, int] = {}
        self.extend(messages)

    def extend(self, messages: Iterable[Mapping[str, object]]) -> None:
        """Read and add messages: all of them, or none if one of them could never be sent."""
        run = [message for message in self.messages[-1:] if _joins(message)]
        start = len(self.messages) - len(run)
        end = _End(self.size, dict(self._calls), self._caller, self._ids, run, self._known, self.begun)
        for message in messages:
            end.add(message)
        end.close_run()
        self.messages[start:] = end.messages
        self.size, self.begun, self._calls, self._caller = end.size, end.begun, end.calls, end.caller
        self._ids |= end.new_ids

    @property
    def answered(self) -> int:
        """How many of the caller's messages stand before the first tool call that has no result yet."""
        return self._caller if self._calls else self.size

    @property
    def open_calls(self) -> Mapping[str, ToolCall]:
        """The tool calls that have no result yet, by the id that their result has to name."""
        return self._calls

    def check_answered(self) -> None:
        """Refuse a conversation in which a tool call has no result: it cannot be sent yet."""
        _refuse_open(self._calls, self._caller)


@dataclass(slots=True)
class _End:
    """The end of a conversation while messages are added to it."""

    size: int
    calls: dict[str, ToolCall]
    """The calls that have no result yet, by the id that the caller gave them."""
    caller: int
    """The index of the message with these calls."""
    ids: Mapping[str, int]
    """The ids of all calls before, with the number that was last put behind each."""
    run: list[Message]
    """The latest messages, if they hold nothing but tool results: more may follow, and all become one message."""
    known: bool = False
    begun: bool = False
    messages: list[Message] = field(default_factory=list)
    new_ids: dict[str, int] = field(default_factory=dict)

    def add(self, given: Mapping[str, object]) -> None:
        message = read_message(given, self.size)
        if self.known and message.role == "user":
            check_known(message)
        if message.role != "system":
            self.begun = True
        elif not self.begun and message.of(ToolChange):
            raise MessageError("tools are changed after a first message, not before it", message.place)
        joins = _joins(message)
        goes_on = joins and bool(self.run) and self.run[-1].role == message.role
        may_be_open = goes_on or (joins and message.role == "user")
        if self.run and not goes_on:
            if self.run[-1].role == "user" and not may_be_open:
                _refuse_open(self.calls, self.caller)
            self.close_run()
        # Nobody else has the message yet, so it may still change.
        if message.role == "user":
            self._name_results(message)
        if not may_be_open:
            _refuse_open(self.calls, self.caller)
        if message.role == "assistant":
            self._give_ids(message)
        message.common = is_common(message)
        self.size += 1
        (self.run if joins else self.messages).append(message)

    def close_run(self) -> None:
        """Make one message of a run of tool results, or of the items of one response."""
        if len(self.run) == 1:
            self.messages.append(self.run.pop())
        elif self.run:
            blocks = [block for message in self.run for block in message.blocks]
            blocks.sort(key=lambda block: not isinstance(block, ToolResult))
            notes = tuple([note for message in self.run for note in message.notes])
            joined = replace(self.run[-1], blocks=tuple(blocks), notes=notes)
            joined.common = is_common(joined)
            self.messages.append(joined)
            self.run = []

    def _name_results(self, message: Message) -> None:
        """Give the tool results of a message the ids and names of their calls."""
        for result in message.of(ToolResult):
            if not result.call_id:  # Gemini's may have only the name
                named = [given for given, call in self.calls.items() if call.name == result.name]
                result.call_id = next(iter(named), result.name)
            if result.call_id not in self.calls:
                raise MessageError(
                    f"tool result {result.call_id!r} has no call of that id in the message before it", message.place
                )
            call = self.calls.pop(result.call_id)
            result.call_id, result.name, result.own = call.id, call.name, result.own or result_of(call)

    def _give_ids(self, message: Message) -> None:
        """Give each tool call of a message an id that no earlier call has."""
        for call in message.of(ToolCall):
            given = call.id
            if given in self.calls:
                raise MessageError(f"two tool calls have the id {given!r}", message.place)
            call.id = self._unique(given)
            if call.id != given:
                detail = f"tool call id {given!r} is an earlier call's too: sent as {call.id!r}"
                message.notes += (Note("replaced", message.place, detail),)
            self.caller = message.index
            self.calls[given] = call

    def _unique(self, given: str) -> str:
        """Return an id that no earlier call has. Some models count from zero in each turn, and Anthropic refuses it."""
        unique = given
        while unique in self.new_ids or unique in self.ids:
            number = (self.new_ids.get(given) or self.ids[given]) + 1
            self.new_ids[given] = number
            unique = f"{given}_{number}"
        self.new_ids[unique] = 1
        return unique


def _joins(message: Message) -> bool:
    """Whether a message is one with its neighbours of the same role: tool results, and items of Responses."""
    # Results are the first blocks of a message, so all are results if the last one is.
    return message.is_item or (bool(message.blocks) and isinstance(message.blocks[-1], ToolResult))


def _refuse_open(calls: Mapping[str, ToolCall], caller: int) -> None:
    if calls:
        raise MessageError(
            f"tool call {next(iter(calls))!r} has no result; answer every call "
            "in the next message before the conversation continues",
            f"messages[{caller}]",
        )
