"""Template assembly: how its time grows with hostile input, and how often a shared file is read.

Run `python -m benchmarks.templates`. Growth is the median time for twice the input over that for the input; 2 is
linear.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from deepprompt import PromptAssembler

RUNS = 7


def seconds(work: Callable[[], object]) -> float:
    """The median time of a piece of work."""
    times = []
    for _ in range(RUNS):
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def growth(root: Path) -> None:
    """Print how the time grows when an input is doubled."""
    (root / "inc.txt").write_text("text\n")
    inputs: dict[str, Callable[[int], str]] = {
        "one line of 2 MB": lambda n: "x" * (2_000_000 * n),
        "a directive and a million blanks": lambda n: "$$include inc.txt" + " " * (1_000_000 * n),
        "a million empty lines": lambda n: "\n" * (1_000_000 * n) + "x",
        "ten thousand includes": lambda n: "$$include inc.txt\n" * (10_000 * n),
        "$$ in a million places": lambda n: "a $$ b " * (1_000_000 * n),
    }
    for name, text in inputs.items():
        took = []
        for size in (1, 2):
            (root / f"t{size}.txt").write_text(text(size))
            took.append(seconds(lambda size=size: PromptAssembler(str(root)).assemble(f"t{size}", {})))  # type: ignore[misc]
        print(f"{name:<36} {took[0] * 1000:9.1f} ms   growth {took[1] / took[0]:.2f}")


def sharing(root: Path) -> None:
    """Print how often files are opened when 1,000 nodes share 200 includes, and what that costs beside a bare join."""
    texts = {f"INC_{index}": f"include {index}\n" * 40 for index in range(200)}
    for name, text in texts.items():
        (root / f"{name}.txt").write_text(text)
    (root / "node.txt").write_text("".join(f"part\n$$TOKEN_{index}\n" for index in range(5)))
    names = list(texts)
    nodes = [{f"TOKEN_{k}": f"{names[(n * 7 + k * 31) % 200]}.txt" for k in range(5)} for n in range(1_000)]
    opened = 0

    def count(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal opened
        if event == "open" and str(arguments[0]).endswith(".txt"):
            opened += 1

    sys.addaudithook(count)
    assembler = PromptAssembler(str(root))
    for node in nodes:
        assembler.assemble("node", node)
    print(f"1,000 nodes over 200 includes: {opened} files opened (201 are there)")
    bare = seconds(lambda: ["".join(["part\n" + texts[p[:-4]] for p in node.values()]).encode() for node in nodes])
    ours = seconds(lambda: [assembler.assemble("node", node) for node in nodes])
    print(f"assembling and hashing them again: {ours / bare:.1f} x the bare join of the same texts")


def main() -> None:
    """Run both."""
    with tempfile.TemporaryDirectory() as folder:
        growth(Path(folder))
        sharing(Path(folder))


if __name__ == "__main__":
    main()
