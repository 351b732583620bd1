"""`deepprompt build --to PROVIDER`: the prompt as the request that the provider is sent."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    Pace,
    Part,
    Prompt,
    Request,
    SystemPromptBuilder,
    build_cached_content,
    build_request,
    tool_definitions,
)
from deepprompt.cli import main
from deepprompt.providers import TARGETS
from deepprompt.providers.facts import load_facts
from deepprompt.words import Lifetime, Target
from tests.support.layout import lay_out

CaptureBytes = pytest.CaptureFixture[bytes]

MODELS = {
    "anthropic": "claude-opus-5-5",
    "bedrock": "us.anthropic.claude-opus-5-5",
    "deepseek": "deepseek-v4-pro",
    "gemini": "gemini-3.8-flash",
    "litellm": "anthropic/claude-opus-5-5",
    "openai": "gpt-5.6-sol",
    "openai-responses": "gpt-5.6-sol",
}
TO = ("--to", "anthropic", "--model", "claude-opus-5-5")
GEMINI = ("--to", "gemini", "--model", "gemini-3.8-flash")
CUSTOM = ("--custom-file", "system.md")

TOOLS: list[dict[str, object]] = [
    {
        "name": "zip",
        "description": "Zips.",
        "input_schema": {"type": "object", "properties": {"a": {"type": "string"}}},
    },
    {"type": "function", "function": {"name": "ask", "parameters": {"type": "object", "properties": {}}}},
]
TALK: list[dict[str, object]] = [
    {"role": "user", "content": "Ask."},
    {"role": "assistant", "content": None, "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "ask", "arguments": '{"q": "é"}'}}
    ]},
    {"role": "tool", "tool_call_id": "call_1", "content": "42"},
    {"role": "assistant", "content": "42, it says."},
]  # fmt: skip

FILES: dict[str, str | bytes] = {
    "project/system.md": "You are a test. " * 400,
    "project/talk.json": json.dumps(TALK),
    "project/tools.json": json.dumps({"messages": TALK, "tools": TOOLS}),
    "project/facts.json": json.dumps(
        {"as_of": "2027-01-10", "providers": {"anthropic": {"models": [{"names": ["claude-next"], "minimum": 9000}]}}}
    ),
    "project/agent.json": json.dumps({"identity": "You are Ada.", "instructions": "Be kind."}),
    "home/x": "",
}

EXPECTED = 'expected a list of messages, or {"messages": [...], "tools": [...]}, found'
PROVIDERS = ", ".join(TARGETS)

# Arguments, and the line about them.
USAGE: dict[str, tuple[Sequence[str], str]] = {
    "to without model": (["--to", "openai"], "--to openai needs --model NAME, the model as openai calls it"),
    "model without to": (["--model", "x"], f"--model needs --to PROVIDER, one of {PROVIDERS}"),
    "message without to": (["--message", "x"], f"--message needs --to PROVIDER, one of {PROVIDERS}"),
    "messages without to": (["--messages", "x"], f"--messages needs --to PROVIDER, one of {PROVIDERS}"),
    "explain without to": (["--explain"], f"--explain needs --to PROVIDER, one of {PROVIDERS}"),
    "stream without to": (["--stream"], f"--stream needs --to PROVIDER, one of {PROVIDERS}"),
    "facts without to": (["--facts", "x"], f"--facts needs --to PROVIDER, one of {PROVIDERS}"),
    "lifetime without to": (["--lifetime", "1h"], f"--lifetime needs --to PROVIDER, one of {PROVIDERS}"),
    "seconds without to": (
        ["--make-cached-content", "9"], f"--make-cached-content needs --to PROVIDER, one of {PROVIDERS}"
    ),
    "both cached": (
        [*GEMINI, "--cached-content", "cachedContents/a", "--make-cached-content", "9"],
        "argument --make-cached-content: not allowed with argument --cached-content",
    ),
    "cached content elsewhere": (
        [*TO, "--cached-content", "cachedContents/a"], "--cached-content needs --to gemini: cached content is Gemini's"
    ),
    "make it elsewhere": (
        [*TO, "--make-cached-content", "9"], "--make-cached-content needs --to gemini: cached content is Gemini's"
    ),
    "no seconds": (
        [*GEMINI, "--make-cached-content", "0"],
        "argument --make-cached-content: expected a whole number from 1 on, not '0'",
    ),
    "seconds as a time": (
        [*GEMINI, "--make-cached-content", "300s"],
        "argument --make-cached-content: expected a whole number from 1 on, not '300s'",
    ),
    "endless seconds": (
        [*GEMINI, "--make-cached-content", "9" * 5000],
        f"argument --make-cached-content: expected a whole number from 1 on, not '{'9' * 39}",
    ),
    "answer of cached content": (
        [*GEMINI, "--make-cached-content", "9", "--max-output-tokens", "5"],
        "--max-output-tokens does not go with --make-cached-content, which asks for no response",
    ),
    "lifetime of cached content": (
        [*GEMINI, "--make-cached-content", "9", "--lifetime", "1h"],
        "--lifetime does not go with --make-cached-content, which asks for no response",
    ),
    "key elsewhere": (
        [*TO, "--cache-key", "k"],
        "--cache-key needs --to openai or openai-responses or litellm; anthropic takes no key",
    ),
    "no limit": (
        [*TO, "--max-output-tokens", "0"],
        "argument --max-output-tokens: expected a whole number from 1 on, not '0'",
    ),
    "limit of no digits": (
        [*TO, "--max-output-tokens", "½"],
        "argument --max-output-tokens: expected a whole number from 1 on, not '½'",
    ),
    "empty model": (["--to", "openai", "--model", ""], "argument --model: is empty"),
    "empty message": ([*TO, "--message", ""], "argument --message: is empty"),
    "empty messages": ([*TO, "--messages", ""], "argument --messages: is empty"),
    "empty facts": ([*TO, "--facts", ""], "argument --facts: is empty"),
    "empty lifetime": ([*TO, "--lifetime", ""], "argument --lifetime: is empty"),
    "empty prefix lifetime": ([*TO, "--prefix-lifetime", ""], "argument --prefix-lifetime: is empty"),
    "empty key": (["--to", "openai", "--model", "x", "--cache-key", ""], "argument --cache-key: is empty"),
    "before any file is read": (
        ["--to", "openai", "--custom-file", "gone"], "--to openai needs --model NAME, the model as openai calls it"
    ),
}  # fmt: skip

# The content of a file of messages, and the line about it after its name.
WRONG: dict[str, tuple[object, str]] = {
    "empty": ("", ": is empty"),
    "not UTF-8": (b'["\xff"]', ": not UTF-8 at byte 2; save it as UTF-8"),
    "not JSON": ('[\n{"role": "user" "content": "x"}]', ":2: not JSON: Expecting ',' delimiter"),
    "a line each": (
        '{"role": "user"}\n{"role": "user"}\n',
        ":2: not JSON: Extra data; several values: write them as one list, [..., ...]",
    ),
    "nested": ("[" * 100_000, ": nested too deeply"),
    "text": ('"Hi"', f": {EXPECTED} text"),
    "nothing": ("null", f": {EXPECTED} null"),
    "a number": ("1", f": {EXPECTED} a number or a truth value"),
    "one message": ({"role": "user", "content": "Hi"}, f": {EXPECTED} one message: put it into a list"),
    "an empty object": ({}, f": {EXPECTED} an object with nothing and no messages"),
    "other keys": ({"input": [], "model": "x"}, f": {EXPECTED} an object with 'input', 'model' and no messages"),
    "messages of text": ({"messages": "Hi"}, f": {EXPECTED} messages that are no list"),
    "tools of an object": ({"messages": [], "tools": {}}, f": {EXPECTED} tools that are no list"),
    "a message of text": (["Hi"], ": messages[0]: a message is a mapping with a role and content, not str"),
    "a role": (
        [{"role": "robot"}],
        ": messages[0]: unknown role 'robot'; the roles are system, developer, user, assistant, tool",
    ),
    "a tool without a name": ({"messages": TALK, "tools": [{"description": "x"}]}, ": "),
    "two tools of a name": (
        {"messages": TALK, "tools": [{"name": "a"}, {"name": "a"}]},
        ": two tools are called 'a'; a name may stand once in a request",
    ),
}

# Files of facts, and the line about them after their name.
WRONG_FACTS = {
    "gone": (None, ": No such file or directory"),
    "not JSON": ("{", ": not JSON: Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
    "messages": ("[]", ': facts are {"as_of": DATE, "providers": {NAME: ...}}'),
    "misspelt": (
        '{"providers": {"openai": {"defaults": {"minimun": 1}}}}',
        ": openai: defaults: 'minimun' is no rule; did you mean minimum?",
    ),
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a project with a prompt, messages and facts the current folder, and an empty folder the user's home."""
    lay_out(tmp_path, FILES)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SHELL", "/bin/zsh")
    monkeypatch.chdir(tmp_path / "project")
    return tmp_path / "project"


def custom(tools: Sequence[Mapping[str, object]] = ()) -> Prompt:
    """Return what `--custom-file system.md` builds."""
    text = Path("system.md").read_text()
    return Prompt((Part("custom", text, Pace.RELEASE, "file:system.md"),), tools=tuple(tools))


def user(text: str) -> dict[str, object]:
    """Return a user's message."""
    return {"role": "user", "content": text}


def built(capture: CaptureBytes, *options: str) -> Any:
    """Build a request without failure, and return the JSON that is printed."""
    assert main(["build", *options]) == 0
    return json.loads(capture.readouterr().out)


def failure(capture: CaptureBytes, *options: str) -> str:
    """Fail to build, and return the one line that is said about it."""
    assert main(["build", *options]) == 1
    out, err = capture.readouterr()
    assert (out, err[:12], err.count(b"\n")) == (b"", b"deepprompt: ", 1)
    return err.decode()[12:-1]


class TestBody:
    """What is printed is the body that `build_request` builds for the same prompt."""

    @pytest.mark.parametrize("to", TARGETS)
    def test_message(self, to: Target, capsysbinary: CaptureBytes) -> None:
        """A message of the command line is the user's."""
        expected = build_request(custom(), [user("Hé")], to=to, model=MODELS[to])
        assert built(capsysbinary, *CUSTOM, "--to", to, "--model", MODELS[to], "--message", "Hé") == expected.body

    @pytest.mark.parametrize("to", TARGETS)
    def test_conversation(self, to: Target, capsysbinary: CaptureBytes) -> None:
        """Messages and tools of a file come before the message of the command line."""
        expected = build_request(custom(TOOLS), [*TALK, user("Why?")], to=to, model=MODELS[to])
        options = ("--to", to, "--model", MODELS[to], "--messages", "tools.json", "--message", "Why?")
        assert built(capsysbinary, *CUSTOM, *options) == expected.body

    @pytest.mark.parametrize("to", TARGETS)
    def test_options(self, to: Target, capsysbinary: CaptureBytes) -> None:
        """Limit, stream and lifetimes go into the request as the provider has them."""
        lifetime: Lifetime = "1h" if to in ("anthropic", "bedrock", "litellm") else "30m"
        lifetime = "12h" if to == "openai-responses" else lifetime
        keyed = to in ("openai", "openai-responses", "litellm")
        expected = build_request(
            custom(), [user("Hi")], to=to, model=MODELS[to], max_tokens=77, stream=True, prefix_lifetime=lifetime,
            lifetime=lifetime, cache_key="tenant" if keyed else "",
        )  # fmt: skip
        options = ["--max-output-tokens", "77", "--stream", "--prefix-lifetime", lifetime, "--lifetime", lifetime]
        options += ["--cache-key", "tenant"] if keyed else []
        body = built(capsysbinary, *CUSTOM, "--to", to, "--model", MODELS[to], "--message", "Hi", *options)
        assert body == expected.body
        assert "77" in json.dumps(body)

    def test_list(self, capsysbinary: CaptureBytes) -> None:
        """A bare list is a conversation without tools."""
        talk = [*TALK, user("Why?")]
        lay_out(Path(), {"list.json": b"\xef\xbb\xbf" + json.dumps(talk).encode()})
        expected = build_request(custom(), talk, to="anthropic", model="claude-opus-5-5")
        assert built(capsysbinary, *CUSTOM, *TO, "--messages", "list.json") == expected.body

    @pytest.mark.parametrize("tools", ["[]", "null"])
    def test_object_without_tools(self, tools: str, capsysbinary: CaptureBytes) -> None:
        """An object may have no tools, and other keys that say nothing here."""
        lay_out(Path(), {"object.json": f'{{"messages": [], "tools": {tools}, "model": "other"}}'})
        expected = build_request(custom(), [user("Hi")], to="anthropic", model="claude-opus-5-5")
        assert built(capsysbinary, *CUSTOM, *TO, "--messages", "object.json", "--message", "Hi") == expected.body

    def test_standard_input(self) -> None:
        """`-` is the standard input."""
        ran = deepprompt_with(json.dumps([user("Hi")]).encode(), *CUSTOM, *TO, "--messages", "-")
        expected = build_request(custom(), [user("Hi")], to="anthropic", model="claude-opus-5-5")
        assert (json.loads(ran.stdout), ran.returncode) == (expected.body, 0)

    def test_folder(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """The prompt of a folder is cut where its pace changes, and every byte of it is sent."""
        lay_out(folder, {"AGENTS.md": "Ours."})
        body = built(capsysbinary, "--no-git", "--preset", "deepseek@1.0.0", *TO, "--message", "Hi", "--quiet")
        assert main(["build", "--no-git", "--preset", "deepseek@1.0.0"]) == 0
        assert "".join(block["text"] for block in body["system"]) == capsysbinary.readouterr().out.decode()
        assert [("cache_control" in block) for block in body["system"]] == [True, True, False]

    def test_the_wording_follows_the_model(self, capsysbinary: CaptureBytes) -> None:
        """Without a preset, a request to another vendor has the neutral wording, and one note says so."""
        for target, note in (
            (TO, "deepprompt: model: preset coder: for claude-opus-5-5, the wording is that of coder, "),
            (("--to", "deepseek", "--model", "deepseek-v4-pro"), ""),
        ):
            assert main(["build", "--no-git", "--no-project", *target, "--message", "Hi"]) == 0
            out, err = capsysbinary.readouterr()
            assert ("deepseek model" in out.decode().lower()) is (not note)
            lines = [line for line in err.decode().splitlines() if line.startswith("deepprompt: model: preset")]
            assert len(lines) == bool(note)
            assert err.decode().count(note) >= 1

    def test_prefix_only(self, capsysbinary: CaptureBytes) -> None:
        """`--prefix-only` sends the static prefix alone."""
        body = built(capsysbinary, "--prefix-only", "--preset", "deepseek@1.0.0", *TO, "--message", "Hi")
        expected = build_request(
            Prompt(SystemPromptBuilder().compose().static_parts), [user("Hi")], to="anthropic", model="claude-opus-5-5"
        )
        assert body == expected.body
        assert DYNAMIC_CONTEXT_BOUNDARY.strip() not in json.dumps(body)

    def test_preset_with_tools(self, capsysbinary: CaptureBytes) -> None:
        """The tools of a preset are in the body, sorted, however they were asked for, beside those of a file."""
        options = (
            "--preset",
            "claude_code@2.1.37",
            "--tool",
            "Read",
            "--tool",
            "Bash",
            "--quiet",
            *TO,
            "--message",
            "Hi",
        )
        tools = built(capsysbinary, *options)["tools"]
        expected = tool_definitions(["Bash", "Read"])
        assert [tool["name"] for tool in tools] == ["Bash", "Read"] == [tool["name"] for tool in expected]
        assert [tool["input_schema"] for tool in tools] == [tool["input_schema"] for tool in expected]
        names = [tool["name"] for tool in built(capsysbinary, *options, "--messages", "tools.json")["tools"]]
        assert names == ["Bash", "Read", "ask", "zip"]

    def test_tool_twice(self, capsysbinary: CaptureBytes) -> None:
        """A tool that the preset and the file both have is an error that names the file."""
        lay_out(Path(), {"bash.json": json.dumps({"messages": [], "tools": [{"name": "Bash"}]})})
        options = ("--preset", "claude_code", "--tool", "Bash", "--quiet", *TO, "--messages", "bash.json")
        said = failure(capsysbinary, *options, "--message", "Hi")
        assert said == "bash.json: two tools are called 'Bash'; a name may stand once in a request"

    def test_agent(self, capsysbinary: CaptureBytes) -> None:
        """An agent's prompt can be sent too."""
        options = ("--agent", "agent.json", "--now", "2031-03-04T15:06:00+00:00")
        assert main(["build", *options]) == 0
        text = capsysbinary.readouterr().out.decode()
        body = built(capsysbinary, *options, "--quiet", "--to", "deepseek", "--model", "deepseek-v4-pro")
        assert body["messages"] == [{"role": "system", "content": text}]

    def test_same_bytes(self, capsysbinary: CaptureBytes) -> None:
        """The same input gives the same bytes: indented JSON in UTF-8 with a newline at the end."""
        options = ["build", *CUSTOM, *TO, "--messages", "tools.json", "--message", "Hé"]
        assert [main(options), main(options)] == [0, 0]
        out = capsysbinary.readouterr().out
        half = len(out) // 2
        assert out[:half] == out[half:]
        assert out.startswith(b'{\n  "model": ')
        assert out.endswith(b"\n}\n")
        assert "Hé".encode() in out


class TestCachedContent:
    """Gemini's cached content."""

    def test_make(self, capsysbinary: CaptureBytes) -> None:
        """`--make-cached-content` prints the request that makes it, for so many seconds."""
        expected = build_cached_content(custom(TOOLS), TALK, model="gemini-3.8-flash", ttl="300s")
        body = built(capsysbinary, *CUSTOM, *GEMINI, "--make-cached-content", "300", "--messages", "tools.json")
        assert body == expected.body
        assert (body["model"], body["ttl"]) == ("models/gemini-3.8-flash", "300s")

    def test_use(self, capsysbinary: CaptureBytes) -> None:
        """`--cached-content` goes on after it, without what it holds."""
        name = "cachedContents/abc"
        expected = build_request(custom(), [user("Hi")], to="gemini", model="gemini-3.8-flash", cached_content=name)
        body = built(capsysbinary, *CUSTOM, *GEMINI, "--cached-content", name, "--message", "Hi")
        assert body == expected.body
        assert set(body) == {"cachedContent", "contents"}

    def test_name(self, capsysbinary: CaptureBytes) -> None:
        """A name that is none is an error that says how one looks."""
        said = failure(capsysbinary, *CUSTOM, *GEMINI, "--cached-content", "abc", "--message", "Hi")
        assert said == "the name of cached content is cachedContents/ID, not 'abc'"

    def test_facts(self, capsysbinary: CaptureBytes) -> None:
        """One's own facts hold for cached content too."""
        own = {"as_of": "2027-01-10", "providers": {"gemini": {"defaults": {"explicit_minimum": 90_000}}}}
        lay_out(Path(), {"facts.json": json.dumps(own)})
        assert main(["build", *CUSTOM, *GEMINI, "--make-cached-content", "9", "--facts", "facts.json"]) == 0
        assert b"caches nothing below 90,000 (facts of 2027-01-10)\n" in capsysbinary.readouterr().err


class TestReport:
    """What is printed beside the body, and where."""

    def request(self) -> Request:
        """Return the request that the tests here build."""
        return build_request(custom(), [user("Hi")], to="anthropic", model="claude-opus-5-5")

    def test_explain(self, capsysbinary: CaptureBytes) -> None:
        """`--explain` prints where the marks stand and why, in place of the body."""
        assert main(["build", *CUSTOM, *TO, "--message", "Hi", "--explain"]) == 0
        assert capsysbinary.readouterr() == (self.request().explain().encode(), b"")

    def test_explain_keeps_the_notes_of_the_prompt(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """What was cut from the prompt is still said, beside the explanation, which has the notes of the request."""
        lay_out(folder, {"AGENTS.md": "x" * 5_000})
        options = ("--no-git", "--instructions", "deepseek", *TO)
        assert main(["build", *options, "--message", "Hi", "--explain"]) == 0
        out, err = capsysbinary.readouterr()
        detail = "longer than the 4000 bytes there is room for; load more of it with --instructions agents or "
        said, model = err.decode().splitlines()
        assert said == f"deepprompt: cut: {folder}/AGENTS.md: {detail}--instructions-limit BYTES"
        assert model.startswith("deepprompt: model: preset ")
        assert b"\n  note: pace: the end of the system prompt: " in out

    def test_json(self, capsysbinary: CaptureBytes) -> None:
        """`--json` prints the body with the marks, the notes and what it was built by, and nothing else."""
        assert main(["build", *CUSTOM, "--to", "anthropic", "--model", "claude-next", "--json"]) == 0
        out, err = capsysbinary.readouterr()
        request = build_request(custom(), to="anthropic", model="claude-next")
        found = json.loads(out)
        assert err == b""
        assert {key: found[key] for key in ("to", "model", "facts_as_of", "model_known", "tokens", "body")} == {
            "to": "anthropic",
            "model": "claude-next",
            "facts_as_of": "2026-11-18",
            "model_known": False,
            "tokens": request.tokens,
            "body": request.body,
        }
        assert [(mark["place"], mark["lifetime"], mark["tokens"]) for mark in found["marks"]] == [
            (mark.place, mark.lifetime, mark.tokens) for mark in request.marks
        ]
        assert [note["kind"] for note in found["notes"]] == [note.kind for note in request.notes]

    def test_json_has_the_notes_of_the_prompt(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """Notes on the prompt stand in the report before those on the request."""
        lay_out(folder, {"AGENTS.md": "x" * 5_000})
        options = ("--no-git", "--instructions", "deepseek", *TO)
        notes = built(capsysbinary, *options, "--message", "Hi", "--json")["notes"]
        assert [note["kind"] for note in notes] == ["cut", "model", "pace"]

    def test_json_explained(self, capsysbinary: CaptureBytes) -> None:
        """With both, the report has all but the body."""
        found = built(capsysbinary, *CUSTOM, *TO, "--json", "--explain")
        assert "body" not in found
        assert found["marks"]

    @pytest.mark.parametrize("form", [[], ["--json"], ["--explain"]])
    def test_out(self, form: list[str], folder: Path, capsysbinary: CaptureBytes) -> None:
        """`--out` puts into a file exactly what would be printed."""
        options = ["build", *CUSTOM, *TO, "--message", "Hi", *form]
        assert main(options) == 0
        printed = capsysbinary.readouterr().out
        before = sorted(os.listdir(folder))
        assert main([*options, "--out", "body.json"]) == 0
        assert capsysbinary.readouterr() == (b"", b"")
        assert (folder / "body.json").read_bytes() == printed
        assert sorted(os.listdir(folder)) == sorted([*before, "body.json"])

    def test_failure_keeps_the_old(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A request that cannot be built leaves the file as it was."""
        lay_out(folder, {"body.json": "old"})
        failure(capsysbinary, *CUSTOM, *TO, "--messages", "gone.json", "--out", "body.json")
        assert (folder / "body.json").read_text() == "old"

    def test_notes(self, capsysbinary: CaptureBytes) -> None:
        """Notes go to standard error, a line each, and only JSON to standard output."""
        assert main(["build", *CUSTOM, "--to", "openai", "--model", "gpt-99"]) == 0
        out, err = capsysbinary.readouterr()
        json.loads(out)
        lines = err.decode().splitlines()
        assert lines[0].startswith("deepprompt: model: gpt-99: not in the facts of 2026-11-18: ")
        assert "deepprompt: kept: messages: no message yet: append the user's before this is sent" in lines
        assert all(line.startswith("deepprompt: ") for line in lines)

    @pytest.mark.parametrize("form", [[], ["--json"], ["--explain"]])
    def test_quiet(self, form: list[str], folder: Path, capsysbinary: CaptureBytes) -> None:
        """`--quiet` says nothing."""
        lay_out(folder, {"AGENTS.md": "x" * 5_000})
        assert main(["build", "--no-git", "--to", "openai", "--model", "gpt-99", "--quiet", *form]) == 0
        assert capsysbinary.readouterr().err == b""

    def test_message_that_is_not_utf8(self, capsysbinary: CaptureBytes) -> None:
        """Bytes of the message that are not UTF-8 become U+FFFD, and that is said."""
        assert main(["build", *CUSTOM, *TO, "--message", os.fsdecode(b"caf\xe9")]) == 0
        out, err = capsysbinary.readouterr()
        assert json.loads(out)["messages"][0]["content"][0]["text"] == "caf\ufffd"
        assert err == b"deepprompt: replaced: message at 3: bytes that are not UTF-8, by U+FFFD\n"


class TestFacts:
    """`--facts FILE`."""

    def test_own(self, capsysbinary: CaptureBytes) -> None:
        """A model that only the file knows is known, by its date."""
        options = (*CUSTOM, "--to", "anthropic", "--model", "claude-next", "--message", "Hi")
        found = built(capsysbinary, *options, "--facts", "facts.json", "--json")
        assert (found["facts_as_of"], found["model_known"]) == ("2027-01-10", True)
        assert any("caches nothing below 9,000" in note["detail"] for note in found["notes"])
        facts = load_facts("facts.json")
        expected = build_request(custom(), [user("Hi")], to="anthropic", model="claude-next", facts=facts)
        assert found["body"] == expected.body

    @pytest.mark.parametrize(("content", "message"), WRONG_FACTS.values(), ids=WRONG_FACTS)
    def test_wrong(self, content: str | None, message: str, folder: Path, capsysbinary: CaptureBytes) -> None:
        """Facts that cannot be read are an error that names the file."""
        if content is not None:
            lay_out(folder, {"own.json": content})
        assert failure(capsysbinary, *CUSTOM, *TO, "--facts", "own.json") == f"own.json{message}"


class TestRefused:
    """What is wrong, and how to get out of it."""

    @pytest.mark.parametrize(("arguments", "message"), USAGE.values(), ids=USAGE)
    def test_usage(self, arguments: Sequence[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
        """Options that contradict each other, or would be ignored, are wrong usage."""
        with pytest.raises(SystemExit) as caught:
            main(["build", *arguments])
        assert caught.value.code == 2
        out, err = capsys.readouterr()
        assert (out, err.splitlines()[0]) == ("", f"deepprompt build: error: {message}")

    def test_unknown_target(self, capsys: pytest.CaptureFixture[str]) -> None:
        """A provider that there is not is wrong usage, and the line lists those there are."""
        with pytest.raises(SystemExit) as caught:
            main(["build", "--to", "openia", "--model", "x"])
        assert caught.value.code == 2
        line = capsys.readouterr().err.splitlines()[0]
        assert line.startswith("deepprompt build: error: argument --to: invalid choice: 'openia' (choose from ")
        assert all(target in line for target in TARGETS)

    @pytest.mark.parametrize(("content", "message"), WRONG.values(), ids=WRONG)
    def test_messages(self, content: object, message: str, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A file of messages that cannot be sent is an error that names the file, and the line or the message."""
        text = content if isinstance(content, str | bytes) else json.dumps(content)
        lay_out(folder, {"wrong.json": text})
        said = failure(capsysbinary, *CUSTOM, *TO, "--messages", "wrong.json", "--message", "Hi")
        assert said.startswith(f"wrong.json{message}") if message == ": " else said == f"wrong.json{message}"

    @pytest.mark.parametrize(
        ("path", "message"), [("gone.json", "gone.json: No such file or directory"), (".", ".: Is a directory")]
    )
    def test_no_file(self, path: str, message: str, capsysbinary: CaptureBytes) -> None:
        """A file that cannot be read is an error that names it."""
        assert failure(capsysbinary, *CUSTOM, *TO, "--messages", path) == message

    def test_huge(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A file beyond all bounds is refused, not cut."""
        (folder / "huge.json").touch()
        os.truncate(folder / "huge.json", (1 << 26) + 1)
        said = failure(capsysbinary, *CUSTOM, *TO, "--messages", "huge.json")
        assert said == "huge.json: larger than 67108864 bytes"

    def test_huge_number(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A number that Python does not read is an error like any other."""
        lay_out(folder, {"huge.json": f"[{'9' * 5000}]"})
        said = failure(capsysbinary, *CUSTOM, *TO, "--messages", "huge.json")
        assert said.startswith("huge.json: a number has too many digits")

    def test_large(self, folder: Path, capsysbinary: CaptureBytes) -> None:
        """A long conversation is sent whole."""
        talk = [
            user("x" * 1000) if number % 2 == 0 else {"role": "assistant", "content": "y"} for number in range(2001)
        ]
        lay_out(folder, {"long.json": json.dumps(talk)})
        assert len(built(capsysbinary, *CUSTOM, *TO, "--messages", "long.json")["messages"]) == 2001

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (
                (*TO, "--message", "Hi", "--lifetime", "2h", "--messages", "talk.json"),
                "anthropic (claude-opus-5-5, facts of 2026-11-18) has no lifetime '2h'; it has 5m, 1h",
            ),
            (("--to", "openai", "--model", " ", "--message", "Hi"), "a request needs the name of its model"),
            (
                (*TO, "--messages", "open.json", "--message", "Hi"),
                "open.json: messages[1]: tool call 'call_1' has no result; answer every call in the next "
                "message before the conversation continues",
            ),
            (
                (*TO, "--messages", "talk.json"),
                "talk.json: messages[3]: the conversation ends with the assistant; anthropic answers a user's message "
                "or a tool's result: append it",
            ),
        ],
    )
    def test_failure(self, options: Sequence[str], message: str, folder: Path, capsysbinary: CaptureBytes) -> None:
        """What no provider would take is an error of one line; the file is named where it is to blame."""
        lay_out(folder, {"open.json": json.dumps(TALK[:2])})
        assert failure(capsysbinary, *CUSTOM, *options) == message

    def test_standard_input(self) -> None:
        """What is wrong with the standard input is said of the standard input."""
        for given, message in ((b"", "is empty"), (b'["Hi"]', "messages[0]: a message is a mapping ")):
            ran = deepprompt_with(given, *CUSTOM, *TO, "--messages", "-")
            assert (ran.returncode, ran.stdout) == (1, b"")
            assert ran.stderr.decode().startswith(f"deepprompt: standard input: {message}")


def deepprompt_with(given: bytes, *options: str, shell: str = '"$@"') -> subprocess.CompletedProcess[bytes]:
    """Run `build` in a fresh process with a standard input, and see that it shows no traceback."""
    command = ["sh", "-c", shell, "sh", sys.executable, "-m", "deepprompt", "build", *options]
    ran = subprocess.run(command, input=given, capture_output=True, timeout=30)
    assert b"Traceback" not in ran.stderr, ran.stderr.decode()
    return ran


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a POSIX shell")
class TestProcess:
    """As a process."""

    def test_closed_pipe(self, folder: Path) -> None:
        """A body into a pipe that is closed early ends quietly, as a program that SIGPIPE ended."""
        lay_out(folder, {"long.json": json.dumps([user("x" * 1_000_000)])})
        ran = deepprompt_with(b"", *CUSTOM, *TO, "--messages", "long.json", shell='{ "$@"; echo $? >code; } | head -1')
        assert (ran.stdout, ran.stderr) == (b"{\n", b"")
        assert (folder / "code").read_text() == "141\n"

    def test_pipe_that_nobody_reads(self) -> None:
        """A small body into a pipe that nobody reads ends quietly too."""
        assert deepprompt_with(b"", *CUSTOM, *TO, "--message", "Hi", shell='{ sleep 0.2; "$@"; } | true').stderr == b""

    def test_closed_output(self) -> None:
        """Without a standard output there is one line about it and exit 1."""
        ran = deepprompt_with(b"", *CUSTOM, *TO, "--message", "Hi", shell='"$@" >&-')
        assert (ran.returncode, ran.stderr) == (1, b"deepprompt: standard output is closed; use --out FILE\n")

    @pytest.mark.parametrize(
        ("options", "loaded"),
        [(["--no-project"], False), (["--no-project", "--json"], False), ([*CUSTOM, *TO, "--message", "Hi"], True)],
    )
    def test_who_pays_for_the_wire(self, options: list[str], loaded: bool) -> None:
        """A plain build does not load what writes requests."""
        code = (
            "import sys; from deepprompt.cli import main; main(['build', *sys.argv[1:]]); "
            "print(*[name for name in sys.modules if name.startswith('deepprompt.providers.')], file=sys.stderr)"
        )
        ran = subprocess.run([sys.executable, "-c", code, *options], capture_output=True, text=True, check=True)
        assert bool(ran.stderr.split()) == loaded
