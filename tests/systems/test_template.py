"""Template includes: what a directive is, what takes its place, what is refused, and where every byte came from."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from deepprompt.errors import (
    EncodingError,
    IncludeNotFoundError,
    NestedTokenError,
    PathEscapeError,
    PromptAssemblyError,
    UnresolvedTokenError,
    UnusedIncludeError,
)
from deepprompt.prompt import Note, Pace, sha256_hex
from deepprompt.sources import files
from deepprompt.systems import template as module
from deepprompt.systems.template import AssembledPrompt, PromptAssembler, is_token, minified
from tests.support.examples import examples
from tests.support.layout import lay_out

pytestmark = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs links and FIFOs")

WRONG = "a line that starts with $$ must be $$NAME in capitals or $$include PATH"
OUTSIDE = "a path is relative and stays below the root"

# A template, and what becomes of it when a.txt holds "A" and $$A is a.txt.
DIRECTIVES = {
    "name": ("$$A", "A"),
    "name-in-text": ("x\n$$A\ny\n", "x\nA\ny\n"),
    "blanks-around": ("x\n \t$$A\t \ny", "x\nA\ny"),
    "include": ("$$include a.txt\n", "A\n"),
    "include-tab": ("$$include\ta.txt", "A"),
    "include-blanks": ("  $$include \t a.txt \t", "A"),
    "include-name-with-blank": ("$$include b c.txt", "BC"),
    "twice": ("$$A\n$$A", "A\nA"),
    "digits": ("$$A_1", "A1"),
    "not-at-start": ("x $$A\ny$$", "x $$A\ny$$"),
    "one-dollar": ("$A\n$ $A", "$A\n$ $A"),
    "blank-lines": ("\n\n\n$$A\n\n\n\n", "\n\n\nA\n\n\n\n"),
    "other-blanks": ("\u00a0$$A\n\u3000$$A", "\u00a0$$A\n\u3000$$A"),
    "other-line-ends": ("x\u2028$$A\x0b$$A\x85$$A", "x\u2028$$A\x0b$$A\x85$$A"),
    "only-newline": ("\n", "\n"),
}

# What a file may hold, and what is put in the place of its directive.
CONTENTS = {
    "no-newline": (b"text", "text"),
    "newline": (b"text\n", "text"),
    "newlines": (b"text\n\n\n", "text"),
    "crlf": (b"a\r\nb\r\n\r\n", "a\nb"),
    "cr": (b"a\rb\r", "a\nb"),
    "bom": (b"\xef\xbb\xbftext", "text"),
    "second-bom": (b"\xef\xbb\xbf\xef\xbb\xbftext", "\ufefftext"),
    "blanks-stay": (b"\n\n  text \t \n", "\n\n  text \t "),
    "newline-only": (b"\n", ""),
    "nul": (b"a\0b", "a\0b"),
    "dollars": (
        b"a $$B\n$$ \n$$lower\n$$if X\n$$includes x\n$$include \n$",
        "a $$B\n$$ \n$$lower\n$$if X\n$$includes x\n$$include \n$",
    ),
    "wide": ("é世🦊".encode(), "é世🦊"),
}

# A path that may not be used, the error, and what it says.
PATHS: dict[str, tuple[str, type[PromptAssemblyError], str]] = {
    "up": ("../out.txt", PathEscapeError, f"../out.txt: {OUTSIDE}"),
    "up-inside": ("d/../a.txt", PathEscapeError, f"d/../a.txt: {OUTSIDE}"),
    "up-backslash": ("d\\..\\a.txt", PathEscapeError, f"d\\..\\a.txt: {OUTSIDE}"),
    "absolute": ("/etc/passwd", PathEscapeError, f"/etc/passwd: {OUTSIDE}"),
    "backslash": ("\\a.txt", PathEscapeError, f"\\a.txt: {OUTSIDE}"),
    "home": ("~/a.txt", PathEscapeError, f"~/a.txt: {OUTSIDE}"),
    "drive": ("C:a.txt", PathEscapeError, f"C:a.txt: {OUTSIDE}"),
    "link-out": ("out", PathEscapeError, "out is refused: leads out of its root"),
    "link-out-absolute": ("abs", PathEscapeError, "abs is refused: leads out of its root"),
    "folder-link-out": ("up/out.txt", PathEscapeError, "up/out.txt is refused: leads out of its root"),
    "missing": ("none.txt", IncludeNotFoundError, "none.txt is not there"),
    "missing-folder": ("none/a.txt", IncludeNotFoundError, "none/a.txt is not there"),
    "file-as-folder": ("a.txt/x", IncludeNotFoundError, "a.txt/x is not there"),
    "dangling": ("dangling", IncludeNotFoundError, "dangling is not there"),
    "loop": ("loop", IncludeNotFoundError, "loop is refused: too many links"),
    "folder": ("d", IncludeNotFoundError, "d is refused: not a regular file"),
    "root": (".", IncludeNotFoundError, ". is refused: not a regular file"),
    "fifo": ("fifo", IncludeNotFoundError, "fifo is refused: not a regular file"),
    "empty": ("empty", IncludeNotFoundError, "empty is empty"),
    "only-bom": ("bom", IncludeNotFoundError, "bom is empty"),
    "no-path": ("", IncludeNotFoundError, "the path is empty"),
    "nul": ("a\0b", IncludeNotFoundError, "a\0b is refused: cannot be read: embedded null byte"),
    "not-utf-8": ("latin", EncodingError, "latin is not UTF-8 at byte 3"),
    "utf-16": ("utf16", EncodingError, "utf16 is not UTF-8 at byte 0"),
    "surrogate": ("surrogate", EncodingError, "surrogate is not UTF-8 at byte 0"),
    "nested": ("nested", NestedTokenError, "an include may not include: $$A"),
}

# JSON before and after its blanks are taken out.
JSON = {
    "blanks": ('{ "a" :\t[ 1 ,\n2 ] }', '{"a":[1,2]}'),
    "numbers": (
        "[1.0, 1e5, 1E+05, -0, 0.10, 1.00000000000000000001]",
        "[1.0,1e5,1E+05,-0,0.10,1.00000000000000000001]",
    ),
    "many-digits": (f"[ {'9' * 5000} ]", f"[{'9' * 5000}]"),
    "key-order": ('{"b": 1, "a": 2}', '{"b":1,"a":2}'),
    "duplicate-keys": ('{"a": 1, "a": 2}', '{"a":1,"a":2}'),
    "strings": (r'["a  b", "\" : \\", "\u00e9 \/", "é  世"]', r'["a  b","\" : \\","\u00e9 \/","é  世"]'),
    "string-alone": ('  " x "  ', '" x "'),
    "not-json": ("{ a: 1 }", "{ a: 1 }"),
    "two-values": ("1 2", "1 2"),
    "trailing-comma": ("[1, ]", "[1, ]"),
    "other-blanks": ("[1,\u00a02]", "[1,\u00a02]"),
    "too-deep": ("[ " * 100_000 + "]" * 100_000, "[ " * 100_000 + "]" * 100_000),
}


def make_hostile(root: Path) -> Path:
    """Lay out a root with everything in it that `PATHS` names."""
    lay_out(
        root,
        {
            "../out.txt": "secret",
            "a.txt": "A",
            "d/x.txt": "x",
            "empty": "",
            "bom": b"\xef\xbb\xbf",
            "latin": b"caf\xe9",
            "utf16": "x".encode("utf-16"),
            "surrogate": b"\xed\xa0\x80",
            "nested": "x\n $$A \n",
        },
    )
    links = {"out": "../out.txt", "up": "..", "dangling": "none", "loop": "loop"}
    for name, target in {**links, "abs": str(root.parent / "out.txt")}.items():
        os.symlink(target, root / name)
    os.mkfifo(root / "fifo")
    return root


def assemble(root: Path, includes: Mapping[str, str] | None = None, **options: Any) -> AssembledPrompt:
    """Assemble t.txt of a root."""
    return PromptAssembler(str(root), **options).assemble("t", includes or {})


def problems_of(call: Callable[[], object]) -> list[str]:
    """The problems that a call raises, as they are shown."""
    with pytest.raises(PromptAssemblyError) as caught:
        call()
    assert str(caught.value) == "; ".join(problem.where_and_what() for problem in caught.value.problems)
    return [problem.where_and_what() for problem in caught.value.problems]


@pytest.mark.seed("002.2")
@pytest.mark.parametrize("name", DIRECTIVES)
def test_directives(name: str, tmp_path: Path) -> None:
    """A directive stands alone on its line and is replaced; everything else is verbatim."""
    text, content = DIRECTIVES[name]
    lay_out(tmp_path, {"t.txt": text, "a.txt": "A\n", "b c.txt": "BC", "a1": "A1"})
    assert assemble(tmp_path, {"A": "a.txt", "A_1": "a1"}).content == content


@pytest.mark.seed("002.19")
@pytest.mark.parametrize(
    "line",
    ["$$", "$$$A", "$$lower", "$$Mixed", "$$if A", "$$A B", "$$1A", "$$_A", "$$A-B", "$$include", "$$include ",
     "$$includea.txt", "$$INCLUDE a.txt", "$$ A", "$$Ａ", "$$A."],
)  # fmt: skip
def test_typo(line: str, tmp_path: Path) -> None:
    """A line of a template that starts with $$ and is no directive is an error, never text."""
    lay_out(tmp_path, {"t.txt": f"x\n {line}\n", "a.txt": "A"})
    with pytest.raises(UnresolvedTokenError) as caught:
        assemble(tmp_path, {"A": "a.txt"})
    assert str(caught.value) == f"t.txt:2: {line.strip()}: {WRONG}"


def test_long_typo(tmp_path: Path) -> None:
    """A message shows only the start of a long line."""
    lay_out(tmp_path, {"t.txt": "$$" + "x" * 100_000})
    assert problems_of(lambda: assemble(tmp_path)) == [f"t.txt:1: $${'x' * 78}: {WRONG}"]


@pytest.mark.seed("002.24")
@pytest.mark.parametrize(
    ("includes", "given_names"),
    [
        ({}, "none"),
        ({"B": "b", "A": "a"}, "A, B"),
        ({f"N{number:02}": "a" for number in range(22)}, ", ".join(f"N{n:02}" for n in range(20)) + " and 2 more"),
    ],
)
def test_no_include(includes: dict[str, str], given_names: str, tmp_path: Path) -> None:
    """A name without an include is an error that lists the names that were given."""
    lay_out(tmp_path, {"t.txt": "$$X"})
    with pytest.raises(UnresolvedTokenError) as caught:
        assemble(tmp_path, includes)
    assert str(caught.value) == f"t.txt:1: $$X has no include; given: {given_names}"


@pytest.mark.parametrize("name", CONTENTS)
def test_contents(name: str, tmp_path: Path) -> None:
    """An include's text is kept but for line ends, BOM and trailing newlines, and never looked at again."""
    data, shown = CONTENTS[name]
    lay_out(tmp_path, {"t.txt": "<\n$$A\n>", "a": data})
    assembled = assemble(tmp_path, {"A": "a"})
    assert assembled.content == f"<\n{shown}\n>"
    assert assembled.content_hash == sha256_hex(assembled.content)


@pytest.mark.seed("002.8", "002.9")
@pytest.mark.parametrize("name", PATHS)
def test_refused_include(name: str, tmp_path: Path) -> None:
    """A path that may not be used is an error of its class, with the line that names it."""
    path, kind, says = PATHS[name]
    root = make_hostile(tmp_path / "root")
    lay_out(root, {"t.txt": "x\n\n$$X\n"})
    with pytest.raises(PromptAssemblyError) as caught:
        assemble(root, {"X": path})
    where = "nested:2" if kind is NestedTokenError else "t.txt:3"
    assert (type(caught.value), str(caught.value)) == (kind, f"{where}: {says}")
    if path:
        lay_out(root, {"t.txt": f"x\n\n$$include {path}\n"})
        assert problems_of(lambda: assemble(root)) == [f"{where}: {says}"]


@pytest.mark.parametrize(
    ("task_ref", "kind", "says"),
    [
        ("../t", PathEscapeError, f"task_ref '../t': ../t: {OUTSIDE}"),
        ("/t", PathEscapeError, f"task_ref '/t': /t: {OUTSIDE}"),
        ("", IncludeNotFoundError, "task_ref '': the path is empty"),
        ("none", IncludeNotFoundError, "none.txt: template is not there"),
        ("folder", IncludeNotFoundError, "folder.txt: template is refused: not a regular file"),
        ("empty", IncludeNotFoundError, "empty.txt: template is empty"),
        ("latin", EncodingError, "latin.txt: template is not UTF-8 at byte 0"),
        ("out", PathEscapeError, "out.txt: template is refused: leads out of its root"),
    ],
)
def test_refused_template(task_ref: str, kind: type[PromptAssemblyError], says: str, tmp_path: Path) -> None:
    """A template is held to the same rules as an include."""
    root = lay_out(tmp_path / "root", {"folder.txt/x": "", "empty.txt": "", "latin.txt": b"\xff"})
    os.symlink(lay_out(tmp_path, {"secret": "x"}) / "secret", root / "out.txt")
    with pytest.raises(PromptAssemblyError) as caught:
        PromptAssembler(str(root)).assemble(task_ref, {})
    assert (type(caught.value), str(caught.value)) == (kind, says)


@pytest.mark.parametrize(
    ("template_root", "path"),
    [("tpl", "tpl/t.txt"), ("tpl/", "tpl/t.txt"), ("./tpl", "./tpl/t.txt"), (".", "t.txt"), ("", "t.txt")],
)
def test_template_root(template_root: str, path: str, tmp_path: Path) -> None:
    """Templates are below the template root, includes below the root."""
    lay_out(tmp_path, {path: "$$include tpl/a", "tpl/a": "A"})
    assembled = assemble(tmp_path, template_root=template_root)
    assert (assembled.content, assembled.spans[0].path) == ("A", "tpl/a")
    (tmp_path / path).write_text("own")
    assert assemble(tmp_path, template_root=template_root).spans[0].path == path


def test_template_root_outside(tmp_path: Path) -> None:
    """A template root that is not below the root is refused."""
    lay_out(tmp_path, {"t.txt": "x", "root/x": ""})
    says = "../t.txt: template is refused: leads out of its root"
    assert problems_of(lambda: assemble(tmp_path / "root", template_root="..")) == [says]


def test_txt_is_always_added(tmp_path: Path) -> None:
    """A task_ref that ends in .txt names a file that ends in .txt.txt."""
    lay_out(tmp_path, {"t.txt.txt": "twice", "t.txt": "once", "a b v1.0.txt": "blank"})
    assembler = PromptAssembler(str(tmp_path))
    assert [assembler.assemble(ref, {}).content for ref in ("t.txt", "t", "a b v1.0")] == ["twice", "once", "blank"]


def test_link_inside(tmp_path: Path) -> None:
    """A link that stays below the root is followed."""
    lay_out(tmp_path, {"t.txt": "$$include link/a", "d/a": "A"})
    os.symlink("d", tmp_path / "link")
    assert assemble(tmp_path).content == "A"


def test_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file over the limit is refused, not cut."""
    monkeypatch.setattr(module, "FILE_LIMIT", 10)
    lay_out(tmp_path, {"t.txt": "$$A", "a": "x" * 11})
    assert problems_of(lambda: assemble(tmp_path, {"A": "a"})) == ["t.txt:1: a is refused: larger than 10 bytes"]


@pytest.mark.seed("002.8")
def test_path_is_not_text(tmp_path: Path) -> None:
    """An include that is not text is an error, whatever a workflow's JSON says."""
    lay_out(tmp_path, {"t.txt": "$$A\n$$B"})
    includes = cast(dict[str, str], {"A": 5, "B": None})
    says = ["t.txt:1: $$A: a path is text, not int", "t.txt:2: $$B: a path is text, not NoneType"]
    assert problems_of(lambda: assemble(tmp_path, includes)) == says


@pytest.mark.seed("002.24")
def test_all_problems(tmp_path: Path) -> None:
    """All problems are reported together in line order; the error is of the first one's class."""
    lay_out(
        tmp_path,
        {"t.txt": "$$N\nx\n$$if\n$$A\n$$M\n$$L\n$$U\n$$N\n", "a": "A", "n": "$$A\ny\n$$include a\n", "l": b"\xff"},
    )
    with pytest.raises(NestedTokenError) as caught:
        assemble(tmp_path, {"N": "n", "A": "a", "M": "m", "L": "l", "U": "../u"})
    assert [(type(problem), problem.path, problem.line, problem.reason) for problem in caught.value.problems] == [
        (NestedTokenError, "n", 1, "an include may not include: $$A"),
        (NestedTokenError, "n", 3, "an include may not include: $$include a"),
        (UnresolvedTokenError, "t.txt", 3, f"$$if: {WRONG}"),
        (IncludeNotFoundError, "t.txt", 5, "m is not there"),
        (EncodingError, "t.txt", 6, "l is not UTF-8 at byte 0"),
        (PathEscapeError, "t.txt", 7, f"../u: {OUTSIDE}"),
    ]
    assert (caught.value.path, caught.value.line) == ("n", 1)


def test_many_problems(tmp_path: Path) -> None:
    """Problems take time in proportion to the input: neither files nor names are listed again for each line."""
    lay_out(tmp_path, {"t.txt": "$$N\n" * 5000 + "$$X\n" * 5000, "n": "$$A\n" * 5000})
    includes = {"N": "n"} | {f"LONG_NAME_{number}": "n" for number in range(5000)}
    assert len(problems_of(lambda: assemble(tmp_path, includes))) == 10_000


@pytest.mark.seed("002.20")
def test_one_pass(tmp_path: Path) -> None:
    """What an include brings in is not replaced, even where it completes a name with what is around it."""
    lay_out(tmp_path, {"t.txt": "$$A\n$$B\n", "a": "see $$B\n$$b", "b": "B"})
    assert assemble(tmp_path, {"A": "a", "B": "b"}).content == "see $$B\n$$b\nB\n"


@pytest.mark.seed("002.4")
def test_includes_resolved(tmp_path: Path) -> None:
    """What entered is listed, and nothing else; an included file under its own path."""
    lay_out(tmp_path, {"t.txt": "$$A\n$$include d/b\n", "a": "A", "d/b": "B"})
    assembled = assemble(tmp_path, {"A": "a", "UNUSED": "../../none"})
    assert assembled.includes_resolved == {"A": "a", "d/b": "d/b"}


@pytest.mark.seed("002.4")
def test_spans(tmp_path: Path) -> None:
    """Every character of the content has its file, with the file's hash, in order and without a gap."""
    lay_out(tmp_path, {"t.txt": "é\n$$A\n$$A\nz", "a": "🦊\r\nx\r\n", "b": ""})
    assembled = assemble(tmp_path, {"A": "a"})
    template, include = sha256_hex("é\n$$A\n$$A\nz"), sha256_hex("🦊\nx\n")
    spans = [
        (span.name, span.path, assembled.content[span.start : span.end], span.file_hash) for span in assembled.spans
    ]
    assert spans == [
        ("template", "t.txt", "é\n", template),
        ("A", "a", "🦊\nx", include),
        ("template", "t.txt", "\n", template),
        ("A", "a", "🦊\nx", include),
        ("template", "t.txt", "\nz", template),
    ]
    assert [part.origin for part in assembled.prompt.parts[:2]] == ["file:t.txt", "file:a"]
    assert {part.pace for part in assembled.prompt.parts} == {Pace.RELEASE}


@pytest.mark.seed("002.10")
def test_line_ends(tmp_path: Path) -> None:
    """CRLF and LF checkouts of one project give the same content and the same hashes."""
    contents = {"t.txt": "x\n\n$$A\n$$J\ny\n", "a": "one\ntwo\n", "j.json": '{\n  "k": "a  b"\n}\n'}
    lf = lay_out(tmp_path / "lf", contents)
    crlf = lay_out(tmp_path / "crlf", {name: text.replace("\n", "\r\n") for name, text in contents.items()})
    for minify in (False, True):
        one, other = (assemble(root, {"A": "a", "J": "j.json"}, minify_json=minify) for root in (lf, crlf))
        assert (one.content, one.content_hash, one.spans) == (other.content, other.content_hash, other.spans)


def test_each_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An assembler opens a file once, also one that is wrong; another assembler reads what is there now."""
    lay_out(tmp_path, {"t.txt": "$$A\n$$A\n$$include a", "u.txt": "$$A", "a": "old"})
    opened: list[str] = []
    really = files._open_file

    def count(path: str, folder: int | None, before: os.stat_result) -> int:
        opened.append(path)
        return really(path, folder, before)

    monkeypatch.setattr(files, "_open_file", count)
    assembler = PromptAssembler(str(tmp_path))
    assert assembler.assemble("t", {"A": "a"}).content == "old\nold\nold"
    problems_of(lambda: assembler.assemble("u", {"A": "none"}))
    lay_out(tmp_path, {"a": "new", "t.txt": "new", "none": "new"})
    assert assembler.assemble("t", {"A": "a"}).content == "old\nold\nold"
    assert assembler.assemble("u", {"A": "a"}).content == "old"
    problems_of(lambda: assembler.assemble("u", {"A": "none"}))
    assert sorted(opened) == ["a", "t.txt", "u.txt"]
    assert PromptAssembler(str(tmp_path)).assemble("u", {"A": "a"}).content == "new"


@pytest.mark.seed("002.25")
@pytest.mark.parametrize("name", JSON)
def test_minified(name: str) -> None:
    """Only the blanks between tokens go; numbers, keys and strings stay as they are spelt; other text stays."""
    before, after = JSON[name]
    assert minified(before) == after
    assert minified(after) == after


@pytest.mark.seed("002.25")
@pytest.mark.parametrize(
    ("path", "minify", "content"),
    [("a.json", True, '{"a":1}'), ("a.json", False, '{ "a": 1 }'), ("a.txt", True, '{ "a": 1 }'),
     ("a.JSON", True, '{ "a": 1 }')],
)  # fmt: skip
def test_minify_json(path: str, minify: bool, content: str, tmp_path: Path) -> None:
    """JSON is minified when asked for, in files that are called .json."""
    lay_out(tmp_path, {"t.txt": "x {  }\n$$A\n", path: '{ "a": 1 }\n'})
    assembled = assemble(tmp_path, {"A": path}, minify_json=minify)
    assert (assembled.content, assembled.minify_json) == (f"x {{  }}\n{content}\n", minify)


@pytest.mark.seed("002.5")
def test_node(tmp_path: Path) -> None:
    """A node is its task_ref and includes; other keys are ignored, and includes may be missing or null."""
    lay_out(tmp_path, {"t.txt": "$$A", "u.txt": "u", "a": "A"})
    assembler = PromptAssembler(str(tmp_path))
    node = {"node_id": "n", "type": "x", "task_ref": "t", "includes": {"A": "a"}}
    assert assembler.assemble_node(node, "id").content == "A"
    assert assembler.assemble_node({"task_ref": "u"}).content == "u"
    assert assembler.assemble_node({"task_ref": "u", "includes": None}).content == "u"


@pytest.mark.parametrize(
    "node", [{}, {"task_ref": 5}, {"task_ref": "t", "includes": ["A"]}, {"task_ref": "t", "includes": []},
             {"task_ref": "t", "includes": ""}],
)  # fmt: skip
def test_bad_node(node: dict[str, object], tmp_path: Path) -> None:
    """A node of the wrong shape is an error that says the right one."""
    lay_out(tmp_path, {"t.txt": "x"})
    says = ["node: a node needs a task_ref that is text, and includes that map names to paths"]
    assert problems_of(lambda: PromptAssembler(str(tmp_path)).assemble_node(node)) == says


@pytest.mark.seed("002.6")
def test_clock_and_id(tmp_path: Path) -> None:
    """The time is aware and in UTC, the id is the caller's or a new one, and neither changes the content."""
    lay_out(tmp_path, {"t.txt": "x"})
    assembler = PromptAssembler(str(tmp_path))
    now = datetime(2026, 1, 2, 3, 4, tzinfo=timezone(timedelta(hours=2)))
    one = assembler.assemble("t", {}, "mine", now=now)
    assert (one.correlation_id, one.assembled_at.isoformat()) == ("mine", "2026-01-02T01:04:00+00:00")
    two, three = assembler.assemble("t", {}), assembler.assemble("t", {})
    assert two.assembled_at.tzinfo is UTC
    assert len({"mine", two.correlation_id, three.correlation_id}) == 3
    assert one.content_hash == two.content_hash


@pytest.mark.parametrize(("name", "right"), [("A", True), ("A_1", True), ("a", False), ("A\n", False), ("", False)])
def test_is_token(name: str, right: bool) -> None:
    """A token's name is capitals, digits and underscores."""
    assert is_token(name) is right


def test_long_lines(tmp_path: Path) -> None:
    """Long lines, many blanks and many includes take no more time than their size."""
    lay_out(
        tmp_path,
        {"t.txt": "x" * 2_000_000 + "\n" + " " * 1_000_000 + "\n" + "$$A\n" * 10_000 + "$$J", "a": "A",
         "j.json": '{ "k": "' + " \\n" * 500_000 + '" }'},
    )  # fmt: skip
    assembled = assemble(tmp_path, {"A": "a", "J": "j.json"}, minify_json=True)
    assert len(assembled.content) == 3_000_002 + 20_000 + len('{"k":""}') + 1_500_000


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\r")).filter(
    lambda text: text and not text.startswith("\ufeff")
)


@pytest.mark.seed("002.7")
@given(st.lists(TEXT.filter(lambda text: "$$" not in text), min_size=1), TEXT.filter(lambda text: "$$" not in text))
@example(["x", "\n"], "\n")
@example(["\\1", "\\g<0>"], "\\0")
@examples(150)
def test_content(stretches: list[str], include: str) -> None:
    """The content is exactly the template with the directives' lines replaced, and its parts join to it."""
    with TemporaryDirectory() as folder:
        root = lay_out(Path(folder), {"t.txt": "\n$$A\n".join(stretches), "a": include})
        assembled = assemble(root, {"A": "a"})
    shown = include.rstrip("\n")
    assert assembled.content == f"\n{shown}\n".join(stretches)
    assert assembled.prompt.text == assembled.content
    assert [span.start for span in assembled.spans] == [0, *(span.end for span in assembled.spans[:-1])]
    assert assembled.spans[-1].end == len(assembled.content)
    assert assembled.content_hash == sha256_hex(assembled.content)


# The text of a template, what is wrong with its include A, and at which line.
UNUSED = {
    "inside-a-line": (
        "x\nContext: $$A and $$A\n",
        "$$A inside a line is plain text, so a.txt is not included: put $$A alone on its line",
        2,
    ),
    "after-other-blanks": (
        "\u00a0$$A\n",
        "$$A inside a line is plain text, so a.txt is not included: put $$A alone on its line",
        1,
    ),
    "nowhere": ("x $$AB $A\n", "no line is $$A, so a.txt is not included: add the line, or remove the include", 0),
}


class TestUnusedIncludes:
    """Includes that are given, and that no directive uses."""

    @pytest.mark.seed("002.23")
    @pytest.mark.parametrize("name", UNUSED)
    def test_002_b_noted_by_assemble(self, name: str, tmp_path: Path) -> None:
        """An unused include is a note of `assemble`, whose bytes stay as the template has them."""
        text, reason, line = UNUSED[name]
        lay_out(tmp_path, {"t.txt": text})
        assembled = assemble(tmp_path, {"A": "a.txt"})
        assert (assembled.content, assembled.includes_resolved) == (text, {})
        assert assembled.notes == (Note("skipped", f"t.txt:{line}" if line else "t.txt", reason),)
        assert assembled.prompt.notes == assembled.notes

    @pytest.mark.parametrize("name", UNUSED)
    def test_002_a_refused_if_strict(self, name: str, tmp_path: Path) -> None:
        """With `strict` an unused include is an error at the line that mentions it."""
        text, reason, line = UNUSED[name]
        lay_out(tmp_path, {"t.txt": text})
        with pytest.raises(UnusedIncludeError) as caught:
            PromptAssembler(str(tmp_path)).assemble("t", {"A": "a.txt"}, strict=True)
        assert (caught.value.path, caught.value.line, caught.value.reason) == ("t.txt", line, reason)

    @pytest.mark.seed("002.21")
    def test_002_b_a_mention_beside_a_use_stays_literal(self, tmp_path: Path) -> None:
        """Where a directive uses the include, a mention in prose is text and no problem."""
        lay_out(tmp_path, {"t.txt": "See $$A below.\n$$A\n", "a.txt": "A"})
        assembled = PromptAssembler(str(tmp_path)).assemble("t", {"A": "a.txt"}, strict=True)
        assert (assembled.content, assembled.notes) == ("See $$A below.\nA\n", ())

    def test_002_b_a_name_that_no_directive_can_have(self, tmp_path: Path) -> None:
        """A name in lower case is reported as one that can never be used."""
        lay_out(tmp_path, {"t.txt": "x"})
        assembled = assemble(tmp_path, {"rules": "a.txt"})
        says = "the include 'rules' has a name that no directive can have: capitals, digits and _"
        assert [note.detail for note in assembled.notes] == [says]
        lay_out(tmp_path, {"t.txt": "$$include a.txt", "a.txt": "A"})
        assembled = assemble(tmp_path, {"include a.txt": "a.txt"})
        assert [note.detail for note in assembled.notes] == [says.replace("rules", "include a.txt")]

    def test_002_b_all_problems_together(self, tmp_path: Path) -> None:
        """A misspelt directive and the include that it misses are reported together; a missing file was still used."""
        lay_out(tmp_path, {"t.txt": "$$CONTXT\n$$GONE\n"})
        includes = {"CONTEXT": "a.txt", "GONE": "none"}
        assembler = PromptAssembler(str(tmp_path))
        assert problems_of(lambda: assembler.assemble_node({"task_ref": "t", "includes": includes}, strict=True)) == [
            "t.txt:1: $$CONTXT has no include; given: CONTEXT, GONE",
            "t.txt:2: none is not there",
            "t.txt: no line is $$CONTEXT, so a.txt is not included: add the line, or remove the include",
        ]


@pytest.mark.seed("002.26")
@pytest.mark.parametrize("path", ["CLAUDE.md", ".claude/rules.txt", "link"])
def test_002_e_a_template_may_be_named_claude(path: str, tmp_path: Path) -> None:
    """The rule against CLAUDE files is for instruction files: templates and includes may have any name."""
    lay_out(tmp_path, {"Claude Reviewer v1.0.txt": f"$$include {path}", "CLAUDE.md": "R", ".claude/rules.txt": "R"})
    os.symlink("CLAUDE.md", tmp_path / "link")
    assert PromptAssembler(str(tmp_path)).assemble("Claude Reviewer v1.0", {}).content == "R"
