"""Write the tables of docs/performance.md from one run of the benchmarks.

    python scripts/write_performance.py                 # measure every group, then write
    python scripts/write_performance.py --suite         # the test suite too, which takes minutes more
    python scripts/write_performance.py --from run.json # write what `python -m benchmarks --json` printed before

The page has a place for each group of benchmarks between two comments; people write the text around them. The script
replaces the page at the end, in one step: if a group is missing, or measuring fails, the page stays as it was.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "performance.md"
SUITE = "suite"

Report = dict[str, Any]


def main(arguments: list[str] | None = None) -> int:
    """Measure, or read what was measured, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="source", metavar="FILE", help="the JSON of a run")
    parser.add_argument("--suite", action="store_true", help="measure the test suite too")
    parser.add_argument("--quick", action="store_true", help="few rounds: to see that it runs")
    parser.add_argument("--page", metavar="FILE", default=str(PAGE), help="another page, to look at")
    options = parser.parse_args(arguments)
    report = json.loads(Path(options.source).read_text("utf-8")) if options.source else measure(options)
    page = Path(options.page)
    text = filled(PAGE.read_text("utf-8"), report)
    part = page.with_name(page.name + ".part")
    part.write_text(text, encoding="utf-8", newline="\n")
    os.replace(part, page)
    return 0


def measure(options: argparse.Namespace) -> Report:
    """Return the report of a run; its progress goes to standard error."""
    command = [sys.executable, "-m", "benchmarks", "--json", *(["--quick"] if options.quick else [])]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    report: Report = json.loads(done.stdout)
    if options.suite:
        done = subprocess.run([*command, "--only", SUITE], cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
        report["rows"] |= json.loads(done.stdout)["rows"]
    return report


def filled(page: str, report: Report) -> str:
    """Return the page with the tables of a run. A group that the run lacks is an error, except the test suite."""
    page = between(page, "measured", said(report))
    rows = dict(report["rows"])
    for name in list(rows):
        page = between(page, f"table: {name}", table(rows.pop(name)))
    missing = [name for name in groups(page) if name not in report["rows"] and name != SUITE]
    if missing:
        raise SystemExit(f"the run has no {', '.join(missing)}: measure all groups in one run")
    return page


def groups(page: str) -> list[str]:
    """Return the groups that the page has a place for."""
    return [piece.partition(" -->")[0] for piece in page.split("<!-- table: ")[1:]]


def between(page: str, name: str, text: str) -> str:
    """Return the page with the text between the two comments of a name."""
    start, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
    if page.count(start) != 1 or page.count(end) != 1:
        raise SystemExit(f"the page needs one pair of lines {start.strip()} and {end.strip()}")
    before, _, rest = page.partition(start)
    return before + start + text + end + rest.partition(end)[2]


def said(report: Report) -> str:
    """Return the sentence about date, machine and versions."""
    machine = report["machine"]
    rivals = ", ".join(f"{name} {version}" for name, version in report["rivals"].items()) or "none installed"
    how = ", with few rounds and small inputs, only to see that it runs" if report["quick"] else ""
    return (
        f"Measured on {report['measured']} with Python {machine['python']} and git {machine['git']} on "
        f"{machine['system']}, {machine['cores']} cores{how}.\nRivals: {rivals}.\n"
    )


def table(rows: list[dict[str, Any]]) -> str:
    """Return a group as a table; it has a column for rivals if there are any."""
    if not rows:
        raise SystemExit("a group without rows: nothing was measured")
    rivals = any(row["rivals"] for row in rows)
    head = ["what", "ours", "limit", "ratio", "target", "", *(["rivals"] if rivals else [])]
    lines = [head, ["---", "--:", "--:", "--:", "--:", "---", *(["---"] if rivals else [])]]
    lines += [cells(row, rivals=rivals) for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def cells(row: dict[str, Any], *, rivals: bool) -> list[str]:
    """Return the cells of one row."""
    name = f"{row['name']} ({row['note']})" if row["note"] else row["name"]
    others = ", ".join(f"{rival} {theirs:.3g} x" for rival, theirs in row["rivals"].items())
    if row["unit"] == "%":
        ratio, target = f"{row['ratio']:.2%}", "" if row["target"] is None else f"{row['target']:.0%}"
    else:
        ratio, target = f"{row['ratio']:.3g} x", "" if row["target"] is None else f"{row['target']:g} x"
    return [name.replace("|", "\\|"), row["ours"], row["limit"], ratio, target, row["verdict"], *([others] * rivals)]


if __name__ == "__main__":
    sys.exit(main())
