"""What commands write for a person: whoever wrote the text in it, a terminal gets nothing to obey and no key."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from deepprompt.cli import main
from deepprompt.commands.output import say, write_lines
from tests.support.keys import KEYS
from tests.support.layout import lay_out

KEY = KEYS["github-personal"][1]
HOSTILE = f"a\x1b[2J\x9b\u202e {KEY} b"
SHOWN = "a⟨U+001B⟩[2J⟨U+009B⟩⟨U+202E⟩ [redacted: GitHub token] b"
# A part of this name is what `build --json` writes; its text is the name, so that lines and names are both tried.
PARTS = [{"name": HOSTILE, "pace": "project", "origin": HOSTILE, "bytes": len(HOSTILE.encode())}]
RANDOM = f'import os\ndef prompt():\n    return {HOSTILE!r} + "\\n" + {HOSTILE!r} + os.urandom(8).hex()\n'
SETTINGS = '[tool.deepprompt.prompts]\nmain = "app:prompt"\n'


def body(text: str, tool: str) -> dict[str, object]:
    """Return a request with a system text and a tool."""
    tools = [{"name": tool, "description": tool, "input_schema": {"type": "object"}}]
    return {"model": "claude-opus-4-5", "max_tokens": 1, "system": text, "tools": tools, "messages": []}


def built(folder: Path) -> Sequence[str]:
    """A note on a file below a folder of a hostile name."""
    cwd = folder / HOSTILE
    lay_out(cwd, {"CLAUDE.md": "x"})
    (cwd / "AGENTS.md").symlink_to("CLAUDE.md")
    return "build", "--cwd", str(cwd), "--home", "", "--no-git"


def blamed(folder: Path) -> Sequence[str]:
    """Two requests that differ in a line and in a tool's name."""
    (folder / "a.json").write_text(json.dumps(body(f"x\n{HOSTILE}1", "t")))
    (folder / "b.json").write_text(json.dumps(body(f"x\n{HOSTILE}2", "t")))
    return "blame", "a.json", "b.json"


def cached(folder: Path) -> Sequence[str]:
    """A conversation whose second request has another tool."""
    (folder / "t.json").write_text(json.dumps([body("x" * 40_000, "t"), body("x" * 40_000, HOSTILE)]))
    return "cache", "t.json", "--provider", "anthropic", "--model", "claude-opus-4-5"


def locked(folder: Path) -> Sequence[str]:
    """A prompt whose locked part has a hostile name, and has changed."""
    for text in ("", "more"):
        prompt = {"text": HOSTILE + text, "parts": [{**PARTS[0], "bytes": len((HOSTILE + text).encode())}]}
        (folder / "p.json").write_text(json.dumps(prompt))
        if not text:
            assert main(["lock", "main=p.json"]) == 0
    return "lock", "--check", "main=p.json"


def linted(folder: Path) -> Sequence[str]:
    """A file of a hostile name, with a date in it."""
    (folder / f"{HOSTILE}.md").write_text(f"Today is 2026-11-18. {HOSTILE}\n")
    return "lint", f"{HOSTILE}.md"


def explained(folder: Path) -> Sequence[str]:
    """A prompt with a part of a hostile name and origin."""
    (folder / "p.json").write_text(json.dumps({"text": HOSTILE, "parts": PARTS}))
    return "explain", "p.json"


def perturbed(folder: Path) -> Sequence[str]:
    """A function whose prompt is never the same."""
    (folder / "app.py").write_text(RANDOM)
    return "perturb", "app:prompt", "--skip", "locale"


def checked(folder: Path) -> Sequence[str]:
    """The same function in a project, with lint, lock and perturb."""
    (folder / "app.py").write_text(RANDOM)
    (folder / "pyproject.toml").write_text(SETTINGS)
    assert main(["lock"]) == 0
    return ("check",)


def inspected(folder: Path) -> Sequence[str]:
    """A page that would replace another file."""
    (folder / "a.md").write_text("x")
    (folder / HOSTILE).write_text("mine")
    return "inspect", "a.md", "--out", HOSTILE


def replayed(folder: Path) -> Sequence[str]:
    """A log of a prompt whose file has changed since."""
    lay_out(folder / "root", {"task.txt": "x\n"})
    assert main(["assemble", "task", "--root", "root", "--log", "log"]) == 0
    lay_out(folder / "root", {"task.txt": f"{HOSTILE}\n"})
    return "replay", "log", "--root", "root"


COMMANDS = [built, blamed, cached, locked, linted, explained, perturbed, checked, inspected, replayed]


@pytest.mark.parametrize("prepare", COMMANDS, ids=lambda prepare: prepare.__name__)
def test_a_terminal_gets_no_escape_sequence_and_no_key(
    prepare: Callable[[Path], Sequence[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    """Each command that prints a stranger's names or lines shows hidden characters, and redacts keys."""
    monkeypatch.chdir(tmp_path)
    arguments = prepare(tmp_path)
    capsysbinary.readouterr()
    main(list(arguments))
    out, err = capsysbinary.readouterr()
    text = (out + err).decode()
    assert "⟨U+202E⟩" in text
    assert not set(text) & set("\x1b\x9b\u202e")
    assert KEY not in text


def test_lines(capsysbinary: pytest.CaptureFixture[bytes], tmp_path: Path) -> None:
    """Lines are shown one by one, on standard output or in a file; a message is one line of standard error."""
    write_lines(["one", f"{HOSTILE}\nc"])
    write_lines(iter([HOSTILE]), str(tmp_path / "out"))
    say(HOSTILE + os.fsdecode(b"\nc\xff"))
    out, err = capsysbinary.readouterr()
    assert out.decode() == f"one\n{SHOWN} c\n"
    assert (tmp_path / "out").read_text() == f"{SHOWN}\n"
    assert err.decode() == f"deepprompt: {SHOWN} c\ufffd\n"


def test_wrong_usage(capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """An argument that somebody pasted is shown in the same way."""
    with pytest.raises(SystemExit):
        main(["lint", "a.md", f"--{HOSTILE.replace(' ', '-')}"])
    assert SHOWN.replace("] b", "]-b").replace("⟩ [", "⟩-[").encode() in capsysbinary.readouterr().err
