"""The official SDKs send our requests as we wrote them, their types take them, and what they parse has our usage.

Every SDK talks to a server on loopback that writes down what arrives. Bodies are compared as parsed JSON, because
google-genai and botocore escape what is not ASCII. None of the four adds a field to a body. anthropic, openai and
google-genai put its top-level fields in an order of their own, which no provider's cache sees, and leave all below
as it is; google-genai also writes a few names and the base64 its own way: `as_google_writes` says which.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from deepprompt.providers.usage import read_usage
from deepprompt.request.request import Request, build_cached_content, build_request
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
    conversation,
    marks,
    strings,
)
from tests.support.recorder import Recorded, Recorder, recorder, sdk

pytestmark = pytest.mark.slow

GEMINI = "gemini-3.8-flash"
CACHE = {"name": "cachedContents/abc", "model": f"models/{GEMINI}", "usageMetadata": {"totalTokenCount": 9000}}


def to_anthropic(url: str, arguments: dict[str, Any]) -> Any:
    """Send by the Messages API."""
    with sdk("anthropic").Anthropic(api_key="test", base_url=url, max_retries=0) as client:
        return drained(client.messages.create(**arguments))


def to_chat(url: str, arguments: dict[str, Any]) -> Any:
    """Send by Chat Completions."""
    with sdk("openai").OpenAI(api_key="test", base_url=url, max_retries=0) as client:
        return drained(client.chat.completions.create(**arguments))


def to_openai(url: str, arguments: dict[str, Any]) -> Any:
    """Send by Chat Completions, to the address that OpenAI has."""
    return to_chat(f"{url}/v1", arguments)


def to_responses(url: str, arguments: dict[str, Any]) -> Any:
    """Send by the Responses API."""
    with sdk("openai").OpenAI(api_key="test", base_url=f"{url}/v1", max_retries=0) as client:
        return drained(client.responses.create(**arguments))


def to_gemini(url: str, arguments: dict[str, Any], method: str = "models.generate_content") -> Any:
    """Send by generateContent, or by another method of the client."""
    with sdk("google.genai").Client(api_key="test", http_options={"base_url": url}) as client:
        called = client
        for name in method.split("."):
            called = getattr(called, name)
        return drained(called(**arguments))


def to_bedrock(url: str, arguments: dict[str, Any]) -> Any:
    """Send by Converse."""
    session = sdk("botocore.session").get_session()
    keys = {"aws_access_key_id": "test", "aws_secret_access_key": "test"}
    client = session.create_client("bedrock-runtime", region_name="us-east-1", endpoint_url=url, **keys)
    try:
        return client.converse(**arguments)
    finally:
        client.close()


def drained(answer: Any) -> Any:
    """An answer as it is, the events of a stream as a list."""
    return list(answer) if isinstance(answer, Iterator) else answer


def anthropic_takes(request: Request) -> None:
    """Hold a body to the types of anthropic."""
    assert by_type("anthropic.types.message_create_params", "MessageCreateParams", request) == request.body


def openai_takes(request: Request) -> None:
    """Hold a body to the types of Chat Completions."""
    assert by_type("openai.types.chat.completion_create_params", "CompletionCreateParams", request) == request.body


def openai_takes_all_but_reasoning(request: Request) -> None:
    """Hold a body to the types of Chat Completions, which do not know DeepSeek's own field."""
    messages = [
        {key: message[key] for key in message if key != "reasoning_content"} for message in request.body["messages"]
    ]
    openai_takes(replace(request, body={**request.body, "messages": messages}))


def responses_takes(request: Request) -> None:
    """Hold a body to the types of Responses."""
    assert by_type("openai.types.responses.response_create_params", "ResponseCreateParams", request) == request.body


def by_type(module: str, name: str, request: Request) -> Any:
    """A body as an SDK's TypedDict takes it: a wrong value raises, an unknown field is left out."""
    kind = getattr(sdk(module), f"{name}{'Streaming' if 'stream' in request.body else 'NonStreaming'}")
    adapter = sdk("pydantic").TypeAdapter(kind)  # has to outlive what it validates only when it is asked for
    return plain(adapter.validate_python(request.body))


def plain(value: Any) -> Any:
    """The same with lists in place of pydantic's iterators, so that all of it is validated."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if hasattr(value, "__iter__") and not isinstance(value, str) else value


def gemini_takes(request: Request) -> None:
    """Hold arguments to the types of google-genai, which refuse a field that they do not know."""
    types = sdk("google.genai.types")
    arguments = request.arguments
    config = types.CreateCachedContentConfig if "ttl" in request.body else types.GenerateContentConfig
    config.model_validate(arguments["config"])
    for content in (*arguments.get("contents", ()), *arguments["config"].get("contents", ())):
        types.Content.model_validate(content)


def bedrock_takes(request: Request) -> None:
    """Hold arguments to botocore's model of Bedrock."""
    service = sdk("botocore.session").get_session().get_service_model("bedrock-runtime")
    shape = service.operation_model("Converse").input_shape
    report = sdk("botocore.validate").ParamValidator().validate(request.arguments, shape)
    assert not report.has_errors(), report.generate_report()


def as_google_writes(body: Any) -> Any:
    """A body as google-genai sends it: two names in snake_case, base64 for addresses. Its fields are sorted here."""
    if isinstance(body, list):
        return [as_google_writes(inner) for inner in body]
    if not isinstance(body, dict):
        return body
    names = {"parametersJsonSchema": "parameters_json_schema", "mimeType": "mime_type"}
    own = (*names.values(), "args", "response")  # the tools' own data stays as it is
    renamed: dict[str, Any] = {names.get(key) or key: value for key, value in body.items()}
    written = {key: renamed[key] if key in own else as_google_writes(renamed[key]) for key in sorted(renamed)}
    for key in {"data", "thoughtSignature"} & written.keys():
        written[key] = written[key].replace("+", "-").replace("/", "_")
    return written


def as_it_is(body: Any) -> Any:
    """A body as the other SDKs send it."""
    return body


@dataclass(frozen=True)
class Way:
    """The way of a request to a provider."""

    to: Target
    model: str
    path: str
    send: Callable[[str, dict[str, Any]], Any]
    takes: Callable[[Request], None]
    answer: str
    """The name of the recorded answer."""
    marks: int
    change: tuple[str, str]
    """Something in the JSON of the body that matters, and something else."""
    misspell: tuple[str, str]
    lifetime: Lifetime = ""
    image: bool = True
    escapes: bool = False
    writes: Callable[[Any], Any] = as_it_is

    def request(self, *, stream: bool = False) -> Request:
        """The request for everything that a conversation has."""
        return build_request(
            PROMPT,
            conversation(image=self.image),
            to=self.to,
            model=self.model,
            prefix_lifetime=self.lifetime,
            max_tokens=100,
            cache_key="tenant-42",
            stream=stream,
        )


WAYS = {
    "anthropic": Way(
        to="anthropic",
        model="claude-opus-5-5",
        path="/v1/messages",
        send=to_anthropic,
        takes=anthropic_takes,
        answer="anthropic",
        marks=4,
        change=('"ttl": "1h"', '"ttl": "5m"'),
        misspell=('"cache_control"', '"cache_contrl"'),
        lifetime="1h",
    ),
    "openai": Way(
        to="openai",
        model="gpt-5.6-sol",
        path="/v1/chat/completions",
        send=to_openai,
        takes=openai_takes,
        answer="openai-chat",
        marks=3,
        change=('"mode": "explicit"', '"mode": "implicit"'),
        misspell=('"prompt_cache_breakpoint"', '"prompt_cache_breakpont"'),
    ),
    "openai-without-marks": Way(
        to="openai",
        model="gpt-4o",
        path="/v1/chat/completions",
        send=to_openai,
        takes=openai_takes,
        answer="openai-chat",
        marks=0,
        change=("tenant-42", "tenant-43"),
        misspell=('"prompt_cache_key"', '"prompt_cache_kee"'),
    ),
    "openai-responses": Way(
        to="openai-responses",
        model="gpt-5.6-sol",
        path="/v1/responses",
        send=to_responses,
        takes=responses_takes,
        answer="openai-responses-lifetimes",
        marks=3,
        change=('"ttl": "12h"', '"ttl": "30m"'),
        misspell=('"prompt_cache_breakpoint"', '"prompt_cache_breakpont"'),
        lifetime="12h",
    ),
    "deepseek": Way(
        to="deepseek",
        model="deepseek-v4-pro",
        path="/chat/completions",
        send=to_chat,
        takes=openai_takes_all_but_reasoning,
        answer="deepseek",
        marks=0,
        change=('"reasoning_content": "Plain', '"reasoning_content": "plain'),
        misspell=('"tool_call_id"', '"tool_call"'),
        image=False,
    ),
    "gemini": Way(
        to="gemini",
        model=GEMINI,
        path=f"/v1/models/{GEMINI}:generateContent",
        send=to_gemini,
        takes=gemini_takes,
        answer="gemini",
        marks=0,
        change=("Today: ", "today: "),
        misspell=('"functionResponse"', '"functionRespons"'),
        escapes=True,
        writes=as_google_writes,
    ),
    "bedrock": Way(
        to="bedrock",
        model="us.anthropic.claude-opus-4-5-20251101-v1:0",
        path="/model/us.anthropic.claude-opus-4-5-20251101-v1%3A0/converse",
        send=to_bedrock,
        takes=bedrock_takes,
        answer="bedrock",
        marks=4,
        change=('"ttl": "1h"', '"ttl": "5m"'),
        misspell=('"cachePoint"', '"cachePint"'),
        lifetime="1h",
        escapes=True,
    ),
}

# What is read from a stream: the recorded answer that each event with usage is.
STREAMS = {
    "anthropic": ["anthropic-message-start", "anthropic-message-delta"],
    "openai": ["openai-chat-chunk"],
    "deepseek": ["openai-chat-chunk"],
    "openai-responses": ["openai-responses-completed"],
}


@pytest.fixture
def server() -> Iterator[Recorder]:
    """A server on loopback, and nothing else within reach."""
    with recorder() as running:
        yield running


def changed(request: Request, old: str, new: str) -> Request:
    """A request with something else in its place, wherever it stands."""
    text = json.dumps(request.body, ensure_ascii=False)
    assert old in text
    return replace(request, body=json.loads(text.replace(old, new)))


def assert_is_ours(arrived: Recorded, request: Request, way: Way) -> None:
    """See that a body arrived with nothing added, lost or changed, and below its top level in the same order."""
    ours = json.loads(json.dumps(way.writes(request.body)))
    assert arrived.body == ours
    # In the order that a model reads; google-genai has its own for the fields that it knows, which is left out here.
    theirs = way.writes(arrived.body)
    assert {key: json.dumps(theirs[key]) for key in ours} == {key: json.dumps(ours[key]) for key in ours}


@pytest.mark.parametrize("name", WAYS)
def test_the_body_arrives_as_we_wrote_it(name: str, server: Recorder) -> None:
    """What arrives is our body, at the address that the provider has for it, with every text and every mark."""
    way = WAYS[name]
    request = way.request()
    server.answer(RECORDED[way.answer][0])
    way.send(server.url, request.arguments)
    assert (server.only.method, server.only.path) == ("POST", way.path)
    assert_is_ours(server.only, request, way)
    found = "\n".join(strings(server.only.body))
    for text in (RULES, PROJECT, TODAY, QUESTION, ANSWER, DOCUMENT, MORE, PATH):
        assert text in found
    assert len(marks(server.only.body)) == len(request.marks) == way.marks


@pytest.mark.parametrize("name", WAYS)
def test_each_provider_gets_what_it_can_read(name: str, server: Recorder) -> None:
    """Reasoning arrives unchanged where it is read, and an image where one is taken."""
    way = WAYS[name]
    server.answer(RECORDED[way.answer][0])
    way.send(server.url, way.request().arguments)
    found = "\n".join(strings(server.only.body))
    signed = way.to in ("anthropic", "bedrock")
    assert (REASONING in found, found.count(SIGNATURE)) == (signed, 2 * signed)
    assert (PLAIN_REASONING in found) == (way.to == "deepseek")
    assert (PIXEL.replace("+", "-") in found.replace("+", "-")) == way.image


@pytest.mark.parametrize("name", WAYS)
def test_only_two_sdks_escape_what_is_not_ascii(name: str, server: Recorder) -> None:
    """google-genai and botocore write escapes; to a parser it is the same."""
    way = WAYS[name]
    server.answer(RECORDED[way.answer][0])
    way.send(server.url, way.request().arguments)
    assert server.only.raw.isascii() == way.escapes
    assert ("日本語".encode() in server.only.raw) == (not way.escapes)


@pytest.mark.parametrize("name", WAYS)
def test_a_change_on_the_way_would_be_seen(name: str, server: Recorder) -> None:
    """The comparison fails if a mark, or where there is none another part of the body, arrives as something else."""
    way = WAYS[name]
    request = way.request()
    server.answer(RECORDED[way.answer][0])
    way.send(server.url, changed(request, *way.change).arguments)
    with pytest.raises(AssertionError):
        assert_is_ours(server.only, request, way)


@pytest.mark.parametrize("name", WAYS)
def test_the_types_of_the_sdk_take_our_body(name: str) -> None:
    """The SDK's own types know every field and every value that we send, and do not know one that is misspelt."""
    way = WAYS[name]
    way.takes(way.request())
    with pytest.raises((AssertionError, ValueError)):
        way.takes(changed(way.request(), *way.misspell))


@pytest.mark.parametrize("name", WAYS)
def test_what_the_sdk_parsed_has_the_recorded_usage(name: str, server: Recorder) -> None:
    """The SDK's object reads like the JSON that was sent, cached tokens and their lifetimes included."""
    way = WAYS[name]
    answer, usage = RECORDED[way.answer]
    server.answer(answer)
    parsed = way.send(server.url, way.request().arguments)
    assert read_usage(parsed) == read_usage(answer) == usage
    assert usage.cached_read > 0


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_asked_for_and_read_alike(name: str, server: Recorder) -> None:
    """With `stream` our body still arrives as it is, and the events that tell the usage tell the recorded one."""
    way = WAYS[name]
    request = way.request(stream=True)
    way.takes(request)
    server.stream([RECORDED[event][0] for event in STREAMS[name]])
    events = way.send(server.url, request.arguments)
    assert server.only.path == way.path
    assert server.only.body["stream"] is True
    assert_is_ours(server.only, request, way)
    assert [read_usage(event) for event in events] == [RECORDED[event][1] for event in STREAMS[name]]


def test_gemini_streams_the_same_request(server: Recorder) -> None:
    """Gemini's stream has an address of its own, and takes the same arguments."""
    way = WAYS["gemini"]
    request = way.request(stream=True)
    answer, usage = RECORDED["gemini"]
    server.stream([answer])
    (chunk,) = to_gemini(server.url, request.arguments, "models.generate_content_stream")
    assert server.only.path == f"/v1/models/{GEMINI}:streamGenerateContent?alt=sse"
    assert_is_ours(server.only, request, way)
    assert read_usage(chunk) == usage


def test_gemini_makes_cached_content_and_goes_on_from_it(server: Recorder) -> None:
    """What is cached and what is sent after it arrive as we wrote them, and are the whole conversation together."""
    way, messages = WAYS["gemini"], conversation(mark=3)
    cached = build_cached_content(PROMPT, messages, model=GEMINI, ttl="600s")
    server.answer(CACHE)
    made = to_gemini(server.url, cached.arguments, "caches.create")
    rest = build_request(PROMPT, messages, to="gemini", model=GEMINI, cached_content=made.name, max_tokens=100)
    answer, usage = RECORDED["gemini"]
    server.answer(answer)
    assert read_usage(to_gemini(server.url, rest.arguments)) == usage
    first, second = server.requests
    assert (first.method, first.path, second.path) == ("POST", "/v1/cachedContents", way.path)
    for request, arrived in ((cached, first), (rest, second)):
        way.takes(request)
        assert_is_ours(arrived, request, way)
    assert (first.body["ttl"], first.body["model"]) == ("600s", f"models/{GEMINI}")
    assert set(second.body) == {"cachedContent", "contents", "generationConfig"}
    before, after = "\n".join(strings(first.body)), "\n".join(strings(second.body))
    assert all(text in before for text in (RULES, PROJECT, QUESTION, ANSWER, DOCUMENT, PATH))
    assert all(text in after and text not in before for text in (TODAY, MORE))
    with pytest.raises(AssertionError):
        assert_is_ours(first, changed(cached, "600s", "601s"), way)
    with pytest.raises(ValueError, match="cached_contents"):
        to_gemini(server.url, {**rest.arguments, "config": {"cached_contents": made.name}})


def test_nothing_but_loopback_is_reached() -> None:
    """A name looked up or an address connected to fails the test, even where the SDK goes on without it."""
    with pytest.raises(AssertionError, match=r"example\.org"), recorder(), pytest.raises(OSError, match="not loopback"):
        socket.create_connection(("example.org", 443))
    with pytest.raises(AssertionError, match=r"169\.254"), recorder(), socket.socket() as stray:
        for connect in (stray.connect, stray.connect_ex):
            with pytest.raises(OSError, match="not loopback"):
                connect(("169.254.169.254", 80))


def test_a_missing_sdk_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an SDK a test is skipped and says why; where the SDKs are needed, as in CI, it fails instead."""
    monkeypatch.delenv("DEEPPROMPT_NEED_SDKS", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"no_such is not installed: pip install -e '\.\[sdk\]'"):
        sdk("no_such.types")
    monkeypatch.setenv("DEEPPROMPT_NEED_SDKS", "1")
    with pytest.raises(pytest.fail.Exception, match=r"no_such is not installed: .* \(DEEPPROMPT_NEED_SDKS is set\)"):
        sdk("no_such.types")
