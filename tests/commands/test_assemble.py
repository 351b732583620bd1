"""`deepprompt assemble`: one prompt on standard output, its record in a log, every problem on one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprompt.cli import main
from deepprompt.prompt import sha256_hex
from deepprompt.systems.audit import read_log

CaptureBytes = pytest.CaptureFixture[bytes]

# Wrong usage, and how its message ends.
USAGE = {
    "no-equals": (["t", "--include", "A"], "--include A: write NAME=PATH"),
    "no-name": (["t", "--include", "=a"], "--include =a: write NAME=PATH"),
    "no-path": (["t", "--include", "A="], "--include A=: write NAME=PATH"),
    "twice": (["t", "--include", "A=a", "--include", "A=b"], "--include A: given twice"),
    "by-hash-alone": (["t", "--by-hash"], "--by-hash needs --log FILE"),
    "empty-root": (["t", "--root", ""], "argument --root: is empty"),
    "empty-template-root": (["t", "--template-root", ""], "argument --template-root: is empty"),
    "empty-log": (["t", "--log", ""], "argument --log: is empty"),
    "nothing": ([], "the following arguments are required: TASK_REF"),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with a template below tpl and two includes."""
    folder = tmp_path / "root"
    (folder / "tpl").mkdir(parents=True)
    (folder / "tpl" / "t.txt").write_text("x\n$$A\n$$include b.json\n")
    (folder / "a=1.txt").write_text("é\n")
    (folder / "b.json").write_text('{ "k": 1.0 }\n')
    return folder


def arguments(root: Path, *more: str) -> list[str]:
    """The arguments that assemble t."""
    return ["assemble", "t", "--root", str(root), "--template-root", "tpl", "--include", "A=a=1.txt", *more]


@pytest.mark.parametrize(("more", "shown"), [([], '{ "k": 1.0 }'), (["--minify-json"], '{"k":1.0}')])
def test_text(more: list[str], shown: str, root: Path, capsysbinary: CaptureBytes) -> None:
    """The prompt is printed byte for byte, and nothing else."""
    assert main(arguments(root, *more)) == 0
    assert capsysbinary.readouterr() == (f"x\né\n{shown}\n".encode(), b"")


def test_here(root: Path, capsysbinary: CaptureBytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without --root, files are looked up here."""
    monkeypatch.chdir(root)
    assert main(["assemble", "tpl/t", "--include", "A=a=1.txt"]) == 0
    assert capsysbinary.readouterr().out.startswith("x\né\n".encode())


def test_002_b_an_include_that_nothing_uses(root: Path, capsysbinary: CaptureBytes) -> None:
    """An unused include is said on standard error, and the prompt stays as it is."""
    assert main(arguments(root)) == 0
    plain = capsysbinary.readouterr().out
    assert main(arguments(root, "--include", "B=b.json")) == 0
    printed, said = capsysbinary.readouterr()
    assert printed == plain
    assert said.startswith(b"deepprompt: skipped: tpl/t.txt: no line is $$B, so b.json is not included")


def test_json(root: Path, capsysbinary: CaptureBytes) -> None:
    """With --json the record is printed."""
    assert main(arguments(root, "--json")) == 0
    record = json.loads(capsysbinary.readouterr().out)
    assert record["includes_resolved"] == {"A": "a=1.txt", "b.json": "b.json"}
    assert record["assembled_prompt_hash"] == sha256_hex(record["assembled_prompt"])


@pytest.mark.parametrize("more", [[], ["--by-hash"]])
def test_log(more: list[str], root: Path, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """With --log each run adds a record; by hash, its text is in a file beside it."""
    log = tmp_path / "log"
    for _ in range(2):
        assert main(arguments(root, "--log", str(log), *more)) == 0
    printed = capsysbinary.readouterr().out.decode()
    records = [record for _, record in read_log(str(log)).records]
    assert "".join(record["assembled_prompt"] for record in records) == printed
    assert len({record["correlation_id"] for record in records}) == 2
    assert (b'"assembled_prompt":null' in log.read_bytes()) is bool(more)


def test_log_in_the_root(root: Path, capsysbinary: CaptureBytes) -> None:
    """A log in the root is refused, and nothing is printed as if it had been logged."""
    log = root / "log"
    assert main(arguments(root, "--log", str(log))) == 1
    says = (
        f"deepprompt: {log}: the log would lie in the workspace {root}, which could rewrite it; choose another folder, "
        "or allow it with inside_workspace=True (--log-in-root on the command line)\n"
    )
    assert capsysbinary.readouterr() == (b"", says.encode())
    assert not log.exists()


def test_problems(root: Path, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """All problems are in one line, with file and line; nothing is printed or logged."""
    (root / "tpl" / "t.txt").write_text("$$A\n$$B\n$$if\n")
    (root / "a=1.txt").unlink()
    assert main(arguments(root, "--log", str(tmp_path / "log"))) == 1
    out, err = capsysbinary.readouterr()
    wrong = "a line that starts with $$ must be $$NAME in capitals or $$include PATH"
    assert (out, err.decode()) == (
        b"",
        "deepprompt: tpl/t.txt:1: a=1.txt is not there; tpl/t.txt:2: $$B has no include; given: A; "
        f"tpl/t.txt:3: $$if: {wrong}\n",
    )
    assert not (tmp_path / "log").exists()


@pytest.mark.parametrize("name", USAGE)
def test_usage(name: str, capsysbinary: CaptureBytes) -> None:
    """Wrong usage exits 2 and says what is right."""
    given, says = USAGE[name]
    with pytest.raises(SystemExit) as caught:
        main(["assemble", *given])
    assert caught.value.code == 2
    out, err = capsysbinary.readouterr()
    assert (out, err.decode().splitlines()[0]) == (b"", f"deepprompt assemble: error: {says}")
