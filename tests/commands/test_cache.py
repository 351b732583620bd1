"""`deepprompt cache`: what a provider's cache makes of a transcript, in every form that a transcript may have."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.checks.cache.simulate import simulate
from deepprompt.checks.segments import read_request
from deepprompt.cli import main
from deepprompt.providers.facts import bundled_facts
from deepprompt.request.request import build_request
from deepprompt.words import Target

CaptureBytes = pytest.CaptureFixture[bytes]

CLAUDE = ("--provider", "anthropic", "--model", "claude-opus-5-5")
GPT = ("--provider", "openai", "--model", "gpt-5.6-sol")
VLLM = ("--provider", "vllm", "--model", "any")
MODELS = {
    "anthropic": "claude-opus-5-5",
    "bedrock": "us.anthropic.claude-opus-5-5",
    "deepseek": "deepseek-v4-pro",
    "gemini": "gemini-3.8-flash",
    "litellm": "anthropic/claude-opus-5-5",
    "llama.cpp": "any",
    "openai": "gpt-5.6-sol",
    "openai-responses": "gpt-5.6-sol",
    "sglang": "any",
    "vllm": "any",
}
PROVIDERS = "anthropic, bedrock, deepseek, gemini, litellm, llama.cpp, openai, openai-responses, sglang, vllm"

SYSTEM = "You are a test. " * 300  # 1,200 tokens
TOOLS = [{"name": "look", "description": "Looks.", "input_schema": {"type": "object", "properties": {}}}]
# Two questions, one of which needs a tool: three answers, so three requests.
TALK: list[dict[str, Any]] = [
    {"role": "user", "content": "Hello! " * 40},
    {"role": "assistant", "content": "Hello. " * 20},
    {"role": "user", "content": "Look! " * 40},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    ]},
    {"role": "tool", "tool_call_id": "call_1", "content": "Found. " * 100},
    {"role": "assistant", "content": "It is there."},
]  # fmt: skip
ENDS = (1, 3, 5)
# The same as Anthropic writes it.
BLOCKS: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Hello! " * 40}]},
    {"role": "assistant", "content": [{"type": "text", "text": "Hello. " * 20}]},
    {"role": "user", "content": [{"type": "text", "text": "Look! " * 40}]},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "call_1", "name": "look", "input": {}}]},
    {"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "call_1", "content": [{"type": "text", "text": "Found. " * 100}]}
    ]},
    {"role": "assistant", "content": [{"type": "text", "text": "It is there."}]},
]  # fmt: skip


def body(texts: str, system: str = "x" * 4000, **more: Any) -> dict[str, Any]:
    """A request of Anthropic's with a marked system prompt and a message for each letter."""
    marked = [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}]
    roles = ("user", "assistant")
    messages = [{"role": roles[number % 2], "content": text * 400} for number, text in enumerate(texts)]
    return {"model": "m", "system": marked, "messages": messages, **more}


BODIES = [body("a"), body("abc"), body("abcde")]
STATIC = """\
anthropic, claude-opus-5-5, facts of 2026-11-18

request  input   read  written  full  why
      1  1,100      0    1,000   100  nothing was sent before
      2  1,300  1,000        0   300  1,100 tokens were sent before, but no further entry ends in them
      3  1,500  1,000        0   500  1,300 tokens were sent before, but no further entry ends in them
    all  3,900  2,000    1,000   900

read after the first request: 71.4% of the input
price: 0.577 of what the input costs without a cache

assumed:
  60 seconds from request to request (--gap)
  one cache serves every request, and keeps what it has for its whole lifetime
  a request takes no time, and requests at the same time cannot read what each other writes
  a setting that changes costs all that stands after it
  an entry is renewed by every request that has a mark at its end, also where a longer one is read
  tokens are estimated, as bytes divided by four
"""
ENGINE = """\
vllm, any, facts of 2026-11-18

request  input   read  written   full  why
      1  1,100      0        0  1,100  nothing was sent before
      2  1,300  1,184        0    116
      3  1,500  1,392        0    108
    all  3,900  2,576        0  1,324

read after the first request: 92.0% of the input
worked through: 1,324 of 3,900 tokens; vllm has no price

assumed:
  60 seconds from request to request (--gap)
  one cache serves every request, and keeps what it has for its whole lifetime
  a request takes no time, and requests at the same time can read what each other writes
  of the settings only model, cache_salt, chat_template_kwargs count; another one costs nothing unless the chat \
template writes it into the prompt
  all that was sent can be read by the next request, though nobody promises that
  what stands around the texts, such as a chat template or a hidden system prompt, has no tokens
  an answer can be read, but for its last token, when it is sent back for the first time as it was given
  the model attends to all of its input: with a sliding window or a state, an engine reads less
  the cache is large enough for all conversations that run side by side (--cache-tokens N)
  tokens are estimated, as bytes divided by four
"""
COMPARED = """\
anthropic, claude-opus-5-5, facts of 2026-11-18
1: static.json
2: clock.json

request  input 1  read 1  written 1  full 1  input 2  read 2  written 2  full 2
      1    1,100       0      1,000     100    1,101       0      1,001     100
      2    1,300   1,000          0     300    1,301       0      1,001     300
      3    1,500   1,000          0     500        -       -          -       -
    all    3,900   2,000      1,000     900    2,402       0      2,002     400

read after the first request: 71.4% and 0.0% of the input
price: 0.577 and 1.208 of what the input costs without a cache
the first costs 2,250 tokens at the plain price, the second 2,902: 1.290 times as much
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(name: str, value: object) -> str:
    """Write a transcript: text and bytes as they are, a list of lines as JSON Lines, anything else as JSON."""
    data = value if isinstance(value, str | bytes) else json.dumps(value)
    Path(name).write_bytes(data if isinstance(data, bytes) else data.encode())
    return name


def lines(values: Sequence[object]) -> str:
    """JSON Lines."""
    return "".join(json.dumps(value) + "\n" for value in values)


def shown(capture: CaptureBytes, *arguments: str, said: str = "") -> str:
    """What a command prints that goes well, and says this beside it."""
    assert main(["cache", *arguments]) == 0
    captured = capture.readouterr()
    assert captured.err.decode() == (f"deepprompt: {said}\n" if said else "")
    return captured.out.decode()


def report(capture: CaptureBytes, *arguments: str, said: str = "") -> dict[str, Any]:
    """The same as JSON."""
    found: dict[str, Any] = json.loads(shown(capture, *arguments, "--json", said=said))
    return found


UNKNOWN = " is not in the facts of 2026-11-18, so the provider's conservative defaults apply"


def refused(capture: CaptureBytes, *arguments: str) -> str:
    """The one line that a command ends with that goes wrong."""
    assert main(["cache", *arguments]) == 1
    said = capture.readouterr()
    assert said.out == b""
    assert said.err.startswith(b"deepprompt: ")
    assert said.err.count(b"\n") == 1
    return said.err.decode().removeprefix("deepprompt: ").removesuffix("\n")


def misused(capture: CaptureBytes, *arguments: str) -> str:
    """The last line about wrong usage."""
    with pytest.raises(SystemExit) as ended:
        main(["cache", *arguments])
    assert ended.value.code == 2
    said = capture.readouterr()
    assert said.out == b""
    return said.err.decode().splitlines()[0]


@pytest.mark.usefixtures("folder")
class TestOutput:
    """What is printed."""

    def test_a_provider(self, capsysbinary: CaptureBytes) -> None:
        """A line a turn, all of them, the share, the price, the date of the facts, and what is assumed."""
        assert shown(capsysbinary, save("static.json", BODIES), *CLAUDE) == STATIC

    def test_an_engine(self, capsysbinary: CaptureBytes) -> None:
        """It has no price, but work that it saves itself."""
        assert shown(capsysbinary, save("static.json", BODIES), *VLLM) == ENGINE

    def test_json(self, capsysbinary: CaptureBytes) -> None:
        """Everything, turn by turn."""
        found = report(capsysbinary, save("static.json", BODIES[:2]), *CLAUDE)
        why = "1,100 tokens were sent before, but no further entry ends in them"
        assert found["requests"] == [
            {"request": 1, "at": 0.0, "input": 1100, "read": 0, "written": {"5m": 1000}, "full": 100,
             "why": "nothing was sent before"},
            {"request": 2, "at": 60.0, "input": 1300, "read": 1000, "written": {}, "full": 300, "why": why},
        ]  # fmt: skip
        del found["requests"]
        assert found.pop("assumed")[0] == "60 seconds from request to request (--gap)"
        assert found == {
            "transcript": "static.json",
            "provider": "anthropic",
            "model": "claude-opus-5-5",
            "facts_as_of": "2026-11-18",
            "model_known": True,
            "input": 2400,
            "read": 1000,
            "written": {"5m": 1000},
            "full": 400,
            "read_share": 1000 / 1300,
            "price": (1000 * 1.25 + 100 + 1000 * 0.05 + 300) / 2400,
        }

    def test_json_of_an_engine(self, capsysbinary: CaptureBytes) -> None:
        """No price is null."""
        assert report(capsysbinary, save("static.json", BODIES), *VLLM)["price"] is None

    def test_two_lifetimes(self, capsysbinary: CaptureBytes) -> None:
        """Each has a column of its own."""
        hour = body("a")
        hour["system"][0]["cache_control"]["ttl"] = "1h"
        hour["messages"][0]["content"] = [{"type": "text", "text": "a" * 400, "cache_control": {"type": "ephemeral"}}]
        out = shown(capsysbinary, save("hour.json", [hour, hour]), *CLAUDE)
        assert out.splitlines()[2:6] == [
            "request  input   read  written 5m  written 1h  full  why",
            "      1  1,100      0         100       1,000     0  nothing was sent before",
            "      2  1,100  1,100           0           0     0",
            "    all  2,200  1,100         100       1,000     0",
        ]

    def test_compare(self, capsysbinary: CaptureBytes) -> None:
        """Two layouts side by side, with the ratio between them; what both assume is said once."""
        clock = [body("a", "1" + "x" * 4003), body("abc", "2" + "x" * 4003)]
        save("clock.json", clock)
        out = shown(capsysbinary, save("static.json", BODIES), *CLAUDE, "--compare", "clock.json")
        head, assumed = out.split("\nassumed:\n")
        assert head == COMPARED
        assert STATIC.endswith(f"\nassumed:\n{assumed}")

    def test_compare_as_json(self, capsysbinary: CaptureBytes) -> None:
        """Both reports and the ratio."""
        save("other.json", BODIES[:1])
        one = report(capsysbinary, save("static.json", BODIES), *CLAUDE)
        other = report(capsysbinary, "other.json", *CLAUDE)
        found = report(capsysbinary, "static.json", *CLAUDE, "--compare", "other.json")
        assert found == {"first": one, "second": other, "ratio": 1350 / 2250}

    def test_compare_for_an_engine(self, capsysbinary: CaptureBytes) -> None:
        """By what it has to work through."""
        save("other.json", BODIES[:1])
        out = shown(capsysbinary, save("static.json", BODIES), *VLLM, "--compare", "other.json")
        assert "\nthe first costs 1,324 tokens to work through, the second 1,100: 0.831 times as much\n" in out
        assert "price" not in out

    def test_compare_with_nothing(self, capsysbinary: CaptureBytes) -> None:
        """Of no cost there is no multiple."""
        save("nothing.json", [{"model": "m", "messages": []}])
        out = shown(capsysbinary, "nothing.json", *CLAUDE, "--compare", save("static.json", BODIES))
        assert "\nthe first costs 0 tokens at the plain price, the second 2,250\n" in out
        assert report(capsysbinary, "nothing.json", *CLAUDE, "--compare", "static.json")["ratio"] is None

    def test_nothing_that_a_terminal_obeys(self, capsysbinary: CaptureBytes) -> None:
        """A tool's name is a stranger's: it is shown on its line, harmless."""
        tools = [{"name": "a\x1b[2J\nb", "input_schema": {}}]
        out = shown(capsysbinary, save("x.json", [body("a"), body("a", tools=tools)]), *CLAUDE)
        assert "differs from tools[0] a⟨U+001B⟩[2J b on\n" in out

    def test_half_a_character(self, capsysbinary: CaptureBytes) -> None:
        """A lone surrogate is counted and shown."""
        tools = [{"name": "\ud800", "input_schema": {}}]
        save("x.json", [body("a"), body("a\ud800", tools=tools)])
        assert "differs from tools[0] \ufffd on" in shown(capsysbinary, "x.json", *CLAUDE)
        assert report(capsysbinary, "x.json", *CLAUDE)["requests"][1]["why"] == "differs from tools[0] \ufffd on"

    def test_an_unknown_model(self, capsysbinary: CaptureBytes) -> None:
        """It has the provider's careful rules, and that is said; an engine's model makes no difference."""
        careful = "claude-next, which the facts do not know, has the careful rules for any model"
        args = ("--provider", "anthropic", "--model", "claude-next")
        found = report(capsysbinary, save("static.json", BODIES), *args, said="claude-next" + UNKNOWN)
        assert (found["model_known"], careful in found["assumed"], found["read"]) == (False, True, 0)
        assert found["requests"][2]["why"] == "fewer than 4,096 tokens are not cached"
        assert not any("careful" in sentence for sentence in report(capsysbinary, "static.json", *VLLM)["assumed"])

    def test_nothing_is_cached(self, capsysbinary: CaptureBytes) -> None:
        """A model without a cache pays the plain price."""
        args = ("--provider", "bedrock", "--model", "meta.llama")
        assert report(capsysbinary, save("static.json", BODIES), *args, said="meta.llama" + UNKNOWN)["price"] == 1.0

    def test_a_misspelt_model(self, capsysbinary: CaptureBytes) -> None:
        """What was perhaps meant is said before anything is believed."""
        args = ("--provider", "anthropic", "--model", "claude-opus-55")
        said = f"claude-opus-55{UNKNOWN}; did you mean claude-opus-5-5?"
        assert report(capsysbinary, save("static.json", BODIES), *args, said=said)["read"] == 0

    def test_own_facts(self, capsysbinary: CaptureBytes) -> None:
        """A file of facts goes over the bundled ones, with its own date, and may bring a provider."""
        engine = {"like": "vllm", "defaults": {"granularity": 1000}}
        save("facts.json", {"as_of": "2027-01-10", "providers": {"mine": engine}})
        args = ("--provider", "mine", "--model", "any", "--facts", "facts.json")
        found = report(capsysbinary, save("static.json", BODIES), *args)
        assert (found["facts_as_of"], [turn["read"] for turn in found["requests"]]) == ("2027-01-10", [0, 1000, 1000])


@pytest.mark.usefixtures("folder")
class TestRecorded:
    """Request bodies, as they were sent."""

    @pytest.mark.parametrize("text", [
        json.dumps(BODIES), json.dumps(BODIES, indent=2), lines(BODIES), "\n" + lines(BODIES).replace("\n", "\r\n\n"),
        "\ufeff" + lines(BODIES), lines([{"body": one} for one in BODIES]),
    ], ids=["list", "indented", "lines", "blank lines", "byte order mark", "body"])  # fmt: skip
    def test_forms(self, text: str, capsysbinary: CaptureBytes) -> None:
        """A list or a line each, as they are or below `body`."""
        assert [turn["read"] for turn in report(capsysbinary, save("x", text), *CLAUDE)["requests"]] == [0, 1000, 1000]

    @pytest.mark.parametrize("one", [
        {"input": [{"role": "user", "content": "x" * 40}]},
        {"contents": [{"role": "user", "parts": [{"text": "x" * 40}]}]},
        {"body": {"messages": [{"role": "user", "content": "x" * 40}]}},
    ], ids=["responses", "gemini", "body"])  # fmt: skip
    def test_one_request(self, one: dict[str, Any], capsysbinary: CaptureBytes) -> None:
        """A body alone is a transcript of one request."""
        found = report(capsysbinary, save("x.json", one), *VLLM)
        assert [turn["input"] for turn in found["requests"]] == [10]
        assert found["read_share"] == 0.0

    @pytest.mark.parametrize("times", [
        (0, 299, 598), (1e9, 1e9 + 299.5, 1e9 + 300), ("2026-11-15T09:30:00Z", "2026-11-15T10:34:59+01:00",
        "2026-11-15 09:39:00"),
    ], ids=["seconds", "fractions", "ISO"])  # fmt: skip
    def test_times(self, times: Sequence[object], capsysbinary: CaptureBytes) -> None:
        """Where they are given, they count: these are all within five minutes of the one before."""
        recorded = [{"at": at, "body": body("a")} for at in times]
        found = report(capsysbinary, save("x.jsonl", lines(recorded)), *CLAUDE)
        assert [turn["read"] for turn in found["requests"]] == [0, 1000, 1000]
        assert not any("--gap" in sentence for sentence in found["assumed"])

    def test_a_pause(self, capsysbinary: CaptureBytes) -> None:
        """One that is too long is told."""
        recorded = [{"at": at, "body": body("a")} for at in ("2026-11-15T09:30:00Z", "2026-11-15T09:35:00Z")]
        found = report(capsysbinary, save("x.json", recorded), *CLAUDE)
        assert found["requests"][1]["why"] == "1,100 tokens were sent before, but the entry at system[0] has expired"

    def test_side_by_side(self, capsysbinary: CaptureBytes) -> None:
        """Requests of the same time cannot read from each other."""
        found = report(capsysbinary, save("x.json", [{"at": 5, **body("a")}] * 2), *CLAUDE)
        assert [turn["read"] for turn in found["requests"]] == [0, 0]

    @pytest.mark.parametrize(("gap", "read", "assumed"), [
        ("299.5", 1000, "299.5 seconds from request to request (--gap)"),
        ("300", 0, "300 seconds from request to request (--gap)"),
        ("0", 1000, "nothing expires (--gap 0)"),
    ])  # fmt: skip
    def test_gap(self, gap: str, read: int, assumed: str, capsysbinary: CaptureBytes) -> None:
        """Where no times are given, they are as far apart as one says."""
        found = report(capsysbinary, save("x.json", BODIES[:2]), *CLAUDE, "--gap", gap)
        assert (found["requests"][1]["read"], found["assumed"][0]) == (read, assumed)
        assert found["requests"][1]["at"] == (float(gap) or None)

    def test_explicit_mode(self, capsysbinary: CaptureBytes) -> None:
        """OpenAI's options of the cache count: in explicit mode without a mark nothing is cached."""
        messages = [{"role": "developer", "content": "x" * 8000}, {"role": "user", "content": "y"}]
        implicit = {"model": "m", "messages": messages}
        explicit = {**implicit, "prompt_cache_options": {"mode": "explicit"}}
        for one, read in ((implicit, 2000), (explicit, 0)):
            assert report(capsysbinary, save("x.json", [one, one]), *GPT)["requests"][1]["read"] == read

    def test_the_automatic_mark(self, capsysbinary: CaptureBytes) -> None:
        """Anthropic's mark at the top level stands on the last block."""
        one = {"cache_control": {"type": "ephemeral"}, "messages": [{"role": "user", "content": "x" * 4000}]}
        assert report(capsysbinary, save("x.json", [one, one]), *CLAUDE)["requests"][1]["read"] == 1000

    def test_standard_input(self) -> None:
        """A dash reads it."""
        command = [sys.executable, "-m", "deepprompt", "cache", "-", *CLAUDE, "--json"]
        ran = subprocess.run(command, input=json.dumps(BODIES).encode(), capture_output=True, check=True)
        found = json.loads(ran.stdout)
        assert (found["transcript"], found["read"]) == ("standard input", 2000)


@pytest.mark.usefixtures("folder")
class TestConversation:
    """A conversation, of which the requests are made again."""

    FORMS = (
        {"messages": TALK, "tools": TOOLS, "system": SYSTEM},
        {"messages": BLOCKS, "tools": TOOLS, "system": [{"type": "text", "text": SYSTEM}]},
        {"messages": [{"role": "system", "content": SYSTEM}, *TALK], "tools": TOOLS},
        {"sha256": "0", "session": {"parts": [["base", SYSTEM, 0, "x"]], "tools": TOOLS, "messages": TALK}},
    )

    @pytest.mark.parametrize("provider", MODELS)
    @pytest.mark.parametrize("form", FORMS, ids=["chat", "anthropic", "system message", "session"])
    def test_forms(self, form: dict[str, Any], provider: str, capsysbinary: CaptureBytes) -> None:
        """One request an answer, each of which has all of the one before; every provider reads some of it."""
        args = ("--provider", provider, "--model", MODELS[provider])
        save("facts.json", {"providers": {"gemini": {"models": [{"names": ["gemini-3.8-flash"], "minimum": 1024}]}}})
        found = report(capsysbinary, save("talk.json", form), *args, "--facts", "facts.json")
        assert len(found["requests"]) == 3
        assert sorted(found["requests"], key=lambda turn: int(turn["input"])) == found["requests"]
        assert found["requests"][2]["read"] > 1200
        marks = ", with the marks that 'deepprompt build --to' puts"
        takes_marks = provider in ("anthropic", "bedrock", "litellm", "openai", "openai-responses")
        assert found["assumed"][1] == f"a request is what stands before an answer{marks if takes_marks else ''}"

    @pytest.mark.parametrize("provider", ["anthropic", "bedrock", "litellm", "openai", "openai-responses"])
    def test_marks(self, provider: Target, capsysbinary: CaptureBytes) -> None:
        """Where a provider takes marks, the requests are those that `build_request` makes."""
        model = MODELS[provider]
        save("talk.json", {"messages": TALK, "tools": TOOLS, "system": SYSTEM})
        found = report(capsysbinary, "talk.json", "--provider", provider, "--model", model, "--gap", "0")
        bodies = [build_request(SYSTEM, TALK[:end], to=provider, model=model, tools=TOOLS).body for end in ENDS]
        rules = bundled_facts().rules("anthropic" if provider == "litellm" else provider, model)
        expected = simulate([read_request(one) for one in bodies], rules)
        assert [turn["read"] for turn in found["requests"]] == [charge.read for charge in expected.charges]
        assert found["read_share"] > 0.5

    def test_without_marks(self, capsysbinary: CaptureBytes) -> None:
        """An engine gets the messages as they are."""
        found = report(capsysbinary, save("talk.json", TALK), *VLLM)
        expected = simulate([read_request(TALK[:end]) for end in ENDS], bundled_facts().rules("vllm", "any"))
        assert [turn["read"] for turn in found["requests"]] == [charge.read for charge in expected.charges]
        assert found["provider"] == "vllm"

    def test_own_marks(self, capsysbinary: CaptureBytes) -> None:
        """Marks in the messages are kept."""
        mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
        messages = [{"role": "user", "content": [{"type": "text", "text": "x" * 4000, **mark}]}, TALK[1], TALK[2]]
        assert report(capsysbinary, save("talk.json", messages), *CLAUDE)["written"]["1h"] == 1000

    def test_lines(self, capsysbinary: CaptureBytes) -> None:
        """Messages may stand one a line."""
        one = report(capsysbinary, save("talk", json.dumps(TALK)), *CLAUDE)
        assert report(capsysbinary, save("talk", lines(TALK)), *CLAUDE) == one

    USER, ANSWER = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}
    ITEMS = (
        {"role": "user", "content": "Hi"},
        {"type": "reasoning", "summary": []},
        {"type": "function_call", "call_id": "1", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "1", "output": "x"},
        {"role": "assistant", "content": "Ho"},
    )
    TURNS = (
        ([USER], 1), ([USER, ANSWER], 1), ([USER, ANSWER, USER], 2), ([USER, ANSWER, ANSWER, USER, ANSWER], 2),
        ([ANSWER, USER, ANSWER], 1), ([{"role": "developer", "content": "Be kind."}, ANSWER, USER], 1), (ITEMS, 2),
        ([{"role": "user", "parts": [{"text": "Hi"}]}, {"role": "model", "parts": [{"text": "Ho"}]}], 1),
    )  # fmt: skip

    @pytest.mark.parametrize(("messages", "requests"), TURNS)
    def test_turns(self, messages: Sequence[object], requests: int, capsysbinary: CaptureBytes) -> None:
        """A request is what an answer was given to, or will be; an answer may be several messages."""
        assert len(report(capsysbinary, save("talk.json", messages), *VLLM)["requests"]) == requests


EXPECTED = 'expected request bodies, a list of messages, {"messages": [...]} or a saved session'
AT = "at is seconds, or a time such as 2026-11-15T09:30:00Z, not"
ONE = body("a")
# The content of a transcript, and the line about it after its name.
WRONG: dict[str, tuple[object, str]] = {
    "empty": ("", ": is empty"),
    "blank": (" \n\n", ": no request in it: nothing but blank lines"),
    "not UTF-8": (b'["\xff"]', ": not UTF-8 at byte 2; save it as UTF-8"),
    "not JSON": ('[\n{"role": "user" "content": "x"}]', ":2: not JSON: Expecting ',' delimiter"),
    "a bad line": (lines([ONE]) + "\n{oops}\n", ":3: not JSON: Expecting property name enclosed in double quotes"),
    "a bad first line": ("oops\n" + lines([ONE]), ":1: not JSON: Expecting value"),
    "a number without end": ("[" + "9" * 5000 + "]", ": a number has too many digits"),
    "nested": ("[" * 100_000, ": nested too deeply"),
    "an empty list": ([], ": no request in it: the list is empty"),
    "no messages": ({"messages": []}, ": no request in it: no message that could be answered"),
    "only the system": (
        [{"role": "system", "content": "Hi"}],
        ": no request in it: no message that could be answered",
    ),
    "a text": ('"Hi"', f': {EXPECTED}, found "Hi"'),
    "nothing": ("null", f": {EXPECTED}, found null"),
    "a list of texts": (["Hi"], f": request 1: {EXPECTED}, found str"),
    "one message": ({"role": "user", "content": "Hi"}, f": {EXPECTED}, found one message: put it into a list"),
    "a message among requests": ([ONE, TALK[0]], f": request 2: {EXPECTED}, found a message"),
    "a body of text": ([{"body": "Hi"}], f": request 1: {EXPECTED}, found str"),
    "an object of something else": (
        [{"a": 1}],
        ": request 1: not a request of any provider: no messages, contents or input; its fields are a",
    ),
    "messages of text": ({"messages": "Hi"}, ": messages is a list, not str"),
    "a message of text": ({"messages": ["Hi"]}, ": messages[0]: expected an object, not str"),
    "tools of an object": ({"messages": TALK, "tools": {"a": 1}}, ": tools is a list, not dict"),
    "a system of numbers": ({"messages": TALK, "system": 5}, ": system is a text, or a list of blocks that have one"),
    "a system of objects": (
        {"messages": TALK, "system": [{"text": 5}]},
        ": system is a text, or a list of blocks that have one",
    ),
    "a tool of text": ({"messages": TALK, "tools": ["x"]}, ": a tool is a mapping with a name, not str"),
    "a role": (
        [{"role": "robot", "content": "x"}],
        ": messages[0]: unknown role 'robot'; the roles are system, developer, user, assistant, tool",
    ),
    "a damaged session": (
        {"sha256": "0", "session": {"parts": []}},
        ": not a saved session, or damaged: KeyError('tools')",
    ),
    "a session of text": ({"sha256": "0", "session": "x"}, ": not a saved session, or damaged: TypeError("),
    "a part of numbers": (
        {"sha256": "0", "session": {"parts": [["a", 5, 0, ""]], "tools": [], "messages": []}},
        ": not a saved session, or damaged: ValueError('expected [name, text, pace, origin]')",
    ),
    "a pace": (
        {"sha256": "0", "session": {"parts": [["a", "x", 9, ""]], "tools": [], "messages": []}},
        ": not a saved session, or damaged: ValueError('expected [name, text, pace, origin]')",
    ),
    "a time of words": ([{"at": "noon", "body": ONE}], f": request 1: {AT} 'noon'"),
    "a time of truth": ([{"at": True, "body": ONE}], f": request 1: {AT} True"),
    "an endless time": ('[{"at": 1e999, "body": {"messages": []}}]', f": request 1: {AT} inf"),
    "a time too large": ([{"at": 10**400, "body": ONE}], f": request 1: {AT} 1000000"),
    "a time that is missing": (
        [{"at": 1, "body": ONE}, ONE],
        ': request 2 has no "at", and others have; give it to all of them, or to none',
    ),
    "a time too early": (
        [{"at": 9, "body": ONE}, {"at": 5, "body": ONE}],
        ": request 2 starts 4 seconds before request 1",
    ),
    "five marks": (
        [{"messages": [{"role": "user", "content": [{"text": "x", "cache_control": {}}] * 5}]}],
        ": request 1: 5 marks; anthropic takes 4 and refuses more",
    ),
}


@pytest.mark.usefixtures("folder")
class TestErrors:
    """What is wrong is said in one line, with the file, and exit 1; wrong usage exits 2."""

    @pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=WRONG)
    def test_a_wrong_file(self, content: object, message: str, capsysbinary: CaptureBytes) -> None:
        """A file that is none, or has another shape."""
        assert refused(capsysbinary, save("x.json", content), *CLAUDE).startswith(f"x.json{message}")

    def test_no_file(self, capsysbinary: CaptureBytes) -> None:
        """Neither of the two is there."""
        assert refused(capsysbinary, "gone.json", *CLAUDE) == "gone.json: No such file or directory"
        args = (save("x.json", BODIES), *CLAUDE, "--compare", "gone.json")
        assert refused(capsysbinary, *args) == "gone.json: No such file or directory"

    def test_wrong_facts(self, capsysbinary: CaptureBytes) -> None:
        """A file of facts that has none."""
        args = (save("x.json", BODIES), *CLAUDE, "--facts", save("facts.json", []))
        assert refused(capsysbinary, *args) == 'facts.json: facts are {"as_of": DATE, "providers": {NAME: ...}}'

    USAGE = (
        (("x.json", *CLAUDE[2:]), "the following arguments are required: --provider"),
        (("x.json", *CLAUDE[:2]), "the following arguments are required: --model"),
        (CLAUDE, "the following arguments are required: TRANSCRIPT"),
        (
            ("x.json", "--provider", "claude", "--model", "x"),
            f"no provider 'claude'; there are: {PROVIDERS}",
        ),
        (("x.json", *CLAUDE, "--gap", "-1"), "argument --gap: expected a number of seconds, not '-1'"),
        (("x.json", *CLAUDE, "--gap", "soon"), "argument --gap: expected a number of seconds, not 'soon'"),
        (("x.json", *CLAUDE, "--gap", "nan"), "argument --gap: expected a number of seconds, not 'nan'"),
        (("x.json", *CLAUDE, "--gap", "inf"), "argument --gap: expected a number of seconds, not 'inf'"),
        (("x.json", *CLAUDE, "--compare", ""), "argument --compare: is empty"),
        (("-", *CLAUDE, "--compare", "-"), "TRANSCRIPT and --compare cannot both be standard input"),
    )

    @pytest.mark.parametrize(("arguments", "message"), USAGE)
    def test_wrong_usage(self, arguments: tuple[str, ...], message: str, capsysbinary: CaptureBytes) -> None:
        """Options that are missing, or cannot be."""
        assert misused(capsysbinary, *arguments) == f"deepprompt cache: error: {message}"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 9)
    | st.text(max_size=3)
    | st.sampled_from(["user", "assistant", "text"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "role",
                    "content",
                    "type",
                    "text",
                    "messages",
                    "tools",
                    "system",
                    "body",
                    "at",
                    "session",
                    "sha256",
                    "parts",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(VALUES, st.sampled_from(sorted(MODELS)))
def test_any_json_is_read_or_refused(tmp_path_factory: pytest.TempPathFactory, value: object, provider: str) -> None:
    """Whatever is in a transcript, it is replayed, or refused in one line: never a traceback."""
    path = tmp_path_factory.getbasetemp() / "any.json"
    path.write_text(json.dumps(value))
    with redirect_stdout(io.TextIOWrapper(io.BytesIO())) as out, redirect_stderr(io.StringIO()) as err:
        ended = main(["cache", str(path), "--provider", provider, "--model", MODELS[provider], "--json"])
        printed = out.buffer.getvalue()
    if ended == 0:
        turns = json.loads(printed)["requests"]
        assert turns
        assert all(turn["read"] + sum(turn["written"].values()) + turn["full"] == turn["input"] for turn in turns)
    else:
        assert (ended, printed, err.getvalue().count("\n")) == (1, b"", 1)
