"""Every control token of the table, at every door where text from outside comes in."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deepprompt import (
    AgentConfig,
    AgentDefinition,
    McpServer,
    ProjectContext,
    PromptAssemblyConfig,
    Session,
    SlashCommand,
    SystemPromptBuilder,
    Task,
    TaskStep,
    TieredContext,
    UrlContent,
    assemble_messages,
    assemble_subagent_prompt,
    build_request,
    build_system_prompt,
    compose_system_prompt,
    inject_recalled,
    load_claude_md,
    load_instruction_files,
    load_skills,
    read_git,
)
from deepprompt.manifest import bundled_table
from deepprompt.sources.files import shown_path
from deepprompt.text.disarm import TABLE
from tests.support.hostile.properties import ANY_CASE, EXACT, openers
from tests.support.layout import lay_out
from tests.support.repositories import git, make_repository
from tests.support.sessions import OPUS, answer, call, make, result

ROWS = [line.replace("#", "7").split("\t") for line in bundled_table(TABLE).splitlines() if not line.startswith("#")]
TOKENS = sorted({row[1] for row in ROWS if row[2] != "kept"})
MARK = "honest List<User>"
Door = Callable[[Path, str], str]


def chunks(text: str, size: int) -> Iterator[str]:
    """Yield a text in pieces of limited length that never split a token."""
    piece = ""
    for word in text.split(" "):
        if len(piece) + len(word) >= size:
            yield piece
            piece = ""
        piece = f"{piece} {word}".strip()
    yield piece


def instruction_file(cwd: Path, text: str) -> str:
    """The text in AGENTS.md, in a prompt of the builder."""
    lay_out(cwd, {"AGENTS.md": text})
    return SystemPromptBuilder(instructions=load_instruction_files(cwd)).build()


def claude_file(cwd: Path, text: str) -> str:
    """The text in CLAUDE.md, in a prompt of the preset and in that of a subagent."""
    lay_out(cwd, {"CLAUDE.md": text})
    config = PromptAssemblyConfig(claude_md_content=load_claude_md(cwd))
    return compose_system_prompt(config).text + assemble_subagent_prompt(
        AgentDefinition("Be kind."), config, include_claude_md=True
    )


def passed_claude_file(_: Path, text: str) -> str:
    """The text as the content of CLAUDE.md, by a caller who read it in another way."""
    return compose_system_prompt(PromptAssemblyConfig(claude_md_content=text)).text


def skill_fields(cwd: Path, text: str) -> str:
    """The text in the names and fields of skills, in the index."""
    for number, piece in enumerate(chunks(text, 70)):
        front = json.dumps(
            {"name": f"{number} {piece}", "description": piece, "runas": piece, "allowed-tools": [piece]}
        )
        lay_out(cwd, {f"skills/{number}/SKILL.md": f"---\n{front}\n---\nx"})
    return load_skills(cwd).index_text()


def skill_body(cwd: Path, text: str) -> str:
    """The text in the body of a skill."""
    lay_out(cwd, {"skills/x/SKILL.md": f"---\nname: x\n---\n{text}"})
    return load_skills(cwd).body("x")


def skill_folders(cwd: Path, text: str) -> str:
    """The text in the names of folders of skills that have no name of their own."""
    for piece in chunks(text.replace("/", ""), 60):
        lay_out(cwd, {f"skills/{piece}/SKILL.md": "no heading"})
    return load_skills(cwd).index_text()


def git_subjects(cwd: Path, text: str) -> str:
    """The text in the subjects of commits: three are shown, of a thousand characters."""
    shown: list[str] = []
    for number, piece in enumerate(chunks(text, 900)):
        if number % 3 == 0:
            repository = make_repository(cwd / str(number))
        git(repository, "commit", "--quiet", "--allow-empty", "--message", piece)
        shown += read_git(repository).recent_commits[:1]
    return " ".join(shown)


def git_paths(cwd: Path, text: str) -> str:
    """The text in the names of changed files, in status and diff."""
    names = [piece.replace("/", "") for piece in chunks(text, 70)]
    shown: list[str] = []
    for start in range(0, len(names), 20):
        repository = make_repository(cwd / str(start))
        lay_out(repository, dict.fromkeys(names[start : start + 20], "1\n"))
        git(repository, "add", "--all")
        git(repository, "commit", "--quiet", "--message", "x")
        lay_out(repository, dict.fromkeys(names[start : start + 20], "2\n"))
        snapshot = read_git(repository)
        project = ProjectContext().with_git(snapshot)
        shown += [snapshot.status, snapshot.diff, SystemPromptBuilder(project=project).build()]
    return "".join(shown)


def git_branch(cwd: Path, text: str) -> str:
    """The text as the name of a branch, as far as git lets a branch have it."""
    repository = make_repository(cwd / "r")
    words = [word for word in text.split(" ") if not set(word) & set("[]~^:?*\\/.\u2581\uff5c")]
    shown = [MARK]
    for piece in chunks(" ".join(words), 240):
        git(repository, "branch", "--move", piece.replace(" ", "-"))
        shown.append(read_git(repository).active_branch)
    return " ".join(shown)


def project_fields(_: Path, text: str) -> str:
    """The text in every field of a project that a host fills."""
    return SystemPromptBuilder(project=ProjectContext(*[text] * 8)).build()


def servers(_: Path, text: str) -> str:
    """The text as what MCP servers and slash commands say of themselves."""
    config = PromptAssemblyConfig(
        mcp_servers=[McpServer(text, text, (text,))], slash_commands=[SlashCommand(text, text)]
    )
    return compose_system_prompt(config).text


def recalled(_: Path, text: str) -> str:
    """The text as recalled memories."""
    return inject_recalled("Be kind.", text)


def tagged(_: Path, text: str) -> str:
    """The text as memories, folders and tasks of a tagged prompt."""
    task = Task(text, text, f"{text}\n{text}", text, [TaskStep(text, False, text)])
    now = datetime(2031, 3, 4, tzinfo=UTC)
    return build_system_prompt(AgentConfig("x"), "cli", text, [text], now=now, task=task, memories=[text])


def fetched_page(_: Path, text: str) -> str:
    """The text as a page that was fetched, its address and its title."""
    context = TieredContext("s", urls=[UrlContent(text, text, text, text)], user_prompt="x")
    return "\n".join(str(message["content"]) for message in assemble_messages(context))


def path(_: Path, text: str) -> str:
    """The text as a path that is shown."""
    return shown_path(f"/{text}", [])


DOORS: list[Door] = [
    instruction_file,
    claude_file,
    passed_claude_file,
    skill_fields,
    skill_body,
    skill_folders,
    git_subjects,
    git_paths,
    git_branch,
    project_fields,
    servers,
    recalled,
    tagged,
    fetched_page,
    path,
]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_no_control_token_comes_in(tmp_path: Path, door: Door) -> None:
    """The whole table at once: no token of it is in what comes out, and what is honest comes out as it was."""
    out = door(tmp_path, f"{MARK} {' '.join(TOKENS)}")
    assert MARK in out
    assert out.count("\\") >= (len(TOKENS) // 2 if door is not git_branch else 50)
    assert [token for token in TOKENS if token in out] == []


@pytest.mark.parametrize("door", DOORS[:1], ids=lambda door: door.__name__)
def test_the_table_has_what_others_list(tmp_path: Path, door: Door) -> None:
    """Tokens that are written down beside the table, from the same vocabularies, do not come in either."""
    assert openers(f"{MARK} {' '.join(ANY_CASE)} {' '.join(EXACT)}"), "the oracle is blind"
    assert openers(door(tmp_path, f"{MARK} {' '.join(ANY_CASE)} {' '.join(EXACT)}")) == []


def test_what_a_caller_says_in_a_session_stays() -> None:
    """Messages, calls and results of tools are sent as they were given, tokens and all."""
    text = " ".join(TOKENS) + "\n<system>\n\u200b\u202e</user>"
    session = Session(make())
    session.user(text)
    session.append(call("call_1"))
    given = result("call_1")
    given["content"][0]["content"] = text
    session.append(given)
    session.append(answer(text))
    session.user("More.")
    body = json.dumps(session.request(**OPUS).body, ensure_ascii=False)
    assert body.count(json.dumps(text, ensure_ascii=False)[1:-1]) == 3
    messages = [{"role": "user", "content": text}]
    for to, model in (("anthropic", "claude-opus-5-5"), ("openai", "gpt-5"), ("gemini", "gemini-3-pro")):
        request = build_request("Be kind.", messages, to=to, model=model)  # type: ignore[arg-type]
        assert json.dumps(text, ensure_ascii=False)[1:-1] in json.dumps(request.body, ensure_ascii=False)
