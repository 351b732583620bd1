"""I: includes that leave the root, wait, repeat themselves or grow. An error that says where; nothing else is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deepprompt import PromptAssembler, load_instruction_files
from deepprompt.errors import (
    IncludeNotFoundError,
    NestedTokenError,
    PathEscapeError,
    PromptAssemblyError,
    UnresolvedTokenError,
)
from tests.support.hostile.doors import SECRET, gathered, run, within
from tests.support.layout import lay_out

OUTSIDE = "a path is relative and stays below the root"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a root beside a secret, with a file to include."""
    lay_out(tmp_path, {"secret": SECRET, "etc/passwd": SECRET})
    return lay_out(tmp_path / "root", {"a": "A", "d/b": "B"})


def refused(root: Path, path: str, kind: type[PromptAssemblyError] = PathEscapeError, says: str = OUTSIDE) -> None:
    """See that a path is refused as an include, as a name's value, as a template and by the command."""
    lay_out(root, {"t.txt": f"x\n$$include {path}\n", "u.txt": "$$A"})
    assembler = PromptAssembler(str(root))
    if "\n" not in path:
        with pytest.raises(kind) as caught:
            assembler.assemble("t", {})
        assert (caught.value.path, caught.value.line) == ("t.txt", 2)
        assert says in str(caught.value)
    with pytest.raises(kind, match=r"^u\.txt:1: "):
        assembler.assemble("u", {"A": path})
    with pytest.raises(PromptAssemblyError):
        assembler.assemble(path, {})
    if "\0" not in path:
        done = run("assemble", "u", "--root", str(root), "--include", f"A={path}", cwd=root)
        assert (done.returncode, done.stdout) == (1, b"")
        assert SECRET.encode() not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["../secret", "../../etc/passwd", "..", "../root/../secret", "./../secret", "d/../../secret"]
)
def test_i01_path_that_goes_up(root: Path, path: str) -> None:
    """A path with `..` is refused before anything is opened."""
    refused(root, path)


@pytest.mark.slow
def test_i02_absolute_path(root: Path) -> None:
    """So is an absolute one, even if it leads into the root."""
    for path in ("/etc/passwd", str(root / "a"), "//etc/passwd", "/proc/self/environ"):
        refused(root, path)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["~/.ssh/id_rsa", "~", "~root/x", "~/../x"])
def test_i03_home(root: Path, path: str) -> None:
    """So is one that a shell would take for a home."""
    refused(root, path)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["a/../../secret", "d/../a", "d/b/../../../secret", "d//..//a"])
def test_i04_path_that_goes_down_and_up(root: Path, path: str) -> None:
    """Going down first does not help, nor does staying inside in the end."""
    refused(root, path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "path", ["..\\secret", "\\etc\\passwd", "C:\\x", "c:x", "C:/x", "\\\\host\\share", "d\\..\\..\\secret"]
)
def test_i05_backslash_and_drive(root: Path, path: str) -> None:
    """A path that another system would take for absolute, or for going up, is refused on every system."""
    refused(root, path)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["../secret", "{root}/../secret", "hop", "/dev/zero", "/proc/self/environ"])
def test_i06_link_out_of_the_root(root: Path, target: str) -> None:
    """A link out of the root is refused, at the end of a path and on the way, for templates too."""
    os.symlink("../secret", root / "hop")
    os.symlink(target.format(root=root), root / "link")
    os.symlink("..", root / "up")
    for path in ("link", "up/secret"):
        refused(root, path, PathEscapeError, f"{path} is refused: leads out of its root")
    os.symlink("../secret", root / "s.txt")
    with pytest.raises(PathEscapeError, match=r"^s\.txt: template is refused: leads out of its root$"):
        PromptAssembler(str(root)).assemble("s", {})


def test_i06_link_inside_the_root(root: Path) -> None:
    """A link that stays inside is followed."""
    os.symlink("d", root / "e")
    lay_out(root, {"t.txt": "$$include e/b"})
    assert PromptAssembler(str(root)).assemble("t", {}).content == "B"


@pytest.mark.seed("002.20")
def test_i08_file_that_includes_itself(root: Path) -> None:
    """A template that includes itself is an error, not a loop."""
    lay_out(root, {"t.txt": "x\n$$include t.txt\n"})
    with (
        within(1),
        pytest.raises(NestedTokenError, match=r"^t\.txt:2: an include may not include: \$\$include t\.txt$"),
    ):
        PromptAssembler(str(root)).assemble("t", {})


def test_i09_cycle_of_three(root: Path) -> None:
    """So is a longer way round; and since no include may include, nothing grows from level to level."""
    lay_out(root, {"t.txt": "$$include b1", "b1": "$$include b2", "b2": "$$include t.txt"})
    with within(1), pytest.raises(NestedTokenError, match=r"^b1:1: an include may not include: \$\$include b2$"):
        PromptAssembler(str(root)).assemble("t", {})
    lay_out(root, {f"n{level}": f"$$include n{level + 1}\n" * 2 for level in range(20)})
    lay_out(root, {"t.txt": "$$include n0\n" * 1000, "n20": "x"})
    with within(1), pytest.raises(NestedTokenError) as caught:
        PromptAssembler(str(root)).assemble("t", {})
    assert len(caught.value.problems) == 2


def test_i09_many_times_the_same(root: Path) -> None:
    """A file that is named often is read once, and costs what it weighs."""
    lay_out(root, {"t.txt": "$$include a\n" * 10_000})
    with within(2):
        assembled = PromptAssembler(str(root)).assemble("t", {})
    assert assembled.content == "A\n" * 10_000
    assert assembled.includes_resolved == {"a": "a"}


@pytest.mark.parametrize(
    "start", ["", "$$", "$$A", "$$include ", "x $$include "], ids=["text", "dollars", "name", "include", "inside"]
)
def test_i11_line_of_ten_megabytes(root: Path, start: str) -> None:
    """A line without an end is text or an error, in a moment, and no message repeats it."""
    lay_out(root, {"t.txt": start + "x" * 10_000_000, "u.txt": "$$include big", "big": start + "y" * 10_000_000})
    with within(3):
        for ref in ("t", "u"):
            try:
                assembled = PromptAssembler(str(root)).assemble(ref, {})
                assert len(assembled.content) >= 10_000_000
            except PromptAssemblyError as error:
                assert len(str(error)) < 1_000 or "$$include" in start
                assert ref == "t" or start == "$$include "


def test_i12_text_of_a_repository_is_never_expanded(root: Path) -> None:
    """An instruction file, a skill or a value that holds a directive is text: nothing is read for it."""
    text = "$$include ../secret\n$$A\n${CWD}\n"
    lay_out(root, {"AGENTS.md": text, "skills/x/SKILL.md": f"---\ndescription: {text[:19]}\n---\n{text}"})
    assert load_instruction_files(root)[0].content == text
    assert "\n$$include ../secret\n$$A\n${CWD}\n" in gathered(root).text
    lay_out(root, {"t.txt": "$$include AGENTS.md"})
    with pytest.raises(NestedTokenError):
        PromptAssembler(str(root)).assemble("t", {})
    lay_out(root, {"t.txt": "$$include v", "v": "a $$include ../secret\n$$if\n $$ A\n$$lower"})
    assert PromptAssembler(str(root)).assemble("t", {}).content == "a $$include ../secret\n$$if\n $$ A\n$$lower"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs FIFOs")
def test_i13_fifo(root: Path) -> None:
    """A FIFO is refused at once, as an include and as a template."""
    os.mkfifo(root / "fifo")
    os.mkfifo(root / "f.txt")
    with within(5):
        refused(root, "fifo", IncludeNotFoundError, "fifo is refused: not a regular file")
        with pytest.raises(IncludeNotFoundError, match=r"^f\.txt: template is refused: not a regular file$"):
            PromptAssembler(str(root)).assemble("f", {})


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("$$include a\0b", IncludeNotFoundError),
        ("$$include \0", IncludeNotFoundError),
        ("$$include a" + " " * 1_000_000, None),
        (" " * 1_000_000 + "$$include a", None),
        ("$$include" + " \t" * 500_000 + "a", None),
        ("$$include" + " " * 1_000_000, UnresolvedTokenError),
        ("$$" + " " * 1_000_000 + "include a", UnresolvedTokenError),
        ("$$include a\u00a0", IncludeNotFoundError),
        ("$$include\u2003a", UnresolvedTokenError),
        ("$$include \u202ea", IncludeNotFoundError),
        ("$$include " + "x" * 300, IncludeNotFoundError),
        ("$$include " + "x/" * 5_000, IncludeNotFoundError),
    ],
    ids=["nul", "only-nul", "blanks-after", "blanks-before", "blanks-between", "no-path", "blanks-first",
         "no-break-space", "wide-blank", "bidi", "long-name", "deep"],
)  # fmt: skip
def test_i14_blanks_and_controls(root: Path, line: str, kind: type[PromptAssemblyError] | None) -> None:
    """A million blanks are skipped in a moment, and what is not a plain path is an error."""
    lay_out(root, {"t.txt": f"x\n{line}\ny"})
    with within(1):
        if kind is None:
            assert PromptAssembler(str(root)).assemble("t", {}).content == "x\nA\ny"
            return
        with pytest.raises(kind, match=r"^t\.txt:2: "):
            PromptAssembler(str(root)).assemble("t", {})


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
def test_i14_carriage_return(root: Path, end: str) -> None:
    """A carriage return ends a line like any other line end, and is no part of a path."""
    lay_out(root, {"t.txt": f"x{end}$$include a{end}y"})
    assert PromptAssembler(str(root)).assemble("t", {}).content == "x\nA\ny"
