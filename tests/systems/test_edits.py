"""Edit blocks: what is found in a response, and what it does to texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.errors import MessageError
from deepprompt.systems.edits import Edit, apply_edits, parse_edits, render_edit, why_no_path
from deepprompt.systems.tiers import edit_reminder, tiered_system_prompt
from tests.support.examples import examples

PLAIN = examples(100)
LINES = st.lists(st.sampled_from(["a", "b", "", "  c", "}", "=@= EDIT", "é\u2028x", "\t"]), max_size=8)


def block(path: str, old: str, new: str) -> str:
    """Return a block as a response has it."""
    return f"{path}\n=@= EDIT =@=\n{old}=@= REPLACE =@=\n{new}=@= END =@=\n"


def status(old: str, new: str, text: str | None) -> tuple[str, str | None]:
    """Return what becomes of one block for a file, and the file's new text, None if it did not change."""
    edited = apply_edits(parse_edits(block("a.py", old, new)), {} if text is None else {"a.py": text})
    (result,) = edited.results
    return result.status, edited.files.get("a.py")


class TestParse:
    """The blocks of a response."""

    def test_the_blocks_that_the_prompt_teaches(self) -> None:
        """The example of the bundled prompt and that of the reminder are blocks."""
        (edit,) = parse_edits(tiered_system_prompt())
        assert (edit.path, edit.problem) == ("src/shop/cart.py", "")
        assert edit.old == "def total(items):\n    return sum(item.price for item in items)\n"
        (short,) = parse_edits(edit_reminder())
        assert short == Edit("path/from/top/folder.py", "existing lines\n", "new lines\n", 5)

    def test_several_blocks_in_prose(self) -> None:
        """Prose and fences around blocks are ignored, and each block says where it begins."""
        answer = (
            f"I add a file.\n\n```\n{block('b/new file.txt', '', 'x')}```\nThen:\n\n{block('a.py', 'a', '')}Done.\n"
        )
        answer = answer.replace("x=@=", "x\n=@=").replace("a=@=", "a\n=@=")
        assert parse_edits(answer) == (Edit("b/new file.txt", "", "x\n", 5), Edit("a.py", "a\n", "", 13))

    def test_line_ends_of_windows(self) -> None:
        """A marker line may end in CRLF; the text between keeps its own."""
        (edit,) = parse_edits(block("a.py", "x\n", "y\n").replace("\n", "\r\n"))
        assert (edit.path, edit.old, edit.new) == ("a.py", "x\r\n", "y\r\n")

    @pytest.mark.parametrize(
        ("answer", "problem"),
        [
            ("=@= EDIT =@=\na\n=@= REPLACE =@=\n=@= END =@=", "there is no path on the line before EDIT"),
            ("\n=@= EDIT =@=\n=@= REPLACE =@=\n=@= END =@=", "there is no path on the line before EDIT"),
            ("a\n=@= EDIT =@=\nx", "the response ends inside the block; it may have been truncated"),
            ("a\n=@= EDIT =@=\n=@= REPLACE =@=\nx", "the response ends inside the block; it may have been truncated"),
            ("a\n=@= EDIT =@=\nx\n=@= END =@=", "END stands where REPLACE belongs"),
            ("a\n=@= EDIT =@=\n=@= REPLACE =@=\n=@= REPLACE =@=\n", "REPLACE stands where END belongs"),
            ("x\n=@= REPLACE =@=", "REPLACE: there is no EDIT line before it"),
            ("a\n  =@= EDIT =@=\n", "EDIT: a marker line starts in the first column"),
        ],
    )
    def test_malformed(self, answer: str, problem: str) -> None:
        """A block that is not well formed is reported, and refused with that reason."""
        edit = parse_edits(answer)[0]
        assert edit.problem == problem
        (result,) = apply_edits([edit], {"a": "x\n"}).results
        assert (result.status, result.reason) == ("refused", problem)

    def test_a_block_in_a_block(self) -> None:
        """A block that begins before the last one ended is read, and the unfinished one is reported."""
        first, second = parse_edits(
            f"a\n=@= EDIT =@=\nx\n{block('b', 'y', 'z')}".replace("y=", "y\n=").replace("z=", "z\n=")
        )
        assert (first.path, first.problem) == ("a", "no REPLACE line before the next block")
        assert (second.path, second.old, second.new, second.problem) == ("b", "y\n", "z\n", "")

    def test_blocks_without_a_path_between(self) -> None:
        """The end of a block is no path for the next one."""
        answer = block("a", "", "") + block("", "", "").lstrip("\n")
        assert [edit.problem for edit in parse_edits(answer)] == ["", "there is no path on the line before EDIT"]

    def test_takes_text(self) -> None:
        """Anything but text is an error that says so."""
        with pytest.raises(MessageError, match="parse_edits: answer takes the text of a response"):
            parse_edits(None)  # type: ignore[arg-type]


PATHS = {
    "/etc/passwd": "a path is relative",
    "C:/x": "a path is relative",
    "a\\b": "a path is relative",
    "../x": "a path has no empty name",
    "a/../../x": "a path has no empty name",
    "./x": "a path has no empty name",
    "a//b": "a path has no empty name",
    "a /b": "a path has no empty name",
    ".git/hooks/pre-commit": "git's own files",
    "sub/.GIT/config": "git's own files",
    ".git./config": "git's own files",
    "`a.py`": "the path stands alone",
    "**a.py**": "the path stands alone",
    "### a.py": "the path stands alone",
    "File a.py:": "the path stands alone",
    "```python": "the path stands alone",
    "a\x1bb": "its path has a character",
    "\ud800": "its path has a character",
}


@pytest.mark.parametrize("path", PATHS)
def test_a_path_never_leaves_the_root(path: str) -> None:
    """A path that leads elsewhere, into git's folder, or is no path, is refused, whoever made the block."""
    assert why_no_path(path).startswith(PATHS[path])
    edited = apply_edits([Edit(path, "", "x\n")], {})
    assert (edited.files, edited.results[0].status) == ({}, "refused")


@pytest.mark.parametrize("path", ["a", "src/app/[id]/page.tsx", ".github/x.yml", "My File.md", "a.git/x", "größe/ß"])
def test_paths_of_real_projects(path: str) -> None:
    """Names that projects have are taken."""
    assert why_no_path(path) == ""


class TestApply:
    """One block, one file."""

    @pytest.mark.parametrize(
        ("text", "old", "new", "expected"),
        [
            ("a\nb\nc\n", "b\n", "x\ny\n", "a\nx\ny\nc\n"),
            ("a\nb\nc\n", "b\n", "", "a\nc\n"),
            ("a\nb", "b\n", "x\n", "a\nx"),
            ("a\nb", "b\n", "x\ny\n", "a\nx\ny"),
            ("a\nb", "a\n", "x\n", "x\nb"),
            ("a\n", "a\n", "", ""),
            ("a\r\nb\r\n", "b\n", "x\ny\n", "a\r\nx\r\ny\r\n"),
            ("a\r\nb", "b\n", "x\n", "a\r\nx"),
            ("a\n\nb\n", "\n", "c\n", "a\nc\nb\n"),
            ("ab\nb\n", "b\n", "x\n", "ab\nx\n"),
            ("a\x0bb\u2028c\n", "a\x0bb\u2028c\n", "x\n", "x\n"),
            (None, "", "x\n", "x\n"),
            ("", "", "x\n", "x\n"),
            (None, "", "", ""),
        ],
    )
    def test_applied(self, text: str | None, old: str, new: str, expected: str) -> None:
        """Whole lines are replaced where they stand exactly once; the file's line ends stay as they are."""
        assert status(old, new, text) == ("applied", expected)

    @pytest.mark.parametrize(
        ("text", "old", "new", "expected"),
        [
            ("a\nx\n", "b\n", "x\n", "already there"),
            ("a\nb\nx\n", "b\n", "b\nx\n", "already there"),
            ("x\nb\n", "b\n", "x\nb\n", "already there"),
            ("x\n", "", "x\n", "already there"),
            ("x\r\n", "", "x\n", "already there"),
            ("", "", "", "already there"),
            ("a\n", "b\n", "x\n", "not found"),
            ("a\n", "b\n", "", "not found"),
            ("ab\n", "b\n", "x\n", "not found"),
            ("", "\n", "x\n", "not found"),
            (None, "b\n", "x\n", "not found"),
            ("a\r\nb\n", "a\nb\n", "x\n", "not found"),
            ("b\na\nb\n", "b\n", "x\n", "several"),
            ("b\nb\nb\n", "b\nb\n", "x\n", "several"),
            ("b\nb", "b\n", "x\n", "several"),
            ("y\n", "", "x\n", "refused"),
            ("a\n", "a\n", "\ud800\n", "refused"),
        ],
    )
    def test_not_applied(self, text: str | None, old: str, new: str, expected: str) -> None:
        """Anything but one match changes nothing, and the status says what it was."""
        assert status(old, new, text) == (expected, None)

    def test_blocks_of_one_file_in_order(self) -> None:
        """Each block sees what the one before it left; one that fails does not keep others from being applied."""
        answer = block("a", "x\n", "y\n") + block("a", "x\n", "z\n") + block("a", "y\n", "w\n")
        edited = apply_edits(parse_edits(answer), {"a": "x\n", "b": "b\n"})
        assert [result.status for result in edited.results] == ["applied", "not found", "applied"]
        assert edited.files == {"a": "w\n"}

    def test_twice(self) -> None:
        """Applied a second time, blocks are already there and change nothing."""
        edits = parse_edits(block("a", "x\n", "y\n") + block("b", "", "new\n") + block("c", "1\n", "1\n2\n"))
        files = {"a": "x\n", "c": "0\n1\n"}
        first = apply_edits(edits, files)
        again = apply_edits(edits, {**files, **first.files})
        assert ([each.status for each in again.results], again.files) == (["already there"] * 3, {})

    def test_back_to_the_start(self) -> None:
        """A file that is as it was in the end has not changed."""
        assert apply_edits(parse_edits(block("a", "x\n", "y\n") + block("a", "y\n", "x\n")), {"a": "x\n"}).files == {}

    def test_wrong_values(self) -> None:
        """Values of other types are errors that say what is expected."""
        with pytest.raises(MessageError, match="apply_edits: edits takes what parse_edits returns, not 'x'"):
            apply_edits(["x"], {})  # type: ignore[list-item]
        with pytest.raises(MessageError, match=r"apply_edits: files\['a'\] takes text, not 7"):
            apply_edits([Edit("a", "x\n", "y\n")], {"a": 7})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        (Edit("a", "=@= END =@= \n", ""), "a: a block cannot hold a line that is a marker"),
        (Edit("a", "x", ""), "a: a block holds whole lines, so its texts end with a line end"),
        (Edit("../a", "x\n", ""), "../a: a path has no empty name"),
    ],
)
def test_what_cannot_be_a_block(edit: Edit, reason: str) -> None:
    """A block that would be read as another one is not written."""
    with pytest.raises(MessageError) as caught:
        render_edit(edit)
    assert str(caught.value).startswith(reason)


@PLAIN
@given(before=LINES, lines=LINES.filter(bool), after=LINES, new=LINES, last=st.booleans())
def test_law_11_a_rendered_block_is_applied_as_it_stands(
    before: list[str], lines: list[str], after: list[str], new: list[str], last: bool
) -> None:
    """Parsing gives back what was rendered; a block with one match is applied, and any other changes nothing."""
    old, wanted = ("".join(f"{line}\n" for line in side) for side in (lines, new))
    edit = Edit("a.py", old, wanted)
    (parsed,) = parse_edits(f"Prose.\n{render_edit(edit)}More.")
    assert (parsed.path, parsed.old, parsed.new, parsed.problem) == ("a.py", old, wanted, "")
    whole = [*before, *lines, *after]
    text = "\n".join(whole) + ("" if last else "\n")
    files = {"a.py": text}
    edited = apply_edits([parsed], files)
    assert files == {"a.py": text}
    count = len(lines)
    matches = [at for at in range(len(whole)) if whole[at : at + count] == lines]
    if last and not whole[-1]:  # its last line is none: the text ends with a line end
        return
    if len(matches) == 1 and edited.results[0].status == "applied":
        result = [*before, *new, *after] if matches == [len(before)] else None
        if result is not None:
            end = "" if last or not result else "\n"
            assert edited.files.get("a.py", text) == "\n".join(result) + end
    else:
        assert edited.files == {}
        assert edited.results[0].status == ("several" if len(matches) > 1 else "already there")
