"""`deepprompt diff` for presets: rows, conditions, variables; and a replaced part beside the old and the new text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepprompt import bundled
from deepprompt.cli import main
from deepprompt.prompt import sha256_hex
from tests.support.layout import lay_out

OLD = """\
format = 1
rows = [{ part = "one" }, { part = "two" }, { part = "three", when = "quiet" }]
[flags]
quiet = "nothing is sent"
[variables]
TEAM = "us"
"""
NEW = """\
format = 1
rows = [{ part = "three", when = "not quiet" }, { part = "one" }, { part = "four" }]
[flags]
quiet = "nothing is sent"
[variables]
TEAM = "them"
"""
FILES = {
    "post/1.0.0/preset.toml": OLD,
    "post/1.0.0/one.md": "One of ${TEAM}.\n",
    "post/1.0.0/two.md": "Two.\n",
    "post/1.0.0/three.md": "Three.\n",
    "post/1.1.0/preset.toml": NEW,
    "post/1.1.0/one.md": "One of all, ${TEAM}.\n",
    "post/1.1.0/three.md": "Three.\n",
    "post/1.1.0/four.md": "Four.\n",
}
EXTENSION = 'format = 1\nextends = "coder@1.0.0"\nchanges = [{ replace = "git" }]\n'


def differ(capture: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run `diff` without failure, and return what it prints."""
    assert main(["diff", *arguments]) == 0
    out, err = capture.readouterr()
    assert err == ""
    return out


def test_rows_conditions_variables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Texts, conditions, what is declared and the order are each reported."""
    lay_out(tmp_path, FILES)
    out = differ(capsys, "post@1.0.0", "post@1.1.0", "--parts", str(tmp_path))
    assert out.splitlines() == [
        "one: changed, +1 tokens",
        "--- old/one",
        "+++ new/one",
        "@@ -1 +1 @@",
        "-One of ${TEAM}.",
        "+One of all, ${TEAM}.",
        "two: removed, -1 tokens",
        "--- old/two",
        "+++ new/two",
        "@@ -1 +0,0 @@",
        "-Two.",
        "three: release quiet -> release not quiet, +0 tokens",
        "four: added, +1 tokens",
        "--- old/four",
        "+++ new/four",
        "@@ -0,0 +1 @@",
        "+Four.",
        "flags, variables, lists, tools, agents or reminders:",
        "--- old/preset.toml",
        "+++ new/preset.toml",
        "@@ -5 +5 @@",
        '-TEAM = { default = "us", pace = "release" }',
        '+TEAM = { default = "them", pace = "release" }',
        "the order of the parts changed",
        "4 of 4 parts changed, +1 tokens in all (estimated)",
    ]
    found: Any = json.loads(differ(capsys, "post@1.0.0", "post@1.1.0", "--parts", str(tmp_path), "--json"))
    assert found["reordered"]
    assert found["declared"][-1] == '+TEAM = { default = "them", pace = "release" }'


def test_an_extension_and_its_parent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A preset of yours can be compared with the bundled one that it extends."""
    lay_out(tmp_path, {"mine/1.0.0/preset.toml": EXTENSION, "mine/1.0.0/git.md": "Mine.\n"})
    found: Any = json.loads(differ(capsys, "coder@1.0.0", "mine", "--parts", str(tmp_path), "--json"))
    assert [(change["part"], change["kind"]) for change in found["changes"]] == [("git", "changed")]


def test_two_bundled_versions(capsys: pytest.CaptureFixture[str]) -> None:
    """Between deepseek 1.0.0 and 1.1.0 nothing of the base changed."""
    found: Any = json.loads(differ(capsys, "deepseek@1.0.0", "deepseek@1.1.0", "--json"))
    changed = {change["part"]: change["kind"] for change in found["changes"]}
    assert changed["security"] == "added"
    assert not {"identity", "tools", "style", "instructions"} & {*changed}


def test_a_replaced_part(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A part of an extension is shown beside the text that it replaces, if that is known."""
    theirs = bundled().text("coder", "1.0.0", "git")
    lay_out(tmp_path, {"mine/1.0.0/preset.toml": EXTENSION, "mine/1.0.0/git.md": theirs + "More.\n"})
    unknown = differ(capsys, "git", "--parts", str(tmp_path))
    assert unknown.startswith("the text that it was written against is not recorded, or no longer bundled\n")
    lay_out(tmp_path, {"mine/1.0.0/overrides.toml": f'git = "{sha256_hex(theirs)}"\n'})
    for ask in ("git", "mine/git", "mine/git@1.0.0"):
        out = differ(capsys, ask, "--parts", str(tmp_path))
        assert out.startswith("the bundled text has not changed since\n--- written against\n+++ yours\n")
        assert out.endswith("+More.\n")
