"""A fresh process up to its first prompt, beside `python -c pass` of the same environment.

The environment is that of `--python`, which has the installed wheel. Without it, one is made in a temporary folder:
empty, with the files that a wheel would bring and their compiled bytecode; nothing is downloaded.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import deepprompt
from benchmarks.measure import Row, Settings, compare, row
from benchmarks.repositories import ENVIRONMENT, make_small
from benchmarks.rivals import import_of, versions

ROUNDS = 60
FIRST = "from deepprompt import SystemPromptBuilder\nSystemPromptBuilder().build()"
COMMAND = "import sys\nfrom deepprompt.cli import main\nsys.exit(main())"  # as the installed script has it


def rows(settings: Settings) -> Iterator[Row]:
    """Measure start-up."""
    rounds = settings.rounds(ROUNDS)
    with tempfile.TemporaryDirectory() as folder:
        python = settings.python or clean_environment(Path(folder, "environment"))
        note = "" if settings.python else "in a clean environment with the package's files and bytecode; no --python"
        repository = make_small(Path(folder, "repository"))
        bare = start(python, "pass")
        first = compare({"pass": bare, "deepprompt": start(python, FIRST)}, rounds)
        yield row("first prompt: import, build, no git", first, target=3.3, note=note)
        command = start(python, COMMAND, "build", "--quiet", cwd=repository)
        yield row(
            "deepprompt build, with git, small repository", compare({"pass": bare, "ours": command}, rounds), target=4.5
        )
        plain = start(python, COMMAND, "build", "--quiet", "--no-git", cwd=repository)
        yield row("deepprompt build --no-git", compare({"pass": bare, "ours": plain}, rounds))
        own = {name: start(sys.executable, import_of(name)) for name in versions()}
        here = start(sys.executable, "pass")
        for name, sample in compare({"pass": here, **own}, settings.rounds(ROUNDS // 4)).items():
            if name != "pass":
                yield Row(f"{name}: its import alone", f"{sample.seconds * 1e3:.3g} ms", "", sample.ratio)


def clean_environment(folder: Path) -> str:
    """Make an environment with nothing but this package, as an installed wheel has it; return its Python."""
    venv.create(folder, with_pip=False)
    paths = sysconfig.get_paths("venv", vars={"base": str(folder), "platbase": str(folder)})
    packages = Path(paths["purelib"])
    source = Path(deepprompt.__file__).parent
    shutil.copytree(source, packages / "deepprompt", ignore=shutil.ignore_patterns("__pycache__"))
    python = os.path.join(paths["scripts"], "python")
    subprocess.run([python, "-m", "compileall", "-q", packages], check=True)
    return python


def start(python: str, code: str, *arguments: str, cwd: Path | None = None) -> Callable[[], object]:
    """Return the work of running a piece of code in a fresh process."""

    def run() -> None:
        subprocess.run(
            [python, "-c", code, *arguments],
            cwd=cwd,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            check=True,
        )

    return run
