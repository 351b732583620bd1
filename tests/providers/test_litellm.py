"""What of our requests survives LiteLLM, route by route, as a server on loopback saw it. Measured with 1.108.4.

| route                     | what we write             | what arrives                                                |
|---------------------------|---------------------------|-------------------------------------------------------------|
| anthropic/                | `cache_control`           | the same, with its lifetime; a tool message's on its result |
| bedrock/converse/         | `cache_control`           | a `cachePoint` behind the block; its lifetime if LiteLLM    |
|                           |                           | has the model's price for one hour, else none               |
| openai/gpt-5.6, no tools  | `prompt_cache_breakpoint` | the same, at Chat Completions                               |
| openai/gpt-5.6 with tools | `prompt_cache_breakpoint` | the same, at Responses, where LiteLLM sends it              |
| openai/gpt-4o             | no mark                   | no mark; the cache key                                      |
| deepseek/                 | no mark                   | the body that we would send ourselves                       |
| gemini/                   | no mark                   | no mark                                                     |

Every text arrives byte for byte. The schemas of tools do not for Bedrock and Gemini: references are replaced, null
and `additionalProperties` dropped. Reasoning comes back signed to Anthropic and Bedrock, plain to DeepSeek. OpenAI's
`developer` becomes `system`. LiteLLM's usage counts cached tokens as input for every provider.

It pins other SDKs and takes seconds to import, so it has an environment of its own; elsewhere all this is skipped.
"""

from __future__ import annotations

import asyncio
import base64
import json
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from deepprompt.prompt import Prompt
from deepprompt.providers.usage import read_usage
from deepprompt.request.request import Request, build_request
from deepprompt.words import Lifetime, Target
from tests.support.answers import (
    ANSWER,
    DOCUMENT,
    MORE,
    PATH,
    PIXEL,
    PLAIN_REASONING,
    PROJECT,
    PROMPT,
    QUESTION,
    REASONING,
    RECORDED,
    RULES,
    SIGNATURE,
    TODAY,
    TOOLS,
    conversation,
    marks,
    strings,
)
from tests.support.recorder import Recorder, recorder, sdk

# What pydantic says of LiteLLM's own types, and of how it copies a chunk of a stream.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings(
        r"ignore:Items? '.*' on TypedDict class '\w+' (is|are) using the `ReadOnly` qualifier:UserWarning"
    ),
    pytest.mark.filterwarnings(
        r"ignore:Accessing the 'model_(computed_)?fields' attribute on the instance is deprecated:DeprecationWarning"
    ),
]

OPENAI = "api.openai.com"
HOUR, DEFAULT = {"type": "ephemeral", "ttl": "1h"}, {"type": "ephemeral"}
POINT_HOUR, POINT = {"type": "default", "ttl": "1h"}, {"type": "default"}
EXPLICIT = {"mode": "explicit"}
SAID = {"type": "output_text", "text": "Hi.", "annotations": []}
OUTPUT = [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [SAID]}]
BRIDGED = {**RECORDED["openai-responses"][0], "status": "completed", "output": OUTPUT}
CACHE = {"name": "cachedContents/abc", "model": "models/gemini-3.8-flash", "usageMetadata": {"totalTokenCount": 9000}}


@dataclass(frozen=True)
class Route:
    """A model by LiteLLM's name for it, and what becomes of a request for it."""

    model: str
    path: str
    answer: str
    """The name of the recorded answer."""
    marks: dict[str, Any]
    """What arrives of the marks of the rich conversation, by place."""
    tools: bool = True
    image: bool = True
    lifetime: Lifetime = ""

    def request(self, *, stream: bool = False) -> Request:
        """The request for everything that a conversation has, or without tools for all but the calls."""
        messages = conversation(image=self.image)
        if not self.tools:
            messages = [message for message in messages if message["role"] == "user"]
        prompt = PROMPT if self.tools else Prompt(PROMPT.parts)
        return build_request(
            prompt,
            messages,
            to="litellm",
            model=self.model,
            prefix_lifetime=self.lifetime,
            max_tokens=100,
            cache_key="tenant-42",
            stream=stream,
        )


ROUTES = {
    "anthropic": Route(
        model="anthropic/claude-opus-5-5",
        path="/v1/messages",
        answer="anthropic",
        marks={
            "system[0].cache_control": HOUR,
            "system[1].cache_control": HOUR,
            "messages[0].content[1].cache_control": DEFAULT,
            "messages[2].content[2].cache_control": DEFAULT,
        },
        lifetime="1h",
    ),
    "bedrock": Route(
        model="bedrock/converse/us.anthropic.claude-opus-5-5",
        path="/model/us.anthropic.claude-opus-5-5/converse",
        answer="bedrock",
        marks={
            "system[1].cachePoint": POINT_HOUR,
            "system[3].cachePoint": POINT_HOUR,
            "messages[0].content[2].cachePoint": POINT,
            "messages[2].content[3].cachePoint": POINT,
        },
        lifetime="1h",
    ),
    "bedrock-without-price": Route(
        model="bedrock/converse/us.anthropic.claude-opus-4-1-20250805-v1:0",
        path="/model/us.anthropic.claude-opus-4-1-20250805-v1%3A0/converse",
        answer="bedrock",
        marks={
            "system[1].cachePoint": POINT,
            "system[3].cachePoint": POINT,
            "messages[0].content[2].cachePoint": POINT,
            "messages[2].content[3].cachePoint": POINT,
        },
        lifetime="1h",
    ),
    "gpt-5.6": Route(
        model="openai/gpt-5.6",
        path="/v1/chat/completions",
        answer="openai-chat",
        marks={
            "messages[0].content[0].prompt_cache_breakpoint": EXPLICIT,
            "messages[0].content[1].prompt_cache_breakpoint": EXPLICIT,
        },
        tools=False,
    ),
    "gpt-5.6-with-tools": Route(
        model="openai/gpt-5.6",
        path="/v1/responses",
        answer="openai-responses",
        marks={
            "input[0].content[0].prompt_cache_breakpoint": EXPLICIT,
            "input[0].content[1].prompt_cache_breakpoint": EXPLICIT,
            "input[1].content[1].prompt_cache_breakpoint": EXPLICIT,
        },
    ),
    "gpt-4o": Route(
        model="openai/gpt-4o",
        path="/v1/chat/completions",
        answer="openai-chat",
        marks={},
    ),
    "deepseek": Route(
        model="deepseek/deepseek-v4-pro",
        path="/chat/completions",
        answer="deepseek",
        marks={},
        image=False,
    ),
    "gemini": Route(
        model="gemini/gemini-3.8-flash",
        path="/models/gemini-3.8-flash:generateContent",
        answer="gemini",
        marks={},
    ),
}

# What is read from a stream, as events of recorded answers, and which of them has the numbers of LiteLLM's last chunk.
STREAMS = {
    "anthropic": (["anthropic-message-start", "anthropic-message-delta"], "anthropic"),
    "gpt-5.6": (["openai-chat-chunk"], "openai-chat-chunk"),
    "deepseek": (["openai-chat-chunk"], "openai-chat-chunk"),
}


@pytest.fixture(scope="module")
def litellm() -> Any:
    """LiteLLM, imported without reaching for its list of prices, and quiet."""
    with recorder(), pytest.MonkeyPatch.context() as patch:
        patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        module = sdk("litellm")
    asyncio.set_event_loop(None)  # LiteLLM asks for one, and never closes what it is given
    module.suppress_debug_info = True
    logging.getLogger("LiteLLM").setLevel(logging.CRITICAL)
    return module


@pytest.fixture
def server() -> Iterator[Recorder]:
    """A server on loopback that OpenAI's address leads to as well: LiteLLM treats that one in a way of its own."""
    with recorder(OPENAI) as running:
        yield running


def complete(litellm: Any, server: Recorder, arguments: dict[str, Any]) -> Any:
    """Call LiteLLM, and have it send to the server."""
    route = arguments["model"].partition("/")[0]
    if route == "bedrock":
        keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test", "aws_region_name": "us-east-1"}
        return litellm.completion(**arguments, **keys, aws_bedrock_runtime_endpoint=server.url)
    url = f"http://{OPENAI}:{server.port}/v1" if route == "openai" else server.url
    return litellm.completion(**arguments, api_base=url, api_key="test", max_retries=0)


def recorded(route: Route) -> dict[str, Any]:
    """The answer of a route: that of Responses with something said, without which LiteLLM does not take it."""
    return BRIDGED if route.answer == "openai-responses" else RECORDED[route.answer][0]


@pytest.mark.parametrize("name", ROUTES)
def test_marks_arrive(name: str, litellm: Any, server: Recorder) -> None:
    """Every mark that we write arrives, in the provider's own words, and none is added."""
    route = ROUTES[name]
    request = route.request()
    server.answer(recorded(route))
    complete(litellm, server, request.arguments)
    assert server.only.path == route.path
    assert marks(server.only.body) == route.marks
    assert len(marks(request.body)) == len(request.marks) == len(route.marks)


@pytest.mark.parametrize("name", ["anthropic", "bedrock"])
def test_marks_on_tools_and_results_arrive(name: str, litellm: Any, server: Recorder) -> None:
    """A mark behind the tools and one on a tool's result arrive where the provider takes them."""
    route = ROUTES[name]
    request = build_request(RULES, conversation()[:-1], to="litellm", model=route.model, tools=TOOLS)
    server.answer(recorded(route))
    complete(litellm, server, request.arguments)
    anthropic = {
        "tools[1].cache_control": DEFAULT,
        "system[0].cache_control": DEFAULT,
        "messages[0].content[1].cache_control": DEFAULT,
        "messages[2].content[1].cache_control": DEFAULT,
    }
    bedrock = {
        "toolConfig.tools[2].cachePoint": POINT,
        "system[1].cachePoint": POINT,
        "messages[0].content[2].cachePoint": POINT,
        "messages[2].content[2].cachePoint": POINT,
    }
    assert marks(server.only.body) == (anthropic if name == "anthropic" else bedrock)
    assert len(request.marks) == 4


@pytest.mark.parametrize("name", ROUTES)
def test_texts_arrive(name: str, litellm: Any, server: Recorder) -> None:
    """Every text arrives byte for byte and in its place, reasoning and image where they are taken."""
    route = ROUTES[name]
    server.answer(recorded(route))
    complete(litellm, server, route.request().arguments)
    body = server.only.body
    talk = {key: body[key] for key in ("messages", "input", "contents") if key in body}
    texts = (QUESTION, ANSWER, PATH, DOCUMENT, MORE) if route.tools else (QUESTION, MORE)
    said = "\n".join(strings(talk))
    places = [said.index(text) for text in texts]
    assert places == sorted(places)
    instructions = "".join(strings(body.get("system") or body.get("system_instruction") or talk))
    for text in (RULES, PROJECT, TODAY):
        assert text in instructions
    signed = name in ("anthropic", "bedrock", "bedrock-without-price")
    wrapped = base64.b64encode(SIGNATURE.encode()).decode()  # as LiteLLM sends Bedrock what is redacted
    assert (REASONING in said) == signed
    # Both blocks come back signed; what is redacted, LiteLLM before 1.108 leaves out for Bedrock.
    assert said.count(SIGNATURE) + said.count(wrapped) in ({2} if name == "anthropic" else {1, 2} if signed else {0})
    assert (PLAIN_REASONING in said) == (name == "deepseek")
    assert (PIXEL in said) == route.image
    if route.tools:
        assert TOOLS[0]["description"] in strings(body)


@pytest.mark.parametrize("name", ROUTES)
def test_a_lost_mark_would_be_seen(name: str, litellm: Any, server: Recorder) -> None:
    """Without its marks a request arrives without them; a changed text arrives changed."""
    route = ROUTES[name]
    bare = json.dumps(route.request().arguments).replace("Today: ", "today: ")
    bare = bare.replace('"cache_control"', '"x_control"').replace('"prompt_cache_breakpoint"', '"x_breakpoint"')
    server.answer(recorded(route))
    complete(litellm, server, json.loads(bare))
    assert marks(server.only.body) == {}
    assert TODAY not in "".join(strings(server.only.body))


@pytest.mark.parametrize("name", ROUTES)
def test_usage_reads_like_the_providers_own(name: str, litellm: Any, server: Recorder) -> None:
    """LiteLLM's usage gives the numbers that the provider sent, though it counts the input its own way."""
    route = ROUTES[name]
    answer, usage = recorded(route), RECORDED[route.answer][1]
    server.answer(answer)
    parsed = complete(litellm, server, route.request().arguments)
    assert read_usage(parsed) == read_usage(parsed.usage) == read_usage(answer) == usage
    assert parsed.usage.prompt_tokens == usage.input


def test_the_input_of_litellm_includes_what_was_cached(litellm: Any, server: Recorder) -> None:
    """Anthropic's 50 tokens paid in full are 100,298 of input here, so its numbers cannot be read as Anthropic's."""
    server.answer(RECORDED["anthropic"][0])
    parsed = complete(litellm, server, ROUTES["anthropic"].request().arguments)
    assert RECORDED["anthropic"][0]["usage"]["input_tokens"] == 50
    assert parsed.usage.prompt_tokens == 100_298
    assert read_usage(parsed).uncached == 50


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_ends_with_the_usage(name: str, litellm: Any, server: Recorder) -> None:
    """With `stream` the marks arrive just so, and the last chunk tells the usage."""
    route, (events, says) = ROUTES[name], STREAMS[name]
    server.stream([RECORDED[event][0] for event in events])
    chunks = list(complete(litellm, server, route.request(stream=True).arguments))
    assert server.only.body["stream"] is True
    assert marks(server.only.body) == route.marks
    assert read_usage(chunks[-1]) == RECORDED[says][1]


def test_deepseek_gets_the_body_that_we_would_send(litellm: Any, server: Recorder) -> None:
    """Through LiteLLM or not, DeepSeek is sent the same, and its cache sees the same prefix."""
    route = ROUTES["deepseek"]
    server.answer(recorded(route))
    complete(litellm, server, route.request().arguments)
    own = build_request(
        PROMPT, conversation(image=False), to="deepseek", model="deepseek-v4-pro", max_tokens=100, cache_key="tenant-42"
    )
    assert server.only.body == own.body


@pytest.mark.parametrize("name", ["gpt-5.6", "gpt-5.6-with-tools", "gpt-4o"])
def test_the_cache_key_arrives(name: str, litellm: Any, server: Recorder) -> None:
    """OpenAI's key for its cache arrives, whichever way LiteLLM goes."""
    route = ROUTES[name]
    server.answer(recorded(route))
    complete(litellm, server, route.request().arguments)
    assert server.only.body["prompt_cache_key"] == "tenant-42"


@pytest.mark.parametrize("name", ["gpt-5.6-with-tools", "deepseek"])
def test_a_mark_of_anthropic_is_dropped(name: str, litellm: Any, server: Recorder) -> None:
    """Why no `cache_control` is written here: LiteLLM drops it and says nothing."""
    route = ROUTES[name]
    arguments = json.loads(json.dumps(route.request().arguments))
    arguments["messages"][-1] = {"role": "user", "content": [{"type": "text", "text": MORE, "cache_control": DEFAULT}]}
    server.answer(recorded(route))
    complete(litellm, server, arguments)
    assert MORE in strings(server.only.body)
    assert "cache_control" not in server.only.raw.decode()


def test_a_mark_makes_cached_content_for_gemini(litellm: Any, server: Recorder) -> None:
    """Why Gemini gets no mark: LiteLLM would make cached content of what is marked, which is paid for by the hour."""
    marked = {"role": "system", "content": [{"type": "text", "text": RULES, "cache_control": DEFAULT}]}
    arguments = {"model": ROUTES["gemini"].model, "messages": [marked, {"role": "user", "content": MORE}]}
    server.answer({"cachedContents": []})
    server.answer(CACHE)
    server.answer(RECORDED["gemini"][0])
    complete(litellm, server, arguments)
    looked, made, asked = server.requests
    assert (looked.method, made.method) == ("GET", "POST")
    assert made.path.endswith("cachedContents")
    assert RULES in strings(made.body)
    assert asked.body["cachedContent"] == "cachedContents/abc"
    assert RULES not in strings(asked.body)


def test_a_system_message_inside_the_conversation_stays_there(litellm: Any, server: Recorder) -> None:
    """LiteLLM leaves one in its place and with its mark for a model of Anthropic's that takes it."""
    told = [{"type": "text", "text": TODAY, "cache_control": DEFAULT}]
    messages = [
        {"role": "system", "content": RULES},
        {"role": "user", "content": QUESTION},
        {"role": "system", "content": told},
        {"role": "assistant", "content": ANSWER},
        {"role": "user", "content": MORE},
    ]
    server.answer(RECORDED["anthropic"][0])
    complete(litellm, server, {"model": ROUTES["anthropic"].model, "messages": messages, "max_tokens": 100})
    body = server.only.body
    assert [message["role"] for message in body["messages"]] == ["user", "system", "assistant", "user"]
    assert body["messages"][1]["content"] == told
    assert body["system"] == [{"type": "text", "text": RULES}]


def test_reasoning_that_litellm_returned_goes_back_signed(litellm: Any, server: Recorder) -> None:
    """The message that LiteLLM made of an answer can be sent on: Anthropic gets the blocks that it signed."""
    route = ROUTES["anthropic"]
    blocks = [
        {"type": "thinking", "thinking": REASONING, "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": SIGNATURE},
        {"type": "tool_use", "id": "call_1", "name": "read_file", "input": {"path": PATH}},
    ]
    server.answer({**RECORDED["anthropic"][0], "content": blocks})
    asked = [{"role": "user", "content": QUESTION}]
    request = build_request(RULES, asked, to="litellm", model=route.model, tools=TOOLS)
    said = complete(litellm, server, request.arguments).choices[0].message.model_dump()
    messages = [*asked, said, {"role": "tool", "tool_call_id": "call_1", "content": DOCUMENT}]
    server.answer(recorded(route))
    complete(
        litellm,
        server,
        build_request(RULES, messages, to="litellm", model=route.model, tools=TOOLS).arguments,
    )
    assert server.requests[1].body["messages"][1] == {"role": "assistant", "content": blocks}


@pytest.mark.parametrize("to", ["litellm", "gemini"])
def test_a_signature_that_litellm_returned_goes_back(to: Target, litellm: Any, server: Recorder) -> None:
    """Gemini's signature of a call comes back with the call, through LiteLLM and in a request of our own."""
    route = ROUTES["gemini"]
    signature = SIGNATURE * 20  # as long as real ones: an id that LiteLLM puts it into is too long to be kept
    call = {"functionCall": {"name": "read_file", "args": {"path": PATH}, "id": "fc1"}, "thoughtSignature": signature}
    content = {"role": "model", "parts": [call]}
    server.answer({**RECORDED["gemini"][0], "candidates": [{"content": content, "finishReason": "STOP"}]})
    asked = [{"role": "user", "content": QUESTION}]
    request = build_request(RULES, asked, to="litellm", model=route.model, tools=TOOLS)
    said = complete(litellm, server, request.arguments).choices[0].message.model_dump()
    result = {"role": "tool", "tool_call_id": said["tool_calls"][0]["id"], "content": DOCUMENT}
    messages = [*asked, said, result]
    if to == "gemini":
        body = build_request(RULES, messages, to=to, model="gemini-3.8-flash", tools=TOOLS).body
    else:
        server.answer(recorded(route))
        complete(litellm, server, build_request(RULES, messages, to=to, model=route.model, tools=TOOLS).arguments)
        body = server.requests[1].body
    assert body["contents"][1]["parts"][0]["thoughtSignature"] == signature
