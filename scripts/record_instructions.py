"""Record which instruction files installed agents load, and compare it with `tests/data/resolver/`.

Each case of the data is a tree of files with marks in them. The script lays it out in a temporary folder, runs the
agent there with an empty environment and the message PROBE against a model server on loopback, and reads from its
requests which marks arrived, in which order. It needs the programs, so it is no part of CI:

    npm install --prefix /tmp/agents @openai/codex@0.169.0 node@24
    python scripts/record_instructions.py codex --bin /tmp/agents/node_modules/.bin

With `--out FILE` the cases are written as recorded, to compare a later version of a program with this one.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from benchmarks.agent_programs import AGENTS, PROBE, Agent, run, serving, settle  # noqa: E402
from tests.support.recorded import DATA, MARK, Case, lay_out_case  # noqa: E402

_PROMPT_FIELDS = ("instructions", "system", "systemInstruction", "messages", "input", "contents")


def _texts(value: object) -> Iterator[str]:
    """Yield the texts of a part of a request, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key not in ("role", "type", "id", "name"):
                yield from _texts(item)


def read_marks(bodies: list[dict[str, Any]], *, touches: bool = False) -> list[str]:
    """Return the marks of the first request with PROBE; for a touch, also those of new texts in later requests.

    Programs send other requests too, for a title or a memory: those have no tools, or come after the first.
    """
    seen: set[str] = set()
    found: list[str] = []
    for body in bodies:
        texts = [text for name in _PROMPT_FIELDS for text in _texts(body.get(name))]
        if not body.get("tools") or not any(PROBE in text for text in texts) or (seen and not touches):
            continue
        found += [mark for text in texts if text not in seen for mark in MARK.findall(text)]
        seen.update(texts)
    return found


def record(agent: Agent, case: Case, folders: list[str]) -> tuple[list[str], list[dict[str, Any]], str]:
    """Run an agent in a case's tree; return the marks, the requests, and what went wrong."""
    with tempfile.TemporaryDirectory(prefix="dp-") as place, serving() as server:
        root = Path(os.path.realpath(place))
        cwd = lay_out_case(root, case)
        for folder in case.get("git", ["ws/repo"]):
            (root / folder / ".git").rmdir()
            subprocess.run(["git", "init", "-q", str(root / folder)], check=True, env={"PATH": os.environ["PATH"]})
        settle(agent, root / "home", server.url)
        if "touch" in case and agent.read[0]:
            server.calls.append((agent.read[0], {agent.read[1]: str(root / case["touch"])}))
        error = run(agent, agent.command, cwd=cwd, home=root / "home", url=server.url, folders=folders)
        return read_marks(server.bodies, touches="touch" in case), server.bodies, error.replace(str(root), "{root}")


def main() -> int:
    """Record the cases of one agent, and say which differ from the data."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("profile", choices=sorted(AGENTS))
    parser.add_argument("--bin", action="append", default=[], help="a folder with the program; may be repeated")
    parser.add_argument("--case", action="append", help="record this case only; may be repeated")
    parser.add_argument("--cases", type=Path, help="a file of cases (default: tests/data/resolver/PROFILE.json)")
    parser.add_argument("--out", type=Path, help="write the cases as recorded")
    parser.add_argument("--bodies", type=Path, help="write the requests of each case into this folder, to look at")
    options = parser.parse_args()
    data = json.loads((options.cases or DATA / f"{options.profile}.json").read_text("utf-8"))
    cases = [case for case in data["cases"] if not options.case or case["id"] in options.case]
    recorded, differing = [], 0
    for case in cases:
        marks, bodies, error = record(AGENTS[options.profile], case, options.bin)
        same = "loaded" not in case or marks == case["loaded"]
        differing += not same
        verdict = "the same" if same else f"{marks} instead of {case['loaded']}"
        print(f"{case['id']}: {verdict}", error, flush=True)
        recorded.append({**case, "loaded": marks, **({"failed": error} if error else {})})
        if options.bodies:
            options.bodies.mkdir(parents=True, exist_ok=True)
            (options.bodies / f"{case['id']}.json").write_text(json.dumps(bodies, indent=1), "utf-8")
    if options.out:
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in recorded)
        head = json.dumps({**data, "cases": []}, ensure_ascii=False).removesuffix("]}")
        options.out.write_text(f"{head}\n{lines}\n]}}\n", "utf-8")
    print(f"{len(cases)} cases, {differing} differ")
    return 1 if differing else 0


if __name__ == "__main__":
    raise SystemExit(main())
