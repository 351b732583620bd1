"""scripts/record_instructions.py: a program of our own stands for an agent, in three of the APIs that agents speak."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.support.recorded import Case

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "record_instructions.py"
# It sends AGENTS.md and, as long as the model calls its tool, the files that the model reads.
PROGRAM = """
import json, sys, urllib.request
url, form, field = sys.argv[1:]
texts = [open("AGENTS.md").read(), "PROBE"]
for turn in range(3):
    body = {"tools": [{}], field: [{"content": text} for text in texts]}
    request = urllib.request.Request(f"{url}/{form}", json.dumps(body).encode())
    answer = urllib.request.urlopen(request).read().decode()
    if "sub/AGENTS.md" not in answer:
        break
    texts.append(open("sub/AGENTS.md").read())
"""
FORMS = {"v1/chat/completions": "messages", "v1/responses": "input", "x:generateContent": "contents"}
CASE: Case = {
    "id": "touch",
    "cwd": "ws/repo",
    "tree": {"ws/repo/AGENTS.md": "MARK-root\n", "ws/repo/sub/AGENTS.md": "MARK-sub\n"},
    "touch": "ws/repo/sub/AGENTS.md",
}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("record_instructions", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["record_instructions"] = module
    spec.loader.exec_module(module)
    return module


def agent(script: ModuleType, *command: str) -> Any:
    """Return our program as an agent of the script."""
    return script.Agent((sys.executable, "-c", *command), read=("read", "path"))


@pytest.mark.parametrize("form", FORMS)
def test_a_program_is_recorded(script: ModuleType, form: str) -> None:
    """The marks of the first request come first, then those that a touch adds; the title request counts for nothing."""
    marks, bodies, error = script.record(agent(script, PROGRAM, "{url}", form, FORMS[form]), CASE, [os.defpath])
    assert (marks, len(bodies), error) == (["MARK-root", "MARK-sub"], 2, "")


def test_a_program_that_fails_is_named(script: ModuleType) -> None:
    """The exit code and the last words of a program are the error, without the folder's name."""
    fails = agent(script, "import os, sys; sys.exit(os.getcwd())")
    marks, _, error = script.record(fails, CASE, [])
    assert (marks, error) == ([], "exit 1: {root}/ws/repo\n")


def test_requests_without_tools_are_passed_over(script: ModuleType) -> None:
    """A program also asks for titles and memories: only the first request with tools and PROBE counts."""
    main = {"tools": [{}], "system": "MARK-one", "messages": [{"content": "PROBE MARK-two"}]}
    title = {"messages": [{"content": "a title for PROBE MARK-title"}]}
    assert script.read_marks([title, main, {**main, "system": "MARK-later"}]) == ["MARK-one", "MARK-two"]


def test_every_recorded_agent_can_be_recorded_again(script: ModuleType) -> None:
    """Each file of cases has an agent of its name in the script."""
    assert {path.stem for path in script.DATA.glob("*.json")} <= {*script.AGENTS}
