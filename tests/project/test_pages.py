"""Every page of the documentation, followed by copy and paste, does what it says."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from pathlib import Path

import pytest

from tests.support.pages import follow, needed, read_blocks
from tests.support.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NEEDED = os.environ.get("DEEPPROMPT_NEED_SDKS") == "1"


def name(page: Path) -> str:
    """The page's path in the repository."""
    return page.relative_to(ROOT).as_posix()


def is_installed(package: str) -> bool:
    """Whether a package can be imported; it may be inside another one that is missing."""
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=name)
def test_followed(page: Path, tmp_path: Path) -> None:
    """All blocks of a page run in their order, and print what the page shows."""
    text = page.read_text("utf-8")
    if missing := [package for package in needed(text) if not is_installed(package)]:
        if NEEDED:
            pytest.fail(f"DEEPPROMPT_NEED_SDKS=1, and {', '.join(missing)} cannot be imported")
        pytest.skip(f"needs {', '.join(missing)}")
    folder = tmp_path / "project"
    folder.mkdir()
    if "<!-- with examples -->" in text:
        shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    follow(page, folder)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_nothing_escapes(page: Path) -> None:
    """Every fence of a page is one that is read: none is hidden by an indent, a tab or an unknown header."""
    fences = re.findall(r"^[ \t>*-]*(?:`{3,}|~{3,}).*$", page.read_text("utf-8"), re.MULTILINE)
    assert len(fences) == 2 * len(read_blocks(page.read_text("utf-8"))), fences


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_files_are_named(page: Path) -> None:
    """The name of a file stands in the text before its block too: not everybody who shows a page shows its titles."""
    text = page.read_text("utf-8")
    lines = text.split("\n")
    prose = ""
    unnamed = []
    start = 0
    for block in read_blocks(text):
        prose += "\n".join(lines[start : block.line - 1])
        start = block.line + block.text.count("\n") + 1
        if block.title and f"`{block.title}`" not in prose:
            unnamed.append(f"line {block.line}: {block.title}")
    assert unnamed == []


class TestTheReader:
    """The reader of pages itself: what is wrong on a page is found."""

    def follow(self, tmp_path: Path, page: str) -> None:
        """Follow a page with this text."""
        (tmp_path / "page.md").write_text(page)
        (tmp_path / "project").mkdir()
        follow(tmp_path / "page.md", tmp_path / "project")

    def test_files_sessions_and_commands(self, tmp_path: Path) -> None:
        """A file is written, a session remembers, a command sees the file, and outputs are compared."""
        self.follow(
            tmp_path,
            '```python title="app/one.py"\nx = 1\n```\n```python\nimport app.one as one\ny = one.x + 1\n```\n'
            "```python\nprint(y)\n```\n```text\n2\n```\n```sh\ncat app/one.py; echo more; echo 12 s\n```\n\n"
            "```text\nx = 1\n...\n[...] s\n```\n<!-- exit 3 -->\n```sh\nexit 3\n```\n"
            "<!-- figures vary -->\n```sh\necho 1,234 b 5\n```\n```text\n5 b 12\n```\n"
            "```sh\npip install 'deepprompt[snapshot]'\n```\n<!-- not run: it fails -->\n```sh\nfalse\n```\n",
        )

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("page", "said"),
        [
            ("```python\n1 / 0\n```\n", "page.md:1 failed:\nTraceback"),
            ("```python\nfor x in 'ab':\n    y = x\nprint(y)\n```\n", "SyntaxError: invalid syntax"),
            ("```python\n1 + 1\n```\n```text\n```\n", "page.md:1 printed:\n2\n"),
            ("```python\nprint((1)\n```\n", "page.md:1 failed:"),
            ("Text\n```sh\nfalse\n```\n", "page.md:2 ended with 1"),
            ("```sh\ntrue; false; true\n```\n", "page.md:1 ended with 1"),
            (
                "```sh\necho one\n```\n```text\ntwo\n```\n",
                "page.md:1 printed:\none\n\nand not, as the page says:\ntwo\n",
            ),
            ("```sh\necho one; echo two\n```\n```text\none\n```\n", "printed:\none\ntwo\n"),
            ("```python\nprint('one')\n```\n\n```text\none\ntwo\n```\n", "printed:\none\n"),
            ("```sh\npip install 'deepprompt[everything]'\n```\n", "page.md:1: no extra 'everything'"),
            ("```console\n$ ls\n```\n", "page.md:1: a block of 'console' is neither run nor looked at"),
            ("<!-- figures vary -->\n```sh\necho 1 a\n```\n```text\n1 b\n```\n", "page.md:2 printed:\n1 a\n"),
            ("<!-- exit 2 -->\n```sh\ntrue\n```\n", "page.md:2 ended with 0"),
        ],
    )
    def test_what_is_wrong_is_found(self, page: str, said: str, tmp_path: Path) -> None:
        """A block that fails, ends otherwise, prints something else, or is none of ours: found, with its line."""
        with pytest.raises(AssertionError) as found:
            self.follow(tmp_path, page)
        assert said in str(found.value)
