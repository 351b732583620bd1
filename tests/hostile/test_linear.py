"""R: time in proportion to the input, for every function on text and whatever is repeated in it.

Measured is processor time, the best of several runs, of a size and of four times that size: in proportion it is
fourfold, a quadratic is sixteenfold, and more than 2.6 x 2.6 fails.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    PromptAssembler,
    SystemPromptBuilder,
    build_request,
    load_instruction_files,
    load_skills,
)
from deepprompt.errors import PromptAssemblyError
from deepprompt.request.conversation import Conversation
from deepprompt.sources.files import refuse_claude
from deepprompt.systems.builder import inject_recalled
from deepprompt.systems.tagged import TAGS
from deepprompt.systems.template import minified
from deepprompt.text.characters import TAG_FLAGS
from deepprompt.text.disarm import escape_boundary, escape_roles, escape_tags
from deepprompt.text.hidden import drop_hidden, reveal
from deepprompt.text.hygiene import cut, decode, neutralise, one_line, scrub, shorten, trim, unify_line_ends
from deepprompt.text.secrets import redact
from deepprompt.words import Target
from tests.support.growth import TRIES, in_proportion, processor_time
from tests.support.hostile.properties import TARGETS
from tests.support.layout import lay_out

pytestmark = pytest.mark.slow

UNITS = {
    "letter": "a",
    "blank": " ",
    "newline": "\n",
    "carriage-return": "\r",
    "line-ends": "\r\n\r",
    "bracket": "<",
    "bracket-and-blanks": "<" + " " * 100,
    "bracket-and-slashes": "< / / / ",
    "bracket-and-bar": "<|",
    "bracket-and-hidden": "<\u200b\u200e",
    "wide-bracket": "＜／",
    "closing": "</",
    "tag": "<system>",
    "long-name": "<systems ",
    "half-a-tag": "<syste",
    "tag-of-ours": "</Instructions>",
    "half-a-tag-of-ours": "</Instructio",
    "token": "<｜User｜>",
    "equals": "=",
    "boundary": DYNAMIC_CONTEXT_BOUNDARY,
    "half-a-boundary": "=== DYNAMIC CONTEX",
    "boundary-in-one-sign": "⩶ D",
    "square-bracket": "[",
    "template-of-llama": "[INST]<<SYS>>",
    "half-a-template": "[/INS",
    "other-brackets": "]~b",
    "overlapping-tokens": "]~b]~b",
    "bars": "|DSML",
    "bracket-and-name": "< name_of ",
    "speaker-with-attributes": "<user a=b ",
    "line-of-a-speaker": "<system>\n",
    "fences": "> ```\n- ~~~\n",
    "comparison": "n < task ",
    "tag-in-pieces": "</I n s t r ",
    "word-breaks": "ก\u200b",
    "soft-hyphens": "a\xad",
    "operators": "a\u2062",
    "blank-cells": "\u2800",
    "picture": "⣿" + "\u2800" * 119,
    "ideographs": "日\U000e0100",
    "ligatures": "ﬆ㎃",
    "equals-and-blanks": "= = =   ",
    "hidden": "\u200b",
    "joiners": "ه\u200c",
    "emoji-joiners": "👩\u200d",
    "selectors": "❤\ufe0f\ufe0f",
    "marks": "\u200e\u200f",
    "flag": TAG_FLAGS[0],
    "half-a-flag": TAG_FLAGS[0][:-1],
    "flag-letters": "\U000e0067",
    "surrogate": "\ud800",
    "comment": "<!--",
    "entity": "&lt;",
    "word": "word-",
    "key": "sk-ant-",
    "half-a-token": "-eyJaaaaaaaa",
    "web-token": "eyJaaaaaaaa.eyJaaaaaaaa.",
    "address": "://a:",
    "private-key": "-----BEGIN PRIVATE KEY-----",
    "half-a-private-key": "-----BEGIN RSA",
    "github": "ghp_aaaaaaaaaaaaaaa ",
    "split-key": "g\u200bhp_a",
    "azure": "AccountKey=",
    "telegram": "9:AA",
    "refresh": "1//0",
    "pem-lines": "-----BEGIN " + "A " * 20,
    "backticks": "`",
    "claude": "claud",
}

# Each function on text, and the units that it could stumble over; all of them where none are named.
FUNCTIONS: dict[str, Callable[[str], object]] = {
    "decode": lambda text: decode(text.encode(errors="surrogatepass"), "s", []),
    "unify_line_ends": unify_line_ends,
    "reveal": lambda text: reveal(text, "s", []),
    "drop_hidden": drop_hidden,
    "scrub": lambda text: scrub(text, "s", []),
    "neutralise": lambda text: neutralise(text, "s", []),
    "escape_roles": lambda text: escape_roles(text, "s", []),
    "escape_tags": lambda text: escape_tags(text, TAGS, "s", []),
    "escape_boundary": lambda text: escape_boundary(text, "s", []),
    "one_line": lambda text: one_line(text, "s", []),
    "redact": lambda text: redact(text, "s", []),
    "cut": lambda text: cut(scrub(text, "s", []), len(text) // 2),
    "trim": trim,
    "refuse_claude": refuse_claude,
}


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
def test_functions_take_time_in_proportion(function: Callable[[str], object]) -> None:
    """No function on text takes more than its share of time for any repetition."""
    for unit in UNITS.values():

        def run(size: int, unit: str = unit) -> Callable[[], object]:
            text = unit * (size // len(unit) + 1)
            return lambda: function(text)

        if processor_time(run(1 << 15), 1) > 0.03:  # in less than that nothing quadratic is done
            in_proportion(run, 1 << 13, 1 << 13)


@pytest.mark.parametrize("end", ["<user", "<user" + "\u200e" * 60, TAG_FLAGS[0][:-1], "👩\u200d", "a"])
def test_shortening_takes_time_in_proportion(end: str) -> None:
    """Where the cut falls on something that has to go too, that is no reason to look at it all again and again."""
    in_proportion(lambda size: lambda: shorten("x" * size + end + "names", size + len(end.encode())), 1 << 14)


def test_the_measure_finds_what_is_not_in_proportion() -> None:
    """A quadratic fails, and by the same measure what only reads its input passes: or nothing above means anything."""
    import re

    pattern = re.compile(r"\s+\Z")
    with pytest.raises(AssertionError, match="times as long"):
        in_proportion(lambda size: lambda: pattern.search(" " * size + "x"), 500)
    in_proportion(lambda size: lambda: sum(range(size)))


def load(cwd: Path, name: str, unit: str, start: str = "", end: str = "") -> Callable[[int], Callable[[], object]]:
    """Return what makes a file of a size, and reads it through the loader that its name belongs to."""

    def run(size: int) -> Callable[[], object]:
        lay_out(cwd, {name: start + unit * (size // len(unit) + 1) + end})
        if name == "AGENTS.md":
            return lambda: SystemPromptBuilder(instructions=load_instruction_files(cwd)).build()
        if name == "t.txt":
            return lambda: assembled(cwd)
        return lambda: bodies(cwd)

    return run


def bodies(cwd: Path) -> object:
    """Find the skills of a folder and read them."""
    store = load_skills(cwd)
    return [store.body(name) for name in store.names()]


def assembled(root: Path) -> object:
    """Assemble t, whatever comes of it."""
    try:
        return PromptAssembler(str(root)).assemble("t", {})
    except PromptAssemblyError as error:
        return str(error)


def quick(run: Callable[[int], Callable[[], object]], seconds: float = 1.0) -> None:
    """See that a hundred thousand characters take a moment: what is not linear takes minutes for them."""
    call = run(100_000)
    for _ in range(TRIES):
        taken = processor_time(call, 1)
        if taken < seconds:
            return
    raise AssertionError(f"{taken:.3f} s")


def everywhere(cwd: Path, unit: str, start: str = "", end: str = "") -> None:
    """Put a repetition into every kind of file: a moment for a hundred thousand of them, and time in proportion."""
    for name in ("AGENTS.md", "skills/x/SKILL.md", "t.txt"):
        quick(load(cwd, name, unit, start, end))
    for name in ("skills/x/SKILL.md", "t.txt"):
        in_proportion(load(cwd, name, unit, start, end), 1 << 15, 1 << 17)


def test_r01_blanks_around_a_directive(tmp_path: Path) -> None:
    r"""Blanks before and after a directive: where `^\s*\$\$include\s+(.+?)\s*$` is cubic."""
    lay_out(tmp_path, {"a": "A"})
    everywhere(tmp_path, " ", "$$include")
    everywhere(tmp_path, " ", "$$include a", "x")
    everywhere(tmp_path, " ", "", "$$include a")
    everywhere(tmp_path, "$$include a\n", "", "")


def test_r02_comments_that_never_end(tmp_path: Path) -> None:
    """Comments that are opened and not closed: where `<!--.*?-->` is quadratic."""
    everywhere(tmp_path, "<!--")
    everywhere(tmp_path, "<!-- a", "---\nname: x\n", "\n---\n")


def test_r03_blanks_that_are_not_at_the_end(tmp_path: Path) -> None:
    r"""Blanks with something after them: where `\s+\Z` is quadratic."""
    everywhere(tmp_path, " ", "a", "b")
    everywhere(tmp_path, "\n", "a", "b")
    everywhere(tmp_path, "\u2003 \n", "# ", "b")


def test_r04_front_matter_that_never_ends(tmp_path: Path) -> None:
    r"""Front matter without its end: where `---\s*\n(.*?)\n---` is quadratic."""
    everywhere(tmp_path, "\n--- ", "---")
    everywhere(tmp_path, "---\n", "---\n ")
    everywhere(tmp_path, "\n---x", "---\n")
    everywhere(tmp_path, "a: b\n", "---\n", "---")
    everywhere(tmp_path, "```\n# a\n", "", "")


def test_r05_words_before_a_colon(tmp_path: Path) -> None:
    r"""A key of many words: where `^(?:[\w-]+\s?)+:$` is exponential."""
    everywhere(tmp_path, "a", "---\n", "!\n---\n")
    everywhere(tmp_path, "a-b ", "---\nname: x\n", ";\n---\n")
    everywhere(tmp_path, "a ", "", ":")


def test_r06_a_bracket_in_a_row(tmp_path: Path) -> None:
    """Nothing but brackets, each of which could begin a tag: where a look ahead from each is quadratic."""
    everywhere(tmp_path, "<")
    everywhere(tmp_path, "< /")
    everywhere(tmp_path, "<", "---\nname: ", "\n---\n")
    everywhere(tmp_path, "<|", "---\ndescription: x\nrunas: ", "\n---\n")


FRONT = ("[", "{", "[a,", "[[a],", "{a: ", "- ", "? ", "-\n", "?\n", "\na", "a: b\n", '"', "'", "&a ", "*a ", "!a ",
         "#", "%", ": ", "| ", ">\n ", "a:\n ", "- a\n", "\t", "\\", "é: ")  # fmt: skip


@pytest.mark.parametrize("unit", FRONT)
def test_front_matter_takes_time_in_proportion(tmp_path: Path, unit: str) -> None:
    """What YAML parses, and what is too long for it, take time in proportion."""

    def run(size: int) -> Callable[[], object]:
        lay_out(tmp_path, {"skills/x/SKILL.md": f"---\nname: x\nb: {unit * (size // len(unit))}\n---\n"})
        return lambda: load_skills(tmp_path)

    in_proportion(run, 4_000, 16_000)


@pytest.mark.parametrize("unit", ["| ", "|", "<user", "a,", "\u200b", "🏴\U000e0067", "\\| "], ids=ascii)
def test_columns_take_time_in_proportion(tmp_path: Path, unit: str) -> None:
    """Columns of any length are cut in time; so long, they are no YAML."""

    def run(size: int) -> Callable[[], object]:
        value = unit * (size // len(unit))
        columns = "".join(f"{name}: a{value}\n" for name in ("name", "description", "runas", "allowed-tools"))
        lay_out(tmp_path, {"skills/x/SKILL.md": f"---\n{columns}---\n"})
        return lambda: load_skills(tmp_path)

    in_proportion(run, 20_000, 160_000)


@pytest.mark.parametrize("unit", ["[", "[1, ", '"a" ', '{"a": ', '"\\\\', " ", "\\", '"\\"'])
def test_json_takes_time_in_proportion(unit: str) -> None:
    """So do included files that should be JSON."""
    in_proportion(lambda size: lambda: minified(unit * (size // len(unit))), largest=1 << 19)


@pytest.mark.parametrize("unit", ["<system>", "\n=== DYNAMIC CONTEXT", "= ", "\n"])
def test_recalled_text_takes_time_in_proportion(unit: str) -> None:
    """So does what is recalled into a prompt."""
    in_proportion(lambda size: lambda: inject_recalled("p", unit * (size // len(unit))), largest=1 << 19)


def call(number: int) -> dict[str, Any]:
    """A tool call as Chat Completions writes it."""
    return {"id": f"c{number}", "type": "function", "function": {"name": "f", "arguments": "{}"}}


CONVERSATIONS: dict[str, Callable[[int], list[dict[str, Any]]]] = {
    "turns": lambda size: [
        {"role": ("user", "assistant")[number % 2], "content": "x"} for number in range(2 * size + 1)
    ],
    "users": lambda size: [{"role": "user", "content": "x"} for _ in range(size)],
    "blocks": lambda size: [{"role": "user", "content": [{"type": "text", "text": "x"}] * size}],
    "marks": lambda size: [
        {"role": "user", "content": [{"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}}] * size}
    ],
    "calls-at-once": lambda size: [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call(number) for number in range(size)]},
        *({"role": "tool", "tool_call_id": f"c{number}", "content": "x"} for number in range(size)),
    ],
    "results-at-once": lambda size: [
        {"role": "user", "content": "x"},
        {"role": "assistant", "content": None, "tool_calls": [call(number) for number in range(size)]},
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": f"c{number}", "content": "x"} for number in range(size)],
        },
    ],
    "calls-in-turn": lambda size: (
        [
            message
            for number in range(size)
            for message in (
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": None, "tool_calls": [call(number)]},
                {"role": "tool", "tool_call_id": f"c{number}", "content": "x"},
                {"role": "assistant", "content": "y"},
            )
        ]
        + [{"role": "user", "content": "z"}]
    ),
    "long-text": lambda size: [{"role": "user", "content": "<\ud800" * size * 20}],
    "arguments": lambda size: [
        {"role": "user", "content": "x"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "i", "name": "f", "input": {str(n): n for n in range(size)}}],
        },
        {"role": "tool", "tool_call_id": "i", "content": "x"},
    ],
}


@pytest.mark.parametrize("make", CONVERSATIONS.values(), ids=CONVERSATIONS)
def test_conversations_are_read_in_proportion(make: Callable[[int], list[dict[str, Any]]]) -> None:
    """Reading messages takes time in proportion to them, however many answer one call."""

    def run(size: int) -> Callable[[], object]:
        messages = make(size)
        return lambda: Conversation(messages).check_answered()

    in_proportion(run, 500, 20_000)


@pytest.mark.parametrize("to", TARGETS)
@pytest.mark.parametrize("name", ["turns", "calls-at-once"])
def test_requests_are_written_in_proportion(to: Target, name: str) -> None:
    """So does writing them for a provider and planning the marks."""

    def run(size: int) -> Callable[[], object]:
        messages = CONVERSATIONS[name](size)
        tools = [{"name": "f", "description": "d", "input_schema": {"type": "object"}}]
        return lambda: build_request("System.", messages, to=to, model=TARGETS[to], tools=tools)

    in_proportion(run, 100, 2_000)
