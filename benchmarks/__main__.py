"""`python -m benchmarks`: every target, measured beside its limit and the rivals that are installed.

It installs nothing, and its exit code says nothing about the targets: it is no test.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import platform
import subprocess
import sys
import time
from datetime import UTC, datetime

from benchmarks.measure import Row, Settings, measured
from benchmarks.rivals import versions

MODULES = {
    "builds": "building a prompt, and the preset catalogue",
    "startup": "a fresh process up to its first prompt, and the command line",
    "repositories": "git, in a small and in a large repository",
    "instructions": "the load plan of 200 instruction files",
    "tiers": "a repository in tiers, and its symbol map",
    "conversations": "ten messages more, after ten thousand",
    "streams": "a million prompts on one prefix, and a file of 50 GiB",
    "batches": "a million requests of a batch on one prefix",
    "fleet": "what recording adds to a request, and how many requests are reported",
    "engines": "large logs on one process, two, and Ray",
    "linting": "lint of instructions and request bodies, beside a bare scan and ruff",
    "checking": "deepprompt check, a perturbation test, blame and simulation",
    "growth": "how cost grows with parts, messages, skills, files, sessions and hostile text",
}
LONG = {"suite": "the processor time of the whole test suite"}
"""Groups that take minutes: only `--only` measures them."""

HEAD = "\n{0}: {1}\n" + f"{'':60}{'ours':>9} {'limit':>9} {'ratio':>9} {'target':>7}"


def main(arguments: list[str] | None = None) -> int:
    """Measure what was asked for, and print it."""
    groups = MODULES | LONG
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--only", metavar="NAME", action="append", choices=groups, help=", ".join(groups))
    parser.add_argument("--quick", action="store_true", help="few rounds and small inputs: to see that it runs")
    parser.add_argument("--json", action="store_true", help="the table as JSON, for scripts/write_performance.py")
    parser.add_argument(
        "--python", default="", metavar="PATH", help="the Python of an environment with the installed wheel"
    )
    options = parser.parse_args(arguments)
    settings = Settings(options.quick, options.python)
    machine = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "git": _git_version(),
        "system": platform.system(),
    }
    if not options.json:
        print(f"Python {machine['python']}, {machine['cores']} cores, {machine['system']}")
        print("rivals:", ", ".join(f"{name} {version}" for name, version in versions().items()) or "none installed")
    report: dict[str, list[dict[str, object]]] = {}
    for name in options.only or MODULES:
        begin = time.perf_counter()
        rows = measured(name, settings)
        if options.json:
            report[name] = [dataclasses.asdict(row) | {"verdict": row.verdict} for row in rows]
            print(f"{name}: {time.perf_counter() - begin:.0f} s", file=sys.stderr, flush=True)
        else:
            print(HEAD.format(name, groups[name]))
            for row in rows:
                print(_line(row), flush=True)
    if options.json:
        run = {"measured": datetime.now(UTC).date().isoformat(), "quick": options.quick, "machine": machine}
        print(json.dumps({**run, "rivals": versions(), "rows": report}, indent=2, ensure_ascii=False))
    return 0


def _git_version() -> str:
    return subprocess.run(["git", "--version"], capture_output=True, text=True, check=True).stdout.split()[2]


def _figures(row: Row) -> tuple[str, str]:
    """Return ratio and target, in percent where the row has that."""
    if row.unit == "%":
        return f"{row.ratio:.2%}", "" if row.target is None else f"{row.target:.0%}"
    return f"{row.ratio:.3g} {row.unit}", "" if row.target is None else f"{row.target:g} {row.unit}"


def _line(row: Row) -> str:
    ratio, target = _figures(row)
    line = f"{row.name:<60}{row.ours:>9} {row.limit:>9} {ratio:>9} {target:>7} {row.verdict}"
    line += "".join(f"\n{'  ' + rival:<80}{theirs:>8.3g} x" for rival, theirs in row.rivals.items())
    return line + (f"\n  ({row.note})" if row.note else "")


if __name__ == "__main__":
    sys.exit(main())
