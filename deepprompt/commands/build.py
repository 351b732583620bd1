"""`deepprompt build`: gather what there is to know about a folder, build its system prompt, print it."""

from __future__ import annotations

import argparse
import dataclasses
import os

from deepprompt.catalog import bundled, from_folder
from deepprompt.checks.tokens import estimate_tokens
from deepprompt.commands import build_agent
from deepprompt.commands.options import given
from deepprompt.commands.output import say_notes, write, write_json
from deepprompt.errors import AssetError, SourceError
from deepprompt.prompt import Note, Pace, Part, Prompt, sha256_hex
from deepprompt.sources.claude_md import read_claude_md
from deepprompt.sources.files import from_system
from deepprompt.sources.instructions import load_instruction_files
from deepprompt.sources.project import ProjectContext, discover_project_context
from deepprompt.sources.skills import load_skills
from deepprompt.sources.text import unify_line_ends
from deepprompt.systems.builder import SystemPromptBuilder
from deepprompt.systems.preset import (
    ORDERS,
    McpServer,
    PromptAssemblyConfig,
    SlashCommand,
    SystemPromptConfig,
    choices,
    compose_system_prompt,
    hold_to_budget,
    resolve_preset,
)

_OWN_FILE_LIMIT = 1 << 26
_PRESET_ONLY = (
    "tool", "mcp", "slash_command", "sessions", "memory", "claude_md", "output_style_file", "environment_last",
    "max_tokens", "order",
)  # fmt: skip


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `build`."""
    parser.epilog = (
        "The prompt alone goes to standard output; what was skipped, refused or cut goes to standard error. "
        "Exit 0: built; 1: could not be built; 2: wrong usage."
    )
    where = parser.add_argument_group("where to look")
    where.add_argument(
        "--cwd", metavar="DIR", type=given, default=os.curdir, help="the project's folder (default: the current one)"
    )
    where.add_argument(
        "--home", metavar="DIR", help="the user's folder, searched second (default: yours; '' searches none)"
    )
    where.add_argument("--no-git", action="store_true", help="leave out branch, status and diff")
    where.add_argument("--no-project", action="store_true", help="leave out everything after the boundary")
    base = parser.add_argument_group("what it is made of")
    only = base.add_mutually_exclusive_group()
    only.add_argument(
        "--base",
        type=given,
        metavar="VERSION",
        help="a bundled base prompt: 1.0.0, ~=1.0, or FAMILY@VERSION (default: 1.0.0)",
    )
    only.add_argument(
        "--base-file", type=given, metavar="FILE", help="your own base prompt in place of the bundled one"
    )
    only.add_argument(
        "--custom-file", type=given, metavar="FILE", help="your own whole prompt: printed as it is, nothing added"
    )
    base.add_argument(
        "--parts",
        type=given,
        metavar="DIR",
        help="a folder laid out like ours, to take --base from or to override parts of a --preset",
    )
    base.add_argument(
        "--append", metavar="TEXT", action="append", default=[], help="text for the end of the static prefix"
    )
    base.add_argument(
        "--append-file",
        type=given,
        metavar="FILE",
        action="append",
        default=[],
        help="the same from a file, after --append",
    )
    preset = parser.add_argument_group("a preset (--preset)")
    preset.add_argument(
        "--preset",
        type=given,
        metavar="NAME",
        help="claude_code: the catalogue of parts; deepseek: as without it",
    )
    preset.add_argument("--tool", action="append", default=[], metavar="NAME", help="a tool that is enabled")
    preset.add_argument("--mcp", action="append", default=[], metavar="NAME", help="an MCP server that is connected")
    preset.add_argument("--slash-command", action="append", default=[], metavar="NAME[=TEXT]", help="a slash command")
    preset.add_argument("--sessions", action="store_true", help="past sessions can be searched")
    preset.add_argument("--memory", action="store_true", help="the agent keeps notes between sessions")
    preset.add_argument("--claude-md", action="store_true", help="load the CLAUDE.md files of the folder and above it")
    preset.add_argument("--output-style-file", type=given, metavar="FILE", help="how the agent should respond")
    preset.add_argument("--order", choices=sorted(ORDERS), help="the order of the parts (default: algorithm)")
    preset.add_argument(
        "--environment-last", action="store_true", help="put folder, system and shell behind the boundary"
    )
    preset.add_argument("--max-tokens", type=int, metavar="N", help="fail when the prompt has more, by estimate")
    build_agent.add_options(parser)
    out = parser.add_argument_group("what to print")
    out.add_argument("--prefix-only", action="store_true", help="only the static prefix, up to the boundary")
    out.add_argument("--json", action="store_true", help="text, parts, hashes and notes as JSON")
    out.add_argument(
        "--out",
        type=given,
        metavar="FILE",
        help="write to a file, all at once, not to standard output",
    )
    out.add_argument("--quiet", action="store_true", help="say nothing on standard error about skipped or cut input")


def run(options: argparse.Namespace) -> int:
    """Build the prompt and print it."""
    if options.custom_file and (options.append or options.append_file):
        options.usage_error("--custom-file is printed as it is: --append and --append-file cannot add to it")
    family, _ = bundled().resolve(resolve_preset(options.preset)) if options.preset else ("base", "")
    preset = family != "base"
    if preset and (options.base or options.base_file):
        options.usage_error(f"--base and --base-file do not go with --preset {options.preset}")
    if options.base and options.preset:
        options.usage_error(f"--preset {options.preset} has its own version: write --preset NAME@VERSION")
    if not preset and (alone := _set_options(options, _PRESET_ONLY)):
        options.usage_error(f"{alone[0]} needs --preset claude_code")
    if not options.agent and (alone := _set_options(options, build_agent.OPTIONS)):
        options.usage_error(f"{alone[0]} needs --agent FILE")
    others = ("preset", "base", "base_file", "custom_file", "parts", "append", "append_file", "no_project")
    if options.agent and (other := _set_options(options, others)):
        options.usage_error(f"{other[0]} does not go with --agent, whose prompt is made of its own sections")
    if not preset and options.parts and not options.base:
        options.usage_error("--parts needs --base FAMILY@VERSION, to say which parts to take from the folder")
    rows: list[dict[str, object]] = []
    if options.custom_file:
        prompt = Prompt(_own_part("custom", options.custom_file))
        hold_to_budget(prompt, options.max_tokens)
    elif options.agent:
        prompt = build_agent.compose_agent(options, _cwd(options))
    elif preset:
        prompt = _compose_preset(options, rows)
    else:
        prompt = _compose(options)
    if options.prefix_only:
        prompt = dataclasses.replace(prompt, parts=prompt.static_parts)
    if not options.quiet and not options.json:
        say_notes(prompt.notes)
    if options.json:
        write_json(_report(prompt) | ({"conditions": rows} if rows else {}), options.out or "")
    else:
        write(prompt.text, options.out or "")
    return 0


def _set_options(options: argparse.Namespace, names: tuple[str, ...]) -> list[str]:
    """Return those of some options that were given, as they are written."""
    values = {name: getattr(options, name) for name in names}
    given_ones = [name for name, value in values.items() if value is not None and value is not False and value != []]
    return [f"--{name.replace('_', '-')}" for name in given_ones]


def _cwd(options: argparse.Namespace) -> str:
    try:
        cwd: str = os.path.abspath(options.cwd)
    except FileNotFoundError:
        raise SourceError("the current folder is gone; change to another, or pass --cwd DIR") from None
    if not os.path.isdir(cwd):
        raise SourceError(f"--cwd {options.cwd}: not a folder")
    return cwd


def _compose_preset(options: argparse.Namespace, rows: list[dict[str, object]]) -> Prompt:
    """Return the preset's prompt, and into `rows` why each of its parts is in or out."""
    notes: list[Note] = []
    cwd = _cwd(options)
    project = discover_project_context(cwd)
    appended = _appended(options, notes)
    commands = [from_system(text, "slash command", notes).partition("=") for text in options.slash_command]
    config = PromptAssemblyConfig(
        system_prompt=SystemPromptConfig(preset=options.preset, append="\n\n".join(own.text for own in appended)),
        cwd=project.cwd,
        os=f"{project.os_name} {project.os_version}",
        shell=project.shell,
        enabled_tools=[from_system(name, "tool", notes) for name in options.tool],
        sessions_enabled=options.sessions,
        memory_enabled=options.memory,
        mcp_servers=[McpServer(from_system(name, "mcp", notes)) for name in options.mcp],
        slash_commands=[SlashCommand(name, description) for name, _, description in commands],
        claude_md_content=read_claude_md(cwd, None, notes) if options.claude_md else "",
        output_style=_own_text(options.output_style_file) if options.output_style_file else "",
        max_system_prompt_tokens=options.max_tokens,
    )
    overrides = from_folder(options.parts) if options.parts else None
    prompt = compose_system_prompt(
        config, options.order or "algorithm", environment_last=options.environment_last, overrides=overrides
    )
    for choice in choices(config, options.order or "algorithm"):
        row = choice.row
        fact = row.condition.removeprefix("!")
        state = "on" if choice.chosen != row.condition.startswith("!") else "off"
        why = "always" if fact == "always" else f"{fact} is {state}"
        rows.append(
            {"part": row.part, "condition": row.condition, "in": choice.chosen, "why": why, "variable": row.variable}
        )
    origin = " ".join(own.origin for own in appended)
    parts = [dataclasses.replace(part, origin=origin) if part.name == "append" else part for part in prompt.parts]
    return dataclasses.replace(prompt, parts=tuple(parts), notes=(*notes, *prompt.notes))


def _compose(options: argparse.Namespace) -> Prompt:
    cwd = _cwd(options)
    home = _home() if options.home is None else options.home
    home = os.path.abspath(home) if home else ""
    notes: list[Note] = []
    skills = load_skills(cwd, home)
    project, git_notes = (None, ()) if options.no_project else _project(cwd, options.no_git)
    builder = SystemPromptBuilder(
        base_parts=_own_part("base", options.base_file) if options.base_file else _base_parts(options),
        instructions=load_instruction_files(cwd, home),
        skill_directory=skills.index_text(),
        project=project,
        append=_appended(options, notes),
    )
    prompt = builder.compose()
    return dataclasses.replace(prompt, notes=(*prompt.notes, *notes, *skills.notes, *git_notes))


def _project(cwd: str, no_git: bool) -> tuple[ProjectContext, tuple[Note, ...]]:
    project = discover_project_context(cwd)
    if no_git:
        return project, ()
    from deepprompt.sources.git import read_git

    git = read_git(cwd)
    project = dataclasses.replace(project, active_branch=git.active_branch, git_status=git.status, git_diff=git.diff)
    return project, git.notes


def _base_parts(options: argparse.Namespace) -> tuple[Part, ...]:
    """Return the base that was asked for, nothing for the builder's own."""
    if options.preset:
        return bundled().parts(resolve_preset(options.preset))
    if not options.base:
        return ()
    catalog = from_folder(options.parts) if options.parts else bundled()
    ask: str = options.base
    if not ask[0].isalpha():  # a version or a specifier alone is one of the family `base`
        ask = f"base@{ask}" if ask[0].isdigit() else f"base{ask}"
    if not (parts := catalog.parts(ask)):
        raise AssetError(f"{catalog.label}: {'/'.join(catalog.resolve(ask))}: no part of it is always in the prompt")
    return parts


def _appended(options: argparse.Namespace, notes: list[Note]) -> list[Part]:
    texts = [from_system(text, "append", notes) for text in options.append if text]
    parts = [Part("append", text, Pace.PROJECT, "argument:append") for text in texts]
    return parts + [Part("append", _own_text(path), Pace.PROJECT, f"file:{path}") for path in options.append_file]


def _home() -> str:
    """Return the user's folder, "" where there is none."""
    home = os.path.expanduser("~")
    return "" if home == "~" or os.environ.get("HOME") == "" else home


def _own_part(name: str, path: str) -> tuple[Part]:
    return (Part(name, _own_text(path), Pace.RELEASE, f"file:{path}"),)


def _own_text(path: str) -> str:
    """Return the text of a file that the user named: theirs, so taken as it is but for BOM and line ends."""
    try:
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            data = file.read(_OWN_FILE_LIMIT + 1)
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from None
    if len(data) > _OWN_FILE_LIMIT:
        raise SourceError(f"{path}: larger than {_OWN_FILE_LIMIT} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    if not text:
        raise SourceError(f"{'standard input' if path == '-' else path}: is empty")
    return unify_line_ends(text)


def _report(prompt: Prompt) -> dict[str, object]:
    return {
        "text": prompt.text,
        "sha256": prompt.sha256,
        "prefix_sha256": prompt.prefix_sha256,
        "bytes": len(prompt.text.encode()),
        "prefix_bytes": len(prompt.static_prefix.encode()),
        "tokens": estimate_tokens(prompt.text),
        "prefix_tokens": estimate_tokens(prompt.static_prefix),
        "parts": [
            {
                "name": part.name,
                "pace": part.pace.name.lower(),
                "origin": part.origin,
                "bytes": len(part.text.encode()),
                "tokens": estimate_tokens(part.text),
                "sha256": sha256_hex(part.text),
            }
            for part in prompt.parts
        ],
        "tools": list(prompt.tools),
        "notes": [dataclasses.asdict(note) for note in prompt.notes],
    }
