"""Which provider a body is written for, and which model it names."""

from __future__ import annotations

from typing import Any, get_args

import pytest

from deepprompt import read_request
from deepprompt.providers import TARGETS
from deepprompt.providers.recognise import DIALECTS, body_in, model_of, provider_of, provider_of_model
from deepprompt.words import Target
from tests.support.harbour import CONVERSATION, PROMPT, WITHOUT_IMAGE, build

MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
SAID = [{"role": "user", "content": "Go."}]
MARKED = [{"role": "user", "content": [{"type": "text", "text": "Go.", **MARK}]}]
BROKEN_UP = [{"role": "user", "content": [{"type": "text", "text": "Go.", "prompt_cache_breakpoint": {}}]}]
CHAT = [{"role": "system", "content": "Be brief."}, *SAID]

PROVIDERS: list[tuple[str, Any]] = [
    ("anthropic", {"model": "claude-opus-5-5", "messages": SAID}),
    ("anthropic", {"messages": MARKED}),
    ("anthropic", {"system": "Be brief.", "messages": SAID, "anthropic_version": "bedrock-2023-05-31"}),
    ("anthropic", {"messages": [{"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "x"}]}]}),
    ("anthropic", {"model": "claude-opus-5-5", "messages": SAID, "prompt_cache_key": "x"}),
    ("litellm", {"model": "claude-opus-5-5", "messages": CHAT}),
    ("litellm", {"model": "anthropic/claude-opus-5-5", "messages": SAID}),
    ("litellm", {"model": "openai/gpt-5.6", "messages": SAID}),
    ("litellm", {"model": "gpt-5.6", "messages": MARKED}),
    ("litellm", {"messages": [*CHAT, *MARKED]}),
    ("litellm", {"messages": CHAT, "tools": [{"type": "function", "function": {"name": "x", **MARK}}]}),
    ("gemini", {"contents": []}),
    ("gemini", {"contents": [], "toolConfig": {"functionCallingConfig": {}}}),
    ("bedrock", {"modelId": "amazon.nova-pro-v1:0", "messages": SAID}),
    ("bedrock", {"messages": [{"role": "user", "content": [{"text": "Go."}, {"cachePoint": {"type": "default"}}]}]}),
    ("bedrock", {"toolConfig": {"tools": []}, "messages": []}),
    ("openai", {"model": "gpt-4o", "messages": SAID}),
    ("openai", {"model": "o3-mini", "messages": SAID}),
    ("openai", {"messages": SAID, "prompt_cache_options": {}}),
    ("openai", {"messages": BROKEN_UP}),
    ("openai-responses", {"model": "gpt-5.6", "input": "Go."}),
    ("deepseek", {"model": "deepseek-v4-pro", "messages": CHAT}),
    ("", {"model": "qwen3", "messages": CHAT}),
    ("", {"model": "meta-llama/Llama-4", "messages": SAID}),
    ("", {"messages": SAID}),
    ("", {"messages": [3, {"role": ["x"]}, {"content": 7}], "model": 3}),
    ("", {}),
    ("", "claude-opus-5-5"),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "body"), PROVIDERS)
def test_whose_request_it_is(provider: str, body: Any) -> None:
    """A body is known by its fields, or by the name of its model; where both leave it open, nothing is said."""
    assert provider_of(body) == provider


@pytest.mark.parametrize("to", TARGETS)
def test_our_own_requests_are_known(to: Target) -> None:
    """Each body that we write looks like the provider's that it is for, with tools and without."""
    assert provider_of(build(to, *(WITHOUT_IMAGE if to == "deepseek" else CONVERSATION), prompt=PROMPT).body) == to
    assert provider_of(build(to, {"role": "user", "content": "Go."}).body) == to


def test_every_target_has_a_dialect() -> None:
    """The APIs that are written, those that are read and those of the type are the same."""
    assert sorted(dialect.provider for dialect in DIALECTS) == sorted(TARGETS) == sorted(get_args(Target))


CONVERSE = {"messages": [{"role": "user", "content": [{"text": "Go."}]}]}
NOVA = "amazon.nova-pro-v1:0"

NAMED: list[tuple[Any, str]] = [
    ({"model": "gpt-5.6", "messages": SAID}, "gpt-5.6"),
    ({"modelId": NOVA, **CONVERSE}, NOVA),
    ({"modelId": NOVA, "body": CONVERSE}, NOVA),
    ({"model": "gemini-3.8-flash", "body": {"contents": []}}, "gemini-3.8-flash"),
    ({"model": "beside", "request": {"model": "inside", "messages": SAID}}, "inside"),
    ({"model": "beside", "body": {"modelId": NOVA, **CONVERSE}}, NOVA),
    ({"messages": SAID}, ""),
]  # fmt: skip


@pytest.mark.parametrize(("record", "model"), NAMED)
def test_the_model_that_a_request_names(record: Any, model: str) -> None:
    """The model stands in the body or beside it, under either name; body and segments say the same."""
    assert model_of(record) == model_of(read_request(record)) == model_of(body_in(record)) == model


def test_a_model_that_is_no_text_is_none() -> None:
    """A body is a stranger's: nothing in it is taken for granted."""
    assert model_of({"model": 3, "messages": SAID}) == ""


MODELS = [
    ("claude-opus-5-5", "anthropic"), ("anthropic/claude-opus-5-5", "anthropic"), ("GPT-5.6", "openai"),
    ("o3", "openai"), ("chatgpt-4o-latest", "openai"), ("deepseek-v4-pro", "deepseek"),
    ("vertex_ai/gemini-3.8-flash", "gemini"), ("qwen3", ""), ("olmo-3", ""), ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("model", "provider"), MODELS)
def test_who_makes_a_model(model: str, provider: str) -> None:
    """The start of a model's own name says whose it is, whatever route stands before it."""
    assert provider_of_model(model) == provider
