"""What holds for every input, tried with many: the properties P1 to P12, but for time, which is in `test_linear`.

The functions are those that `fuzz/` runs under atheris; what was found is kept here by name.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    ProjectContext,
    PromptAssemblyConfig,
    SystemPromptBuilder,
    compose_system_prompt,
    estimate_tokens,
    load_claude_md,
    load_skills,
)
from deepprompt.errors import BudgetError
from tests.support.examples import examples
from tests.support.hostile.doors import COMMAND, gathered
from tests.support.hostile.properties import (
    PIECES,
    check_builder,
    check_conversation,
    check_files,
    check_messages,
    check_skill,
    check_template,
    check_text,
)
from tests.support.layout import lay_out
from tests.support.repositories import contents, git, make_repository

LAW = examples(120)

DATA = st.lists(st.sampled_from(PIECES) | st.binary(max_size=4), max_size=40).map(b"".join)
LONG = st.tuples(st.sampled_from(PIECES), st.integers(1, 3_000), DATA).map(lambda drawn: drawn[0] * drawn[1] + drawn[2])
TEMPLATES = st.tuples(DATA, DATA, DATA).map(b"\xff\xff".join)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.sampled_from(["\ud800", "user"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=8,
)
KEYS = ("role", "content", "type", "text", "tool_calls", "tool_call_id", "id", "name", "input", "function", "arguments",
        "image_url", "url", "source", "cache_control", "ttl", "thinking", "signature", "reasoning_content")  # fmt: skip
VALUES = st.sampled_from(
    [
        "user",
        "assistant",
        "tool",
        "system",
        "text",
        "tool_use",
        "tool_result",
        "image",
        "thinking",
        "i",
        "",
        "\ud800",
        None,
    ]
)
SHAPES = st.recursive(
    VALUES | JSON,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=12,
)


@LAW
@given(DATA | LONG)
@example(b"<system\ra")
def test_text(data: bytes) -> None:
    """P2, P3, P6, P7, P11: functions on text are idempotent; nothing hidden and no opener survives; all is noted."""
    check_text(data)


@LAW
@given(DATA | LONG)
def test_files(data: bytes) -> None:
    """P1, P4, P5, P8: instruction files of any bytes give one boundary, their own frames, and keep to the limits."""
    check_files(data)


@LAW
@given(DATA | LONG)
def test_builder(data: bytes) -> None:
    """P1, P2, P4, P5, P12: whatever a caller passes in, one boundary, the same static half, only the builder's tags."""
    check_builder(data)


@LAW
@given(DATA | LONG | DATA.map(lambda data: b"---\n" + data + b"\n---\nbody"))
def test_skills(data: bytes) -> None:
    """P1, P2, P5, P7, P8: a skill of any bytes is one line of five columns."""
    check_skill(data)


@LAW
@given(DATA | TEMPLATES)
def test_templates(data: bytes) -> None:
    """P1, P2, P5: a template is put together as the simplest program would, or refused with every reason."""
    check_template(data)


@LAW
@given(st.lists(SHAPES, max_size=4))
def test_messages(messages: list[object]) -> None:
    """P1, P2, P3: any JSON is read as messages or refused by name, for every provider."""
    check_messages(json.dumps(messages).encode())


@LAW
@given(st.lists(st.binary(min_size=2, max_size=20), max_size=12).map(b"\xff".join))
def test_conversations(data: bytes) -> None:
    """P1, P2, P3: so are conversations of calls, results, images and thinking in any order."""
    check_conversation(data)


# What hypothesis or atheris found, with the function that it was given to.
FOUND: dict[str, tuple[Callable[[bytes], None], bytes]] = {
    "hidden-line-break-after-a-speaker": (check_text, b"<system\x0bx"),
    "place-of-a-token-behind-hidden-text": (check_text, b"\x00\x00<system>"),
    "speaker-at-the-cut": (check_text, b"<systems" + b"<username>" * 3),
    "boundary-with-many-blanks": (check_text, b"===" + b" " * 20 + b"DYNAMIC CONTEXT"),
    "boundary-in-another-alphabet": (check_text, "=== 𝐃𝐘𝐍𝐀𝐌𝐈𝐂 ⒸⓄⓃⓉⒺⓍⓉ".encode()),
    "pipes-in-a-run-mode": (check_skill, b"---\nrunas: " + b"| " * 10_000 + b"\n---\n"),
}


@pytest.mark.parametrize(("check", "data"), FOUND.values(), ids=FOUND)
def test_what_fuzzing_found(check: Callable[[bytes], None], data: bytes) -> None:
    """What once broke a law does not break it again."""
    check(data)


# Prints what everything gives for a folder: the same bytes wherever and however it runs.
CHILD = """
import json, os, sys
os.umask(int(sys.argv[2], 8))
from deepprompt import (
    PromptAssemblyConfig, SystemPromptBuilder, build_request, compose_system_prompt, load_claude_md,
    load_instruction_files, load_skills,
)
cwd = sys.argv[1]
skills = load_skills(cwd)
prompt = SystemPromptBuilder(instructions=load_instruction_files(cwd), skill_directory=skills.index_text()).compose()
config = PromptAssemblyConfig(claude_md_content=load_claude_md(cwd), enabled_tools=["Bash", "Glob"])
preset = compose_system_prompt(config)
request = build_request(prompt, [{"role": "user", "content": prompt.text}], to="anthropic", model="claude-opus-5-5")
print(json.dumps([prompt.text, [str(note) for note in prompt.notes + skills.notes], preset.text, request.body]))
"""

SURROUNDINGS: dict[str, tuple[dict[str, str], str, str]] = {
    "another-hash-seed": ({"PYTHONHASHSEED": "1"}, "022", "."),
    "another-seed-and-folder": ({"PYTHONHASHSEED": "4242"}, "077", "/"),
    "c-locale": ({"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, "000", "/tmp"),
    "posix-locale-and-zone": ({"LANG": "POSIX", "TZ": "Pacific/Kiritimati", "PYTHONUTF8": "1"}, "027", "."),
    "narrow-terminal": ({"COLUMNS": "20", "TERM": "dumb", "NO_COLOR": "1", "PYTHONIOENCODING": "ascii"}, "022", "."),
}


@pytest.mark.slow
def test_the_same_bytes_everywhere(tmp_path: Path) -> None:
    """P3: another process, hash seed, locale, zone, folder, umask or order of the files changes no byte."""
    hostile = b"".join(PIECES)
    files = {"AGENTS.md": hostile, "DEEPSEEK.md": hostile[::-1], "CLAUDE.md": hostile}
    files |= {f"skills/s{number}/SKILL.md": b"# s%d\n" % number + hostile for number in range(5)}
    cwd = lay_out(tmp_path / "cwd", files)
    outputs = set()
    for environment, umask, folder in SURROUNDINGS.values():
        ran = subprocess.run(
            [sys.executable, "-P", "-c", CHILD, cwd, umask],
            env={**os.environ, **environment},
            cwd=tmp_path if folder == "." else folder,
            capture_output=True,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        outputs.add(ran.stdout)
    for name in sorted(files, reverse=True):  # created again in another order
        (cwd / name).unlink()
        lay_out(cwd, {name: files[name]})
    outputs.add(subprocess.run([sys.executable, "-P", "-c", CHILD, cwd, "022"], capture_output=True, check=True).stdout)
    assert len(outputs) == 1


@LAW
@given(st.integers(-5, 5), st.sampled_from(["", "x" * 400, "🐘" * 100]))
def test_no_prompt_is_over_its_budget(over: int, text: str) -> None:
    """P8: a prompt with a budget is within it, or there is none."""
    config = PromptAssemblyConfig(claude_md_content=text)
    tokens = estimate_tokens(compose_system_prompt(config).text)
    limited = dataclasses.replace(config, max_system_prompt_tokens=tokens + over)
    if over < 0:
        with pytest.raises(BudgetError, match=f"has {tokens} tokens, the budget is {tokens + over}"):
            compose_system_prompt(limited)
    else:
        assert estimate_tokens(compose_system_prompt(limited).text) <= tokens + over


def test_nothing_in_the_project_is_changed(tmp_path: Path) -> None:
    """P10: not a byte, a time or an inode of a project is another after everything has looked at it."""
    cwd = make_repository(tmp_path / "cwd")
    hostile = b"".join(PIECES)
    lay_out(cwd, {"AGENTS.md": hostile, "CLAUDE.md": hostile, "skills/x/SKILL.md": hostile, "a.txt": "changed"})
    (cwd / "DEEPSEEK.md").symlink_to("AGENTS.md")
    os.mkfifo(cwd / ".deepseek")
    git(cwd, "add", "a.txt")
    before = contents(cwd)
    for _ in range(3):
        gathered(cwd, git=True)
        load_claude_md(cwd)
        for name in load_skills(cwd).names():
            load_skills(cwd).body(name)
    subprocess.run([*COMMAND, "build", "--json"], cwd=cwd, capture_output=True, check=True)
    assert contents(cwd) == before


@LAW
@given(st.lists(st.lists(st.text(max_size=8) | st.sampled_from(["=== DYNAMIC CONTEXT", "\n"]), min_size=8, max_size=8)))
def test_the_static_half_stays(turns: list[list[str]]) -> None:
    """P12: whatever git says from turn to turn, the static half of a prompt has the same bytes."""
    builder = SystemPromptBuilder(append="mine")
    prefix = builder.compose().static_prefix
    for fields in turns:
        builder.project = ProjectContext(*fields)
        prompt = builder.compose()
        assert prompt.static_prefix == prefix
        assert prompt.prefix_sha256 == SystemPromptBuilder(append="mine").compose().prefix_sha256
        assert builder.build().startswith(prefix + DYNAMIC_CONTEXT_BOUNDARY)
