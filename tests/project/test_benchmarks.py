"""The benchmarks run, install nothing, and say what they were asked for. How fast anything is, no test says."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks import frameworks
from benchmarks.__main__ import LONG, MODULES, main
from benchmarks.measure import Row, Sample, compare, row, shown
from tests.support.paths import ROOT


@pytest.mark.slow
def test_the_table_of_builds_as_json() -> None:
    """One command measures one group, and prints each row with its ratio, target and verdict."""
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "builds", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    report = json.loads(done.stdout)

    assert list(report["rows"]) == ["builds"]
    assert all(line["ratio"] > 0 for line in report["rows"]["builds"])
    assert {line["verdict"] for line in report["rows"]["builds"] if line["target"]} <= {"met", "missed"}
    assert set(report["machine"]) == {"cores", "git", "python", "system"}  # nothing that names a machine or a folder


def test_an_unknown_group(capsys: pytest.CaptureFixture[str]) -> None:
    """A group that is not there is wrong usage, and the message lists those that are."""
    with pytest.raises(SystemExit, match="2"):
        main(["--only", "nothing"])

    said = capsys.readouterr().err
    assert all(name in said for name in (*MODULES, *LONG))


def test_every_group_can_be_imported() -> None:
    """Each name stands for a module with rows."""
    for name in (*MODULES, *LONG):
        assert callable(__import__(f"benchmarks.{name}", fromlist=["rows"]).rows)


def test_the_engine_without_its_packages() -> None:
    """Without llama.cpp the benchmark of the engine says in one line what to install, and exits 1."""
    code = (
        "import importlib.util, runpy\n"
        "importlib.util.find_spec = lambda name, find=importlib.util.find_spec: "
        "None if name in ('llama_cpp', 'gguf') else find(name)\n"
        "runpy.run_module('benchmarks.llama_engine', run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    said = "benchmarks.llama_engine needs two packages: pip install llama-cpp-python gguf\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_work_is_compared_with_the_first() -> None:
    """Every piece of work is done in every round, and the first is the limit."""
    done: list[str] = []

    samples = compare({"limit": lambda: done.append("limit"), "ours": lambda: done.append("ours")}, 3, least=0)

    assert done == ["limit", "ours"] + ["limit", "ours"] * 3
    assert samples["limit"].ratio == 1


def test_a_row_of_samples() -> None:
    """The limit stands first, ours second, and rivals after them."""
    made = row("x", {"join": Sample(1e-6, 1), "ours": Sample(2e-6, 2.0), "jinja2": Sample(9e-6, 9.0)}, target=2)

    assert made == Row("x", "2 µs", "1 µs", 2.0, 2, rivals={"jinja2": 9.0})
    assert made.verdict == "met"


@pytest.mark.parametrize(
    ("seconds", "text"), [(2.5, "2.5 s"), (0.0025, "2.5 ms"), (2.5e-6, "2.5 µs"), (2.5e-8, "25 ns")]
)
def test_times_are_shown_in_the_unit_that_suits_them(seconds: float, text: str) -> None:
    """No figure has more zeros than it needs."""
    assert shown(seconds) == text


def test_the_page_on_frameworks_has_every_row() -> None:
    """Each framework has a row of figures, and the lines that it counts are those of its example today."""
    page = (ROOT / "docs" / "frameworks.md").read_text("utf-8")
    for name, one in frameworks.FRAMEWORKS.items():
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {one.title} | ") and "%" in line]
        assert row.split(" | ")[-2] == str(frameworks.lines(name)), name
    assert frameworks.replaced(page, "| smolagents | new |").count("| smolagents | new |") == 1
