"""Take the screenshots of docs/images: the three kinds of page, 1280 and 400 pixels wide, made of an example.

Run `python scripts/take_screenshots.py [FOLDER]` with the extra `browser` and a Chromium; FOLDER gets more of them,
such as the dark and the printed ones, and the pages themselves, to be looked at.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.coding_session import coding_session  # noqa: E402
from deepprompt import GitSnapshot, InstructionFile, ProjectContext, Surroundings, build_request, load_preset  # noqa: E402
from deepprompt.cli import main  # noqa: E402
from deepprompt.sources.instructions import InstructionFiles  # noqa: E402
from tests.support.browser import launched  # noqa: E402

IMAGES = ROOT / "docs" / "images"
WIDTHS = (1280, 400)
HEIGHTS = {1280: 640, 400: 800}

AGENTS = """Run the tests with `pytest -q` before you say that something works.

- Keep functions short, and say in the commit why, not what.
- Never touch `vendor/`; it is copied from elsewhere.
- Names in tests are sentences: café, naïve, שלום.

This line hides\u200b something\u202e, and the page draws it.
"""


def example(date: str, status: str, style: str = "") -> str:
    """Return a prompt as `build --json` prints it."""
    around = Surroundings(
        instructions=InstructionFiles(
            [
                InstructionFile("~/.agents/AGENTS.md", "Answer in plain words.\nAsk before you delete anything.\n"),
                InstructionFile("AGENTS.md", AGENTS + style),
            ]
        ),
        project=ProjectContext("/home/ada/retry-budget", date, status, "+budget = 3\n-budget = 5\n", "main", "linux"),
        git=GitSnapshot(status=status, diff="+budget = 3\n-budget = 5\n", active_branch="main"),
    )
    prompt = load_preset("coder").compose(around, tools=["Bash", "Edit", "Read"])
    parts = [
        {"name": part.name, "pace": part.pace.name.lower(), "origin": part.origin, "bytes": len(part.text.encode())}
        for part in prompt.parts
    ]
    return json.dumps({"text": prompt.text, "parts": parts})


def transcript(turns: int = 24) -> str:
    """Return a coding session with the project's state in the system prompt, which is what misses a cache."""
    messages: list[Any] = []
    lines = []
    for turn in coding_session(turns):
        for at, added in zip(turn.times, turn.rounds, strict=True):
            messages += added
            body = build_request(turn.prompt, messages, to="anthropic", model="claude-opus-5-5").body
            lines.append(json.dumps({"at": at, "body": body}))
        messages.append(turn.answer)
    return "\n".join(lines)


def write_pages(folder: Path) -> dict[str, Path]:
    """Write the example and the pages of it, and go there, so that the pages name no folder of this machine."""
    os.chdir(folder)
    (folder / "monday.json").write_text(example("2026-11-16", " M src/retry.py\n"))
    moved = example("2026-11-17", " M src/retry.py\n?? notes.md\n", "- Two blanks at most between functions.\n")
    (folder / "tuesday.json").write_text(moved)
    (folder / "session.jsonl").write_text(transcript())
    arguments = {
        "prompt": ["monday.json"],
        "difference": ["monday.json", "tuesday.json"],
        "session": ["session.jsonl"],
    }
    for name, files in arguments.items():
        assert main(["inspect", *files, "-o", f"{name}.html"]) == 0
    return {name: folder / f"{name}.html" for name in arguments}


def take(more: str = "") -> None:
    """Take them all."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary, launched() as browser:
        folder = Path(more or temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, path in write_pages(folder).items():
            for width in WIDTHS:
                for scheme in ("light", "dark") if more else ("light",):
                    page = browser.new_page(viewport={"width": width, "height": HEIGHTS[width]}, color_scheme=scheme)
                    page.goto(path.as_uri())
                    kept = f"inspect-{name}-{width}.png"
                    page.screenshot(path=str(IMAGES / kept if scheme == "light" else folder / f"{scheme}-{kept}"))
                    if more:
                        page.screenshot(path=str(folder / f"{scheme}-whole-{kept}"), full_page=True)
                    page.close()


if __name__ == "__main__":
    take(*sys.argv[1:])
