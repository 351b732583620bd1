"""A project that wants to run, read and write through our commands, and the commands that look at it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from deepprompt.checks.perturb.moves import MOVES
from tests.support.hostile.doors import SECRET
from tests.support.hostile.forks import forked
from tests.support.layout import lay_out

# A module that leaves a marker when it is imported, and another when its function is called.
PLANTED = """
import pathlib
pathlib.Path({marker!r}).touch()
def f():
    return "You are a careful agent.\\n"
"""
BODY = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 16,
    "system": [{"type": "text", "text": "You are a careful agent."}],
    "messages": [{"role": "user", "content": "Hello."}],
}
# Of the moves of perturb, only the one that asks git: all of them take seconds.
ONLY_LINE_ENDS = tuple(word for move in MOVES if move not in ("again", "line ends") for word in ("--skip", move))
DEADLINE = 15.0
"""The seconds that any command may take in any of these folders, on a busy machine."""


@dataclass(frozen=True)
class Project:
    """A folder with a planted module `evil`, and the marker that it leaves when it runs."""

    folder: Path
    marker: Path

    def ran(self) -> bool:
        """Whether the module has run since it was last asked."""
        ran = self.marker.exists()
        self.marker.unlink(missing_ok=True)
        return ran

    def configure(self, text: str) -> None:
        """Write the project's settings."""
        lay_out(self.folder, {"pyproject.toml": text})

    def run(
        self, *arguments: str, stdin: bytes = b"", cwd: Path | None = None, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run one of our commands in the folder: no traceback, no secret, done in time."""
        plain = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
        done = forked(list(arguments), cwd or self.folder, plain | (env or {}), stdin, deadline=DEADLINE)
        said = done.stdout + done.stderr
        assert b"Traceback" not in said, said
        assert SECRET.encode() not in said, said
        return done


def make_project(folder: Path) -> Project:
    """Make the project, beside a folder with a secret."""
    marker = folder.parent / "marker"
    module = PLANTED.format(marker=str(marker))
    lay_out(folder.parent / "outside", {"secret.md": f"{SECRET}\u202e\n", "empty": ""})
    lay_out(
        folder,
        {
            "AGENTS.md": "Be careful.\n",
            "p.md": "Be brief.\n",
            "body.json": json.dumps(BODY),
            "agent.json": '{"identity": "A careful agent."}',
            "evil.py": module,
            "src/evil2.py": module,
        },
    )
    return Project(folder, marker)


# Every command that takes a file, with FILE in place of its name.
READERS = {
    "lint": ("lint", "FILE"),
    "lint, of several": ("lint", "AGENTS.md", "FILE"),
    "explain": ("explain", "FILE"),
    "inspect": ("inspect", "FILE", "--out", "../page.html"),
    "inspect, the second": ("inspect", "body.json", "FILE", "--out", "../page.html"),
    "blame": ("blame", "FILE", "body.json"),
    "blame, the second": ("blame", "body.json", "FILE"),
    "cache": ("cache", "FILE", "--provider", "anthropic"),
    "explain --usage": ("explain", "body.json", "--usage", "FILE"),
    "lock": ("lock", "x=FILE"),
    "build --base-file": ("build", "--base-file", "FILE"),
    "build --append-file": ("build", "--append-file", "FILE"),
    "build --custom-file": ("build", "--custom-file", "FILE"),
    "build --output-style-file": ("build", "--preset", "claude_code", "--output-style-file", "FILE"),
    "build --mcp": ("build", "--preset", "claude_code", "--mcp", "s=FILE"),
    "build --instructions": ("build", "--instructions", "FILE.toml"),
    "build --agent": ("build", "--agent", "FILE"),
    "build --formatting": ("build", "--agent", "agent.json", "--channel", "x", "--formatting", "x=FILE"),
    "build --storage-file": ("build", "--agent", "agent.json", "--storage-file", "FILE"),
    "build --task": ("build", "--agent", "body.json", "--task", "FILE"),
    "build --memories": ("build", "--agent", "body.json", "--memories", "FILE"),
    "build --facts": ("build", "--to", "anthropic", "--model", "claude-sonnet-4-5", "--facts", "FILE"),
    "build --messages": ("build", "--to", "anthropic", "--model", "claude-sonnet-4-5", "--messages", "FILE"),
    "lint --config": ("lint", "AGENTS.md", "--config", "FILE"),
    "lock --config": ("lock", "p.md", "--config", "FILE"),
    "check --config": ("check", "--config", "FILE"),
    "replay": ("replay", "FILE"),
    "compile": ("compile", "FILE"),
    "cache --compare": ("cache", "body.json", "--provider", "anthropic", "--compare", "FILE"),
    "cache --facts": ("cache", "body.json", "--provider", "anthropic", "--facts", "FILE"),
    "perturb": ("perturb", "FILE"),
    "edits": ("edits", "FILE"),
    "plan": ("plan", "--profile", "FILE.toml"),
    "plan --compare": ("plan", "--compare", "FILE.toml"),
    "skills": ("skills", "--profile", "FILE.toml"),
}


def reading(command: str, file: str) -> list[str]:
    """Return the arguments of one of the readers, for a file."""
    return [word.replace("FILE", file) for word in READERS[command]]
