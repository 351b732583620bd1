"""What tests ask, and what providers answered: one rich conversation, and recorded answers with what they cost.

The answers are as providers, engines and gateways send them; `RECORDED` has each with the `Usage` that it says.
"""

from __future__ import annotations

import json
from typing import Any

from deepprompt.prompt import Pace, Part, Prompt
from deepprompt.providers.usage import Usage

# Texts that something on the way might change: quotes, markup, an emoji of several characters, one outside the BMP.
ODD = 'naïve — 日本語 "quoted" \\ <b>&amp;</b> 🧭 👩‍👩‍👧 𝔘𝔫𝔦𐍈 \\u00e9\ttab'
SIGNATURE = "EgAA++++////c2lnbmVk"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
RULES = f"You are exact.\n{f'Rule: {ODD}.' * 90}\n"
PROJECT = f"The project: {ODD}.\n"
TODAY = f"Today: {ODD}.\n"
DOCUMENT = f"A long text: {ODD}.\n" * 60
QUESTION = f"What is this? {ODD}"
ANSWER = f"I look it up. {ODD}"
MORE = f"And then? {ODD}"
REASONING = f"Signed, {ODD}"
PLAIN_REASONING = f"Plain, {ODD}"
PATH = "ä/🧭 𐍈.txt"

# A schema with what is easily lost: null, nothing, references, keys in no order.
TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "read_file",
        "description": f"Reads a file. {ODD}",
        "input_schema": {"type": "object", "required": ["path"], "properties": {"path": {"type": "string"}}},
    },
    {
        "name": "add",
        "description": "Adds numbers.",
        "input_schema": {
            "type": "object",
            "properties": {
                "b": {"type": "integer"},
                "a": {"anyOf": [{"$ref": "#/$defs/number"}, {"type": "null"}], "default": None},
            },
            "$defs": {"number": {"type": "number", "examples": []}},
            "additionalProperties": False,
        },
    },
)
SUMMANDS = {"b": 2, "a": 1.5, "more": {"mime_type": None, "bytes": "not base64", "camelCase": [True, None, {}]}}
PROMPT = Prompt(
    (
        Part("rules", RULES, Pace.RELEASE, "test"),
        Part("project", PROJECT, Pace.PROJECT, "test"),
        Part("today", TODAY, Pace.TURN, "test"),
    ),
    tools=TOOLS,
)


def conversation(*, image: bool = True, mark: int | None = None) -> list[dict[str, Any]]:
    """Everything that a conversation has: an image, reasoning, two calls at once, their results, another question.

    The reasoning is there as Anthropic signs it and as DeepSeek writes it: each provider gets what it can read.
    """
    picture = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]
    calls = [
        _call("call_1", "read_file", {"path": PATH}),
        _call("call_2", "add", SUMMANDS),
    ]
    signed = {"type": "thinking", "thinking": REASONING, "signature": SIGNATURE}
    hidden = {"type": "redacted_thinking", "data": SIGNATURE}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": "text", "text": QUESTION}, *(picture if image else [])]},
        {
            "role": "assistant",
            "reasoning_content": PLAIN_REASONING,
            "content": [signed, hidden, {"type": "text", "text": ANSWER}],
            "tool_calls": calls,
        },
        {"role": "tool", "tool_call_id": "call_1", "content": DOCUMENT},
        {"role": "tool", "tool_call_id": "call_2", "content": "3.5"},
        {"role": "user", "content": MORE},
    ]
    if mark is not None:
        messages[mark]["cache_control"] = {"type": "ephemeral"}
    return messages


def _call(call_id: str, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}


def strings(value: object) -> list[str]:
    """Every text in a body, and every text in a text that is JSON, as the arguments of a call are for some."""
    if isinstance(value, dict):
        return [text for inner in value.values() for text in strings(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in strings(inner)]
    if isinstance(value, str) and value.startswith("{"):
        return [value, *strings(json.loads(value))]
    return [value] if isinstance(value, str) else []


def marks(body: object, path: str = "") -> dict[str, Any]:
    """Every mark of a body, whoever's it is, by its place."""
    found: dict[str, Any] = {}
    for key, value in body.items() if isinstance(body, dict) else enumerate(body) if isinstance(body, list) else ():
        place = f"{path}[{key}]" if isinstance(body, list) else f"{path}.{key}".removeprefix(".")
        own = key in ("cache_control", "cachePoint", "prompt_cache_breakpoint")
        found |= {place: value} if own else marks(value, place)
    return found


ANTHROPIC_USAGE = {
    "input_tokens": 50,
    "cache_read_input_tokens": 100_000,
    "cache_creation_input_tokens": 248,
    "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
    "output_tokens": 503,
}
ANTHROPIC = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-opus-5-5",
    "content": [{"type": "text", "text": "Hi."}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": ANTHROPIC_USAGE,
}
ITERATIONS = [
    {
        "type": "compaction",
        "input_tokens": 3000,
        "cache_read_input_tokens": 200,
        "cache_creation_input_tokens": 10,
        "cache_creation": None,
        "output_tokens": 700,
    },
    {
        "type": "advisor_message",
        "model": "claude-fable-5-1",
        "input_tokens": 823,
        "cache_read_input_tokens": 0,
        "cache_creation_input_tokens": 0,
        "output_tokens": 1612,
    },
    {"type": "message", **ANTHROPIC_USAGE},
]
RESPONSES_USAGE = {
    "input_tokens": 7481,
    "input_tokens_details": {"cached_tokens": 6002, "cache_write_tokens": 1479},
    "output_tokens": 9,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 7490,
}
RESPONSES: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1_760_000_000,
    "model": "gpt-5.6-sol",
    "output": [],
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "metadata": {"usage": "the caller's own word"},
    "usage": RESPONSES_USAGE,
}
CONVERSE = {
    "output": {"message": {"role": "assistant", "content": [{"text": "Hi."}]}},
    "stopReason": "end_turn",
    "metrics": {"latencyMs": 551},
    "usage": {
        "inputTokens": 50,
        "outputTokens": 503,
        "totalTokens": 100_801,
        "cacheReadInputTokens": 100_000,
        "cacheWriteInputTokens": 248,
        "cacheDetails": [{"ttl": "1h", "inputTokens": 100}, {"ttl": "5m", "inputTokens": 148}],
    },
}
GEMINI = {
    "candidates": [{"content": {"role": "model", "parts": [{"text": "Hi."}]}, "finishReason": "STOP"}],
    "usageMetadata": {
        "promptTokenCount": 9000,
        "cachedContentTokenCount": 8192,
        "toolUsePromptTokenCount": 60,
        "candidatesTokenCount": 40,
        "thoughtsTokenCount": 120,
        "totalTokenCount": 9220,
        "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 9000}],
    },
    "modelVersion": "gemini-3.8-flash",
}
INTERACTION = {
    "id": "v1_1",
    "status": "completed",
    "usage": {
        "total_input_tokens": 9000,
        "total_cached_tokens": 8192,
        "total_tool_use_tokens": 60,
        "total_output_tokens": 40,
        "total_thought_tokens": 120,
        "total_tokens": 9220,
    },
}
LITELLM_USAGE = {
    "prompt_tokens": 100_298,
    "completion_tokens": 503,
    "total_tokens": 100_801,
    "prompt_tokens_details": {
        "cached_tokens": 100_000,
        "text_tokens": 50,
        "cache_write_tokens": 248,
        "cache_creation_tokens": 248,
        "cache_creation_token_details": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 100},
    },
    "cache_creation_input_tokens": 248,
    "cache_read_input_tokens": 100_000,
}


def chat(usage: dict[str, Any] | None, **more: object) -> dict[str, Any]:
    """A whole answer in the shape of OpenAI's Chat Completions."""
    message = {"role": "assistant", "content": "Hi."}
    choices = [{"index": 0, "finish_reason": "stop", "message": message, "logprobs": None}]
    answer = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": choices}
    return {**answer, "usage": usage, **more}


ANTHROPIC_READ = Usage(100_298, 100_000, {"5m": 148, "1h": 100}, 503)
GEMINI_READ = Usage(9060, 8192, {}, 160)

# Answers as providers send them, and what they cost.
RECORDED: dict[str, tuple[dict[str, Any], Usage]] = {
    "anthropic": (ANTHROPIC, ANTHROPIC_READ),
    "anthropic-usage": (ANTHROPIC_USAGE, ANTHROPIC_READ),
    "anthropic-no-cache": ({"input_tokens": 12, "output_tokens": 3}, Usage(12, output=3, tells_cache=False)),
    "anthropic-nulls": (
        {
            **ANTHROPIC,
            "usage": {
                "input_tokens": 12,
                "output_tokens": 3,
                "cache_read_input_tokens": None,
                "cache_creation_input_tokens": None,
                "cache_creation": None,
            },
        },
        Usage(12, output=3, tells_cache=False),
    ),
    "anthropic-iterations": (
        {**ANTHROPIC, "usage": {**ANTHROPIC_USAGE, "iterations": ITERATIONS}},
        Usage(103_508, 100_200, {"5m": 148, "1h": 100, "": 10}, 1203),
    ),
    "anthropic-message-start": ({"type": "message_start", "message": ANTHROPIC}, ANTHROPIC_READ),
    "anthropic-message-delta": (
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn", "stop_sequence": None},
            "usage": {key: count for key, count in ANTHROPIC_USAGE.items() if key != "cache_creation"},
        },
        Usage(100_298, 100_000, {"": 248}, 503),
    ),
    "anthropic-half-told": (
        {**ANTHROPIC_USAGE, "cache_creation": {"ephemeral_5m_input_tokens": 148, "ephemeral_1h_input_tokens": 0}},
        Usage(100_298, 100_000, {"5m": 148, "": 100}, 503),
    ),
    "anthropic-only-told": (
        {"input_tokens": 50, "output_tokens": 503, "cache_creation": {"ephemeral_1h_input_tokens": 100}},
        Usage(150, 0, {"1h": 100}, 503),
    ),
    "bedrock": (CONVERSE, ANTHROPIC_READ),
    "bedrock-stream": ({"metadata": {"usage": CONVERSE["usage"], "metrics": {"latencyMs": 1}}}, ANTHROPIC_READ),
    "bedrock-no-details": (
        {"inputTokens": 50, "outputTokens": 503, "cacheWriteInputTokens": 248, "cacheDetails": []},
        Usage(298, 0, {"": 248}, 503),
    ),
    "bedrock-no-ttl": (
        {"inputTokens": 50, "outputTokens": 503, "cacheDetails": [{"inputTokens": 7}, {"ttl": "2h", "inputTokens": 5}]},
        Usage(62, 0, {"2h": 5, "": 7}, 503),
    ),
    "openai-responses": (RESPONSES, Usage(7481, 6002, {"": 1479}, 9)),
    "openai-responses-lifetimes": (
        {
            **RESPONSES,
            "usage": {
                **RESPONSES_USAGE,
                "input_tokens_details": {
                    "cached_tokens": 6002,
                    "cache_write_tokens": 1479,
                    "cache_write_tokens_details": {"ttl_30m_tokens": 1000, "ttl_12h_tokens": 479},
                },
            },
        },
        Usage(7481, 6002, {"30m": 1000, "12h": 479}, 9),
    ),
    "openai-responses-completed": (
        {"type": "response.completed", "sequence_number": 7, "response": RESPONSES},
        Usage(7481, 6002, {"": 1479}, 9),
    ),
    "openai-chat": (
        chat(
            {
                "prompt_tokens": 7481,
                "completion_tokens": 9,
                "total_tokens": 7490,
                "prompt_tokens_details": {"cached_tokens": 6002, "cache_write_tokens": 1479},
            }
        ),
        Usage(7481, 6002, {"": 1479}, 9),
    ),
    "openai-chat-chunk": (
        {
            "id": "c1",
            "object": "chat.completion.chunk",
            "created": 1,
            "model": "gpt-5.5",
            "choices": [],
            "usage": {
                "prompt_tokens": 2006,
                "completion_tokens": 300,
                "total_tokens": 2306,
                "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
                "completion_tokens_details": {"reasoning_tokens": 0},
            },
        },
        Usage(2006, 1920, {}, 300),
    ),
    "openai-embedding": (
        {"object": "list", "usage": {"prompt_tokens": 8, "total_tokens": 8}},
        Usage(8, tells_cache=False),
    ),
    "deepseek": (
        chat(
            {
                "prompt_tokens": 1661,
                "completion_tokens": 862,
                "total_tokens": 2523,
                "prompt_cache_hit_tokens": 256,
                "prompt_cache_miss_tokens": 1405,
                "prompt_tokens_details": {"cached_tokens": 256},
                "completion_tokens_details": {"reasoning_tokens": 451},
            }
        ),
        Usage(1661, 256, {}, 862),
    ),
    "deepseek-hits-only": (
        {
            "prompt_tokens": 1661,
            "completion_tokens": 862,
            "prompt_cache_hit_tokens": 256,
            "prompt_cache_miss_tokens": 1405,
        },
        Usage(1661, 256, {}, 862),
    ),
    "gemini": (GEMINI, GEMINI_READ),
    "gemini-snake": (
        {"usage_metadata": {"prompt_token_count": 9, "candidates_token_count": None}},
        Usage(9),
    ),
    "gemini-live": (
        {"usageMetadata": {"promptTokenCount": 9, "responseTokenCount": 4, "totalTokenCount": 13}},
        Usage(9, output=4),
    ),
    "interactions": (INTERACTION, GEMINI_READ),
    "interactions-completed": (
        {"event_type": "interaction.completed", "interaction": {**INTERACTION, "object": "interaction"}},
        GEMINI_READ,
    ),
    "interactions-step": (
        {
            "event_type": "step.delta",
            "index": 0,
            "delta": {"type": "text", "text": "Hi."},
            "metadata": {"total_usage": INTERACTION["usage"]},
        },
        GEMINI_READ,
    ),
    "vllm-flag-off": (
        chat({"prompt_tokens": 410, "completion_tokens": 40, "total_tokens": 450, "prompt_tokens_details": None}),
        Usage(410, output=40, tells_cache=False),
    ),
    "vllm": (
        chat(
            {
                "prompt_tokens": 410,
                "completion_tokens": 40,
                "total_tokens": 450,
                "prompt_tokens_details": {"cached_tokens": 400},
            }
        ),
        Usage(410, 400, {}, 40),
    ),
    "llama.cpp": (
        chat(
            {
                "prompt_tokens": 410,
                "completion_tokens": 40,
                "total_tokens": 450,
                "prompt_tokens_details": {"cached_tokens": 290},
            },
            timings={"cache_n": 290, "prompt_n": 120, "predicted_n": 40},
        ),
        Usage(410, 290, {}, 40),
    ),
    "llama.cpp-timings-beside": (
        chat(
            {"prompt_tokens": 410, "completion_tokens": 40, "total_tokens": 450},
            timings={"cache_n": 290, "prompt_n": 120, "prompt_ms": 900.0, "predicted_n": 40, "predicted_ms": 2000.0},
        ),
        Usage(410, 290, {}, 40),
    ),
    "llama.cpp-timings-only": (
        {"content": "Hi.", "timings": {"cache_n": 290, "prompt_n": 120, "prompt_ms": 900.0, "predicted_n": 40}},
        Usage(410, 290, {}, 40),
    ),
    "litellm": (chat(LITELLM_USAGE), ANTHROPIC_READ),
    "litellm-iterations": (chat({**LITELLM_USAGE, "iterations": ITERATIONS}), ANTHROPIC_READ),
    "litellm-12h": (
        chat(
            {
                "prompt_tokens": 7481,
                "completion_tokens": 9,
                "total_tokens": 7490,
                "prompt_tokens_details": {
                    "cached_tokens": 6002,
                    "cache_write_tokens": 1479,
                    "cache_creation_tokens": 1479,
                    "cache_write_tokens_details": {"ttl_30m_tokens": 0, "ttl_12h_tokens": 1479},
                },
            }
        ),
        Usage(7481, 6002, {"12h": 1479}, 9),
    ),
    "gateway-zero-beside-truth": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 1,
            "prompt_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "cache_read_input_tokens": 60,
            "cache_creation_input_tokens": 30,
        },
        Usage(100, 60, {"": 30}, 1),
    ),
}
