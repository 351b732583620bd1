"""What a published agent does to its prompt cache: installs it, drives it against a loopback model, prints its row.

    python -m benchmarks.agents codex --install /tmp/agents
    python -m benchmarks.agents --all --install /tmp/agents

One conversation of four messages in an invented project. The model reads a file in the first turn. Before the third
message the project's rules are edited and committed. Then three new conversations: now, 40 days later (by libfaketime,
where the program lets it), and in another folder with the same files. It needs the network, so CI does not run it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.agent_programs import AGENTS, PROBE, Agent, run, serving, settle
from deepprompt import blame, read_request
from deepprompt.providers.segments import Segment
from deepprompt.text.compare import shared_start

QUESTIONS = tuple(f"{PROBE} {number}: what does cart.py do? Answer in one sentence." for number in range(1, 8))
RULES = "# Rules\n\nRun `make test` before you commit.\nPrices are whole cents.\n"
FILES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md", "QWEN.md")
CODE = 'def total(prices):\n    """Return the sum of all prices, in cents."""\n    return sum(prices)\n'
FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"
DAYS = 40


@dataclass(slots=True)
class Measured:
    """The row of one agent."""

    version: str
    requests: int = 0
    """Requests of the conversation after its first."""
    extended: int = 0
    """How many of them begin with all of the request before."""
    kept: float = 1.0
    """The share of bytes of the earlier requests that the next ones begin with."""
    breaks: list[str] = field(default_factory=list)
    later: str = "?"
    """The share of a first request that a new conversation keeps after 40 days; "?" if the clock could not be set."""
    elsewhere: str = "?"
    """The share of a first request that a new conversation keeps in another folder."""
    failed: str = ""


def stream(segments: Sequence[Segment]) -> str:
    """Return a request's texts in the order in which a cache reads them, a character a byte; settings are left out."""
    texts = (f"{one.kind}\0{one.role}\0{one.text}\0" for one in segments if one.kind != "setting")
    return "".join(texts).encode(errors="surrogatepass").decode("latin-1")


def main_requests(bodies: Sequence[Mapping[str, Any]], question: str) -> list[Mapping[str, Any]]:
    """Return the requests of the conversation with a question; titles, commits and memories have far fewer tools."""
    asked = [body for body in bodies if question in json.dumps(body)]
    most = max((len(body.get("tools", ())) for body in asked), default=0)
    return [body for body in asked if len(body.get("tools", ())) >= 0.7 * most]


def dates(body: Mapping[str, Any] | None) -> set[str]:
    """Return the ways in which a request spells today's date."""
    text, today = json.dumps(body), datetime.now(UTC)
    forms = ("%Y-%m-%d", "%b %d", "%B %d", "%d %b", "%m/%d/%Y", "%d/%m/%Y")
    return {form for form in forms if today.strftime(form) in text}


def install(agent: Agent, folder: Path) -> str:
    """Install an agent below a folder; return the folder of its programs."""
    kind, _, package = agent.package.partition(":")
    if kind == "npm":
        subprocess.run(
            ["npm", "install", "--no-audit", "--no-fund", "--prefix", folder, package, "node@24"], check=True
        )
        return str(folder / "node_modules" / ".bin")
    place = folder / package.partition("=")[0]
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    subprocess.run([place / "bin" / "pip", "install", "--quiet", package], check=True)
    return str(place / "bin")


def project(folder: Path) -> None:
    """Make the invented project, as a repository with one commit."""
    folder.mkdir(parents=True)
    for name in FILES:
        (folder / name).write_text(RULES, "utf-8")
    (folder / "cart.py").write_text(CODE, "utf-8")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "Add the cart")


def git(folder: Path, *arguments: str) -> None:
    """Run git as nobody in particular."""
    who = ["-c", "user.name=Ada", "-c", "user.email=ada@example.com"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, env={"PATH": os.environ["PATH"]})


def version_of(agent: Agent, folders: Sequence[str], home: Path) -> str:
    """Return what the program says its version is."""
    path = os.pathsep.join([*folders, os.environ["PATH"]])
    ran = subprocess.run(
        [agent.command[0], "--version"], capture_output=True, timeout=60, env={"PATH": path, "HOME": str(home)}
    )
    words = (ran.stdout + ran.stderr).decode(errors="replace").split()
    return next((word.strip("v,()") for word in words if word[:1].isdigit() or word[1:2].isdigit()), "?")


class Driver:
    """One agent with its home folder and the server."""

    def __init__(self, agent: Agent, root: Path, folders: Sequence[str], server: Any) -> None:
        self.agent, self.root, self.folders, self.server = agent, root, folders, server
        self.home = root / "home"
        self.home.mkdir()
        settle(agent, self.home, server.url)
        self.failed: list[str] = []

    def ask(self, question: str, cwd: Path, *, resumed: bool = False, more: Mapping[str, str] | None = None) -> None:
        """Send one message."""
        command = self.agent.resumed if resumed else self.agent.command
        error = run(
            self.agent, [question if word == PROBE else word for word in command],
            cwd=cwd, home=self.home, url=self.server.url, folders=self.folders, more=more,
        )  # fmt: skip
        if error:
            self.failed.append(f"{question[:8]}: {error}")

    def first(self, question: str, cwd: Path, more: Mapping[str, str] | None = None) -> Mapping[str, Any] | None:
        """Begin a conversation; return its first request."""
        self.ask(question, cwd, more=more)
        bodies = main_requests(self.server.bodies, question)
        return bodies[0] if bodies else None


def measure(name: str, folders: Sequence[str], keep: Path | None = None) -> Measured:
    """Drive an agent through the conversations; return its row."""
    agent = AGENTS[name]
    with tempfile.TemporaryDirectory(prefix="dp-") as place, serving() as server:
        root = Path(os.path.realpath(place))
        here, there = root / "work" / "shop", root / "other" / "store"
        project(here)
        driver = Driver(agent, root, folders, server)
        row = Measured(version_of(agent, folders, driver.home))
        if agent.read[0]:
            server.calls.append((agent.read[0], {agent.read[1]: str(here / "cart.py")}))
        driver.ask(QUESTIONS[0], here)
        driver.ask(QUESTIONS[1], here, resumed=True)
        for file in FILES:
            (here / file).write_text(RULES + "Never edit `vendor/`.\n", "utf-8")
        git(here, "commit", "-qam", "Protect vendor")
        driver.ask(QUESTIONS[2], here, resumed=True)
        driver.ask(QUESTIONS[3], here, resumed=True)
        compare(main_requests(server.bodies, QUESTIONS[0]), row)
        shutil.copytree(here, there)
        base = driver.first(QUESTIONS[4], here)
        if Path(FAKETIME).exists():
            seen = len(driver.failed)
            moved = driver.first(QUESTIONS[5], here, {"LD_PRELOAD": FAKETIME, "FAKETIME": f"+{DAYS}d"})
            if len(driver.failed) == seen and not dates(base) & dates(moved):
                row.later = share(base, moved)
        row.elsewhere = share(base, driver.first(QUESTIONS[6], there))
        row.failed = "; ".join(driver.failed)
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            lines = "".join(json.dumps(body) + "\n" for body in server.bodies)
            (keep / f"{name}.jsonl").write_text(lines, "utf-8")
    return row


def share(base: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> str:
    """Return the share of a first request that another one keeps, and what ends it. The questions differ."""
    if not base or not other:
        return "?"
    texts = [[one for one in read_request(body) if one.kind != "setting"] for body in (base, other)]
    one, two = map(stream, texts)
    same = shared_start(one, two)
    if one[same:].startswith(tuple("567")) and one[:same].endswith(f"{PROBE} "):
        return "all"
    found = blame(*texts)
    return f"{same / len(one):.1%}" + (f" ({found.kind} at {found.place})" if found else "")


def compare(bodies: Sequence[Mapping[str, Any]], row: Measured) -> None:
    """Put into the row how much each request keeps of the one before, and what broke."""
    total = together = 0
    for before, after in pairwise(bodies):
        one, two = stream(read_request(before)), stream(read_request(after))
        row.requests += 1
        row.extended += two.startswith(one)
        total += len(one)
        together += shared_start(one, two)
        found = None if two.startswith(one) else blame(before, after)
        if found:
            row.breaks.append(f"{found.kind} at {found.place}")
    row.kept = together / total if total else 1.0


def main() -> int:
    """Measure the agents that are named; print a row of Markdown for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agents", nargs="*", help=f"one of {', '.join(sorted(AGENTS))}")
    parser.add_argument("--all", action="store_true", help="all that can be installed from npm and PyPI")
    parser.add_argument("--install", type=Path, metavar="FOLDER", help="install into this folder first")
    parser.add_argument("--bin", action="append", default=[], help="a folder with the programs; may be repeated")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the requests here, to look at")
    options = parser.parse_args()
    names = (
        [name for name, agent in AGENTS.items() if agent.package and agent.resumed] if options.all else options.agents
    )
    print("| agent | version | later requests | extend the last | bytes kept | breaks | 40 days | other folder |")
    print("|---|---|---|---|---|---|---|---|")
    failed = False
    for name in names:
        folders = [*options.bin, *([install(AGENTS[name], options.install)] if options.install else [])]
        row = measure(name, folders, options.keep)
        breaks = ", ".join(dict.fromkeys(row.breaks)) or "nothing"
        print(
            f"| {name} | {row.version} | {row.requests} | {row.extended} | {row.kept:.1%} | {breaks} "
            f"| {row.later} | {row.elsewhere} |",
            flush=True,
        )
        if row.failed:
            print(f"{name}: {row.failed}", file=sys.stderr)
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
