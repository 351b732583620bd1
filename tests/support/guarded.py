"""A small project that guards its own prompt and does not use our builder, for the tests of lint, lock and check."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt.checks.perturb.moves import MOVES
from deepprompt.cli import main

APP = '''"""An agent's prompt."""
import datetime
import pathlib

RULES = pathlib.Path(__file__).with_name("rules.md")


def prompt():
    return "You are careful.\\n\\n" + RULES.read_text(encoding="utf-8")


def dated():
    return f"You are careful.\\nToday is {datetime.date.today()}.\\n"


def request():
    system = [{"type": "text", "text": prompt(), "cache_control": {"type": "ephemeral"}}]
    messages = [{"role": "user", "content": "Hi"}]
    return {"model": "claude-opus-5-5", "max_tokens": 9, "system": system, "messages": messages}
'''
SETTINGS = """[tool.deepprompt.prompts]
main = "app:prompt"
"""


def moving_only(*kinds: str) -> str:
    """Return the settings that have a perturbation make only these moves, where all of them would only take time."""
    skip = [kind for kind in MOVES if kind not in ("again", *kinds)]
    return f"[tool.deepprompt.perturb]\nskip = {skip}\n"


def project(folder: Path, settings: str = SETTINGS) -> Path:
    """Write the project into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "app.py").write_text(APP)
    (folder / "rules.md").write_text("Run the tests with make test.\n")
    if settings:
        (folder / "pyproject.toml").write_text(settings)
    return folder


def run(capture: pytest.CaptureFixture[str], *arguments: object, code: int = 0) -> str:
    """Run a command and return what it prints; nothing goes to standard error."""
    assert main([str(argument) for argument in arguments]) == code
    printed = capture.readouterr()
    assert printed.err == ""
    return printed.out


def failure(capture: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command where it cannot be done, and return the one line that it says."""
    assert main([str(argument) for argument in arguments]) == 1
    printed = capture.readouterr()
    assert (printed.out, printed.err.count("\n")) == ("", 1)
    return printed.err.removeprefix("deepprompt: ").removesuffix("\n")


def wrong(capture: pytest.CaptureFixture[str], *arguments: object) -> str:
    """Run a command with wrong usage, and return what it says."""
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    assert ended.value.code == 2
    return capture.readouterr().err
