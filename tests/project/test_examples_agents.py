"""The agents of `examples` print what their page shows, and the stand-in that they talk to counts and refuses truly."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from deepprompt import (
    Session,
    SystemPromptBuilder,
    Usage,
    blame,
    build_request,
    estimate_tokens,
    load_instruction_files,
    read_request,
    read_usage,
    simulate,
)
from deepprompt.providers.facts import bundled_facts
from deepprompt.words import Target
from tests.support.pages import read_blocks
from tests.support.paths import ROOT
from tests.support.recorder import recorder, sdk

EXAMPLES = ROOT / "examples"
sys.path.insert(0, str(EXAMPLES))  # the examples import each other as scripts do

import demo  # noqa: E402
from standin import Answer, StandIn  # noqa: E402

pytestmark = pytest.mark.slow

NEEDS = {
    "anthropic_agent": ("anthropic",),
    "openai_agent": ("openai",),
    "deepseek_agent": ("openai",),
    "pydantic_ai_agent": ("pydantic_ai", "anthropic"),
}
KEYS = {name: f"{name.partition('_')[0].upper()}_API_KEY" for name in NEEDS} | {
    "pydantic_ai_agent": "ANTHROPIC_API_KEY"
}
MODELS = {"anthropic": "claude-opus-5-5", "openai": "gpt-5.6-sol", "deepseek": "deepseek-v4-pro"}
BASES = {"anthropic": "", "openai": "/v1", "deepseek": ""}
RULES = "Read a file before you edit it.\n" * 200
QUESTION = {"role": "user", "content": "Fix the build."}
MARK = {"cache_control": {"type": "ephemeral"}}


def run(name: str, *arguments: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run an example in a folder, with nothing of the environment but what it is given."""
    return subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / f"{name}.py"), *arguments],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder), **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def shown(name: str) -> str:
    """What the page shows as the output of an example; where only the end, it is after the same conversation."""
    blocks = read_blocks((ROOT / "docs" / "examples.md").read_text("utf-8"))
    outputs = {block.text.removesuffix("\n"): block.output or "" for block in blocks if block.language == "sh"}
    command = f"python examples/{name}.py"
    if command in outputs:
        return outputs[command]
    conversation, _, _ = outputs["python examples/anthropic_agent.py"].partition("request ")
    return conversation + outputs[f"{command} | tail -n 9"]


@pytest.fixture
def loopback() -> Iterator[None]:
    """Let the SDKs find neither keys nor proxies, and reach nothing but loopback."""
    with recorder():
        yield


def client_of(provider: str, server: StandIn) -> Any:
    """A client of the official SDK, to be closed."""
    kind = sdk("anthropic").Anthropic if provider == "anthropic" else sdk("openai").OpenAI
    return kind(api_key="none", base_url=server.url + BASES[provider], max_retries=0)


def send(client: Any, provider: str, arguments: Mapping[str, Any]) -> Any:
    """Send a request by the SDK's own method."""
    create = client.messages.create if provider == "anthropic" else client.chat.completions.create
    return create(**arguments)


def converse(provider: str) -> tuple[StandIn, Session]:
    """Have the conversation of the provider's example, and return what arrived and what was recorded."""
    sdk("anthropic" if provider == "anthropic" else "openai")
    agent = import_module(f"{provider}_agent")
    with demo.project(), StandIn(answer for turn in demo.TURNS for answer in turn.script) as server:
        builder = SystemPromptBuilder(demo.PROMPT, load_instruction_files("."))
        session = Session(agent.prompt_now(builder))
        with client_of(provider, server) as client:
            for question in demo.questions():
                session.user(question, agent.prompt_now(builder))
                agent.answer_question(client, session)
    return server, session


def texts(body: object) -> list[tuple[str, str]]:
    """Who says what in a request, in the order in which a cache reads it."""
    return [(segment.role, segment.text) for segment in read_request(body) if segment.kind != "setting"]


def there(before: list[tuple[str, str]], now: list[tuple[str, str]]) -> int:
    """How many tokens of a request the one before it had, or the answer to that."""
    shared = len(list(takewhile(lambda pair: pair[0] == pair[1], zip(before, now, strict=False))))
    answer = len(list(takewhile(lambda said: said[0] == "assistant", now[shared:])))
    return sum(estimate_tokens(text) for _, text in now[: shared + answer])


class TestTheAgents:
    """The examples as a reader runs them."""

    @pytest.mark.parametrize("name", ["openai_agent", "deepseek_agent"])  # the page itself runs the others whole
    def test_prints_what_the_page_shows(self, name: str, tmp_path: Path) -> None:
        """In any folder, locale, hash seed and temporary folder, with a key set and a proxy: the page's output."""
        for module in NEEDS[name]:
            sdk(module)
        temporary = tmp_path / "a temporary folder with a long name"
        temporary.mkdir()
        dead = "http://127.0.0.1:9"
        done = run(
            name,
            folder=tmp_path,
            TMPDIR=str(temporary),
            PYTHONHASHSEED="7",
            LC_ALL="C",
            TZ="Asia/Kolkata",
            HTTP_PROXY=dead,
            http_proxy=dead,
            no_proxy="example.org",
            **{KEYS[name]: "not to be used"},
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == shown(name)
        assert os.listdir(temporary) == []

    @pytest.mark.parametrize("name", ["anthropic_agent", "openai_agent", "deepseek_agent"])
    def test_real_needs_a_key(self, name: str, tmp_path: Path) -> None:
        """Without its key an example that is to ask a provider says which variable it wants, and asks nobody."""
        for module in NEEDS[name]:
            sdk(module)
        done = run(name, "--real", folder=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"--real needs your key in {KEYS[name]}" in done.stderr

    def test_tools_stay_in_the_project(self, tmp_path: Path) -> None:
        """Files outside, links that lead there, git's own and those that are not there are refused, not raised."""
        secret = tmp_path / "secret.txt"
        secret.write_text("secret")
        with demo.project():
            Path("link.txt").symlink_to(secret)
            assert demo.read_file("postbox/limits.py").startswith('"""The limits of postbox."""')
            for path in ("link.txt", "../secret.txt", str(secret), ".git/config", "postbox", "none.py", "a\0b", ""):
                assert demo.read_file(path).startswith("error: "), path
            listed = demo.list_files().split("\n")
        assert "postbox/retry.py" in listed
        assert not [path for path in listed if path.startswith(".git")]

    @pytest.mark.parametrize("given", ["{", "[]", '{"path": 7}', {"file": "AGENTS.md"}])
    def test_a_wrong_call_is_answered(self, given: Any, capsys: pytest.CaptureFixture[str]) -> None:
        """What a model calls wrongly is an answer to it, and not the end of the loop."""
        assert demo.run_tool("read_file", given).startswith("error: there is no tool read_file that takes ")
        assert capsys.readouterr().out.startswith("  read_file ")


@pytest.mark.usefixtures("loopback")
class TestTheCount:
    """What the stand-in says was read, written and paid in full."""

    @pytest.mark.parametrize("provider", MODELS)
    def test_usage_is_what_simulate_says(self, provider: str) -> None:
        """What the SDK parsed and the session recorded of each answer is the charge of that request."""
        server, session = converse(provider)
        rules = bundled_facts().rules(provider, MODELS[provider])
        charges = simulate([read_request(body) for body in server.bodies], rules).charges
        usages = [recorded.usage for recorded in session.recorded]
        assert len(usages) == sum(len(turn.script) for turn in demo.TURNS)
        for usage, charge in zip(usages, charges, strict=True):
            assert (usage.input, usage.cached_read) == (charge.total, charge.read)
            assert usage.written == sum(charge.written.values())
        assert [recorded.kind for recorded in session.recorded] == ["cold start", *["hit"] * (len(usages) - 1)]

    @pytest.mark.parametrize("provider", MODELS)
    def test_no_more_is_read_than_was_there(self, provider: str) -> None:
        """What is read is never more than what the request before had, byte for byte, and the answer to it."""
        server, session = converse(provider)
        for recorded, (before, now) in zip(session.recorded[1:], pairwise(server.bodies), strict=True):
            assert 0 < recorded.usage.cached_read <= there(texts(before), texts(now)) < recorded.usage.input

    def test_an_entry_expires(self) -> None:
        """Anthropic's entry lives five minutes from its last use; the same request later reads nothing."""
        now = [0.0]
        request = build_request(RULES, [QUESTION], to="anthropic", model=MODELS["anthropic"])
        read = []
        with StandIn([Answer("Done.")] * 4, clock=lambda: now[0]) as server, client_of("anthropic", server) as client:
            for seconds in (0, 299, 299, 300):
                now[0] += seconds
                read.append(read_usage(send(client, "anthropic", request.arguments)).cached_read)
        assert read == [0, request.tokens, request.tokens, 0]

    def test_lifetimes_are_told_apart(self) -> None:
        """What is written for an hour and for five minutes is counted under each."""
        request = build_request(RULES, [QUESTION], to="anthropic", model=MODELS["anthropic"], prefix_lifetime="1h")
        with StandIn([Answer("Done.")]) as server, client_of("anthropic", server) as client:
            usage = read_usage(send(client, "anthropic", request.arguments))
        assert usage == Usage(
            request.tokens,
            cached_write={"1h": estimate_tokens(RULES), "5m": request.tokens - estimate_tokens(RULES)},
            output=1,
        )

    def test_models_and_providers_share_nothing(self) -> None:
        """The same text reads nothing from the cache of another model or provider."""
        sent: list[tuple[Target, str]] = [
            ("anthropic", "claude-opus-5-5"),
            ("anthropic", "claude-sonnet-5-5"),
            ("deepseek", "deepseek-v4-pro"),
        ]
        with StandIn([Answer("Done.")] * 4) as server:
            read = []
            for provider, model in (*sent, sent[0]):
                request = build_request(RULES, [QUESTION], to=provider, model=model)
                with client_of(provider, server) as client:
                    read.append(read_usage(send(client, provider, request.arguments)).cached_read)
        assert read[:3] == [0, 0, 0]
        assert read[3] > 0


@pytest.mark.usefixtures("loopback")
class TestABrokenPrefix:
    """Loops that are not like the examples, against the same stand-in."""

    @pytest.mark.parametrize("provider", MODELS)
    def test_a_clock_in_the_system_prompt(self, provider: Target) -> None:
        """With a clock before the rules next to nothing is read, with one behind them the rules are; blame names it."""
        read = {}
        for first in (True, False):
            with StandIn([Answer("Done.")] * 3) as server, client_of(provider, server) as client:
                read[first] = 0
                for minute in range(3):
                    clock = f"It is 2026-11-16 10:{41 + minute}.\n"
                    prompt, question = (clock + RULES, QUESTION) if first else (RULES, {**QUESTION, "content": clock})
                    request = build_request(prompt, [question], to=provider, model=MODELS[provider])
                    read[first] += read_usage(send(client, provider, request.arguments)).cached_read
            found = blame(*server.bodies[1:])
            assert found is not None
            assert (found.kind, found.block) == ("clock", "system" if first else "text")
        assert read[True] == 0
        assert read[False] > 0.9 * estimate_tokens(RULES)

    def test_a_new_prefix_each_turn(self) -> None:
        """A session that freezes a new prefix every turn reads nothing, and the verdict says so."""
        verdicts = []
        with StandIn([Answer("Done.")] * 2) as server, client_of("anthropic", server) as client:
            for minute in range(2):
                prompt = SystemPromptBuilder(f"It is 10:{41 + minute}.\n{RULES}").compose()
                if minute == 0:
                    session = Session(prompt)
                else:
                    session.new_epoch(prompt)
                session.user("Fix the build.")
                answer = send(client, "anthropic", session.request(to="anthropic", model=MODELS["anthropic"]).arguments)
                verdicts.append(session.record(answer))
                session.append({"role": "assistant", "content": answer.content})
        assert [verdict.read for verdict in verdicts] == [0.0, 0.0]
        assert (verdicts[1].kind, verdicts[1].detail) == (
            "cold start",
            "epoch 2 began, with a new prefix that no cache has yet",
        )

    def test_another_cache_key_each_turn(self) -> None:
        """A cache key that changes costs the whole cache, and the verdict blames that setting, on us."""
        session = Session(SystemPromptBuilder(RULES).compose())
        verdicts = []
        with StandIn([Answer("Done.")] * 3) as server, client_of("openai", server) as client:
            for key in ("one", "one", "two"):
                session.user("Fix the build.")
                request = session.request(to="openai", model=MODELS["openai"], cache_key=key)
                answer = send(client, "openai", request.arguments)
                verdicts.append(session.record(answer))
                session.append(answer.choices[0].message)
        assert [verdict.kind for verdict in verdicts] == ["cold start", "hit", "ours"]
        assert verdicts[2].blame is not None
        assert (verdicts[2].blame.kind, verdicts[2].blame.place) == ("setting", "prompt_cache_key")
        assert ((verdicts[1].read or 0) > 0.9, verdicts[2].read) == (True, 0.0)


CALL = {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
CHAT_CALL = {"role": "assistant", "content": None, "tool_calls": [CALL]}
USE = {"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "add", "input": {}}]}
RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "3"}]}
NO_CALL = "tool result 'call_1' has no call of that id"
NO_RESULT = "tool call 'call_1' has no result"


def marked(*lifetimes: str) -> dict[str, Any]:
    """A user's message with a mark on each of its texts."""
    marks = [{"type": "ephemeral", "ttl": lifetime} for lifetime in lifetimes]
    return {"role": "user", "content": [{"type": "text", "text": RULES, "cache_control": mark} for mark in marks]}


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("anthropic", {"messages": []}, "messages: required"),
    ("anthropic", {"max_tokens": 0}, "max_tokens: required"),
    ("anthropic", {"messages": [QUESTION, RESULT]}, NO_CALL),
    ("anthropic", {"messages": [QUESTION, USE, QUESTION]}, NO_RESULT),
    ("anthropic", {"messages": [marked("5m", "5m", "5m", "5m", "5m")]}, "5 marks; anthropic takes 4"),
    ("anthropic", {"messages": [marked("5m", "1h")]}, "a mark for 1h at messages[0].content[1] after one for 5m"),
    ("openai", {"messages": []}, "messages: required"),
    ("openai", {"messages": [QUESTION, {"role": "tool", "tool_call_id": "call_1", "content": "3"}]}, NO_CALL),
    ("openai", {"messages": [QUESTION, CHAT_CALL, QUESTION]}, NO_RESULT),
    ("deepseek", {"messages": []}, "messages: required"),
    ("deepseek", {"messages": [{"role": "nobody", "content": "Hi."}]}, "unknown role 'nobody'"),
]


@pytest.mark.usefixtures("loopback")
class TestRefusals:
    """What the stand-in does not take."""

    @pytest.mark.parametrize(("provider", "wrong", "why"), REFUSED)
    def test_a_malformed_request(self, provider: str, wrong: dict[str, Any], why: str) -> None:
        """It is answered with 400 and the provider's form of an error, and the next request finds no trace of it."""
        right = {"model": MODELS[provider], "max_tokens": 100, "messages": [{**QUESTION, "content": RULES}]}
        errors = sdk("anthropic" if provider == "anthropic" else "openai")
        with StandIn([Answer("Done.")]) as server, client_of(provider, server) as client:
            with pytest.raises(errors.BadRequestError) as refused:
                send(client, provider, {**right, **wrong})
            usage = read_usage(send(client, provider, right))
        assert refused.value.status_code == 400
        error = refused.value.body["error"] if provider == "anthropic" else refused.value.body
        assert error["type"] == "invalid_request_error"
        assert why in error["message"]
        assert (server.bodies, usage.cached_read) == ([right], 0)

    def test_reasoning_that_is_not_sent_back(self) -> None:
        """DeepSeek's call comes back with its reasoning or is refused; the session's request has it."""
        session = Session(SystemPromptBuilder(RULES).compose())
        session.user("Fix the build.")
        script = [Answer(calls=(("list_files", {}),), reasoning="I do not know the files."), Answer("Done.")]
        with StandIn(script) as server, client_of("deepseek", server) as client:
            answer = send(client, "deepseek", session.request(to="deepseek", model=MODELS["deepseek"]).arguments)
            message = answer.choices[0].message
            session.append(message)
            session.append({"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "a.py"})
            request = session.request(to="deepseek", model=MODELS["deepseek"])
            lost = [{**message, "reasoning_content": None} for message in request.body["messages"]]
            with pytest.raises(sdk("openai").BadRequestError, match="reasoning_content of a tool call"):
                send(client, "deepseek", {**request.arguments, "messages": lost})
            assert send(client, "deepseek", request.arguments).choices[0].message.content == "Done."
        assert server.bodies[1]["messages"][2]["reasoning_content"] == "I do not know the files."

    @pytest.mark.parametrize(
        ("path", "raw", "status", "why"),
        [
            ("/v1/messages", b"{", 400, "Expecting property name"),
            ("/v1/messages", b"[]", 400, "the body of a request is an object"),
            ("/v1/responses", b"{}", 404, "there is no /v1/responses here; there are: /v1/messages, "),
        ],
    )
    def test_what_no_sdk_sends(self, path: str, raw: bytes, status: int, why: str) -> None:
        """What is no JSON object, or goes to no endpoint that there is, gets an answer in JSON too."""
        with StandIn([]) as server, pytest.raises(HTTPError) as refused:
            urllib.request.urlopen(urllib.request.Request(server.url + path, data=raw), timeout=10)
        with refused.value as answer:
            assert answer.code == status
            assert why in json.loads(answer.read())["error"]["message"]

    def test_the_script_ends(self) -> None:
        """Who asks more than the script has is told that, and not answered with anything."""
        request = build_request("Be brief.", [QUESTION], to="openai", model=MODELS["openai"])
        with StandIn([Answer("Done.")]) as server, client_of("openai", server) as client:
            send(client, "openai", request.arguments)
            with pytest.raises(sdk("openai").BadRequestError, match="the script of this stand-in is at its end"):
                send(client, "openai", request.arguments)
