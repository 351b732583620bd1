"""The golden vectors of the Go original: each case is recorded behaviour, or a defect with what is right instead."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deepprompt import (
    DYNAMIC_CONTEXT_BOUNDARY,
    InstructionFile,
    ProjectContext,
    SystemPromptBuilder,
    bundled,
    fingerprint,
    inject_recalled,
    load_instruction_files,
    load_skills,
    read_git,
    render_project_context,
)
from deepprompt.errors import SkillError, SourceError
from tests.support.paths import DATA

CASES: list[dict[str, Any]] = json.loads((DATA / "seed003.json").read_text("utf-8"))

SKILLS_HELP = bundled().text("base", "1.0.0", "skills_help").removesuffix("\n")

# Cases whose `right` is a property in words, and the property.
PROPERTIES: dict[str, Callable[[Any, dict[str, Any]], bool]] = {
    "render/branch-newline": lambda got, _: "- branch: a b\n" in got,
    "build/instr-marker-in-content": lambda got, _: (
        got.count(DYNAMIC_CONTEXT_BOUNDARY) == 1
        and "intro\n\\=== DYNAMIC CONTEXT (per-turn, do not cache) ===\nafter\n"
        in got.split(DYNAMIC_CONTEXT_BOUNDARY)[0]
    ),
    "inject/boundary-crlf-not-recognised": lambda got, case: got == case["input"]["system"] + "\nfact",
    "load/symlink-outside-root": lambda got, _: got == [],
    # The marker of the file that fills the limit stands outside it (formats.md: cut at what remains, then marked).
    "load/total-4001-x3": lambda got, _: [file["bytes"] for file in got] == [4016, 4016, 3968 + 16],
    "load/double-marker-3995-3990-5000": lambda got, _: got[2]["content"] == "c" * 4000 + "\n... [truncated]",
    "load/double-marker-3999-4000-5000": lambda got, _: got[2]["content"] == "c" * 4000 + "\n... [truncated]",
    "load/total-home-multibyte-rest": lambda got, _: got[2]["content"] == "日" * 1322 + "\n... [truncated]",
    "skills/name-with-pipe": lambda got, _: [len(line.split(" | ")) for line in got["index_text"].splitlines()] == [5],
    "git/columns-env-changes-diffstat": lambda got, _: (
        "a-rather-long-file-name-for-the-diffstat.txt | 120" in got["diff"]
    ),
}


class World:
    """The folders that a case's placeholders stand for."""

    def __init__(self, folder: Path) -> None:
        self.places = {"{CWD}": str(folder / "cwd"), "{HOME}": str(folder / "home"), "{SKILLS_HELP}": SKILLS_HELP}
        (folder / "cwd").mkdir()
        (folder / "home").mkdir()

    def fill(self, value: Any) -> Any:
        """Put real values in place of placeholders, and bytes in place of their base64."""
        if isinstance(value, str):
            for name, place in self.places.items():
                value = value.replace(name, place)
            return value
        if isinstance(value, dict):
            if set(value) == {"$b64"}:
                return base64.b64decode(value["$b64"])
            return {self.fill(key): self.fill(item) for key, item in value.items()}
        return [self.fill(item) for item in value] if isinstance(value, list) else value

    def make(self, given: dict[str, Any]) -> None:
        """Make a case's folders, files and links."""
        for folder in given.get("dirs", []):
            Path(folder).mkdir(parents=True, exist_ok=True)
        for path, content in given.get("files", {}).items():
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())
        for path, target in given.get("symlinks", {}).items():
            os.symlink(target, path)


def text(value: str | bytes) -> str:
    """Our functions take text: bytes that are not UTF-8 arrive as U+FFFD."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def project(fields: dict[str, Any] | None) -> ProjectContext | None:
    """A project context from the Go names of its fields."""
    if fields is None:
        return None
    names = {
        "CWD": "cwd", "CurrentDate": "current_date", "GitStatus": "git_status", "GitDiff": "git_diff",
        "ActiveBranch": "active_branch", "OSName": "os_name", "OSVersion": "os_version", "Shell": "shell",
    }  # fmt: skip
    return ProjectContext(**{names[name]: text(value) for name, value in fields.items()})  # type: ignore[arg-type]


def build(given: dict[str, Any], instructions: list[InstructionFile]) -> str:
    """The prompt of a Build case."""
    return SystemPromptBuilder(
        static_base=given["StaticBase"],
        instructions=instructions,
        skill_directory=given.get("SkillDirectory", ""),
        project=project(given.get("Project")),
    ).build()


def listed(files: list[InstructionFile]) -> list[dict[str, Any]]:
    """Instruction files as the vectors write them."""
    return [{"path": file.path, "content": file.content, "bytes": len(file.content.encode())} for file in files]


def skills(given: dict[str, Any]) -> dict[str, Any]:
    """The skill store of a LoadScan case as the vectors write it."""
    store = load_skills(given["cwd"], given["home"])
    got: dict[str, Any] = {
        "index_text": store.index_text(),
        "names": store.names(),
        "version_hash": store.version_hash(),
    }
    if "body" in given:
        try:
            got |= {"body": store.body(given["body"]), "body_found": True}
        except SkillError:
            got |= {"body": "", "body_found": False}
    return got


def skill_diff(given: dict[str, Any]) -> dict[str, Any]:
    """The difference of the two stores of a SkillDiff case."""
    old, new = load_skills(given["old_cwd"]), load_skills(given["cwd"], given["home"])
    changes = [{"kind": change.kind, "name": change.name} for change in new.diff(old)]
    return {"changes": changes, "index_text_moved": old.index_text() != new.index_text()}


def git(given: dict[str, Any], folder: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The snapshot of a GitRead case, after its steps with the recorded author, clock and configuration."""
    who = {"NAME": "T", "EMAIL": "t@e", "DATE": "2030-01-02T03:04:05+0000"}
    environment = {
        "PATH": os.environ["PATH"], "HOME": "/nonexistent", "TZ": "UTC",
        "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in who.items()},
    }  # fmt: skip
    for step, *arguments in given["steps"]:
        match step:
            case "git":
                subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True)
            case "write":
                (Path(folder) / arguments[0]).write_text(arguments[1])
            case _:
                raise AssertionError(f"unknown step {step}")
    for name, value in given.get("env", {}).items():
        monkeypatch.setenv(name, value)
    try:
        snapshot = read_git(given["cwd"])
    except SourceError:
        return {"error": "cwd"}
    return {
        "status": snapshot.status,
        "diff": snapshot.diff,
        "active_branch": snapshot.active_branch,
        "recent_commits": list(snapshot.recent_commits),
    }


def run(case: dict[str, Any], given: dict[str, Any], world: World, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What our function for a case's call returns."""
    match case["call"]:
        case "RenderProjectContext":
            made = project(given["Project"])
            assert made is not None
            return render_project_context(made)
        case "Build":
            return build(given, [InstructionFile(f["Path"], f["Content"]) for f in given.get("Instructions", [])])
        case "InjectRecalled":
            return inject_recalled(given["system"], given["recalled"])
        case "LoadInstructionFiles":
            try:
                return listed(load_instruction_files(given["cwd"], given["home"]))
            except SourceError as error:
                return {"error": str(error)}
        case "LoadThenBuild":
            return build(given, load_instruction_files(given["cwd"], given["home"]))
        case "LoadScan":
            return skills(given)
        case "SkillDiff":
            return skill_diff(given)
        case "GitRead":
            return git(given, world.places["{CWD}"], monkeypatch)
        case "Fingerprint":
            got = fingerprint(given["system"], given["tools"])
            return {"system": got.system, "tools": got.tools, "combined": got.combined}
        case unknown:
            raise AssertionError(f"unknown call {unknown}")


@pytest.mark.seed("003.24")
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_vector(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every recorded case holds, and every defect of the original is right here."""
    world = World(tmp_path)
    given = world.fill(case["input"])
    world.make(given)
    got = run(case, given, world, monkeypatch)
    right = world.fill(case["right"] if case.get("defect") else case["expect"])
    if isinstance(right, dict) and "must" in right:
        assert PROPERTIES[case["name"]](got, case)
    elif isinstance(right, dict) and right.keys() & {"index_text_starts", "index_text_ends"}:
        assert got["index_text"].startswith(right.get("index_text_starts", ""))
        assert got["index_text"].endswith(right.get("index_text_ends", ""))
    elif isinstance(right, dict) and "error" in right:
        assert "cwd" in got["error"]
    elif isinstance(right, list):
        assert [{key: file[key] for key in want} for file, want in zip(got, right, strict=True)] == right
    else:
        assert got == (text(right) if isinstance(right, bytes) else right)


def test_every_property_belongs_to_a_case() -> None:
    """No property is left over from a case that is gone."""
    assert set(PROPERTIES) <= {case["name"] for case in CASES}
