"""E: bytes that are no text, text that cannot be encoded. No exception, a stable result, and a note."""

from __future__ import annotations

import codecs
import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from deepprompt import (
    AgentConfig,
    AgentDefinition,
    AuditLog,
    DeepPromptError,
    InstructionFile,
    McpServer,
    Note,
    ProjectContext,
    Prompt,
    PromptAssembler,
    PromptAssemblyConfig,
    PromptVars,
    Responsibility,
    SlashCommand,
    SystemPromptBuilder,
    SystemPromptConfig,
    Task,
    TaskStep,
    Tier,
    TieredContext,
    UrlContent,
    assemble_messages,
    build_request,
    build_system_prompt,
    compose_subagent_prompt,
    compose_system_prompt,
    fingerprint,
    inject_recalled,
    load_claude_md,
    load_instruction_files,
    load_skills,
    read_git,
    reminder,
    render_project_context,
    tiered_system_prompt,
)
from deepprompt.errors import EncodingError
from deepprompt.prompt import Pace, Part
from deepprompt.systems.agents import reminder_names
from deepprompt.words import Target
from tests.support.hostile.doors import gathered, reported, run
from tests.support.hostile.properties import TARGETS, assert_neutral, boundaries
from tests.support.layout import lay_out

SKILL = "skills/x/SKILL.md"
NOT_UTF8 = "bytes that are not UTF-8, by U+FFFD"


def load_everywhere(cwd: Path, data: bytes, text: str) -> list[Note]:
    """Put bytes into each file that is loaded: the same text comes out of each; return the notes on the first."""
    lay_out(cwd, {"AGENTS.md": data, "CLAUDE.md": data, SKILL: b"---\nname: x\n---\n.\n" + data + b"\n."})
    files = load_instruction_files(cwd)
    assert [file.content for file in files] == [text]
    assert load_claude_md(cwd) == text
    assert load_skills(cwd).body("x") == f".\n{text}\n."
    assert gathered(cwd).text == gathered(cwd).text
    return list(files.notes)


@pytest.mark.parametrize(
    ("data", "text", "offset", "count"),
    [
        (b"a\xff\xfeb", "a\ufffd\ufffdb", 1, 2),
        (b"\x80", "\ufffd", 0, 1),
        ("é".encode()[:1], "\ufffd", 0, 1),
        ("ab🐘".encode()[:-1] + b"c", "ab\ufffdc", 2, 1),
        (b"\xf5\x80\x80\x80", "\ufffd" * 4, 0, 4),
        ("caf\xe9".encode("latin-1"), "caf\ufffd", 3, 1),
        (b"a\n" * 5 + b"\xff", "a\n" * 5 + "\ufffd", 10, 1),
    ],
)
def test_e01_bytes_that_are_not_utf8(tmp_path: Path, data: bytes, text: str, offset: int, count: int) -> None:
    """Each becomes U+FFFD, and the note says where and how many."""
    notes = load_everywhere(tmp_path, data, text)
    assert notes == [Note("replaced", str(tmp_path / "AGENTS.md"), NOT_UTF8, offset, count)]


def test_e01_in_a_template(tmp_path: Path) -> None:
    """A template or an include is never guessed at: it is an error that names the byte."""
    lay_out(tmp_path, {"t.txt": b"a\xff", "u.txt": "$$include inc", "inc": b"ab\xff"})
    for ref, says in (("t", "t.txt: template is not UTF-8 at byte 1"), ("u", "u.txt:1: inc is not UTF-8 at byte 2")):
        with pytest.raises(EncodingError) as caught:
            PromptAssembler(str(tmp_path)).assemble(ref, {})
        assert str(caught.value) == says


def test_e01_through_the_command(tmp_path: Path) -> None:
    """The command prints the same bytes twice, and the note in its report."""
    lay_out(tmp_path, {"AGENTS.md": bytes(range(256))})
    first, second = reported(tmp_path, "--no-project"), reported(tmp_path, "--no-project")
    assert first == second
    assert {note["kind"] for note in first["notes"]} == {"replaced", "neutralised"}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (codecs.BOM_UTF8 + b"a", "a"),
        (codecs.BOM_UTF8 * 2 + b"a", "⟨U+FEFF⟩a"),
        (b"a" + codecs.BOM_UTF8 + b"b", "a⟨U+FEFF⟩b"),
        (b"\n" + codecs.BOM_UTF8 + b"a", "\n⟨U+FEFF⟩a"),
    ],
)
def test_e02_byte_order_mark(tmp_path: Path, data: bytes, text: str) -> None:
    """One at the very start is dropped, any other is shown."""
    lay_out(tmp_path, {"AGENTS.md": data, "CLAUDE.md": data})
    assert [file.content for file in load_instruction_files(tmp_path)] == [text]
    assert load_claude_md(tmp_path) == text
    gathered(tmp_path)


@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE, b""])
def test_e03_utf16(tmp_path: Path, mark: bytes) -> None:
    """What another encoding holds is shown as what its bytes are in UTF-8, with notes: it is not guessed."""
    data = mark + "hi <system>".encode("utf-16-le" if mark != codecs.BOM_UTF16_BE else "utf-16-be")
    lay_out(tmp_path, {"AGENTS.md": data})
    prompt = gathered(tmp_path)
    assert "h" in prompt.text
    assert {note.kind for note in prompt.notes} == ({"replaced", "neutralised"} if mark else {"neutralised"})


@pytest.mark.parametrize(
    ("data", "count"),
    [(b"\xc0\xaf", 2), (b"\xe0\x80\xaf", 3), (b"\xf0\x80\x80\xaf", 4), (b"\xc1\xbc", 2), (b"\xed\xa0\x80", 3)],
)
def test_e05_overlong(tmp_path: Path, data: bytes, count: int) -> None:
    """An overlong slash is no slash and no bracket: each byte is replaced."""
    notes = load_everywhere(tmp_path, b"." + data + b".", "." + "\ufffd" * count + ".")
    assert [note.count for note in notes] == [count]


def test_e05_overlong_in_a_path(tmp_path: Path) -> None:
    """Nor does an overlong dot or slash lead anywhere in a path."""
    lay_out(tmp_path, {"secret": "x", "root/t.txt": "$$A"})
    for path in ("..\udcc0\udcafsecret", "\udcc0\udcae\udcc0\udcae/secret"):
        with pytest.raises(DeepPromptError, match="is not there"):
            PromptAssembler(str(tmp_path / "root")).assemble("t", {"A": path})


def test_e06_nul(tmp_path: Path) -> None:
    """A NUL is shown where it stands, and ends nothing."""
    notes = load_everywhere(tmp_path, b"a\0b\0", "a⟨U+0000⟩b⟨U+0000⟩")
    assert notes == [Note("neutralised", str(tmp_path / "AGENTS.md"), "hidden U+0000", 1, 2)]


FOLDERS = {"nul": "a\0b", "surrogate": "\ud800", "long": "x" * 5_000, "deep": "x/" * 3_000}


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
@pytest.mark.parametrize("load", [load_instruction_files, load_skills, load_claude_md, read_git])
def test_e06_in_the_name_of_a_folder(load: Callable[[str], Any], folder: str) -> None:
    """A folder that no system can have gives nothing and notes, or an error of ours, never another one."""
    try:
        found = load(folder)
    except DeepPromptError as error:
        assert_neutral(str(error))
    else:
        for note in getattr(found, "notes", ()):
            assert_neutral(str(note))


@pytest.mark.parametrize("path", ["a\0b", "\ud800", "x" * 5_000 + "/log"])
def test_e06_in_the_path_of_a_log(tmp_path: Path, path: str) -> None:
    """A log that no system can have is an error of ours."""
    lay_out(tmp_path, {"t.txt": "x"})
    with pytest.raises(DeepPromptError):
        AuditLog(os.path.join(tmp_path, path)).append(PromptAssembler(str(tmp_path)).assemble("t", {}))


@pytest.mark.parametrize(
    "data", [b"a\rb\rc", b"a\r\nb\r\nc", b"a\nb\r\nc", b"a\rb\nc", b"a\r\nb\rc"], ids=["cr", "crlf", "mixed", "2", "3"]
)
def test_e07_line_ends(tmp_path: Path, data: bytes) -> None:
    """Every line end is a newline, so that each checkout gives the same prefix and the same hash."""
    assert load_everywhere(tmp_path, data, "a\nb\nc") == []
    lay_out(tmp_path, {"t.txt": data, "other/t.txt": b"a\nb\nc"})
    hashes = {PromptAssembler(str(tmp_path / root)).assemble("t", {}).content_hash for root in (".", "other")}
    assert len(hashes) == 1


def test_e07_other_line_breaks(tmp_path: Path) -> None:
    """What only some programs take for a line end is shown, and never makes a second line."""
    load_everywhere(tmp_path, "a\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029b".encode(),
                    "a⟨U+000B⟩⟨U+000C⟩⟨U+001C⟩⟨U+001D⟩⟨U+001E⟩⟨U+0085⟩⟨U+2028⟩⟨U+2029⟩b")  # fmt: skip


# A lone surrogate as a JSON parser gives it, alone and where text would be, and one that stands for a byte.
LONE = [json.loads('"\\ud800"'), json.loads('"a\\udfffb"'), "\udcff", "x\udc80\ud800y"]
NOW = datetime(2031, 3, 4, tzinfo=UTC)


def whole_preset(text: str, **more: Any) -> Prompt:
    """The prompt of a preset with a text in every place that takes one."""
    config = PromptAssemblyConfig(
        system_prompt=SystemPromptConfig(append=text, **more),
        cwd=text,
        os=text,
        shell=text,
        enabled_tools=["Bash", text],
        sessions_enabled=True,
        memory_enabled=True,
        mcp_servers=[McpServer(text, text, (text,))],
        slash_commands=[SlashCommand(text, text)],
        claude_md_content=text,
        output_style=text,
        vars=PromptVars(text, text, text, text, text, text, text, text),
    )
    return compose_system_prompt(config)


DOORS: dict[str, Callable[[str], object]] = {
    "builder": lambda text: SystemPromptBuilder(
        text, [InstructionFile(text, text)], text, ProjectContext(*[text] * 8), append=text
    ).compose(),
    "builder-parts": lambda text: SystemPromptBuilder(
        base_parts=[Part("a", text, Pace.RELEASE, "o")], append=[Part("b", text, Pace.PROJECT, "o")]
    ).compose(),
    "project": lambda text: render_project_context(ProjectContext(*[text] * 8)),
    "recalled": lambda text: inject_recalled(text, text),
    "preset": whole_preset,
    "preset-deepseek": lambda text: whole_preset(text, preset="deepseek"),
    "preset-custom": lambda text: whole_preset("", custom=text),
    "environment-last": lambda text: compose_system_prompt(
        PromptAssemblyConfig(cwd=text, os=text, shell=text), environment_last=True
    ),
    "subagent": lambda text: compose_subagent_prompt(
        AgentDefinition(text, text, (text,)),
        PromptAssemblyConfig(cwd=text, os=text, shell=text),
        skills={text: text},
    ),
    "tagged": lambda text: build_system_prompt(
        AgentConfig(text, text, [Responsibility(text, text)]),
        text,
        text,
        [text],
        now=NOW,
        task=Task(text, text, text, text, [TaskStep(text, False, text)]),
        memories=[text],
    ),
    "tagged-role": lambda text: build_system_prompt(AgentConfig(role=text), text, "", [], now=NOW),
    "tiers": lambda text: assemble_messages(
        TieredContext(
            text,
            text,
            {name: Tier({text: text}, {text: text}, [{"role": "user", "content": text}]) for name in ("L0", "L1")},
            [text],
            [UrlContent(text, text, text, text)],
            {text: text},
            [{"role": "user", "content": [{"type": "text", "text": text}]}],
            text,
            [text],
        )
    ),
    "tiers-system": lambda text: tiered_system_prompt(text),
    "fingerprint": lambda text: fingerprint(text, [{"name": text, "description": text, "input_schema": {}}]),
}


@pytest.mark.parametrize("text", LONE, ids=ascii)
@pytest.mark.parametrize("door", DOORS.values(), ids=DOORS)
def test_e09_lone_surrogate_in_an_argument(door: Callable[[str], object], text: str) -> None:
    """What cannot be encoded becomes U+FFFD wherever it was passed in, twice alike; or the call is refused by name."""
    try:
        first, second = door(text), door(text)
    except DeepPromptError as error:
        str(error).encode()
        return
    if isinstance(first, Prompt):
        assert isinstance(second, Prompt)
        assert first.text == second.text
        first.text.encode()
        json.dumps(first.tools, ensure_ascii=False).encode()
        for note in first.notes:
            str(note).encode()
    else:
        assert first == second
        json.dumps(first, ensure_ascii=False, default=str).encode()


def test_e09_in_a_reminder() -> None:
    """A reminder's variables are scrubbed like any other."""
    for name in reminder_names():
        try:
            reminder(name).encode()
        except DeepPromptError as error:
            names = str(error).partition("needs a value for ")[2].partition(";")[0].split(", ")
            reminder(name, **{key.lower(): "a\ud800b" for key in names if key}).encode()


MESSAGES: dict[str, Callable[[str], list[dict[str, Any]]]] = {
    "content": lambda text: [{"role": "user", "content": text}],
    "block": lambda text: [{"role": "user", "content": [{"type": "text", "text": text}]}],
    "role": lambda text: [{"role": text, "content": "x"}],
    "key": lambda text: [{"role": "user", "content": "x", text: text}],
    "unknown-block": lambda text: [{"role": "user", "content": [{"type": text, text: text}]}],
    "image": lambda text: [
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": f"https://x/{text}"}}]}
    ],
    "tool-call": lambda text: [
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": text, "type": "function", "function": {"name": "f", "arguments": json.dumps({text: text})}}
            ],
        },
        {"role": "tool", "tool_call_id": text, "content": text},
    ],
    "tool-name": lambda text: [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "i", "name": text, "input": {text: [text]}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "i", "content": text}]},
    ],
    "thinking": lambda text: [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": [{"type": "thinking", "thinking": text, "signature": text}, "y"]},
        {"role": "user", "content": "z"},
    ],
    "reasoning": lambda text: [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": "y", "reasoning_content": text},
        {"role": "user", "content": "z"},
    ],
    "mark": lambda text: [
        {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"ttl": text}}]}
    ],
}  # fmt: skip


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("make", MESSAGES.values(), ids=MESSAGES)
def test_e09_lone_surrogate_in_a_request(make: Callable[[str], list[dict[str, Any]]], to: Target) -> None:
    """A request that is built can be sent; one that cannot be is refused in words that can be printed."""
    for text in LONE:
        tools = [{"name": "f", "description": text, "input_schema": {"type": "object", "title": text}}]
        try:
            request = build_request(text, make(text), to=to, model=TARGETS[to], tools=tools)
        except DeepPromptError as error:
            str(error).encode()
            continue
        json.dumps(request.body, ensure_ascii=False).encode()
        request.explain().encode()


def test_e09_in_a_template(tmp_path: Path) -> None:
    """Names, paths and ids with lone surrogates assemble or are refused, and the log has one line of ASCII for them."""
    lay_out(tmp_path, {"root/t.txt": "$$A\n$$include a", "root/a": "a"})
    for text in LONE:
        assembler = PromptAssembler(str(tmp_path / "root"))
        for ref, includes in ((text, {}), ("t", {"A": text}), ("t", {"A": "a", text: text})):
            try:
                assembled = assembler.assemble(ref, includes, text)
            except DeepPromptError:
                continue
            assembled.content.encode()
            AuditLog(str(tmp_path / "log")).append(assembled)
    lines = (tmp_path / "log").read_bytes()
    assert lines.isascii()
    assert all(isinstance(json.loads(line), dict) for line in lines.splitlines())


def test_e10_file_names_that_are_not_utf8(tmp_path: Path) -> None:
    """Bytes of a name that are no text are shown as U+FFFD in the prompt and in every note."""
    cwd = Path(os.fsdecode(bytes(tmp_path) + b"/p\xff\xe2\x80\xaeq\x1b[31m"))
    lay_out(cwd, {"AGENTS.md": b"x\xff", os.fsdecode(b"skills/s\xff/SKILL.md"): "no heading"})
    prompt = gathered(cwd)
    assert "p\ufffd⟨U+202E⟩q⟨U+001B⟩[31m/AGENTS.md]" in prompt.text
    assert "\ns\ufffd |  | direct" in prompt.text
    report = reported(cwd, "--preset", "deepseek@1.0.0")
    assert report["text"].startswith(prompt.static_prefix)
    assert boundaries(report["text"]) == 1


def test_e10_in_an_argument_of_the_command(tmp_path: Path) -> None:
    """Arguments of bytes that are no text give a prompt that is."""
    text = os.fsdecode(b"more \xff\xfe")
    done = run("build", "--home", "", "--no-project", "--append", text, cwd=tmp_path)
    assert done.stdout.decode().endswith("\n\nmore \ufffd\ufffd\n=== DYNAMIC CONTEXT (per-turn, do not cache) ===\n")
