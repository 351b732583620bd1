"""What an answer cost: one `Usage` from whatever a provider, an engine or a gateway reports."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from collections.abc import Callable
from types import MappingProxyType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.errors import DeepPromptError, UsageError
from deepprompt.providers.usage import Usage, read_usage
from tests.support.answers import ANTHROPIC_USAGE, RECORDED, RESPONSES
from tests.support.examples import examples
from tests.support.recorder import sdk

# One provider's own words for the same traffic: tokens paid in full, read, written, and of output.
SAME_TRAFFIC: dict[str, Callable[[int, int, int, int], dict[str, Any]]] = {
    "anthropic": lambda full, read, written, output: {
        "input_tokens": full,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "output_tokens": output,
    },
    "bedrock": lambda full, read, written, output: {
        "inputTokens": full,
        "cacheReadInputTokens": read,
        "cacheWriteInputTokens": written,
        "outputTokens": output,
    },
    "openai-responses": lambda full, read, written, output: {
        "input_tokens": full + read + written,
        "input_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "output_tokens": output,
    },
    "openai-chat": lambda full, read, written, output: {
        "prompt_tokens": full + read + written,
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": written},
        "completion_tokens": output,
    },
    "langchain": lambda full, read, written, output: {
        "input_tokens": full + read + written,
        "input_token_details": {"cache_read": read, "cache_creation": written},
        "output_tokens": output,
        "total_tokens": full + read + written + output,
    },
    "pydantic-ai": lambda full, read, written, output: {
        "input_tokens": full + read + written,
        "cache_read_tokens": read,
        "cache_write_tokens": written,
        "output_tokens": output,
    },
    "litellm": lambda full, read, written, output: {
        "prompt_tokens": full + read + written,
        "prompt_tokens_details": {"cached_tokens": read, "cache_creation_tokens": written},
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": written,
        "completion_tokens": output,
    },
}

# The same for those that never tell what they wrote: it is among the tokens paid in full.
SAME_TRAFFIC_WRITES_UNTOLD: dict[str, Callable[[int, int, int, int], dict[str, Any]]] = {
    "deepseek": lambda full, read, written, output: {
        "prompt_tokens": full + read + written,
        "prompt_cache_hit_tokens": read,
        "prompt_cache_miss_tokens": full + written,
        "completion_tokens": output,
    },
    "gemini": lambda full, read, written, output: {
        "promptTokenCount": full + read + written,
        "cachedContentTokenCount": read,
        "candidatesTokenCount": output,
    },
    "interactions": lambda full, read, written, output: {
        "total_input_tokens": full + read + written,
        "total_cached_tokens": read,
        "total_output_tokens": output,
    },
    "llama.cpp": lambda full, read, written, output: {
        "timings": {"prompt_n": full + written, "cache_n": read, "predicted_n": output}
    },
}

NO_USAGE = (
    "no usage in a value of type {}; pass a response, its usage, or a stream event with both input and output tokens "
    '(OpenAI-shaped streams send it if asked with stream_options={{"include_usage": true}})'
)
NO_NUMBER = "{}, which is no number of tokens; pass what the provider sent, as it came"
TOO_MUCH_CACHED = (
    "{} tokens read from a cache and {} written to it are more than the {} of the input; "
    "the input has to count every token, cached or not"
)

# What cannot be read, and what the error says.
REFUSED: dict[str, tuple[object, str]] = {
    "none": (None, NO_USAGE.format("NoneType")),
    "text": ("usage", NO_USAGE.format("str")),
    "empty": ({}, NO_USAGE.format("dict")),
    "empty-usage": ({"usage": {}}, NO_USAGE.format("dict")),
    "stream-without-usage": (
        {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [], "usage": None},
        NO_USAGE.format("dict with the keys id, object, created, model, choices, usage"),
    ),
    "a-few-keys": (
        dict.fromkeys(["a", "b", "c", "d", "e", "f", "g"], 1),
        NO_USAGE.format("dict with the keys a, b, c, d, e, f"),
    ),
    "object": (SimpleNamespace(usage=None), NO_USAGE.format("SimpleNamespace")),
    "method": (SimpleNamespace(usage=len), NO_USAGE.format("builtin_function_or_method")),
    "text-metadata": ({**RESPONSES, "usage": None}, NO_USAGE.format("str")),
    "token-count": ({"input_tokens": 2095}, NO_USAGE.format("dict with the keys input_tokens")),
    "old-message-delta": (
        {"type": "message_delta", "usage": {"output_tokens": 15}},
        NO_USAGE.format("dict with the keys output_tokens"),
    ),
    "gemini-cache-object": (
        {"name": "cachedContents/abc", "usageMetadata": {"totalTokenCount": 9000}},
        NO_USAGE.format("dict with the keys totalTokenCount"),
    ),
    "negative": ({"prompt_tokens": -1, "completion_tokens": 2}, NO_NUMBER.format("prompt_tokens is -1")),
    "float": ({"input_tokens": 1.0, "output_tokens": 2}, NO_NUMBER.format("input_tokens is 1.0")),
    "bool": ({"input_tokens": 1, "output_tokens": True}, NO_NUMBER.format("output_tokens is True")),
    "text-number": ({"prompt_tokens": "7"}, NO_NUMBER.format("prompt_tokens is '7'")),
    "long-number": ({"prompt_tokens": "7" * 99}, NO_NUMBER.format(f"prompt_tokens is '{'7' * 39}")),
    "nested": (
        {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": -2}},
        NO_NUMBER.format("prompt_tokens_details.cached_tokens is -2"),
    ),
    "lifetime": (
        {"input_tokens": 7, "output_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": False}},
        NO_NUMBER.format("cache_creation.ephemeral_5m_input_tokens is False"),
    ),
    "timings": ({"usage": {"prompt_tokens": 7}, "timings": {"cache_n": -1}}, NO_NUMBER.format("timings.cache_n is -1")),
    "more-read-than-input": (
        {"prompt_tokens": 7, "prompt_tokens_details": {"cached_tokens": 8}},
        TOO_MUCH_CACHED.format(8, 0, 7),
    ),
    "more-cached-than-input": (
        {"input_tokens": 7, "output_tokens": 1, "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 5}},
        TOO_MUCH_CACHED.format(4, 5, 7),
    ),
    "more-in-timings-than-input": (
        {"usage": {"prompt_tokens": 7}, "timings": {"cache_n": 8}},
        TOO_MUCH_CACHED.format(8, 0, 7),
    ),
    "more-by-lifetime-than-in-all": (
        {**ANTHROPIC_USAGE, "cache_creation_input_tokens": 200},
        "248 tokens written by lifetime, 200 in all; pass what the provider sent, as it came",
    ),
}

# The SDK that has a type for a recorded answer, and how to make one.
SDK_OBJECTS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "anthropic": ("anthropic.types", lambda sdk: sdk.Message),
    "anthropic-usage": ("anthropic.types", lambda sdk: sdk.Usage),
    "anthropic-nulls": ("anthropic.types", lambda sdk: sdk.Message),
    "anthropic-iterations": ("anthropic.types.beta", lambda sdk: sdk.BetaMessage),
    "anthropic-message-start": ("anthropic.types", lambda sdk: sdk.RawMessageStartEvent),
    "anthropic-message-delta": ("anthropic.types", lambda sdk: sdk.RawMessageDeltaEvent),
    "openai-responses": ("openai.types.responses", lambda sdk: sdk.Response),
    "openai-responses-lifetimes": ("openai.types.responses", lambda sdk: sdk.Response),
    "openai-responses-completed": ("openai.types.responses", lambda sdk: sdk.ResponseCompletedEvent),
    "openai-chat": ("openai.types.chat", lambda sdk: sdk.ChatCompletion),
    "openai-chat-chunk": ("openai.types.chat", lambda sdk: sdk.ChatCompletionChunk),
    "deepseek": ("openai.types.chat", lambda sdk: sdk.ChatCompletion),
    "vllm-flag-off": ("openai.types.chat", lambda sdk: sdk.ChatCompletion),
    "llama.cpp-timings-beside": ("openai.types.chat", lambda sdk: sdk.ChatCompletion),
    "gemini": ("google.genai.types", lambda sdk: sdk.GenerateContentResponse),
    "gemini-live": ("google.genai.types", lambda sdk: sdk.LiveServerMessage),
    "interactions": ("google.genai.interactions", lambda sdk: sdk.Interaction),
    "interactions-completed": ("google.genai.interactions", lambda sdk: sdk.InteractionCompletedEvent),
    "interactions-step": ("google.genai.interactions", lambda sdk: sdk.StepDelta),
}

COUNTS = st.integers(0, 10**9)
USAGES = st.builds(
    lambda full, read, written, output: Usage(full + read + sum(written.values()), read, written, output),
    COUNTS,
    COUNTS,
    st.dictionaries(st.sampled_from(["5m", "30m", "1h", "12h", "24h", ""]), COUNTS),
    COUNTS,
)


def as_objects(value: object) -> object:
    """The same answer as objects with attributes, however deep, the way SDKs give it."""
    if isinstance(value, dict):
        return SimpleNamespace(**{name: as_objects(inner) for name, inner in value.items()})
    return [as_objects(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.seed("000.28")
@pytest.mark.parametrize(("answer", "usage"), RECORDED.values(), ids=RECORDED)
def test_an_answer_is_read_by_its_own_fields(answer: dict[str, Any], usage: Usage) -> None:
    """Every provider's answer comes out in the same words, and is left as it was."""
    before = json.dumps(answer)
    assert read_usage(answer) == usage
    assert json.dumps(answer) == before


@pytest.mark.parametrize("answer", [answer for answer, _ in RECORDED.values()], ids=RECORDED)
def test_the_usage_alone_is_enough(answer: dict[str, Any]) -> None:
    """A whole answer, and the same one in a read-only mapping, give what their usage gives."""
    assert read_usage(MappingProxyType(answer)) == read_usage(answer)
    if isinstance(answer.get("usage"), dict) and "timings" not in answer:
        assert read_usage(answer["usage"]) == read_usage(answer)


@pytest.mark.parametrize("name", [name for name in RECORDED if not name.startswith(("bedrock", "gemini"))])
def test_attributes_do_as_well_as_keys(name: str) -> None:
    """An answer as an object reads like the same answer as a dict, where both spell their names alike."""
    answer, usage = RECORDED[name]
    assert read_usage(as_objects(answer)) == usage


@pytest.mark.slow
@pytest.mark.parametrize("name", SDK_OBJECTS)
def test_the_objects_of_the_sdks_read_like_their_json(name: str) -> None:
    """The SDK's own type, made of the recorded JSON, reads like that JSON."""
    module, type_in = SDK_OBJECTS[name]
    answer, usage = RECORDED[name]
    made = type_in(sdk(module)).model_validate(answer)
    assert read_usage(made) == read_usage(answer) == usage


@pytest.mark.parametrize("name", ["bedrock", "bedrock-stream"])
def test_the_dicts_of_botocore_read_like_their_json(name: str) -> None:
    """What botocore parses of a recorded body, by its own model of Bedrock, reads like that body."""
    answer, usage = RECORDED[name]
    service = sdk("botocore.session").get_session().get_service_model("bedrock-runtime")
    shape, body = service.operation_model("Converse").output_shape, answer
    if name == "bedrock-stream":
        shape, body = service.shape_for("ConverseStreamMetadataEvent"), answer["metadata"]
    response = {"status_code": 200, "headers": {}, "body": json.dumps(body).encode()}
    parsed = sdk("botocore.parsers").create_parser("rest-json").parse(response, shape)
    assert parsed["usage"] == body["usage"]
    assert read_usage(parsed) == usage


@pytest.mark.slow
def test_the_usage_of_pydantic_ai() -> None:
    """Its own object is read like the JSON of the same numbers."""
    usage = sdk("pydantic_ai").RequestUsage(
        input_tokens=100, cache_read_tokens=60, cache_write_tokens=30, output_tokens=7
    )
    assert read_usage(usage) == Usage(100, 60, {"": 30}, 7)


@pytest.mark.parametrize("name", ["litellm", "litellm-iterations", "litellm-12h", "deepseek", "openai-chat", "vllm"])
@pytest.mark.filterwarnings("ignore")
def test_the_objects_of_litellm_read_like_their_json(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """LiteLLM's response, which says the same numbers under several names, counts each of them once."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    answer, usage = RECORDED[name]
    made = sdk("litellm").ModelResponse(**answer)
    assert read_usage(made) == read_usage(made.usage) == read_usage(made.model_dump()) == usage


@examples(100)
@given(full=COUNTS, read=COUNTS, written=COUNTS, output=COUNTS)
def test_the_same_traffic_is_the_same_usage(full: int, read: int, written: int, output: int) -> None:
    """Whether a provider's input includes the cached tokens or not makes no difference here."""
    traffic = Usage(full + read + written, read, {"": written}, output)
    for says in SAME_TRAFFIC.values():
        assert read_usage(says(full, read, written, output)) == traffic
    assert (traffic.uncached, traffic.written) == (full, written)


@examples(100)
@given(full=COUNTS, read=COUNTS, written=COUNTS, output=COUNTS)
def test_what_was_not_read_is_no_write(full: int, read: int, written: int, output: int) -> None:
    """Where a provider does not tell what it wrote, all that it did not read is paid in full."""
    traffic = Usage(full + read + written, read, {}, output)
    for says in SAME_TRAFFIC_WRITES_UNTOLD.values():
        assert read_usage(says(full, read, written, output)) == traffic
    assert (traffic.uncached, traffic.written) == (full + written, 0)


@pytest.mark.parametrize(("answer", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_an_error(answer: object, message: str) -> None:
    """The error says what was found, and what to pass instead."""
    with pytest.raises(UsageError) as caught:
        read_usage(answer)
    assert isinstance(caught.value, DeepPromptError)
    assert str(caught.value) == message


@pytest.mark.parametrize("field", ["input", "cached_read", "output"])
@pytest.mark.parametrize("count", [-1, 1.0, True, None, "1"])
def test_a_usage_takes_only_numbers_of_tokens(field: str, count: Any) -> None:
    """A usage made by hand is held to the same rules as one that was read."""
    with pytest.raises(UsageError) as caught:
        Usage(**{field: count})
    assert str(caught.value) == NO_NUMBER.format(f"{field} is {count!r}")
    with pytest.raises(UsageError) as caught:
        Usage(9, cached_write={"5m": count})
    assert str(caught.value) == NO_NUMBER.format(f"cached_write['5m'] is {count!r}")


def test_a_usage_cannot_have_more_cached_than_input() -> None:
    """What is paid in full is never less than nothing."""
    assert Usage(9, 4, {"5m": 3, "": 2}).uncached == 0
    with pytest.raises(UsageError) as caught:
        Usage(9, 5, {"5m": 3, "": 2})
    assert str(caught.value) == TOO_MUCH_CACHED.format(5, 5, 9)


def test_lifetimes_have_one_order_and_no_zeros() -> None:
    """Short before long, then those not known here by name, last the untold; what was not written is left out."""
    written = {"": 1, "9h": 2, "24h": 3, "12h": 4, "1h": 5, "30m": 6, "5m": 7}
    made = Usage(99, cached_write={**written, "2h": 0})
    assert [*made.cached_write.items()] == [
        ("5m", 7),
        ("30m", 6),
        ("1h", 5),
        ("12h", 4),
        ("24h", 3),
        ("9h", 2),
        ("", 1),
    ]
    assert made == Usage(99, cached_write=dict(reversed(written.items())))
    assert repr(made) == repr(Usage(99, cached_write=dict(reversed(written.items()))))


def test_a_usage_never_changes() -> None:
    """Neither its numbers nor its lifetimes can be set, nor does it follow the mapping that it was made of."""
    written = {"5m": 3}
    made = Usage(9, cached_write=written)
    written["5m"] = 4
    assert made.cached_write == {"5m": 3}
    with pytest.raises(dataclasses.FrozenInstanceError):
        made.input = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        made.cached_write["5m"] = 1  # type: ignore[index]


def test_a_usage_is_a_value() -> None:
    """Equal ones hash alike, and a copy or a pickle of one equals it."""
    made = Usage(9, 2, {"5m": 3}, 1)
    assert {made, Usage(9, 2, {"5m": 3}, 1)} == {made}
    assert made != Usage(9, 2, {"1h": 3}, 1)
    assert copy.deepcopy(made) == pickle.loads(pickle.dumps(made)) == dataclasses.replace(made) == made


def test_turns_can_be_summed() -> None:
    """A sum adds each number, and each lifetime by itself."""
    turns = [Usage(9, 2, {"5m": 3}, 1), Usage(20, 9, {"1h": 4, "5m": 1}, 5)]
    assert sum(turns, Usage()) == Usage(29, 11, {"5m": 4, "1h": 4}, 6)
    assert sum([], Usage()) == Usage() == Usage(0, 0, {}, 0)
    with pytest.raises(TypeError, match="unsupported operand"):
        Usage() + 1  # type: ignore[operator]


@examples(100)
@given(usages=st.lists(USAGES, max_size=5))
def test_a_sum_does_not_depend_on_its_order(usages: list[Usage]) -> None:
    """Each number of a sum is the sum of that number, whichever way round, and nothing is lost."""
    total = sum(usages, Usage())
    assert total == sum(reversed(usages), Usage())
    for name in ("input", "cached_read", "output", "written", "uncached"):
        assert getattr(total, name) == sum(getattr(usage, name) for usage in usages)
    assert total.uncached + total.cached_read + total.written == total.input


def test_reading_imports_no_sdk() -> None:
    """The module needs nothing but the standard library and the errors."""
    code = "import sys, deepprompt.providers.usage; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"anthropic", "openai", "google", "botocore", "litellm", "pydantic"} & {*done.stdout.split()}


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (
            {"input_tokens": 100, "cached_input_tokens": 80, "cache_write_input_tokens": 10, "output_tokens": 5},
            Usage(100, 80, {"": 10}, 5),
        ),
        ({"input": 20, "input_cached_tokens": 80, "output": 5, "total": 105}, Usage(100, 80, {}, 5)),
        ({"input": 100, "input_cached_tokens": 80, "output": 5, "total": 105}, Usage(100, 80, {}, 5)),
        ({"input": 3, "cache_read": 80, "cache_creation_input_tokens": 9, "output": 1}, Usage(92, 80, {"": 9}, 1)),
        (
            {"gen_ai.usage.input_tokens": 100, "gen_ai.usage.cache_read.input_tokens": 80},
            Usage(100, 80, {}, 0),
        ),
        ({"gen_ai.usage.prompt_tokens": 9, "gen_ai.usage.completion_tokens": 2}, Usage(9, 0, {}, 2, tells_cache=False)),
        (
            {"gen_ai.usage.input_tokens": 3, "gen_ai.usage.cache_read.input_tokens": 80,
             "gen_ai.usage.cache_creation.input_tokens": 9, "gen_ai.usage.output_tokens": 1},
            Usage(92, 80, {"": 9}, 1),
        ),
        ({"gen_ai.usage.input_tokens": 9, "gen_ai.usage.input_tokens.cached": 4}, Usage(9, 4, {}, 0)),
    ],
)  # fmt: skip
def test_logs(usage: dict[str, object], expected: Usage) -> None:
    """Codex' rollouts, Langfuse's details and OpenTelemetry's flat names, each with or without what was cached."""
    assert read_usage(usage) == expected


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 100, "completion_tokens": 5, "cache_read_tokens": 80, "cache_write_tokens": 10},
         Usage(100, 80, {"": 10}, 5)),
        ({"input_token_count": 10, "output_token_count": 5, "anthropic.cache_read_input_tokens": 80,
          "cache_read_input_token_count": 80, "cache_creation_input_token_count": 10},
         Usage(100, 80, {"": 10}, 5)),
        ({"input_token_count": 100, "output_token_count": 5, "cache_read_input_token_count": 80},
         Usage(100, 80, {}, 5)),
        ({"input_tokens": 100, "output_tokens": 5}, Usage(100, 0, {}, 5, tells_cache=False)),
    ],
    ids=["OpenHands", "Agent Framework and Anthropic", "Agent Framework", "smolagents"],
)  # fmt: skip
def test_frameworks_that_were_read_as_zero(usage: dict[str, object], expected: Usage) -> None:
    """Their names are known, or nothing is known of the cache: never a silent zero."""
    assert read_usage(usage) == read_usage(SimpleNamespace(**usage)) == expected


def test_a_sum_knows_only_what_all_of_it_knows() -> None:
    """One usage that says nothing of the cache makes the sum unknown."""
    assert (Usage(1) + Usage(2)).tells_cache
    assert not (Usage(1) + Usage(2, tells_cache=False)).tells_cache


@pytest.mark.seed("000.28")
@pytest.mark.parametrize(
    ("usage", "rate"),
    [
        (Usage(100, 75, {"5m": 20}, 9), 0.75),
        (Usage(100, 100), 1.0),
        (Usage(100, 0, {"5m": 100}), 0.0),
        (Usage(0, output=9), 0.0),
        (Usage(100, 50) + Usage(300, 300), 0.875),
    ],
)
def test_the_hit_rate(usage: Usage, rate: float) -> None:
    """The hit rate is the share of all input tokens that were read from a cache; without input it is none."""
    assert usage.hit_rate == rate
