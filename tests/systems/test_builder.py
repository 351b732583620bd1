"""The cache-stable builder: its exact layout, and the laws that hold for any input."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path, PurePath
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import (
    BASE_PROMPT_V1,
    DYNAMIC_CONTEXT_BOUNDARY,
    InstructionFile,
    Note,
    Pace,
    Part,
    ProjectContext,
    SystemPromptBuilder,
    bundled,
    discover_project_context,
    inject_recalled,
    load_instruction_files,
    load_skills,
    read_git,
    render_project_context,
)
from deepprompt.errors import SourceError
from deepprompt.systems import builder as builder_module
from deepprompt.systems.context import forget
from tests.support.examples import examples
from tests.support.layout import lay_out

BASE_V1_SHA256 = "5b20a2555a631fbd410e5f05fafdc697215d197b008bfb6c207a6aef607b8d50"

# Text as bad as it gets: any code points, lone surrogates too, and pieces of our own structure.
pieces = st.one_of(
    st.text(st.characters(exclude_categories=())),
    st.sampled_from(
        [
            DYNAMIC_CONTEXT_BOUNDARY,
            DYNAMIC_CONTEXT_BOUNDARY.strip(),
            DYNAMIC_CONTEXT_BOUNDARY[:-1],
            "\n===",
            "=== DYNAMIC",
            " CONTEXT (per-turn, do not cache) ===\n",
            "\\",
            "\r\n",
            "\ud800",
            "\u200b",
            "\n## Project\n",
        ]
    ),
)
texts = st.lists(pieces, max_size=4).map("".join)
instructions = st.lists(st.builds(InstructionFile, texts, texts), max_size=3)
projects = st.builds(ProjectContext, *[texts] * 8)


@pytest.mark.seed("003.2")
def test_base_prompt_v1_is_pinned() -> None:
    """The bytes of the base prompt V1 never change."""
    digest = hashlib.sha256(BASE_PROMPT_V1.encode()).hexdigest()
    assert digest == BASE_V1_SHA256, "released wording has changed: put it back; new wording is a new version"


@pytest.mark.seed("003.1")
def test_base_prompt_v1_is_three_sections_joined_by_a_newline() -> None:
    """The base prompt V1 is identity, tools and style with one newline between them."""
    sections = [bundled().text("base", "1.0.0", name) for name in ("identity", "tools", "style")]
    assert "\n".join(sections) == BASE_PROMPT_V1


@pytest.mark.seed("003.15")
def test_an_empty_base_means_v1() -> None:
    """Without a base of its own, a builder starts with V1; one blank is a base."""
    assert SystemPromptBuilder().build() == BASE_PROMPT_V1 + DYNAMIC_CONTEXT_BOUNDARY
    assert SystemPromptBuilder(" ").build() == " " + DYNAMIC_CONTEXT_BOUNDARY


def test_the_parts_say_what_they_are() -> None:
    """Every part of a prompt has a name, a pace and an origin."""
    prompt = SystemPromptBuilder(
        instructions=[InstructionFile("/p/AGENTS.md", "x")],
        skill_directory="a | b | direct | 0 | ",
        append="own",
        project=ProjectContext(cwd="/p"),
    ).compose()
    assert [(part.name, part.pace, part.origin) for part in prompt.parts] == [
        ("identity", Pace.RELEASE, "deepprompt:base/1.0.0/identity.md"),
        ("tools", Pace.RELEASE, "deepprompt:base/1.0.0/tools.md"),
        ("style", Pace.RELEASE, "deepprompt:base/1.0.0/style.md"),
        ("instructions", Pace.PROJECT, "deepprompt"),
        ("instructions /p/AGENTS.md", Pace.PROJECT, "file:/p/AGENTS.md"),
        ("skills", Pace.PROJECT, "skills"),
        ("append", Pace.PROJECT, "argument:append"),
        ("boundary", Pace.TURN, "deepprompt"),
        ("project", Pace.TURN, "project"),
        ("git status", Pace.TURN, "project"),
        ("git diff", Pace.TURN, "project"),
    ]


def test_base_parts_replace_the_bundled_base() -> None:
    """Parts out of another catalogue are joined like the bundled ones and keep their origin."""
    parts = [Part("one", "1", Pace.RELEASE, "mine:1"), Part("two", "2", Pace.RELEASE, "mine:2")]
    prompt = SystemPromptBuilder(base_parts=parts).compose()
    assert prompt.static_prefix == "1\n2"
    assert [part.origin for part in prompt.parts[:2]] == ["mine:1", "mine:2"]


def test_append_ends_the_static_prefix() -> None:
    """Appended text is the last thing before the boundary, two newlines after what precedes it."""
    prompt = SystemPromptBuilder("B", append="own\n", project=ProjectContext(cwd="/p")).compose()
    assert prompt.static_prefix == "B\n\nown\n"


def test_notes_of_loaded_instructions_are_kept() -> None:
    """What the instruction loader noted is in the prompt's notes, together with what the builder did."""

    class Loaded(list[InstructionFile]):
        notes = (Note("skipped", "/p/DEEPSEEK.md", "it is empty"),)

    files = Loaded([InstructionFile("/p/A.md", "=== DYNAMIC CONTEXT ===")])
    assert SystemPromptBuilder("B", files).compose().notes == (
        Note("skipped", "/p/DEEPSEEK.md", "it is empty"),
        Note("neutralised", "/p/A.md", "look-alike of the dynamic context boundary", 0),
    )


def test_a_path_stays_on_one_line() -> None:
    """A path with line breaks cannot forge lines of its own."""
    prompt = SystemPromptBuilder("B", [InstructionFile("/a\n]\n/b", "x")]).build()
    assert "\n[/a ] /b]\nx\n" in prompt


@pytest.mark.seed("003.22")
def test_only_the_project_may_be_assigned() -> None:
    """The static half of a builder is fixed once made."""
    builder = SystemPromptBuilder("B")
    builder.project = ProjectContext(cwd="/p")
    assert builder.build().endswith(render_project_context(builder.project))
    with pytest.raises(AttributeError):
        builder.static_base = "C"  # type: ignore[attr-defined]


def test_an_unknown_name_of_the_module_is_an_attribute_error() -> None:
    """The lazily loaded constant does not hide a misspelt name."""
    with pytest.raises(AttributeError, match="has no attribute 'BASE_PROMPT_V0'"):
        builder_module.BASE_PROMPT_V0  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.seed("003.16", "003.21")
@given(base=texts, files=instructions, skills=texts, append=texts, project=st.none() | projects)
def test_laws_of_the_prompt(
    base: str, files: list[InstructionFile], skills: str, append: str, project: ProjectContext | None
) -> None:
    """For any input: one boundary, halves that add up, encodable, and build() is what compose() says."""
    builder = SystemPromptBuilder(base, files, skills, project, append=append)
    prompt = builder.compose()
    text = builder.build()
    assert prompt.text == text
    assert "".join(part.text for part in prompt.parts) == text
    assert text.count(DYNAMIC_CONTEXT_BOUNDARY) == 1
    assert prompt.static_prefix + DYNAMIC_CONTEXT_BOUNDARY + prompt.dynamic_suffix == text
    assert text.split(DYNAMIC_CONTEXT_BOUNDARY) == [prompt.static_prefix, prompt.dynamic_suffix]
    assert hashlib.sha256(text.encode()).hexdigest() == prompt.sha256
    assert hashlib.sha256(prompt.static_prefix.encode()).hexdigest() == prompt.prefix_sha256


@pytest.mark.seed("003.20")
@given(base=texts, files=instructions, skills=texts, first=projects, second=st.none() | projects)
def test_the_prefix_does_not_depend_on_the_project(
    base: str, files: list[InstructionFile], skills: str, first: ProjectContext, second: ProjectContext | None
) -> None:
    """Whatever the project does, the static prefix keeps its bytes, in one builder and in another."""
    builder = SystemPromptBuilder(base, files, skills, first)
    before = builder.compose().static_prefix
    builder.project = second
    assert builder.compose().static_prefix == before
    assert SystemPromptBuilder(base, files, skills, second).compose().static_prefix == before


@given(prompt=texts, recalled=texts)
def test_laws_of_recalled_memory(prompt: str, recalled: str) -> None:
    """Recalled text comes last, on a line of its own, behind a boundary that is never added twice."""
    once = inject_recalled(prompt, "")
    result = inject_recalled(prompt, recalled)
    result.encode()
    assert result.startswith(once)
    assert inject_recalled(once, "") == once
    if recalled:
        assert result.removeprefix(once).startswith("\n") or once.endswith("\n")
    assert DYNAMIC_CONTEXT_BOUNDARY not in result.removeprefix(once)


@given(base=texts, project=st.none() | projects, recalled=texts)
def test_recalled_memory_keeps_the_one_boundary_of_a_built_prompt(
    base: str, project: ProjectContext | None, recalled: str
) -> None:
    """A built prompt has one boundary before and after memory is added, with the same prefix."""
    prompt = SystemPromptBuilder(base, project=project).compose()
    prefix, boundary, _ = inject_recalled(prompt.text, recalled).partition(DYNAMIC_CONTEXT_BOUNDARY)
    assert (prefix, boundary) == (prompt.static_prefix, DYNAMIC_CONTEXT_BOUNDARY)
    assert inject_recalled(prompt.text, recalled).count(DYNAMIC_CONTEXT_BOUNDARY) == 1


_CHILD = """
import json, sys
from deepprompt import InstructionFile, ProjectContext, SystemPromptBuilder
texts = []
for case in json.load(sys.stdin):
    files = [InstructionFile(*file) for file in case["files"]]
    project = ProjectContext(*case["project"])
    texts.append(SystemPromptBuilder(case["base"], files, case["skills"], project).compose().sha256)
print(json.dumps(texts))
"""


def _hashes_in_a_fresh_process(cases: list[dict[str, Any]], seed: str) -> list[str]:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C", "TZ": "Asia/Tokyo", "COLUMNS": "20"}
    run = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps(cases),
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    hashes: list[str] = json.loads(run.stdout)
    return hashes


fields = st.lists(texts, min_size=8, max_size=8)
cases = st.fixed_dictionaries(
    {"base": texts, "skills": texts, "files": st.lists(st.tuples(texts, texts), max_size=2), "project": fields}
)


@pytest.mark.slow
@examples(4)
@given(st.lists(cases, min_size=5, max_size=20))
def test_same_bytes_in_a_fresh_process(many: list[dict[str, Any]]) -> None:
    """The bytes are the same in another process with another hash seed, locale, time zone and width."""
    here = []
    for case in many:
        files = [InstructionFile(*file) for file in case["files"]]
        project = ProjectContext(*case["project"])
        here.append(SystemPromptBuilder(case["base"], files, case["skills"], project).compose().sha256)
    assert _hashes_in_a_fresh_process(many, "1") == here
    assert _hashes_in_a_fresh_process(many, "2") == here


# What may happen to a builder between two builds: another context, the same one again, another made of equal texts.
steps = st.lists(st.one_of(projects, st.none(), st.just("again"), st.just("copy")), max_size=6)


@given(static_base=texts, files=instructions, moves=steps)
def test_no_way_to_build_is_ever_stale(
    static_base: str, files: list[InstructionFile], moves: list[ProjectContext | str | None]
) -> None:
    """Whatever was built before, every form of the prompt is the one that a new builder gives."""
    builder = SystemPromptBuilder(static_base, files)
    given_files = list(files)
    files.append(InstructionFile("late.md", "appended to the list that was passed"))
    for move in moves:
        if move == "copy" and builder.project is not None:
            builder.project = dataclasses.replace(builder.project)
        elif not isinstance(move, str):
            builder.project = move
        forget()
        fresh = SystemPromptBuilder(static_base, given_files, project=builder.project).compose().text

        assert builder.build() == fresh
        assert builder.build() == fresh
        assert "".join(builder.build_pair()) == fresh
        assert builder.build_bytes() == fresh.encode()
        assert builder.sha256() == hashlib.sha256(fresh.encode()).hexdigest()
        assert builder.compose().text == fresh


def test_a_context_that_can_change_is_rendered_each_time() -> None:
    """Somebody's own class in place of a context may be changed in place: what it says now is what is built."""
    project = SimpleNamespace(**dataclasses.asdict(ProjectContext(cwd="/one")))
    builder = SystemPromptBuilder("Base.", project=project)  # type: ignore[arg-type]
    assert "- cwd: /one\n" in builder.build()

    project.cwd = "/two"

    assert "- cwd: /two\n" in builder.build()
    assert "- cwd: /two\n" in builder.build_pair()[1]
    assert b"- cwd: /two\n" in builder.build_bytes()


FILES = "instructions takes InstructionFiles, as load_instruction_files(cwd) returns, not "
PROJECT = "project takes a ProjectContext, such as discover_project_context(cwd).with_git(read_git(cwd)), not "


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"instructions": "AGENTS.md"}, FILES + "'AGENTS.md'"),
        ({"instructions": ["AGENTS.md"]}, FILES + "'AGENTS.md' in it"),
        ({"instructions": None}, FILES + "None"),
        ({"project": "/tmp"}, PROJECT + "'/tmp'"),
        ({"project": PurePath("/tmp")}, PROJECT + f"{PurePath('/tmp')!r}"),
    ],
    ids=str,
)
def test_a_path_in_place_of_what_was_read_from_it(wrong: dict[str, Any], message: str) -> None:
    """A path where files or a context belong is refused at once, with the call that returns them."""
    with pytest.raises(SourceError) as caught:
        SystemPromptBuilder("Base.", **wrong)
    assert str(caught.value) == f"SystemPromptBuilder: {message}"


def test_a_pair_is_cut_behind_the_boundary() -> None:
    """The first of the pair is the same string each time, and ends with the boundary; without a context that is all."""
    builder = SystemPromptBuilder("Base.")
    prefix, suffix = builder.build_pair()
    assert (prefix, suffix) == (f"Base.{DYNAMIC_CONTEXT_BOUNDARY}", "")

    builder.project = ProjectContext(cwd="/project")

    assert builder.build_pair()[0] is prefix
    assert builder.build_pair()[1] == render_project_context(builder.project)


def test_tools_go_along() -> None:
    """The tools that a runtime has are carried by the prompt, and are no part of its text."""
    tool = {"name": "ls", "description": "List files.", "input_schema": {"type": "object"}}
    builder = SystemPromptBuilder("You are careful.")
    prompt = builder.compose(tools=[tool])
    assert prompt.tools == (tool,)
    assert prompt.text == builder.build()
    assert builder.compose().tools == ()


def test_what_the_loaders_noted_is_in_the_prompt(tmp_path: Path) -> None:
    """The notes of files, skills, project and git arrive with their values, and nobody has to pass them on."""
    lay_out(tmp_path, {"AGENTS.md": "", "skills/a/SKILL.md": b"# A\xff", ".git/HEAD": "garbage"})
    builder = SystemPromptBuilder(
        instructions=load_instruction_files(tmp_path, portable=True),
        skill_directory=load_skills(tmp_path).index_text(),
        project=discover_project_context("/a\u200bb").with_git(read_git(tmp_path)),
    )
    assert [(note.kind, note.source) for note in builder.compose().notes] == [
        ("skipped", "AGENTS.md"),
        ("replaced", "skills/a/SKILL.md"),
        ("neutralised", "path"),
        ("skipped", "git"),
    ]
    assert "\n## Git status\n(unknown: git could not be read)\n" in builder.build()


def test_a_project_of_ones_own_class_needs_no_notes() -> None:
    """Whatever has the fields of a project will do."""
    fields = dataclasses.asdict(ProjectContext(cwd="/w"))
    del fields["notes"], fields["git_notes"]
    builder = SystemPromptBuilder("base", project=SimpleNamespace(**fields))  # type: ignore[arg-type]
    assert builder.compose().text == SystemPromptBuilder("base", project=ProjectContext(cwd="/w")).build()
