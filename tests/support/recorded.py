"""The recorded cases of `tests/data/resolver/`: trees, and which marks arrived in which order in the real programs."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

from deepprompt.sources.plan.plan import InstructionPlan

DATA = Path(__file__).resolve().parents[1] / "data" / "resolver"
MARK = re.compile(r"MARK(?:-[\w-]+|\[[^\]]+\])")

Case = dict[str, Any]


def cases() -> list[tuple[str, Case]]:
    """Return every recorded case with the profile that it is for."""
    found = []
    for path in sorted(DATA.glob("*.json")):
        recorded = json.loads(path.read_text("utf-8"))
        found += [(recorded["profile"], case) for case in recorded["cases"]]
    return found


def lay_out_case(root: Path, case: Case) -> Path:
    """Make the tree of a case, and return its working folder."""
    for folder in (*case.get("git", ["ws/repo"]), "home", case["cwd"]):
        (root / folder).mkdir(parents=True, exist_ok=True)
    for folder in case.get("git", ["ws/repo"]):
        (root / folder / ".git").mkdir()
    hard = {name: item["hardlink"] for name, item in case["tree"].items() if "hardlink" in item}
    for name, item in case["tree"].items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(item, str):
            path.write_text(item.replace("{root}", str(root)), "utf-8", newline="")
        elif name not in hard:
            _make(path, item)
    for name, target in hard.items():
        os.link(root / target, root / name)
    cwd: str = case["cwd"]
    return root / cwd


def _make(path: Path, item: dict[str, Any]) -> None:
    if "dir" in item:
        path.mkdir(exist_ok=True)
    elif "link" in item:
        path.symlink_to(item["link"])
    elif "base64" in item:
        path.write_bytes(base64.b64decode(item["base64"]))
    elif "skills" in item:
        for number in range(item["skills"]):
            skill = path / f"s{number:03}" / "SKILL.md"
            skill.parent.mkdir(parents=True)
            skill.write_text(item["text"].replace("000", f"{number:03}"), "utf-8")
    else:
        path.write_text(item["head"] + item["repeat"] * item["times"] + item["tail"], "utf-8", newline="")


def marks(plan: InstructionPlan) -> list[str]:
    """Return the marks in the text of a plan, in order."""
    return [mark for entry in plan.included for mark in MARK.findall(entry.text)]
