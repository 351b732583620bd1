"""Which blocks of a message an API can read."""

from __future__ import annotations

import pytest

from deepprompt.providers.neutral import Api, Block, Image, Message, Native, Text, Thinking, ToolCall, ToolResult
from deepprompt.providers.readable import is_foreign, plain_text, reads, says_something, without_blank_texts

GEMINIS = Native({"type": "code"}, api="gemini")


@pytest.mark.parametrize(
    ("block", "api", "foreign"),
    [
        (Text("a"), "openai", False),
        (Text("a", own=GEMINIS), "gemini", False),
        (Text("a", own=GEMINIS), "openai", True),
        (GEMINIS, "openai", False),  # nothing of it is sent
        (Thinking("a"), "openai", False),
        (Image(url="https://example.com/a.png", detail="low"), "openai-responses", False),
        (Image(url="https://example.com/a.png", detail="low"), "anthropic", True),
        (ToolCall("1", "Read", "{}", own=GEMINIS), "bedrock", True),
        (ToolResult("1", (Text("a"),)), "bedrock", False),
        (ToolResult("1", (Text("a", own=GEMINIS),)), "bedrock", True),
    ],
)
def test_foreign_blocks(block: Block, api: Api, foreign: bool) -> None:
    """A block is foreign if another API would be sent more of it than this one."""
    assert is_foreign(block, api) is foreign


@pytest.mark.parametrize(
    ("block", "api", "signed", "plain"),
    [
        (Text("a"), True, True, True),
        (GEMINIS, False, False, False),
        (Thinking("a"), False, False, True),
        (Thinking("a", block={"signature": "x"}), False, True, False),
        (Thinking("a", own=GEMINIS), False, False, False),
    ],
)
def test_reasoning(block: Block, api: bool, signed: bool, plain: bool) -> None:
    """Reasoning is read by the API that wrote it, or as it is signed or plain; other blocks by all but their own."""
    assert reads(block, "openai", signed=False, plain=False) is api
    assert reads(block, "openai", signed=True, plain=False) is signed
    assert reads(block, "openai", signed=False, plain=True) is plain
    assert reads(block, "gemini", signed=False, plain=False) is (api or getattr(block, "own", block) is GEMINIS)


def test_messages_that_say_something() -> None:
    """Blank text, reasoning and blocks of another API are not enough; a user's own block is."""
    assert says_something(Message("assistant", (Text(" "), Text("a")), 0), "openai")
    assert says_something(Message("assistant", (ToolCall("1", "Read", "{}"),), 0), "openai")
    assert says_something(Message("user", (GEMINIS,), 0), "openai")
    assert says_something(Message("assistant", (GEMINIS,), 0), "gemini")
    assert not says_something(Message("assistant", (Text("\n"), Thinking("a"), GEMINIS), 0), "openai")


def test_texts() -> None:
    """Blank texts are left out, the same blocks come back if there are none, and texts are joined."""
    blocks = (Text("a"), Text(" \n"), GEMINIS, Text("b"))
    assert without_blank_texts(blocks) == (Text("a"), GEMINIS, Text("b"))
    kept = blocks[:1]
    assert without_blank_texts(kept) is kept
    assert plain_text(blocks, "-") == "a- \n-b"
