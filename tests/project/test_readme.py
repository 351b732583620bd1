"""The README has its two commands, leads to pages that exist, and stays short. `test_pages` follows the rest."""

from __future__ import annotations

import re

from tests.support.pages import read_blocks
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = read_blocks(README)


def test_the_two_commands_are_there() -> None:
    """One command line installs and runs the main job, one installs what the tests need and runs them."""
    run, test = [block.text for block in BLOCKS if "python3 -m venv" in block.text]
    assert run.endswith(".venv/bin/python -m deepprompt build\n")
    assert test.endswith(".venv/bin/python -m pytest\n")


def test_every_link_leads_somewhere() -> None:
    """Pages and pictures that the README links are in the repository."""
    links = re.findall(r"\]\(([^)]+)\)", README)
    headings = {f"#{heading.lower().replace(' ', '-')}" for heading in re.findall(r"^## (.+)$", README, re.MULTILINE)}
    assert len(links) > 15
    assert [link for link in links if link not in headings and not (ROOT / link).is_file()] == []


def test_it_stays_short() -> None:
    """The README is under 150 lines."""
    assert README.count("\n") < 150
