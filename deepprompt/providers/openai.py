"""OpenAI's Chat Completions. DeepSeek and LiteLLM take the same form of body, see `write_chat`.

If the model takes marks, every text of a system or user message is a part of its own, so that a mark changes no other
byte. The system prompt is a message, never `instructions`, because that field cannot carry a mark.
"""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any, Literal, NotRequired, TypedDict

from deepprompt.prompt import Note
from deepprompt.providers.dialect import Body, Dialect, UsageShape, has_mark, model_named
from deepprompt.providers.draft import Draft
from deepprompt.providers.neutral import (
    Block,
    Image,
    Message,
    Native,
    Outline,
    Payload,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    own_form,
    required,
)
from deepprompt.providers.readable import plain_text, without_blank_texts
from deepprompt.providers.rules import bare_model_name
from deepprompt.providers.spots import Put

# The fields that only OpenAI's bodies have.
_FIELDS = ("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "max_completion_tokens")

MODELS = r"(?:chatgpt|gpt|o[134])(?:-|$)"
"""The start of the names of OpenAI's models."""

SETTINGS = (
    "reasoning.effort", "reasoning_effort", "verbosity", "text", "response_format", "service_tier",
    "prompt_cache_key", "prompt_cache_options",
)  # fmt: skip
"""The settings of Chat Completions and Responses that OpenAI's cache depends on."""

# The settings of vLLM, SGLang and llama.cpp, which take the same body.
_SETTINGS_OF_ENGINES = ("cache_salt", "extra_key", "chat_template_kwargs")

OWN_FIELDS = ("name", "audio", "function_call", "reasoning", "reasoning_details")
"""The fields of an answer beside its content that go back. The last two are those of engines and gateways."""

PARTS_OF_ENGINES = ("audio_url", "video_url")
"""The types of part that vLLM takes and OpenAI does not; your own facts list them as `blocks`."""

_FIELDS_OF_ENGINES = ("reasoning", "reasoning_details")


class ChatBody(TypedDict):
    """The body of `POST /v1/chat/completions`, and the arguments of `litellm.completion`."""

    model: str
    tools: NotRequired[list[Payload]]
    messages: NotRequired[list[Payload]]
    max_tokens: NotRequired[int]
    max_completion_tokens: NotRequired[int]
    prompt_cache_key: NotRequired[str]
    stream: NotRequired[bool]
    stream_options: NotRequired[Payload]


def write(outline: Outline, draft: Draft) -> ChatBody:
    """Return the body of a request for OpenAI."""
    return write_chat(outline, draft, put=put_mark, limit="max_completion_tokens")


def write_chat(
    outline: Outline, draft: Draft, *, put: Put | None, limit: Literal["max_tokens", "max_completion_tokens"]
) -> ChatBody:
    """Return a body in the shape of Chat Completions. Without `put`, content is plain text where that is possible.

    `limit` is the field for the limit of the response.
    """
    body: ChatBody = {"model": outline.model}
    if tools := draft.tools(outline, write_tool):
        body["tools"] = tools
        draft.tools_spot(("tools", len(tools) - 1), put)
    writer = _Chat(draft, put if draft.rules.marks else None)
    writer.system(outline)
    draft.begin(writer.messages)
    for message in draft.each(outline.messages):
        writer.message(message)
    if outline.messages and not writer.messages and not draft.continued:
        raise draft.blank(outline.messages[-1])
    if draft.rules.provider == "deepseek" and writer.messages and writer.messages[-1]["role"] == "assistant":
        raise draft.answered(outline.messages[-1])
    body["messages"] = writer.messages
    if outline.options.max_tokens:
        body[limit] = outline.options.max_tokens
    if outline.options.cache_key and draft.rules.provider == "openai":
        body["prompt_cache_key"] = outline.options.cache_key
    if outline.options.stream:
        # Without these options a stream never reports what was read from the cache.
        body["stream"] = True
        body["stream_options"] = {"include_usage": True}
    return body


def write_tool(tool: Tool) -> Payload:
    """Return a tool's definition."""
    described = {"description": tool.description} if tool.description else {}
    function = {"name": tool.name, **described, "parameters": tool.schema, **tool.extra.get("openai", {})}
    return {"type": "function", "function": function}


def put_mark(holder: Any, key: Any, lifetime: str) -> None:
    """Put OpenAI's mark on a part in a list."""
    mark = {"mode": "explicit", "ttl": lifetime} if lifetime else {"mode": "explicit"}
    holder[key] = {**holder[key], "prompt_cache_breakpoint": mark}


class _Chat:
    """Writes the messages of one body."""

    def __init__(self, draft: Draft, put: Put | None) -> None:
        self.draft = draft
        self.put = put
        self.messages: list[Payload] = []

    def system(self, outline: Outline) -> None:
        """Write the system prompt, in parts if marks may go between them."""
        if not outline.system:
            return
        parts = [{"type": "text", "text": block.text} for block in outline.system]
        self.messages.append(
            {"role": self.draft.rules.system_role, "content": parts if self.put else outline.system_text}
        )
        for number, block in enumerate(outline.system):
            self.draft.system_spot(("messages", 0, "content", number), block, self.put)

    def message(self, message: Message) -> None:
        """Write a message; each tool result becomes a message of its own."""
        if not message.common:
            message = self._readable(message)
        if message.role == "assistant":
            self._assistant(message)
            return
        results = message.of(ToolResult)
        rest = message.blocks
        if results:
            rest = tuple([block for block in message.blocks if not isinstance(block, ToolResult)])
        for result in results:
            self._result(result, message)
            rest += tuple([inner for inner in result.content if isinstance(inner, Image)])
        if rest or not results:
            self._said(rest, message)
        else:
            self.draft.note_name(message)

    def _result(self, result: ToolResult, message: Message) -> None:
        content = result.content
        if result.is_error:
            self.draft.note_failure(message.place)
        if not message.common:
            content = self._only_text(content, message.place)
        text = plain_text(content, "\n\n")
        written = {"role": "tool", "tool_call_id": self.draft.call_id(result.call_id), "content": text}
        # OpenAI's own mark cannot go on a tool's message. LiteLLM takes Anthropic's mark there.
        put = self.put if self.put is not put_mark else None
        self.draft.spot(("messages", len(self.messages)), result, message, put)
        self.messages.append(written)

    def _only_text(self, content: tuple[Block, ...], place: str) -> tuple[Block, ...]:
        """Return the content of a tool result with a sentence in place of what is neither text nor an image."""
        why = f"a tool result is text or images for {self.draft.rules.provider}"
        sent = tuple(
            block if isinstance(block, Text | Image) else self.draft.replaced(block, place, why) for block in content
        )
        if any(isinstance(block, Image) for block in sent):
            detail = "a tool result holds only text here: its images follow as the user's"
            self.draft.notes.append(Note("replaced", place, detail))
        return sent

    def _readable(self, message: Message) -> Message:
        """Return a message without what the provider cannot read.

        DeepSeek refuses a conversation without its own reasoning. Providers of signed reasoning are behind LiteLLM.
        """
        provider = self.draft.rules.provider
        message = self.draft.readable(
            message, plain=provider == "deepseek", signed=provider in ("anthropic", "bedrock")
        )
        return self._without_engines_fields(message) if message.role == "assistant" else message

    def _without_engines_fields(self, message: Message) -> Message:
        """Return a message without fields that engines and gateways take back, and OpenAI and DeepSeek refuse."""
        refused = [block for block in message.of(Native) if block.kind in _FIELDS_OF_ENGINES]
        if not refused or not re.match(f"{MODELS}|deepseek", bare_model_name(self.draft.rules.model)):
            return message
        for block in refused:
            detail = f"{self.draft.rules.provider} takes no field {block.kind!r}: left out"
            self.draft.notes.append(Note("skipped", message.place, detail))
        return replace(message, blocks=tuple(block for block in message.blocks if block not in refused))

    def _assistant(self, message: Message) -> None:
        """Write an assistant's message, which may not carry a mark."""
        if not self.draft.says_something(message):
            return
        for block in message.blocks:
            self.draft.spot(("messages", len(self.messages)), block, message)
        written: Payload = {"role": "assistant", "content": plain_text(message.blocks)}
        if not message.common:
            written |= _without_calls(message)
        if calls := [self._call(call, message.place) for call in message.of(ToolCall)]:
            written["tool_calls"] = calls
            written["content"] = written["content"] or None
        self.messages.append(written)

    def _call(self, call: ToolCall, place: str) -> Payload:
        written: Payload = {"id": self.draft.call_id(call.id), "type": "function"}
        if own := own_form(call, "openai"):
            return {**written, **own, "id": written["id"]}
        written["function"] = {"name": self.draft.call_name(call, place), "arguments": call.arguments or "{}"}
        if call.signature and self.draft.rules.provider == "gemini":  # where LiteLLM looks for it
            written["provider_specific_fields"] = {"thought_signature": call.signature}
        return written

    def _said(self, blocks: tuple[Block, ...], message: Message) -> None:
        """Write a user's message, or a system message inside the conversation."""
        content: list[Payload] = []
        written: Payload = {"role": "user", "content": content}
        if message.role == "system":
            written["role"] = self.draft.rules.system_role
        if message.name:
            written["name"] = message.name
        only_text = message.common or all(isinstance(block, Text) for block in blocks)
        plain = only_text and (self.put is None or not without_blank_texts(blocks))
        if plain:
            written["content"] = plain_text(blocks, "\n\n")
        for place, block in enumerate(blocks):
            put = None
            if not plain:
                content.append(self._part(block, f"{message.place}.content[{place}]"))
                put = self.put if without_blank_texts((block,)) else None
            self.draft.spot(("messages", len(self.messages), "content", place), block, message, put)
        self.messages.append(written)

    def _part(self, block: Block, place: str) -> Payload:
        block = self.draft.image(block, place) if isinstance(block, Image) else block
        if isinstance(block, Text):
            return {"type": "text", "text": block.text}
        if isinstance(block, Image):
            detail = {"detail": block.detail} if block.detail else {}
            return {"type": "image_url", "image_url": {"url": image_address(block), **detail}}
        known = self.draft.rules.carriers | self.draft.rules.blocks
        if isinstance(block, Native) and block.api == "anthropic" and block.kind in known:
            return dict(block.block)
        return self._part(self.draft.replaced(block, place), place)


def _without_calls(message: Message) -> Payload:
    """Return what an assistant's message has besides its calls: content, reasoning, and fields of its own."""
    forms = [(block, own_form(block, "openai")) for block in message.blocks if not isinstance(block, ToolCall)]
    own = [form for _, form in forms if form and "type" not in form]
    written: Payload = {
        "content": plain_text(tuple(block for block, form in forms if isinstance(block, Text) and form is None))
    }
    if any(form and "type" in form for _, form in forms):  # parts that only Chat Completions knows
        written["content"] = [part for block, form in forms if (part := _said_part(block, form))]
    if reasoning := "".join(block.text for block in message.of(Thinking) if block.block is None):
        written["reasoning_content"] = reasoning
    if signed := [dict(block.block) for block in message.of(Thinking) if block.block is not None]:
        written["thinking_blocks"] = signed  # as LiteLLM takes it for Anthropic
    for fields in own:
        written |= fields
    if own:
        written["content"] = written["content"] or None
    return written


def _said_part(block: Block, own: Payload | None) -> Payload | None:
    """Return a block of a response as a part of its content, None for what is a field beside the content."""
    if own is not None:
        return own if "type" in own else None
    return {"type": "text", "text": block.text} if isinstance(block, Text) else None


def read_audio(own: Native) -> Block:
    """Return what a model said aloud: OpenAI knows it by its id, all others get the transcript."""
    audio = own.block["audio"]
    if not isinstance(audio, dict) or not isinstance(audio.get("id"), str):
        return own
    back = Native({"audio": {"id": audio["id"]}}, api="openai")
    said = audio.get("transcript")
    return Text(said, own=back) if isinstance(said, str) and said.strip() else back


def read_other_call(call: Payload, place: str) -> ToolCall:
    """Return the call of a tool that is not a function: a custom tool, whose input is a text, or a newer kind."""
    kind = str(call["type"])
    fields = dict(call[kind])
    name = fields.pop("name", None) or kind
    arguments = json.dumps(fields, ensure_ascii=False)
    return ToolCall(required(call, "id", place), str(name), arguments, own=Native(call, api="openai"))


def image_address(image: Image) -> str:
    """Return the URL of an image: its own, or a `data:` URL with its bytes."""
    return image.url or f"data:{image.media_type};base64,{image.data}"


def recognise(body: Body) -> bool:
    """Whether a body with `messages` is OpenAI's: by its model, or by fields and marks that only OpenAI has."""
    if re.match(MODELS, model_named(body)):
        return True
    own = any(key in body for key in _FIELDS) or has_mark(body, "prompt_cache_breakpoint")
    return own and not model_named(body).startswith("claude")


DIALECT = Dialect(
    "openai",
    recognise,
    models=MODELS,
    settings=(*SETTINGS, *_SETTINGS_OF_ENGINES),
    tools=("tools", "functions"),
    tool="function",
    roles={"developer": "system", "tool": "tool_result", "function": "tool_result"},
    before_content={
        "name": "name", "reasoning": "thinking", "reasoning_content": "thinking", "thinking_blocks": "thinking",
    },
    after_content={"refusal": "text", "function_call": "tool_use", "tool_calls": "tool_use"},
    kinds={"image_url": "image"},
    mark="prompt_cache_breakpoint",
    own_data=("parameters",),
    files=("file_data",),
    unread=(
        "audio", "frequency_penalty", "function_call", "logit_bias", "logprobs", "max_completion_tokens", "max_tokens",
        "metadata", "min_p", "modalities", "moderation", "n", "parallel_tool_calls", "prediction", "presence_penalty",
        "prompt_cache_options", "prompt_cache_retention", "provider", "repetition_penalty", "safety_identifier", "seed",
        "service_tier", "stop", "store", "stream", "stream_options", "temperature", "tool_choice", "top_k",
        "top_logprobs", "top_p", "transforms", "user", "web_search_options",
    ),
)  # fmt: skip


USAGE = UsageShape(  # vLLM, SGLang and llama.cpp send it too
    known_by=("prompt_tokens",),
    input=("prompt_tokens",),
    output=("completion_tokens",),
    read=("prompt_tokens_details.cached_tokens",),
    written=("prompt_tokens_details.cache_write_tokens",),
    written_for=("prompt_tokens_details.cache_write_tokens_details.ttl_*_tokens",),
)
