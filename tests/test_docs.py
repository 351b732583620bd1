"""The pages under docs/: what they promise is held by tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hostile import test_corpus, test_git, test_process

DOCS = Path(__file__).parent.parent / "docs"
SECURITY = (DOCS / "security.md").read_text("utf-8")
HOSTILE = Path(__file__).parent / "hostile"


def cases() -> set[str]:
    """Every case of the hostile corpus that has a test."""
    return {name.partition("-")[0] for name in (*test_git.CASES, *test_process.CASES)} | set(test_corpus.named())


def promises() -> list[str]:
    """Every promise of the security page: each item of the sections that promise something."""
    promised = SECURITY.partition("## The boundary")[2].partition("## What we do not promise")[0]
    return [
        " ".join(item.split()) for item in re.findall(r"^- (.*?)(?=^- |^$|^#|\Z)", promised, re.MULTILINE | re.DOTALL)
    ]


@pytest.mark.parametrize("promise", promises(), ids=lambda promise: promise[:40])
def test_every_promise_has_its_tests(promise: str) -> None:
    """A promise ends with the cases or test modules that hold it, and they are there."""
    match = re.search(r"\[([^\]]+)\]$", promise)
    assert match, promise
    for held_by in match[1].split(", "):
        module = (HOSTILE / f"{held_by}.py").is_file()
        assert module if held_by.startswith("test_") else held_by in cases(), held_by


def test_there_are_promises() -> None:
    """The page is read as it is meant to be."""
    assert len(promises()) >= 24
