"""`deepprompt replay`: which prompts of a log would be others today, which include moved, and how."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprompt.cli import main

CaptureText = pytest.CaptureFixture[str]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: CaptureText) -> Path:
    """A root with two templates that were assembled and logged, one of them minified."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "root"
    folder.mkdir()
    (folder / "t.txt").write_text("x\n$$A\n$$include b.txt\n")
    (folder / "u.txt").write_text("$$A\n")
    (folder / "a.json").write_text('{ "k": 1 }\n')
    (folder / "b.txt").write_text("one\ntwo\n")
    for more in (["t"], ["u", "--minify-json", "--by-hash"]):
        assert main(["assemble", *more, "--include", "A=a.json", "--root", "root", "--log", "log"]) == 0
    capsys.readouterr()
    return folder


def test_the_same(root: Path, capsys: CaptureText) -> None:
    """Without a drift nothing is printed and the exit code is 0, also after a CRLF checkout."""
    same = ("", "deepprompt: 2 of 2 prompts are the same\n")
    assert main(["replay", "log", "--root", "root"]) == 0
    assert capsys.readouterr() == same
    for path in root.iterdir():
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert main(["replay", "log", "--root", "root"]) == 0
    assert capsys.readouterr() == same


def test_002_f_records_removed_from_the_end(root: Path, capsys: CaptureText) -> None:
    """With the hash of the last known record, a log that was cut short is no success."""
    log = root.parent / "log"
    first, second = log.read_text().splitlines(keepends=True)
    last = json.loads(second)["record_hash"]
    assert main(["replay", "log", "--root", "root", "--last", last]) == 0
    log.write_text(first)
    assert main(["replay", "log", "--root", "root"]) == 0
    capsys.readouterr()
    assert main(["replay", "log", "--root", "root", "--last", last]) == 1
    says = f"deepprompt: log:1: no record has the hash {last}: records were removed from the end\n"
    assert says in capsys.readouterr().err


def test_drift(root: Path, capsys: CaptureText) -> None:
    """A drift names the include that moved and shows the difference; the exit code is 1."""
    (root / "b.txt").write_text("one\n2\n")
    assert main(["replay", "log", "--root", "root"]) == 1
    out, err = capsys.readouterr()
    assert out == (
        'log:1: t: b.txt moved\n--- recorded\n+++ now\n@@ -1,5 +1,5 @@\n x\n { "k": 1 }\n one\n-two\n+2\n \n'
    )
    assert err == "deepprompt: 1 of 2 prompts are the same\n"


def test_drift_by_hash(root: Path, capsys: CaptureText) -> None:
    """A text that is stored by hash is shown as well as one in its record."""
    (root / "a.json").write_text('{ "k": 2 }\n')
    assert main(["replay", "log", "--root", "root"]) == 1
    out, err = capsys.readouterr()
    assert 'log:2: u: a.json moved\n--- recorded\n+++ now\n@@ -1,2 +1,2 @@\n-{"k":1}\n+{"k":2}\n \n' in out
    assert err == "deepprompt: 0 of 2 prompts are the same\n"


def test_json(root: Path, capsys: CaptureText) -> None:
    """With --json the drift is a list, an empty one when there is none."""
    assert main(["replay", "log", "--root", "root", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == []
    (root / "a.json").unlink()
    (root / "t.txt").write_text("no includes\n")
    assert main(["replay", "log", "--root", "root", "--json"]) == 1
    gone = "it can no longer be assembled: u.txt:1: a.json is not there"
    assert json.loads(capsys.readouterr().out) == [
        {"line": 1, "task_ref": "t", "reason": "t.txt, a.json, b.txt moved", "moved": ["t.txt", "a.json", "b.txt"]},
        {"line": 2, "task_ref": "u", "reason": gone, "moved": []},
    ]


def test_damaged(root: Path, capsys: CaptureText) -> None:
    """A damaged line is told by its number and passed over; the others are still replayed."""
    log = root.parent / "log"
    first, second = log.read_text().splitlines(keepends=True)
    log.write_text(first + '{"torn\n' + second + second[:-9])
    assert main(["replay", "log", "--root", "root"]) == 0
    assert capsys.readouterr() == (
        "",
        "deepprompt: log:2: not a whole record; skipped\n"
        "deepprompt: log:4: not a whole record; skipped\n"
        "deepprompt: 2 of 2 prompts are the same\n",
    )


def test_not_one_record(root: Path, capsys: CaptureText) -> None:
    """A file without one whole record is no log, and no green light for an audit; an empty one has nothing yet."""
    log = root.parent / "log"
    log.write_text("[\n1\n]\n")
    assert main(["replay", "log", "--root", "root"]) == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "deepprompt: log: no record in it; is it a log of assembled prompts?"
    )
    log.write_text("")
    assert main(["replay", "log", "--root", "root"]) == 0
    assert capsys.readouterr().err == "deepprompt: 0 of 0 prompts are the same\n"


@pytest.mark.parametrize(
    ("record", "says"),
    [
        ("{}", "log:1: None: the record is incomplete: 'template_root'\n"),
        (
            '{"template_root": ".", "minify_json": false, "includes_resolved": 5}',
            "log:1: None: the record is incomplete: ",
        ),
        (
            '{"template_root": ".", "minify_json": false, "includes_resolved": {}, "task_ref": "v", '
            '"assembled_prompt_hash": 1, "assembled_prompt": 5, "spans": []}',
            "log:1: v: the recorded text is not the one that its hash was made of\n"
            "--- recorded\n+++ now\n@@ -1 +1 @@\n-5\n+v\n",
        ),
    ],
)
def test_record_of_somebody_else(record: str, says: str, root: Path, capsys: CaptureText) -> None:
    """A record that is JSON but none of ours is a drift, not a crash."""
    (root / "v.txt").write_text("v")
    (root.parent / "log").write_text(f"{record}\n")
    assert main(["replay", "log", "--root", "root"]) == 1
    out, err = capsys.readouterr()
    assert out.startswith(says)
    assert err == "deepprompt: 0 of 1 prompt is the same\n"


@pytest.mark.usefixtures("root")
def test_no_log(capsys: CaptureText) -> None:
    """A log that is not there is an error, and the root is where we are unless it is said."""
    assert main(["replay", "none"]) == 1
    assert capsys.readouterr() == ("", "deepprompt: none: No such file or directory\n")
    assert main(["replay", "log"]) == 1
    assert "it can no longer be assembled: t.txt: template is not there" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "says"),
    [([], "the following arguments are required: LOG"), (["log", "--root", ""], "argument --root: is empty")],
)
def test_usage(given: list[str], says: str, capsys: CaptureText) -> None:
    """Wrong usage exits 2."""
    with pytest.raises(SystemExit) as caught:
        main(["replay", *given])
    assert caught.value.code == 2
    assert capsys.readouterr().err.splitlines()[0] == f"deepprompt replay: error: {says}"


def test_recorded_text_that_was_edited(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A recorded text that does not have its recorded hash is drift, even if the files still give that hash."""
    root = tmp_path / "root"
    root.mkdir()
    (root / "t.txt").write_text("as it was\n")
    log = tmp_path / "log.jsonl"
    assert main(["assemble", "t", "--root", str(root), "--log", str(log)]) == 0
    log.write_text(log.read_text().replace("as it was", "as it is not"))
    capsys.readouterr()
    assert main(["replay", str(log), "--root", str(root)]) == 1
    assert "t: the recorded text is not the one that its hash was made of" in capsys.readouterr().out


def test_log_in_the_root_when_that_is_meant(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A log below the root is allowed when the user says so."""
    (tmp_path / "t.txt").write_text("text\n")
    log = tmp_path / "log.jsonl"
    assert main(["assemble", "t", "--root", str(tmp_path), "--log", str(log), "--log-in-root"]) == 0
    assert main(["replay", str(log), "--root", str(tmp_path)]) == 0
    assert "1 of 1 prompt is the same" in capsys.readouterr().err
