"""CLAUDE.md files, only for who asks: which are loaded, in which order, and which are refused."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deepprompt.errors import SourceError
from deepprompt.prompt import Note
from deepprompt.sources.claude_md import FILE_LIMIT, SEPARATOR, load_claude_md
from deepprompt.sources.instructions import load_instruction_files
from deepprompt.text.hygiene import TRUNCATION_MARKER
from tests.support.layout import lay_out


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """Return the top of a repository inside a folder that has a CLAUDE.md of its own."""
    (tmp_path / "CLAUDE.md").write_text("outside")
    (tmp_path / "top" / ".git").mkdir(parents=True)
    return tmp_path / "top"


@pytest.mark.seed("004.18")
def test_order(top: Path) -> None:
    """The folder's three files come first, then each parent's CLAUDE.md, nearest first, up to the top."""
    lay_out(
        top,
        {
            "a/b/CLAUDE.md": "own", "a/b/.claude/CLAUDE.md": "hidden", "a/b/CLAUDE.local.md": "local",
            "a/CLAUDE.md": "parent", "a/.claude/CLAUDE.md": "no", "a/CLAUDE.local.md": "no", "CLAUDE.md": "top",
        },
    )  # fmt: skip
    assert load_claude_md(top / "a/b") == "own\n\n---\n\nhidden\n\n---\n\nlocal\n\n---\n\nparent\n\n---\n\ntop"


def test_nothing(top: Path) -> None:
    """Where there is none, the content is empty and nothing is noted."""
    text = load_claude_md(top)
    assert (text, text.notes) == ("", ())


def test_gaps(top: Path) -> None:
    """A file that there is not leaves no separator behind."""
    lay_out(top, {"a/b/CLAUDE.local.md": "local\n", "CLAUDE.md": "top\n"})
    assert load_claude_md(str(top / "a/b")) == f"local\n{SEPARATOR}top\n"


def test_other_names_are_not_loaded(top: Path) -> None:
    """Only the exact names are CLAUDE.md files."""
    lay_out(top, {"AGENTS.md": "a", "CLAUDE.txt": "b", ".claude/settings.md": "c", "sub/CLAUDE.md": "below"})
    assert load_claude_md(top) == ""


@pytest.mark.seed("004.19")
def test_never_above_the_repository(top: Path) -> None:
    """A file above the repository's top is not loaded."""
    lay_out(top, {"a/CLAUDE.md": "a"})
    assert load_claude_md(top / "a") == "a"


@pytest.mark.parametrize("kind", ["file", "dangling link"])
def test_work_tree(kind: str, tmp_path: Path) -> None:
    """A `.git` that is a file, as in a work tree, or a link, marks a top too."""
    lay_out(tmp_path, {"CLAUDE.md": "outside", "tree/CLAUDE.md": "tree", "tree/a/CLAUDE.md": "a"})
    if kind == "file":
        (tmp_path / "tree/.git").write_text("gitdir: elsewhere")
    else:
        (tmp_path / "tree/.git").symlink_to("nowhere")
    assert load_claude_md(tmp_path / "tree/a") == f"a{SEPARATOR}tree"


def test_no_repository(tmp_path: Path) -> None:
    """Outside a repository only the folder itself is looked into."""
    lay_out(tmp_path, {"CLAUDE.md": "outside", "a/CLAUDE.md": "a"})
    assert load_claude_md(tmp_path / "a") == "a"


def test_root(top: Path) -> None:
    """A root that is given is the last folder looked into, below the repository's top or above it."""
    lay_out(top, {"a/b/CLAUDE.md": "b", "a/CLAUDE.md": "a", "CLAUDE.md": "top"})
    assert load_claude_md(top / "a/b", top / "a") == f"b{SEPARATOR}a"
    assert load_claude_md(top / "a/b", top.parent) == f"b{SEPARATOR}a{SEPARATOR}top{SEPARATOR}outside"
    assert load_claude_md(top / "a/b", top / "a/b") == "b"


def test_relative(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative folders are those of the process, and dots in them mean what they mean."""
    lay_out(top, {"a/CLAUDE.md": "a", "CLAUDE.md": "top"})
    monkeypatch.chdir(top / "a")
    assert load_claude_md(".") == load_claude_md("../a", "..") == f"a{SEPARATOR}top"


def test_linked_folder(top: Path) -> None:
    """A folder reached by a link is the folder that it leads to."""
    lay_out(top, {"a/CLAUDE.md": "a", "CLAUDE.md": "top"})
    (top.parent / "link").symlink_to(top / "a")
    assert load_claude_md(top.parent / "link") == f"a{SEPARATOR}top"
    assert load_claude_md(top.parent / "link", top) == f"a{SEPARATOR}top"


@pytest.mark.parametrize("root", ["other", "a/b", "aa"])
def test_not_below_root(root: str, top: Path) -> None:
    """A folder that is not below the root is an error that names both."""
    lay_out(top, {"a/b/CLAUDE.md": "b", "other/x": "", "aa/x": ""})
    with pytest.raises(SourceError) as caught:
        load_claude_md(top / "a", top / root)
    assert str(caught.value) == f"load_claude_md: cwd {str(top / 'a')!r} is not below root {str(top / root)!r}"


def test_empty_cwd() -> None:
    """An empty folder name is an error, not the process's folder."""
    with pytest.raises(SourceError) as caught:
        load_claude_md("")
    assert str(caught.value) == "load_claude_md: empty cwd; pass the project's folder"


def test_empty_root(top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty root is an error too, not the process's folder."""
    monkeypatch.chdir(top)
    with pytest.raises(SourceError, match="empty root"):
        load_claude_md(top, "")


def test_no_such_folder(top: Path) -> None:
    """A folder that there is not has no files of its own, and its parents' are loaded."""
    lay_out(top, {"CLAUDE.md": "top"})
    assert load_claude_md(top / "gone") == "top"


class TestLinks:
    """Links are judged by where they lead."""

    def test_inside(self, top: Path) -> None:
        """A link that stays below the root is followed."""
        lay_out(top, {"docs/rules.md": "rules"})
        (top / "CLAUDE.md").symlink_to("docs/rules.md")
        assert load_claude_md(top) == "rules"

    @pytest.mark.parametrize("target", ["../CLAUDE.md", "{tmp}/CLAUDE.md"])
    def test_outside(self, target: str, top: Path) -> None:
        """A link that leaves the root is refused and noted, and the rest is loaded."""
        (top / "CLAUDE.md").symlink_to(target.format(tmp=top.parent))
        (top / "CLAUDE.local.md").write_text("local")
        text = load_claude_md(top)
        assert text == "local"
        assert text.notes == (Note("refused", str(top / "CLAUDE.md"), "leads out of its root"),)

    def test_linked_settings_folder(self, top: Path) -> None:
        """A `.claude` folder that is a link out of the root is refused."""
        lay_out(top.parent, {"elsewhere/CLAUDE.md": "secret"})
        (top / ".claude").symlink_to("../elsewhere")
        text = load_claude_md(top)
        assert text == ""
        assert text.notes == (Note("refused", str(top / ".claude/CLAUDE.md"), "leads out of its root"),)

    def test_out_of_the_folder_but_not_of_the_root(self, top: Path) -> None:
        """What counts is the root, not the folder that the link is in."""
        lay_out(top, {"shared.md": "shared", "a/x": ""})
        (top / "a/CLAUDE.md").symlink_to("../shared.md")
        assert load_claude_md(top / "a") == "shared"

    def test_not_a_file(self, top: Path) -> None:
        """A folder or a pipe of that name is refused, without waiting."""
        (top / "CLAUDE.md").mkdir()
        os.mkfifo(top / "CLAUDE.local.md")
        text = load_claude_md(top)
        assert text == ""
        assert [(note.kind, note.detail) for note in text.notes] == [("refused", "not a regular file")] * 2

    def test_hard_link(self, top: Path) -> None:
        """A file with a second name is kept and noted."""
        lay_out(top, {"CLAUDE.md": "x"})
        os.link(top / "CLAUDE.md", top / "other")
        text = load_claude_md(top)
        assert text == "x"
        detail = "a hard link: the same file has another name, maybe outside"
        assert text.notes == (Note("kept", str(top / "CLAUDE.md"), detail),)


class TestContent:
    """What a file's bytes become."""

    @pytest.mark.parametrize(
        ("data", "text"),
        [
            pytest.param(b"\xef\xbb\xbfa\r\nb\rc", "a\nb\nc", id="BOM and line ends"),
            pytest.param(b"a\xff", "a\ufffd", id="not UTF-8"),
            pytest.param(b"a\xe2\x80\x8bb", "a⟨U+200B⟩b", id="hidden"),
            pytest.param(b" \n", " \n", id="blank"),
            pytest.param(b"${CWD} ---\n", "${CWD} ---\n", id="our own marks"),
        ],
    )
    def test_decoded(self, data: bytes, text: str, top: Path) -> None:
        """Advice is decoded once, and what is hidden in it is made visible."""
        lay_out(top, {"CLAUDE.md": data})
        assert load_claude_md(top) == text

    def test_empty(self, top: Path) -> None:
        """An empty file is skipped and noted."""
        lay_out(top, {"CLAUDE.md": "", "CLAUDE.local.md": "local"})
        text = load_claude_md(top)
        assert text == "local"
        assert text.notes == (Note("skipped", str(top / "CLAUDE.md"), "it is empty"),)

    def test_at_the_limit(self, top: Path) -> None:
        """A file of the limit is whole."""
        lay_out(top, {"CLAUDE.md": "a" * FILE_LIMIT})
        text = load_claude_md(top)
        assert (text, text.notes) == ("a" * FILE_LIMIT, ())

    @pytest.mark.parametrize("size", [FILE_LIMIT + 1, 2 * FILE_LIMIT, 2 * FILE_LIMIT + 1, 10 * FILE_LIMIT])
    def test_cut(self, size: int, top: Path) -> None:
        """A longer file is cut to the limit, each by itself, and noted."""
        lay_out(top, {"CLAUDE.md": "a" * size, "CLAUDE.local.md": "local"})
        text = load_claude_md(top)
        assert text == "a" * FILE_LIMIT + TRUNCATION_MARKER + SEPARATOR + "local"
        assert text.notes == (Note("cut", str(top / "CLAUDE.md"), "longer than the 40000 bytes there is room for"),)

    def test_limit_counts_text_not_line_ends(self, top: Path) -> None:
        """The limit counts what line ends become, so a Windows checkout gives the same bytes."""
        lay_out(top, {"CLAUDE.md": "a\r\n" * (FILE_LIMIT // 2)})
        assert load_claude_md(top) == "a\n" * (FILE_LIMIT // 2)

    def test_more_than_was_read(self, top: Path) -> None:
        """A file that shrinks below the limit, but was not read to its end, says that it was cut."""
        lay_out(top, {"CLAUDE.md": b"\r\n" * FILE_LIMIT + b"end"})
        assert load_claude_md(top) == "\n" * FILE_LIMIT + TRUNCATION_MARKER

    @pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
    def test_unreadable(self, top: Path) -> None:
        """A file that may not be read is skipped and noted."""
        lay_out(top, {"CLAUDE.md": "x"})
        (top / "CLAUDE.md").chmod(0)
        text = load_claude_md(top)
        assert text == ""
        assert text.notes == (Note("skipped", str(top / "CLAUDE.md"), "cannot be read: Permission denied"),)


@pytest.mark.seed("003.10")
def test_nothing_else_loads_it(top: Path) -> None:
    """The loader of instruction files refuses it always."""
    lay_out(top, {"CLAUDE.md": "claude"})
    assert "claude" not in "".join(part.content for part in load_instruction_files(str(top), ""))
