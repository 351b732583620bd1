"""A request while it is written: a writer turns an `Outline` into a provider's body and fills a `Draft` on the way.

The draft records the end of each block as a `Spot`, where a mark may go. It also handles, in one way for all providers,
what some of them refuse: blank texts, ids, images and blocks that they do not take, roles that do not alternate.
A block of a response that only another API takes is left out, with a note. A user's block is refused if the draft is
`strict`; otherwise a sentence for the model replaces it, so that a conversation can always go on.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from deepprompt.catalog import bundled
from deepprompt.errors import MessageError, ToolError
from deepprompt.prompt import Note, sha256_hex
from deepprompt.providers.neutral import (
    Api,
    Block,
    Image,
    Message,
    Native,
    Outline,
    Payload,
    SystemBlock,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolChange,
)
from deepprompt.providers.notices import tools_notice
from deepprompt.providers.readable import is_foreign, reads, says_something, without_blank_texts
from deepprompt.providers.rules import Rules
from deepprompt.providers.spots import Path, Put, Settled, Spot, Tools, tokens_of
from deepprompt.tokens import estimate_tokens

_ARGUMENTS = "arguments"  # the field for arguments that are not a JSON object, where a provider insists on one
_NOTHING = "only blank text: left out"


class Draft:
    """A request while it is written: the spots where marks may go, and notes on what was left out or changed."""

    def __init__(
        self,
        rules: Rules,
        notes: list[Note],
        api: Api,
        settled: Settled,
        *,
        strict: bool = False,
        tools: Tools | None = None,
        until: int = 0,
        new: int = 0,
        since: int = 0,
    ) -> None:
        self.rules = rules
        self.notes = notes
        self.api = api
        self.settled = settled
        self.strict = strict
        self._tools = Tools() if tools is None else tools
        self._is_id, self._is_name = re.compile(rules.call_id).fullmatch, re.compile(rules.tool_name).fullmatch
        self.spots: list[Spot] = []
        self.betas = {*settled.betas}
        self.called: set[str] = set()
        # The caller's messages before `until` are settled by this request. Those before `new` were in an earlier one,
        # and so were their notes. No mark goes on a message before `since`: only their tokens are of interest.
        self._until, self._new, self._since = until, new, since
        self._tokens = 0
        self.settling: list[Note] = []
        """The notes of new messages that are settled by this request."""
        self._kept_notes = notes
        self._messages: list[Payload] = []
        self._start = 0
        self._end: int | None = None

    def begin(self, messages: list[Payload]) -> list[Payload]:
        """Start the conversation in a body's list of messages: add the settled ones, and return the list."""
        messages += self.settled.messages
        if self.settled.tokens:
            self.spots.append(Spot((), "settled", self.settled.tokens, message=0))
        self.spots += self.settled.spots
        self._messages, self._start = messages, len(messages)
        return messages

    def at(self, message: Message) -> None:
        """Turn to a message: of one that was in an earlier request, no notes are kept."""
        if message.index < self._new:
            self.notes = []
        else:
            self.notes = self.settling if message.index < self._until else self._kept_notes

    def each(self, messages: Sequence[Message]) -> Iterator[Message]:
        """Yield the messages to write, one by one, and remember where those end that are settled by this request."""
        for message in messages:
            if self._tokens and message.index >= self._since:
                self.spots.append(Spot((), "settled", self._tokens, message=0))
                self._tokens = 0
            if self._until and self._end is None and message.index >= self._until:
                self._end = len(self._messages)
            self.at(message)
            yield message

    def settle(self, first: int) -> None:
        """Take the messages up to `until`, as they were written, among the settled ones.

        `first` is the first message that a later request may mark.
        """
        self.settled.messages += self._messages[self._start : self._end]
        self.settled.size = self._until
        first = min(first, self._until)
        self.settled.spots = [spot for spot in self.spots if first <= spot.message < self._until]
        self.settled.tokens = sum([spot.tokens for spot in self.spots if 0 <= spot.message < first])
        self.settled.notes += self.settling
        self.settled.betas |= self.betas
        self.settled.called |= self.called

    @property
    def continued(self) -> bool:
        """Whether the conversation begins before the messages that are written here."""
        return self.settled.size > 0

    def system_spot(self, path: Path, block: SystemBlock, put: Put | None = None) -> None:
        """Record the end of a block of the system prompt, where `put` puts a mark."""
        self.spots.append(Spot(path, "system", estimate_tokens(block.text), put, -1, block.pace, block.mark))

    def spot(self, path: Path, block: Block, message: Message, put: Put | None = None) -> None:
        """Record the end of a block of a message, where `put` puts a mark."""
        tokens = tokens_of(block)
        if message.index < self._since:
            self._tokens += tokens
        else:
            asked = block.mark if message.index >= self._new else None
            self.spots.append(Spot(path, block.kind, tokens, put, message.index, None, asked))

    def tools(
        self, outline: Outline, write: Callable[[Tool], Payload], *, functions: bool = True, apart: bool = False
    ) -> list[Payload]:
        """Return the tools as `write` spells them; refuse what the provider does not take.

        With `functions` it takes no others. With `apart` the tokens of each tool are counted by themselves, and those
        of tools that are loaded later are not.
        """
        tools = outline.tools or self._called(outline)
        if tools and self._tools.of != tools:
            for tool in tools:
                self._check_tool(tool, functions=functions)
            self._tools.write(tools, write, apart=apart)
        return [dict(tool) for tool in self._tools.written] if tools else []

    def tools_spot(self, path: Path, put: Put | None = None) -> None:
        """Record the end of the tools, where `put` puts a mark."""
        self.spots.append(Spot(path, "tools", self._tools.tokens, put))

    def turns(self, messages: tuple[Message, ...], *, signed: bool = False, continued: bool = False) -> list[Message]:
        """Return a conversation for the providers that insist on its form: a user first and last, no blank text.

        With `signed`, signed reasoning stays. `continued` is for a conversation that begins elsewhere: its rest may
        start with the assistant, or be empty.
        """
        continued = continued or self.continued
        kept = self._with_roles(self._worded(messages, signed, continued))
        self.notes = self._kept_notes
        if kept and kept[0].role == "assistant" and not continued:
            opening = bundled().text("tiers", "1.0.0", "opening").removesuffix("\n")
            detail = f"the conversation starts with the assistant: {opening!r} is put before it"
            self.at(kept[0])
            self.notes.append(Note("replaced", kept[0].place, detail))
            kept.insert(0, Message("user", (Text(opening),), kept[0].index))
        if kept and kept[-1].role == "assistant" and not (kept[-1].paused and self.api == "anthropic"):
            raise self.answered(kept[-1])
        return kept

    def answered(self, message: Message) -> MessageError:
        """Return the error for a conversation whose last message is the assistant's."""
        return MessageError(
            f"the conversation ends with the assistant; {self.rules.provider} answers a user's "
            "message or a tool's result: append it",
            message.place,
        )

    def _worded(self, messages: tuple[Message, ...], signed: bool, continued: bool) -> list[Message]:
        """Return the messages that are not empty, without blocks that the provider refuses."""
        kept = []
        for message in messages:
            if message.common:
                kept.append(message)
                continue
            self.at(message)
            message = self.readable(message, signed=signed)
            blocks = without_blank_texts(message.blocks)
            if len(blocks) < len(message.blocks) or not blocks:
                what = "blank text" if blocks else _NOTHING
                self.notes.append(Note("skipped", message.place, what))
            if blocks and isinstance(blocks[-1], Thinking):
                self.notes.append(Note("skipped", message.place, "reasoning without a response after it: left out"))
                said = [number for number, block in enumerate(blocks, 1) if not isinstance(block, Thinking)]
                blocks = blocks[: max(said, default=0)]
            if blocks:
                kept.append(message if len(blocks) == len(message.blocks) else replace(message, blocks=blocks))
        if messages and not kept and not continued:
            raise self.blank(messages[-1])
        return kept

    def blank(self, message: Message) -> MessageError:
        """Return the error for a conversation that has only blank text."""
        return MessageError("only blank text up to here, so there is nothing to answer", message.place)

    def says_something(self, message: Message) -> bool:
        """Whether an assistant's message has text or calls; some providers refuse it otherwise. If not, add a note."""
        if says_something(message, self.api):
            return True
        self.notes.append(Note("skipped", message.place, _NOTHING))
        return False

    def _with_roles(self, messages: Sequence[Message]) -> list[Message]:
        """Return messages, with a system message turned into the user's where the provider does not allow it."""
        sent = []
        for number, message in enumerate(messages):
            if message.role == "system":
                self.at(message)
                after_user = number > 0 and messages[number - 1].role == "user"
                next_role = messages[number + 1].role if number + 1 < len(messages) else "assistant"
                if not (self.rules.system_messages and after_user and next_role == "assistant"):
                    message = self._as_users(message)
            sent.append(message)
        return sent

    def _as_users(self, message: Message) -> Message:
        """Return a system message as the user's."""
        if changes := message.of(ToolChange):
            return self.told(message, changes)
        detail = f"{self.rules.provider} takes no system message here: sent as the user's"
        self.notes.append(Note("replaced", message.place, detail))
        return replace(message, role="user")

    def takes(self, change: ToolChange) -> bool:
        """Whether the API has a form for a change of tools in the middle of a conversation."""
        if change.tool is not None and change.tool.native is None and not self._is_name(change.tool.name):
            return False
        if self.api == "anthropic":
            return self.rules.system_messages
        return self.api == "openai-responses" and change.added and change.tool is not None

    def told(self, message: Message, changes: Sequence[ToolChange]) -> Message:
        """Return a system message with a notice in place of changes of tools, or refuse them.

        If it has no words of its own, it is the user's, as every notice is.
        """
        why = f"{self.rules.provider} takes no change of tools here"
        if self.strict:
            raise MessageError(f"{why}; a Session tells it by a notice", message.place)
        self.notes.append(Note("replaced", message.place, f"{why}: told by a notice", count=len(changes)))
        rest = tuple([block for block in message.blocks if block not in changes])
        role = message.role if rest else "user"
        return replace(message, role=role, blocks=(*rest, Text(tools_notice(changes))))

    def call_id(self, given: str) -> str:
        """Return an id that the provider takes for a tool call: the given one, or a hash of it."""
        return given if self._is_id(given) else "call_" + sha256_hex(given)[:24]

    def call_name(self, call: ToolCall, place: str) -> str:
        """Return the name of the called tool, with other characters where the provider does not take it."""
        if self._is_name(call.name):
            return call.name
        names = f"tool call {call.id!r} is of {call.name!r}: {self.rules.provider} takes names like"
        if self.strict:
            raise MessageError(f"{names} {self.rules.tool_name}", place)
        name = "tool_" + re.sub(r"[^a-zA-Z0-9_-]", "_", call.name)[:48]
        self.notes.append(Note("replaced", place, f"{names} {name}"))
        return name

    def call_input(self, call: ToolCall, place: str) -> Payload:
        """Return the arguments of a call as an object."""
        try:
            return call.input(place)
        except MessageError:
            if self.strict:
                raise
        detail = f"the arguments of tool call {call.id!r} are not a JSON object: sent as the text {_ARGUMENTS!r}"
        self.notes.append(Note("replaced", place, detail))
        return {_ARGUMENTS: call.arguments}

    def image(self, image: Image, place: str) -> Image | Text:
        """Return an image, or what replaces one that the provider does not take."""
        if not self.rules.images:
            why = f"{self.rules.provider} takes no images (facts of {self.rules.as_of})"
        elif image.url and not self.rules.image_urls:
            why = f"{self.rules.provider} takes no URL of an image; send its bytes as a data: URL"
        elif not image.url and image.media_type not in self.rules.images:
            known = ", ".join(sorted(self.rules.images))
            why = f"{self.rules.provider} takes no {image.media_type}; it takes {known}"
        else:
            return image
        return self.replaced(image, place, why)

    def replaced(self, block: Block, place: str, why: str = "") -> Text:
        """Return the text that replaces a block that the provider does not take, or refuse the block."""
        why = why or (
            f"{self.rules.provider} takes no block of type {block.kind!r}; text, images, tool calls and their "
            "results are written for every provider"
        )
        if self.strict:
            raise MessageError(why, place)
        self.notes.append(Note("replaced", place, f"{why}: a sentence replaces it"))
        return Text(bundled().text("request", "1.0.0", "left_out").removesuffix("\n").replace("${KIND}", block.kind))

    def readable(self, message: Message, *, signed: bool = False, plain: bool = False) -> Message:
        """Return a message without what the provider cannot read: others' reasoning, and blocks of others' responses.

        With `signed` it reads what Anthropic signed, with `plain` reasoning that is only text.
        """
        if message.common:
            return message
        if message.role == "system" and (
            changes := [change for change in message.of(ToolChange) if not self.takes(change)]
        ):
            message = self.told(message, changes)
        foreign = [block for block in message.blocks if is_foreign(block, self.api)]
        if foreign:
            detail = f"{self.rules.provider} is sent only what all providers take of it"
            self.notes.append(Note("skipped", message.place, detail, count=len(foreign)))
        if self.api != "openai":
            self.note_name(message)
        if message.role != "assistant":
            return message
        kept = tuple(block for block in message.blocks if reads(block, self.api, signed=signed, plain=plain))
        if len(kept) == len(message.blocks):
            return message
        lost = [block for block in message.blocks if block not in kept]
        if reasoning := [block for block in lost if isinstance(block, Thinking)]:
            detail = f"{self.rules.provider} cannot read this reasoning: left out"
            self.notes.append(Note("skipped", message.place, detail, count=len(reasoning)))
        for kind, count in Counter(block.kind for block in lost if isinstance(block, Native)).items():
            detail = f"{self.rules.provider} takes no block of type {kind!r}: left out"
            self.notes.append(Note("skipped", message.place, detail, count=count))
        return replace(message, blocks=kept)

    def note_failure(self, place: str) -> None:
        """Note that the API has no field for the failure of a tool."""
        detail = "there is no field for is_error: the tool's result is sent without it"
        self.notes.append(Note("skipped", place, detail))

    def note_name(self, message: Message) -> None:
        """Note that the name of a message's speaker is not sent."""
        if message.name:
            self.notes.append(Note("skipped", message.place, f"{self.rules.provider} takes no name here: left out"))

    def _check_tool(self, tool: Tool, *, functions: bool) -> None:
        if tool.native is None and not self._is_name(tool.name):
            raise ToolError(f"tool {tool.name!r}: {self.rules.provider} takes names like {self.rules.tool_name}")
        if tool.native is not None and functions:
            kind = tool.native["type"]
            raise ToolError(f"tool {tool.name!r} of type {kind!r} is not one that {self.rules.provider} takes")

    def _called(self, outline: Outline) -> tuple[Tool, ...]:
        """Return stand-ins for the tools that were called, where a provider refuses calls without any tool."""
        if self.rules.provider != "bedrock":
            return ()
        calls = [(call, message.place) for message in outline.messages for call in message.of(ToolCall)]
        if calls and self.strict:
            raise ToolError("bedrock refuses a conversation with tool calls without their tools; pass them as tools")
        self.called = self.settled.called | {self.call_name(call, place) for call, place in calls}
        if self.called:
            detail = "bedrock refuses tool calls without any tool: those that were called are listed by their names"
            self.notes.append(Note("replaced", "tools", detail))
        return tuple([Tool(name, "", {"type": "object", "properties": {}}, {}) for name in sorted(self.called)])
