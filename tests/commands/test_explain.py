"""`deepprompt explain`: the table, its JSON, what it takes, and what it shows only on a terminal."""

from __future__ import annotations

import io
import json
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from deepprompt import Session, SystemPromptBuilder, Usage
from deepprompt.cli import main
from tests.support.layout import lay_out

CaptureBytes = pytest.CaptureFixture[bytes]
TAKEN = "a prompt is a file, a function as module:function, or 'build' with its options"

PLAIN = SystemPromptBuilder("Be brief.\n", append="And kind.").compose()


def run(capture: CaptureBytes, *arguments: str | Path) -> str:
    """Run `explain` and return what it prints; nothing goes to standard error."""
    assert main(["explain", *map(str, arguments)]) == 0
    printed = capture.readouterr()
    assert printed.err == b""
    return printed.out.decode()


def failure(capture: CaptureBytes, *arguments: str | Path) -> str:
    """Run `explain` where it cannot be done, and return the one line that it says."""
    assert main(["explain", *map(str, arguments)]) == 1
    return capture.readouterr().err.decode().removeprefix("deepprompt: ").removesuffix("\n")


def saved(path: Path) -> Path:
    """Save a session with one recorded answer of 700 input tokens."""
    session = Session(PLAIN)
    session.user("x" * 1379)
    session.request(to="anthropic", model="claude-opus-5-5")
    session.record(Usage(700, 0, {}, 5))
    session.save(path)
    return path


def test_a_table(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """Parts, the end of the static prefix, the whole, and how it was counted."""
    (tmp_path / "prompt").write_text(PLAIN.text)
    assert run(capsysbinary, tmp_path / "prompt") == (
        "part      pace  bytes  tokens   share  sha256        origin\n"
        "text      -        21       5   29.4%  fddd3bbfab9c\n"
        "-- static prefix up to here: 5 tokens --\n"
        "boundary  turn     50      12   70.6%  7c39d2b02ae1\n"
        "whole              71      17  100.0%  9c1ea5d2e3b4\n"
        "\n"
        "tokens: estimated: bytes divided by four\n"
    ).replace("fddd3bbfab9c", _digest(PLAIN.text[:21])).replace("9c1ea5d2e3b4", PLAIN.sha256[:12])


def _digest(text: str) -> str:
    from deepprompt.prompt import sha256_hex

    return sha256_hex(text)[:12]


def test_the_folder(tmp_path: Path, capsysbinary: CaptureBytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a prompt it is what `build` prints here, byte for byte."""
    lay_out(tmp_path, {"AGENTS.md": "Be kind.\n"})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert main(["build", "--json"]) == 0
    built = json.loads(capsysbinary.readouterr().out)
    for found in (json.loads(run(capsysbinary, "--json")), json.loads(run(capsysbinary, "--json", "--cwd", tmp_path))):
        assert found["sha256"] == built["sha256"]
        assert (found["bytes"], found["tokens"]) == (built["bytes"], built["tokens"])
        keys = ("name", "pace", "origin", "bytes", "sha256")
        assert [{key: part[key] for key in keys} for part in found["parts"]] == [
            {key: part[key] for key in keys} for part in built["parts"]
        ]
        assert sum(part["tokens"] for part in found["parts"]) == found["tokens"]
        assert found["parts"][0]["version"] == "base@1.1.0"


# A project whose AGENTS.md is refused, and whose DEEPSEEK.md has hidden characters and is cut.
NOTED: dict[str, str | bytes] = {"AGENTS.md": bytes(1_000), "DEEPSEEK.md": "a\u202e" + "b" * 5_000}


@pytest.mark.seed("003.23")
def test_003_what_was_neutralised_refused_or_cut(
    tmp_path: Path, capsysbinary: CaptureBytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The notes of `build --json` are in the table and in the JSON, of the folder, of a report and of a function."""
    lay_out(tmp_path, NOTED)
    own = "from deepprompt.commands.build import target\n\n\ndef make():\n    return target.built([])\n"
    lay_out(tmp_path, {"own.py": own})
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert main(["build", "--json", "--out", "built.json"]) == 0
    notes = json.loads((tmp_path / "built.json").read_text())["notes"]
    assert {"neutralised", "refused", "cut"} <= {note["kind"] for note in notes}
    for target in ([], ["built.json"], ["own.py:make"]):
        assert json.loads(run(capsysbinary, *target, "--json"))["notes"] == notes
        lines = run(capsysbinary, *target).partition("\nnotes:\n")[2].splitlines()
        assert len(lines) == len(notes)
        assert lines[0].startswith(f"{notes[0]['kind']}: {notes[0]['source']}")


@pytest.mark.parametrize(
    "notes",
    [None, {}, "x", [1], [{}], [{"kind": 1, "source": "", "detail": "", "count": 1}], [{"kind": "", "source": ""}]],
)
def test_a_report_with_notes_of_another_kind(notes: object, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """Notes that somebody else wrote, or that were damaged, are left out, and the rest is explained."""
    (tmp_path / "built.json").write_text(json.dumps({"text": "x", "parts": [], "notes": notes}))
    assert json.loads(run(capsysbinary, tmp_path / "built.json", "--json"))["notes"] == []


def test_what_build_printed(tmp_path: Path, capsysbinary: CaptureBytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `build --json` printed has paces and origins; `-` is standard input."""
    assert main(["build", "--json", "--no-project", "--cwd", str(tmp_path), "--home", ""]) == 0
    data = capsysbinary.readouterr().out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    (tmp_path / "built.json").write_bytes(data)
    table = run(capsysbinary, tmp_path / "built.json")
    assert "identity  release   3,861" in table
    assert "deepprompt:base/1.1.0/identity.md" in table


def test_a_session_and_its_usage(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """A session is explained with its messages, and its recorded answers calibrate the estimate."""
    path = saved(tmp_path / "session")
    plain = json.loads(run(capsysbinary, path, "--json"))
    assert [part["kind"] for part in plain["parts"]] == ["system", "system", "text"]
    assert plain["bytes"] == 1400
    found = json.loads(run(capsysbinary, path, "--json", "--usage", path, "--model", "claude-opus-5-5"))
    assert found["counted"] == "estimated: 2.00 bytes a token, by one recorded answer"
    assert found["tokens"] == 700 == sum(part["tokens"] for part in found["parts"])
    other = failure(capsysbinary, path, "--usage", path, "--model", "claude-haiku-5-5")
    assert other == f"{path}: no recorded usage of claude-haiku-5-5 to calibrate by"


def test_usage_of_a_bedrock_transcript(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """The model beside a recorded body counts, also as modelId: another model's usage does not calibrate."""
    body = {"messages": [{"role": "user", "content": [{"text": "Hi." * 100}]}]}
    record = {"modelId": "amazon.nova-pro-v1:0", "body": body, "usage": {"inputTokens": 100, "outputTokens": 1}}
    (tmp_path / "log").write_text(json.dumps(record))
    explained = run(capsysbinary, tmp_path / "log", "--usage", tmp_path / "log")
    assert "modelId: amazon.nova-pro-v1:0\n" in explained
    other = failure(capsysbinary, tmp_path / "log", "--usage", tmp_path / "log", "--model", "amazon.nova-lite-v1:0")
    assert other == f"{tmp_path / 'log'}: no recorded usage of amazon.nova-lite-v1:0 to calibrate by"


def test_usage_of_a_transcript(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """Records of bodies with a usage calibrate as well, those without one count for nothing."""
    body: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "x" * 300}]}
    usage = {"prompt_tokens": 100, "completion_tokens": 1}
    records = [{"body": body, "usage": usage}, {"body": body}, {"body": body, "response": {"usage": usage}}]
    (tmp_path / "log").write_text("\n".join(map(json.dumps, records)))
    (tmp_path / "prompt").write_text("y" * 30)
    found = json.loads(run(capsysbinary, tmp_path / "prompt", "--json", "--usage", tmp_path / "log"))
    assert (found["tokens"], found["counted"]) == (10, "estimated: 3.00 bytes a token, by 2 recorded answers")
    (tmp_path / "bad").write_text(json.dumps([{"body": body, "usage": {"x": 1}}]))
    assert failure(capsysbinary, tmp_path / "prompt", "--usage", tmp_path / "bad").startswith(
        f"{tmp_path / 'bad'}: request 1: no usage in a value of type dict with the keys x"
    )
    (tmp_path / "none").write_text(json.dumps([body]))
    said = failure(capsysbinary, tmp_path / "prompt", "--usage", tmp_path / "none")
    assert said == f"{tmp_path / 'none'}: no recorded usage to calibrate by"


@pytest.mark.skipif(find_spec("splintr") is None, reason="needs deepprompt[tokens]")
def test_exact_counts(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """A model with a public vocabulary is counted exactly: the one that is asked for, or that a request names."""
    (tmp_path / "prompt").write_text("Hello, world!")
    found = json.loads(run(capsysbinary, tmp_path / "prompt", "--json", "--model", "gpt-5"))
    assert (found["tokens"], found["exact"]) == (4, True)
    body = {"model": "deepseek-chat", "messages": [{"role": "user", "content": "Hello, world!"}]}
    (tmp_path / "body").write_text(json.dumps(body))
    table = run(capsysbinary, tmp_path / "body")
    assert "tokens: exact for the texts: deepseek_v3" in table
    assert table.endswith("model: deepseek-chat\n")


def test_marks_are_shown(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """Cache marks stand after the rows that they end, with the tokens up to them."""
    marked = {"type": "text", "text": "x" * 400, "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    body = {"model": "m", "max_tokens": 1, "system": [marked], "messages": [{"role": "user", "content": "y" * 40}]}
    (tmp_path / "body").write_text(json.dumps(body))
    lines = run(capsysbinary, tmp_path / "body").splitlines()
    assert lines[1].startswith("system[0] ")
    assert lines[2] == "-- cache mark for 1h: 100 tokens up to here --"
    assert lines[3].startswith("messages[0].content (text)")


def test_a_hostile_name_is_not_obeyed(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """Names and origins reach a terminal as one line without anything to obey."""
    part = {"name": "a\x1b[31m\nb\u202e", "pace": "project", "origin": "x\ty\x07", "bytes": 2}
    (tmp_path / "built").write_text(json.dumps({"text": "hi", "parts": [part]}))
    table = run(capsysbinary, tmp_path / "built")
    assert "a⟨U+001B⟩[31m b⟨U+202E⟩" in table
    assert not set(table) & set("\x1b\x07\t\u202e")


class Terminal(io.TextIOWrapper):
    """Standard output that says it is a terminal."""

    def isatty(self) -> bool:
        """It is one."""
        return True


@pytest.mark.parametrize(("no_color", "coloured"), [("", True), ("1", False)])
def test_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_color: str, coloured: bool) -> None:
    """A terminal is not written over its width; it gets colours unless NO_COLOR is set."""
    out = Terminal(io.BytesIO())
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "72")
    lay_out(tmp_path, {"AGENTS.md": "Be kind.\n"})
    monkeypatch.setenv("HOME", str(tmp_path))
    assert main(["explain", "--cwd", str(tmp_path)]) == 0
    buffer = out.buffer
    assert isinstance(buffer, io.BytesIO)
    lines = buffer.getvalue().decode().splitlines()
    assert any("\x1b[34m" in line for line in lines) is coloured
    shown = [line.replace("\x1b[34m", "").replace("\x1b[32m", "").replace("\x1b[31m", "") for line in lines]
    assert max(len(line.replace("\x1b[0m", "")) for line in shown) <= 72
    assert any("…" in line for line in shown)


def test_errors(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """What is no prompt is one line."""
    assert failure(capsysbinary, tmp_path / "none") == f"{tmp_path / 'none'}: no such file; {TAKEN}"
    (tmp_path / "empty").write_text("")
    assert failure(capsysbinary, tmp_path / "empty") == f"{tmp_path / 'empty'}: is empty"


def test_what_a_function_makes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A function of the user's is called for its prompt, as in lint and lock."""
    (tmp_path / "app.py").write_text("def prompt():\n    return 'You are careful.'\n")
    monkeypatch.chdir(tmp_path)
    assert main(["explain", "app:prompt"]) == 0
    assert "whole" in capsys.readouterr().out


def test_another_folder(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """Files and functions are those of the folder that --cwd names; Python source is no prompt."""
    (tmp_path / "away").mkdir()
    (tmp_path / "away/app.py").write_text("def prompt():\n    return 'You are careful.'\n")
    (tmp_path / "away/rules.md").write_text("Be brief.\n")
    for target, size in (("app:prompt", 16), ("rules.md", 10)):
        assert main(["explain", target, "--cwd", str(tmp_path / "away"), "--json"]) == 0
        assert json.loads(capsysbinary.readouterr().out)["bytes"] == size
    source = f"{tmp_path}/away/app.py"
    refused = f"{source}: is Python source, not a prompt; name the function, as {source}:function"
    assert failure(capsysbinary, source) == refused
