"""The page of the seeds: it is what its script writes, every statement has a test, and every name on it exists."""

from __future__ import annotations

import builtins
import io
import os
import runpy
from dataclasses import replace
from importlib import import_module
from typing import Any

import pytest

import deepprompt
from deepprompt import attach, reminder, reminders_for
from tests.support.paths import ROOT

SCRIPT: dict[str, Any] = runpy.run_path(str(ROOT / "scripts" / "write_seeds.py"))
SEEDS: dict[str, Any] = SCRIPT["read_seeds"]()


def test_the_page_is_up_to_date() -> None:
    """The page is what the script writes from the statements and the tests' markers."""
    written = SCRIPT["page"](SEEDS, SCRIPT["proofs"]())
    assert (ROOT / "docs" / "seeds.md").read_text("utf-8") == written, "run scripts/write_seeds.py"


def test_every_statement_is_proved() -> None:
    """Each statement has a test with its number, and no test names a number that there is not."""
    numbers = [f"{seed}.{n}" for seed, content in SEEDS.items() for n in range(1, len(content["statements"]) + 1)]
    proved = SCRIPT["proofs"]()
    assert [number for number in numbers if number not in proved] == []
    assert sorted(set(proved) - set(numbers)) == []


def test_every_name_exists() -> None:
    """What holds a statement is a public name, or one of a module below the package."""
    names = {name for content in SEEDS.values() for statement in content["statements"] for name in statement["held"]}
    assert [name for name in sorted(names) if not _exists(name)] == []


def _exists(name: str) -> bool:
    first, _, rest = name.partition(".")
    if first in deepprompt.__all__:
        return not rest or hasattr(getattr(deepprompt, first), rest)
    module, _, attribute = name.rpartition(".")
    return bool(module) and hasattr(import_module(f"deepprompt.{module}"), attribute)


@pytest.mark.seed("004.29")
def test_assembly_opens_no_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its parts have been read, a prompt is assembled without opening a file."""
    config = deepprompt.PromptAssemblyConfig(cwd="/srv", os="linux", shell="sh", enabled_tools=("Glob", "Grep"))
    first = deepprompt.assemble_system_prompt(config)
    opened: list[object] = []
    for module, name in ((builtins, "open"), (io, "open"), (os, "open")):
        monkeypatch.setattr(module, name, lambda path, *_args, **_options: opened.append(path))
    again = deepprompt.assemble_system_prompt(replace(config, shell="bash"))
    monkeypatch.undo()
    assert (again.replace("bash", "sh"), opened) == (first.replace("bash", "sh"), [])


@pytest.mark.seed("004.12")
@pytest.mark.parametrize("content", ["Go on.", [{"type": "tool_result", "tool_use_id": "a", "content": "42"}]])
def test_a_reminder_goes_to_the_end_of_the_users_message(content: Any) -> None:
    """An event leads to its reminder, whose text comes last in the user's message and changes nothing before it."""
    (found,) = reminders_for("date_changed")
    text = reminder(found.name, **dict.fromkeys(found.variables, "2031-03-04"))
    attached = attach({"role": "user", "content": content}, text)["content"]
    if isinstance(content, str):
        assert attached == f"{content}\n\n{text}"
    else:
        assert attached == [*content, {"type": "text", "text": text}]
