"""Which blocks of a message an API can read: blank texts, reasoning, and blocks that only another API knows."""

from __future__ import annotations

from deepprompt.providers.neutral import Api, Block, Image, Message, Native, Text, Thinking, ToolResult
from deepprompt.text.hygiene import is_blank


def is_foreign(block: Block, api: Api) -> bool:
    """Whether a block has something that only another API takes, besides the part of it that is sent."""
    if isinstance(block, Text):  # nearly all of them are, and every block of a request is asked
        return block.own is not None and block.own.api != api
    if isinstance(block, Native | Thinking):
        return False
    if isinstance(block, Image) and block.detail and api not in ("openai", "openai-responses"):
        return True
    if isinstance(block, ToolResult) and any(is_foreign(inner, api) for inner in block.content):
        return True
    return block.own is not None and block.own.api != api


def reads(block: Block, api: Api, *, signed: bool, plain: bool) -> bool:
    """Whether an API reads a block of a response.

    With `signed` it reads reasoning that Anthropic signed, with `plain` reasoning that is only text.
    """
    if isinstance(block, Native):
        return block.api == api
    if not isinstance(block, Thinking):
        return True
    if block.own is not None:
        return block.own.api == api
    return signed if block.block is not None else plain


def says_something(message: Message, api: Api) -> bool:
    """Whether a message is sent by this API: it has more than blank text, reasoning and others' own blocks."""
    if message.common:
        return True
    for block in message.blocks:
        if isinstance(block, Text):
            if not is_blank(block.text):
                return True
        elif not isinstance(block, Native):
            if not isinstance(block, Thinking):
                return True
        elif message.role != "assistant" or block.api == api:
            return True
    return False


def without_blank_texts(blocks: tuple[Block, ...]) -> tuple[Block, ...]:
    """Return blocks without blank texts, which several providers refuse."""
    for block in blocks:
        if isinstance(block, Text) and is_blank(block.text):
            return tuple([block for block in blocks if not (isinstance(block, Text) and is_blank(block.text))])
    return blocks


def plain_text(blocks: tuple[Block, ...], between: str = "") -> str:
    """Return all text in blocks as one string."""
    return between.join([block.text for block in blocks if isinstance(block, Text)])
