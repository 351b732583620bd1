"""`deepprompt report`: what the cache costs in logs, and why."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprompt.cli import main
from tests.support.traffic import made

CaptureBytes = pytest.CaptureFixture[bytes]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of all agents."""
    path = tmp_path / "log.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record, _, _ in made()))
    return path


def test_text(log: Path, capsysbinary: CaptureBytes) -> None:
    """The first lines say what was read and paid, the next ones why, ranked by money."""
    assert main(["report", str(log), "--what-if", "all", "--by", "agent,day"]) == 0
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert lines[0] == f"{len(made())} requests in 20 conversations, 1 file"
    assert lines[1].startswith("input  ")
    assert lines[5] == "causes, by money"
    assert lines[6].startswith("  1.   $0.0")
    assert any("edit at system[0]" in line for line in lines)
    assert any(line.startswith("by agent ") for line in lines)
    assert any(line.startswith("2026-11-1") for line in lines)
    assert any(line.startswith("without any of these causes: ") for line in lines)
    assert any("without recorded token counts: simulated" in line for line in lines)


def test_what_if_a_kind_that_is_not_there(log: Path, capsysbinary: CaptureBytes) -> None:
    """A kind that broke nothing is no mistake, and the causes that there are follow."""
    assert main(["report", str(log), "--what-if", "clock"]) == 0
    said = capsysbinary.readouterr().out.decode()
    assert "without clock: no request broke for it; there are: all, " in said
    assert "system[0]" in said.partition("there are: ")[2].partition("\n")[0]


def test_json(log: Path, capsysbinary: CaptureBytes) -> None:
    """Everything, for programs."""
    assert main(["report", str(log), "--json"]) == 0
    found = json.loads(capsysbinary.readouterr().out)
    assert found["requests"] == len(made())
    assert {cause["kind"] for cause in found["causes"]} == {"edit", "setting", "removed", "inserted", "tool order"}
    assert found["assumed"]


@pytest.mark.parametrize(("share", "code"), [("50%", 0), ("0.001", 1), ("0%", 1)])
def test_fail_over(share: str, code: int, log: Path, capsysbinary: CaptureBytes) -> None:
    """In CI the exit says whether breaks cost more than allowed."""
    assert main(["report", str(log), "--fail-over", share]) == code
    assert b"of the input's cost" in capsysbinary.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--fail-over", "five"], "expected a share such as 5% or 0.05"),
        (["--by", "colour"], "no group 'colour'; there are: day, agent"),
        (["--what-if", "bogus"], "--what-if: no cause 'bogus' in these logs; there are: all, "),
        (["--out", "x.pdf"], "--out writes .html, .csv, .parquet, .json"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, log: Path, capsysbinary: CaptureBytes) -> None:
    """Wrong usage exits 2 and says what is wrong."""
    with pytest.raises(SystemExit) as ended:
        main(["report", str(log), *arguments])
    assert ended.value.code == 2
    assert message in capsysbinary.readouterr().err.decode()


def test_files(log: Path, tmp_path: Path) -> None:
    """A page, rows as CSV and everything as JSON go to files that only their owner can read."""
    for name in ("page.html", "rows.csv", "all.json"):
        assert main(["report", str(log), "--out", str(tmp_path / name)]) == 0
        assert (tmp_path / name).stat().st_mode & 0o777 == 0o600
    assert b'"kind":"report"' in (tmp_path / "page.html").read_bytes()
    (tmp_path / "mine.html").write_text("mine")
    assert main(["report", str(log), "--out", str(tmp_path / "mine.html")]) == 1
    assert (tmp_path / "mine.html").read_text() == "mine"


def test_nothing_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsysbinary: CaptureBytes) -> None:
    """Without a path it reads the store, and says what to do if there is none."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert main(["report"]) == 1
    assert b"nothing recorded yet; run 'deepprompt record -- COMMAND' first" in capsysbinary.readouterr().err


def test_own_prices(log: Path, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """A price table of your own replaces the bundled one; a wrong one is an error that says where."""
    prices = tmp_path / "prices.json"
    prices.write_text(json.dumps({"as_of": "2027-01-01", "currency": "EUR", "models": [{"names": ["*"], "input": 1}]}))
    assert main(["report", str(log), "--prices", str(prices)]) == 0
    assert "for the input by prices of 2027-01-01" in capsysbinary.readouterr().out.decode()
    prices.write_text(json.dumps({"as_of": "2027-01-01", "models": [{"names": "x", "input": 1}]}))
    assert main(["report", str(log), "--prices", str(prices)]) == 1
    assert b"models[0]: names is a list of model names" in capsysbinary.readouterr().err


def test_engines(log: Path, capsysbinary: CaptureBytes) -> None:
    """An unknown engine is wrong usage, and so is a number of processes for another engine."""
    for options, message in (
        (("--engine", "spark"), b"invalid choice: 'spark'"),
        (("--engine", "ray", "--jobs", "2"), b"--jobs is for processes"),
    ):
        with pytest.raises(SystemExit) as caught:
            main(["report", str(log), *options])
        assert caught.value.code == 2
        assert message in capsysbinary.readouterr().err
