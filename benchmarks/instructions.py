"""The load plan of a repository with many instruction files, beside reading the same files with the same care."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.measure import Row, Settings, compare, row
from deepprompt import plan_instructions
from deepprompt.sources.files import read_below

FILES = 200
TEXT = "# Rules\n" + "- Keep functions small, and say why rather than what.\n" * 40


def rows(settings: Settings) -> Iterator[Row]:
    """Measure 200 files in folders side by side, and 200 in folders that lie in each other."""
    rounds = settings.rounds(50)
    with tempfile.TemporaryDirectory() as folder:
        wide, deep = Path(folder, "wide").resolve(), Path(folder, "deep").resolve()
        side = [f".claude/rules/group_{number % 20}/rule_{number}.md" for number in range(FILES)]
        nested = ["/".join(["d"] * depth + ["AGENTS.md"]) for depth in range(FILES)]
        for top, names in ((wide, side), (deep, nested)):
            _write(top, [".git/HEAD", *names])
        cwd = deep.joinpath(*["d"] * (FILES - 1))
        for name, top, names, plan in (
            ("side by side", wide, side, lambda: plan_instructions(wide, profile="claude-code")),
            ("one in the other", deep, nested, lambda: plan_instructions(cwd, profile="agents")),
        ):
            works: dict[str, Callable[[], object]] = {"reading": _reader(top, names), "ours": plan}
            yield row(f"plan of {FILES} instruction files, {name}", compare(works, rounds), target=3)
            bare: dict[str, Callable[[], object]] = {"open": _opener(top, names), "ours": plan}
            yield row(f"the same over open() and read(), {name}", compare(bare, rounds))


def _reader(top: Path, names: list[str]) -> Callable[[], object]:
    return lambda: [read_below(str(top), name, 1 << 20, lambda _: None).data for name in names]


def _opener(top: Path, names: list[str]) -> Callable[[], object]:
    paths = [top / name for name in names]
    return lambda: [path.read_bytes() for path in paths]


def _write(top: Path, names: list[str]) -> None:
    for name in names:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TEXT, "utf-8")
