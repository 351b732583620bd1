"""`deepprompt compile`: assemble every node of every workflow, or report everything that is wrong."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from dataclasses import dataclass

from deepprompt.commands.compiled import finish, read_list, write_prompt
from deepprompt.commands.options import add_root_options, given
from deepprompt.commands.output import say
from deepprompt.errors import MessageError, PromptAssemblyError, SourceError
from deepprompt.sources.files import read_named
from deepprompt.systems.template import AssembledPrompt, PromptAssembler
from deepprompt.text.display import counted
from deepprompt.text.parse import parse_json

_MOST_WORKFLOW = 1 << 26
_NODE_ID = re.compile(r'"node_id"\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*")')
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class _Node:
    workflow: str
    name: str
    path: str
    line: int
    fields: dict[str, object]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `compile`."""
    parser.add_argument("workflows", metavar="WORKFLOWS", nargs="+", help="workflow files, or folders of them")
    add_root_options(parser)
    parser.add_argument(
        "--out",
        type=given,
        default=os.path.join("build", "prompts"),
        metavar="DIR",
        help="the folder to write to; prompts of removed nodes are deleted (default: build/prompts)",
    )
    parser.add_argument("--check", action="store_true", help="report problems, and write nothing")


def run(options: argparse.Namespace) -> int:
    """Assemble every node and write the prompts, or report every problem and write nothing."""
    problems: list[str] = []
    nodes: list[_Node] = []
    seen: dict[str, str] = {}
    for path in _workflow_files(options.workflows):
        name = os.path.splitext(os.path.basename(path))[0]
        if name in seen:
            problems.append(f"{path}: another workflow is called {name!r}: {seen[name]}")
        elif not _PLAIN.fullmatch(name):
            problems.append(f"{path}: {name!r} is not a plain name for a folder of prompts")
        else:
            seen[name] = path
            nodes += _nodes(path, name, problems)
    assembler = PromptAssembler(options.root, options.template_root, options.minify_json)
    done: list[tuple[_Node, AssembledPrompt]] = []
    for index, node in enumerate(nodes, 1):
        _progress(index, len(nodes))
        try:
            done.append((node, assembler.assemble_node(node.fields, strict=True)))
        except PromptAssemblyError as error:
            problems += [
                f"{node.path}:{node.line}: node {node.name!r}: {problem.where_and_what()}" for problem in error.problems
            ]
    for problem in problems:
        say(problem)
    if problems:
        say(f"{counted(len(problems), 'problem')}; nothing was written")
        return 1
    became = ("is right" if len(done) == 1 else "are right") if options.check else _write(done, seen, options.out)
    say(f"{counted(len(done), 'prompt')} of {counted(len(seen), 'workflow')} {became}")
    return 0


def _write(done: list[tuple[_Node, AssembledPrompt]], workflows: dict[str, str], folder: str) -> str:
    """Write the prompts, remove those of nodes that are gone, and return what was done, for a message."""
    old = read_list(folder)
    new = {}
    for node, assembled in done:
        name = f"{node.workflow}/{node.name}"
        new[name] = write_prompt(folder, name, assembled.content, assembled.content_hash, node.path)
    removed, stayed = finish(folder, old, new, workflows)
    for name in stayed:
        say(f"{os.path.join(folder, name)}.txt: its node is gone, and it was changed since; remove it yourself")
    gone = f"; {counted(len(removed), 'stale prompt')} removed: {', '.join(removed)}" if removed else ""
    return f"written to {folder}{gone}"


def _workflow_files(paths: list[str]) -> list[str]:
    files: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            found = [os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names]
            files += sorted(name for name in found if name.endswith(".json"))
        else:
            files.append(path)
    if not files:
        raise SourceError(f"no workflows in {', '.join(paths)}: a workflow is a .json file")
    return files


def _nodes(path: str, workflow: str, problems: list[str]) -> list[_Node]:
    """Return the nodes of a workflow that have a prompt, and add what is wrong with it to `problems`."""
    try:
        text = read_named(path, _MOST_WORKFLOW).decode("utf-8-sig")
        parsed = parse_json(text, path)
    except OSError as error:
        problems.append(f"{path}: {error.strerror}")
        return []
    except UnicodeDecodeError as error:
        problems.append(f"{path}: not UTF-8 at byte {error.start}")
        return []
    except MessageError as error:
        problems.append(str(error))
        return []
    nodes = parsed.get("nodes") if isinstance(parsed, dict) else None
    if not isinstance(nodes, list):
        problems.append(f"{path}:1: a workflow is an object with a list of nodes")
        return []
    found: list[_Node] = []
    names: set[str] = set()
    lines = _lines(text)
    for index, fields in enumerate(nodes):
        if not isinstance(fields, dict):
            problems.append(f"{path}:1: nodes[{index}] is not an object")
            continue
        name = fields.get("node_id")
        line = 1
        if isinstance(name, str) and name in lines:
            line = lines[name].pop(0) if len(lines[name]) > 1 else lines[name][0]
        twice = isinstance(name, str) and name in names
        names.add(str(name))
        if "task_ref" not in fields and "includes" not in fields:
            continue  # a node without a prompt
        if not isinstance(name, str) or not _PLAIN.fullmatch(name):
            problems.append(f"{path}:{line}: nodes[{index}]: node_id {name!r} is not a plain file name")
        elif twice:
            problems.append(f"{path}:{line}: node_id {name!r} is there twice")
        elif not isinstance(fields.get("task_ref"), str):
            problems.append(f"{path}:{line}: node {name!r} has no task_ref that is text")
        else:
            found.append(_Node(workflow, name, path, line, fields))
    return found


def _lines(text: str) -> dict[str, list[int]]:
    """Return the line numbers of each node's id."""
    lines: dict[str, list[int]] = {}
    line, last = 1, 0
    for match in _NODE_ID.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        lines.setdefault(json.loads(match[1]), []).append(line)
    return lines


def _progress(index: int, total: int) -> None:
    if sys.stderr is not None and sys.stderr.isatty() and (index % 100 == 0 or index == total) and total >= 100:
        print(f"\r{index} of {total}", end="\n" if index == total else "", file=sys.stderr, flush=True)
