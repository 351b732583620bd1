"""Random prompts, tools and conversations as callers write them: strategies, no tests.

A conversation is a list of turns. The messages of its first turns, up to any of them, are a request that could have
been sent: they end with what a model answers, and the next turn starts with that answer.

Strategies are kept where they can be: making one for each draw takes longer than drawing from it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from hypothesis import strategies as st

from deepprompt.prompt import BOUNDARY_PART, Pace, Part, Prompt

Message = dict[str, Any]
Turn = list[Message]

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
WORDS = ("Ship it.", "look: 日本語", "naïve", "a\n\nb", " edge ", "half \ud83d of it", '{"a": 1}', "===", "x" * 90)
BLANKS = ("", " ", "\n\n", "\t \u3000")
TOOL_NAMES = ("Bash", "Zeta", "a", "mcp__github__get-me", "read_file", "write_file")
LIFETIMES = ("5m", "1h", "30m", "12h", "forever")
INPUTS: tuple[dict[str, Any], ...] = (
    {},
    {"command": "ls -la"},
    {"b": 1, "a": [1.5, None, True]},
    {"cache_control": {"type": "ephemeral"}, "text": ""},
    {"half": "\ud83d"},
)
SCHEMA: dict[str, Any] = {"type": "object", "properties": {"z": {"type": "string"}, "a": {"type": "integer"}}}


@dataclass(frozen=True)
class Scene:
    """What a request is built from, turn by turn."""

    prompt: Prompt | str | list[Message]
    tools: list[dict[str, Any]] | None
    turns: list[Turn]

    def messages(self, turns: int | None = None) -> list[Message]:
        """Return the messages of the first turns, or of all."""
        return [message for turn in self.turns[:turns] for message in turn]

    def sent(self, turns: int) -> int:
        """Return how many of the caller's messages a request of the first turns has, those of an array among them."""
        return turns and len(self.messages(turns)) + (len(self.prompt) if isinstance(self.prompt, list) else 0)


@dataclass(frozen=True)
class Kinds:
    """What a conversation may hold, so that nothing in it is refused by the provider that it is for."""

    images: str = "any"
    """`any`, `data` for images without an address, or `none`."""
    result_images: bool = True


def _spoken() -> st.SearchStrategy[str]:
    return st.one_of(st.sampled_from(WORDS), st.text(max_size=6).map(lambda text: f"{text}."))


@cache
def spoken() -> st.SearchStrategy[str]:
    """Texts with something to read in them."""
    return _spoken()


@cache
def texts() -> st.SearchStrategy[str]:
    """Texts, a third of them blank: the other two are made apart, as `one_of` takes the same strategy only once."""
    return st.one_of(_spoken(), _spoken(), st.sampled_from(BLANKS))


@cache
def marks(own: bool) -> st.SearchStrategy[dict[str, Any]]:
    """What a caller puts beside a text: now and then a mark of their own."""
    if not own:
        return st.just({})
    lifetimes = st.sampled_from(LIFETIMES).map(lambda ttl: {"cache_control": {"type": "ephemeral", "ttl": ttl}})
    plain = st.sampled_from(
        [{"cache_control": {"type": "ephemeral"}}, {"prompt_cache_breakpoint": {"mode": "explicit"}}]
    )
    return st.one_of(st.just({}), st.just({}), plain, lifetimes)


@cache
@st.composite
def tools(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Definitions of tools, each in one of the shapes that there are, in any order."""
    names = draw(st.lists(st.sampled_from(TOOL_NAMES), unique=True, max_size=4))
    return [draw(_tool(name)) for name in names]


@cache
@st.composite
def _tool(draw: st.DrawFn, name: str) -> dict[str, Any]:
    described = draw(st.sampled_from([{}, {"description": "What it does."}, {"description": ""}]))
    shape = draw(st.sampled_from(["plain", "openai", "anthropic", "mcp", "name only"]))
    mark = draw(st.sampled_from([{}, {}, {"cache_control": {"type": "ephemeral", "ttl": "1h"}}]))
    if shape == "plain":
        return {"name": name, **described, "parameters": SCHEMA}
    if shape == "openai":
        inner = draw(st.booleans())  # LiteLLM's own documents put the mark inside
        function = {"name": name, **described, "parameters": SCHEMA, **(mark if inner else {})}
        return {"type": "function", "function": function, **({} if inner else mark)}
    if shape == "anthropic":
        extras: list[dict[str, Any]] = [{}, {"type": "custom"}, {"defer_loading": True}, {"defer_loading": False}]
        return {"name": name, **described, "input_schema": SCHEMA, **draw(st.sampled_from(extras)), **mark}
    if shape == "mcp":
        beside = {
            "title": "Its title",
            "outputSchema": SCHEMA,
            "annotations": {"readOnlyHint": True},
            "_meta": {"v": 1},
        }
        return {"name": name, **described, "inputSchema": SCHEMA, **beside}
    return {"name": name}


@cache
@st.composite
def prompts(draw: st.DrawFn, own: bool = False) -> Prompt | str | list[Message]:
    """A built prompt with parts of all paces, a plain text, or messages that start with the system's."""
    kind = draw(st.sampled_from(["built", "built", "text", "messages"]))
    if kind == "text":
        return draw(texts())
    if kind == "messages":
        leading = draw(st.lists(system_messages(own), max_size=3))
        return leading + (draw(_exchange(own)) if draw(st.booleans()) else [])
    paces = sorted(draw(st.lists(st.sampled_from(Pace), max_size=5)))
    parts = [Part(f"part-{number}", draw(texts()), pace, "test") for number, pace in enumerate(paces)]
    if draw(st.booleans()):
        cut = draw(st.integers(0, len(parts)))
        parts[cut:cut] = [Part(BOUNDARY_PART, "\n\n===DYNAMIC CONTEXT===\n\n", Pace.TURN, "test")]
    before = draw(_exchange(own)) if draw(st.integers(0, 3)) == 0 else []
    return Prompt(tuple(parts), messages=tuple(before), fixed_order=True)


@cache
@st.composite
def _exchange(draw: st.DrawFn, own: bool) -> list[Message]:
    """A user's message and its answer, such as a prompt brings with it."""
    return [
        {"role": "user", "content": draw(spoken()), **draw(marks(own))},
        {"role": "assistant", "content": draw(spoken()), **draw(marks(own))},
    ]


@cache
@st.composite
def system_messages(draw: st.DrawFn, own: bool = False) -> Message:
    """A message of the system's, wherever it stands."""
    role = draw(st.sampled_from(["system", "developer"]))
    if draw(st.booleans()):
        return {"role": role, "content": draw(texts()), **draw(marks(own))}
    blocks = [{"type": "text", "text": draw(texts()), **draw(marks(own))} for _ in range(draw(st.integers(0, 2)))]
    return {"role": role, "content": blocks}


@cache
@st.composite
def images(draw: st.DrawFn, kinds: Kinds, own: bool = False) -> dict[str, Any]:
    """An image, in either shape, as data or by its address."""
    source: dict[str, Any] = {"type": "base64", "media_type": "image/png", "data": PIXEL}
    url = f"data:image/png;base64,{PIXEL}"
    if kinds.images == "any" and draw(st.booleans()):
        url = "https://example.com/cat.png"
        source = {"type": "url", "url": url}
    block = draw(
        st.sampled_from([{"type": "image_url", "image_url": {"url": url}}, {"type": "image", "source": source}])
    )
    return {**block, **draw(marks(own))}


@cache
@st.composite
def _said(draw: st.DrawFn, kinds: Kinds, own: bool) -> list[Any]:
    """Blocks of a user, at least one of them with something to read."""
    blocks: list[Any] = []
    for _ in range(draw(st.integers(0, 2))):
        if kinds.images != "none" and draw(st.integers(0, 3)) == 0:
            blocks.append(draw(images(kinds, own)))
        else:
            blocks.append({"type": "text", "text": draw(texts()), **draw(marks(own))})
    spoke = draw(st.one_of(spoken(), spoken().map(lambda text: {"type": "text", "text": text})))
    blocks.insert(draw(st.integers(0, len(blocks))), spoke)
    return blocks


@cache
@st.composite
def user_messages(draw: st.DrawFn, kinds: Kinds, own: bool = False) -> Message:
    """A message of the user's that says something."""
    content = draw(st.one_of(spoken(), _said(kinds, own)))
    return {"role": "user", "content": content, **draw(marks(own))}


@cache
def quiet_messages(role: str) -> st.SearchStrategy[Message]:
    """Messages that say nothing."""
    contents: list[Any] = [None, "", " \n", [], [{"type": "text", "text": ""}]]
    marked = {"type": "text", "text": " ", "cache_control": {"type": "ephemeral"}}
    return st.sampled_from([*contents, [marked]]).map(lambda content: {"role": role, "content": content})


@cache
@st.composite
def _thinking(draw: st.DrawFn) -> list[dict[str, Any]]:
    signed = {"type": "thinking", "thinking": draw(texts()), "signature": "c2lnbmVk"}
    redacted = {"type": "redacted_thinking", "data": "cmVkYWN0ZWQ="}
    marked = {**signed, "cache_control": {"type": "ephemeral"}}
    return draw(st.sampled_from([[], [], [signed], [redacted], [signed, redacted], [marked]]))


class Ids:
    """Ids of tool calls, as each provider makes them up; some models start again with every answer."""

    def __init__(self) -> None:
        self.used = 0

    def next(self, draw: st.DrawFn, number: int) -> str:
        """Return the id of the call of that number in its message."""
        self.used += 1
        forms = ("toolu_{0}", "call_{0}", "fc|{0}.x", "{0}" + "y" * 70, "id é {0}", "half\ud83d{0}", "call_{1}")
        return draw(st.sampled_from(forms)).format(f"n{self.used}", number)


@st.composite
def _answer(draw: st.DrawFn, own: bool, names: tuple[str, ...], ids: Ids, aloud: bool) -> tuple[Message, list[str]]:
    """What the model says, in either shape, and the ids of the tools that it calls."""
    count = draw(st.integers(0, 3)) if names else 0
    calls = [
        (ids.next(draw, number), draw(st.sampled_from(names)), draw(st.sampled_from(INPUTS))) for number in range(count)
    ]
    said = draw(st.lists(texts(), max_size=2)) + ([draw(spoken())] if aloud and not calls else [])
    if draw(st.booleans()):
        blocks = [{"type": "text", "text": text, **draw(marks(own))} for text in said]
        uses = [
            {"type": "tool_use", "id": call, "name": name, "input": given, **draw(marks(own))}
            for call, name, given in calls
        ]
        content = [*draw(_thinking()), *blocks, *uses]
        return {"role": "assistant", "content": content, **draw(marks(own))}, [call for call, _, _ in calls]
    message: Message = {"role": "assistant", "content": "".join(said), **draw(marks(own))}
    if calls:
        message["tool_calls"] = [
            {"id": call, "type": "function", "function": {"name": name, "arguments": json.dumps(given, indent=1)}}
            for call, name, given in calls
        ]
        message["content"] = draw(st.sampled_from([message["content"], None]))
    if draw(st.integers(0, 2)) == 0:
        message["reasoning_content"] = draw(texts())
    return message, [call for call, _, _ in calls]


@st.composite
def _results(draw: st.DrawFn, kinds: Kinds, own: bool, calls: list[str]) -> Turn:
    """The results of all calls, in any order and either shape, perhaps with more of the user's beside them."""
    calls = draw(st.permutations(calls))
    results: list[dict[str, Any]] = []
    for _ in calls:
        inner: list[Any] = [
            {"type": "text", "text": text, **draw(marks(own))} for text in draw(st.lists(texts(), max_size=2))
        ]
        if kinds.images != "none" and kinds.result_images and draw(st.integers(0, 3)) == 0:
            inner.append(draw(images(kinds, own)))
        results.append({"content": draw(st.one_of(texts(), st.just(inner))), **draw(marks(own))})
    if draw(st.booleans()):
        return [{"role": "tool", "tool_call_id": call, **result} for call, result in zip(calls, results, strict=True)]
    blocks: list[Any] = [
        {"type": "tool_result", "tool_use_id": call, **result, **draw(st.sampled_from([{}, {"is_error": True}]))}
        for call, result in zip(calls, results, strict=True)
    ]
    beside = draw(_said(kinds, own)) if draw(st.integers(0, 2)) == 0 else []
    blocks = beside + blocks if draw(st.booleans()) else blocks + beside
    return [{"role": "user", "content": blocks, **draw(marks(own))}]


@cache
@st.composite
def conversations(draw: st.DrawFn, kinds: Kinds, own: bool = False, names: tuple[str, ...] = ()) -> list[Turn]:
    """Turns of a conversation, one at least. `names` are the tools that are called in it."""
    ids = Ids()
    turns: list[Turn] = []
    system_last = False
    for number in range(draw(st.integers(1, 4))):
        turn: Turn = []
        if number == 0:
            turn += draw(st.lists(st.one_of(quiet_messages("user"), system_messages(own)), max_size=2))
        calls: list[str] = []
        for step in range(draw(st.integers(0 if number == 0 else 1, 2))):
            # An answer that nobody sees, to a system message that was sent as such, leaves that message in a place
            # where it may not stand: no provider's rules let all of what was sent stay there as it was.
            answer, calls = draw(_answer(own, names, ids, aloud=system_last and step == 0))
            turn.append(answer)
            if calls:
                turn += draw(_results(kinds, own, calls))
            elif draw(st.integers(0, 3)) == 0:
                turn.append(draw(st.one_of(quiet_messages("user"), quiet_messages("assistant"), system_messages(own))))
        if not calls or turn[-1]["role"] == "assistant" or draw(st.integers(0, 2)) == 0:
            turn.append(draw(user_messages(kinds, own)))
        if system_last := draw(st.integers(0, 4)) == 0:
            turn.append(draw(system_messages(own)))
        turns.append(turn)
    return turns


@cache
@st.composite
def scenes(draw: st.DrawFn, kinds: Kinds) -> Scene:
    """A prompt, tools and a conversation that belong together, with or without marks of the caller's own."""
    own = draw(st.booleans())
    defined = draw(tools())
    named = tuple(tool["function"]["name"] if "function" in tool else tool["name"] for tool in defined)
    return Scene(draw(prompts(own)), defined or None, draw(conversations(kinds, own, named)))


@cache
@st.composite
def long_scenes(draw: st.DrawFn, kinds: Kinds) -> Scene:
    """A scene whose turns may have far more blocks than any provider looks back over."""
    scene = draw(scenes(kinds))
    names = [name for tool in scene.tools or [] for name in [tool.get("name") or tool["function"]["name"]]]
    turns = list(scene.turns)
    for number in range(draw(st.integers(1, 3))):
        lengths = st.sampled_from([0, 1, 2, 18, 19, 20, 21, 22, 60])
        said = [{"type": "text", "text": f"line {line}"} for line in range(max(draw(lengths), 1))]
        calls = [f"long_{number}_{call}" for call in range(draw(lengths) if names else 0)]
        uses = [{"type": "tool_use", "id": call, "name": names[0], "input": {}} for call in calls]
        results = [{"type": "tool_result", "tool_use_id": call, "content": "done"} for call in calls]
        asked = [{"type": "text", "text": f"and {line}?"} for line in range(max(draw(lengths), not calls))]
        turns.append([{"role": "assistant", "content": said + uses}, {"role": "user", "content": results + asked}])
    return Scene(scene.prompt, scene.tools, turns)
