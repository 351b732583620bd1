"""`python -m benchmarks.frameworks`: a real agent of each framework that is installed, alone and with us.

Six turns, each of a tool call and an answer, against a server on loopback. A file is edited before the second turn,
AGENTS.md before the third, and a commit is made before the fifth. `--write` replaces the rows of `docs/frameworks.md`.
The frameworks pin different versions: run it in an environment of each.
"""

from __future__ import annotations

import argparse
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import frameworks_alone
from tests.support.frameworks import Run, example, run

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "frameworks.md"


@dataclass(frozen=True)
class Framework:
    """How a framework is run."""

    title: str
    packages: tuple[str, ...]
    api: str
    model: str
    streams: bool = False
    named: dict[str, str] = field(default_factory=dict)


_CLAUDE, _GPT = "claude-opus-5-5", "gpt-5.6"
FRAMEWORKS = {
    "langchain": Framework(
        "LangChain, LangGraph", ("langchain", "langgraph", "langchain-anthropic"), "messages", _CLAUDE
    ),
    "pydantic_ai": Framework("pydantic-ai", ("pydantic-ai-slim", "anthropic"), "messages", _CLAUDE, streams=True),
    "openai_agents": Framework("OpenAI Agents", ("openai-agents", "openai"), "responses", _GPT),
    "google_adk": Framework("Google ADK", ("google-adk", "google-genai"), "gemini", "gemini-2.5-pro"),
    "litellm": Framework("LiteLLM to Anthropic", ("litellm",), "messages", _CLAUDE),
    "claude_agent": Framework(
        "claude-agent-sdk", ("claude-agent-sdk",), "messages", _CLAUDE, True, {"tool": "mcp__words__lookup"}
    ),
    "smolagents": Framework("smolagents", ("smolagents", "openai"), "chat", _GPT, named={"last": "final_answer"}),
    "openhands": Framework("OpenHands SDK", ("openhands-sdk", "litellm"), "messages", _CLAUDE),
    "agent_framework": Framework(
        "Agent Framework", ("agent-framework-core", "agent-framework-anthropic"), "messages", _CLAUDE
    ),
}


def main(arguments: list[str] | None = None) -> int:
    """Run what is installed, and print or write its rows."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frameworks", description=__doc__)
    parser.add_argument("--only", choices=FRAMEWORKS, action="append", help="one of them")
    parser.add_argument("--write", action="store_true", help=f"put the rows into {PAGE.relative_to(ROOT)}")
    options = parser.parse_args(arguments)
    for name in options.only or FRAMEWORKS:
        if (row := measured(name)) is None:
            print(f"{name}: not installed")
            continue
        print(row)
        if options.write:
            PAGE.write_text(replaced(PAGE.read_text("utf-8"), row), "utf-8")
    return 0


def measured(name: str) -> str | None:
    """Return the row of a framework, None if it is not installed."""
    one = FRAMEWORKS[name]
    try:
        versions = ", ".join(f"{package} {version(package)}" for package in one.packages)
    except PackageNotFoundError:
        return None
    alone, ours = (
        run(agent, one.api, one.model, streams=one.streams, **one.named)
        for agent in (getattr(frameworks_alone, name), example(name))
    )
    cells = (
        one.title, versions, _kept_and_read(alone), _told(alone), _kept_and_read(ours), _told(ours),
        ", ".join(sorted(ours.marked)) or "none", str(lines(name)), f"{datetime.now(UTC):%Y-%m-%d}",
    )  # fmt: skip
    return f"| {' | '.join(cells)} |"


def _kept_and_read(found: Run) -> str:
    return f"{found.kept:.1%} / {found.simulation.read_share:.1%}"


def _told(found: Run) -> str:
    return "yes" if found.told == [number >= 4 for number in range(12)] else "**no**"


def lines(name: str) -> int:
    """Return how many lines of an example are there because of us: those with a name that comes from us."""
    text = (ROOT / "examples" / "frameworks" / f"with_{name}.py").read_text("utf-8")
    imported = re.findall(r"^from deepprompt\.adapters\S* import (.*)$", text, re.MULTILINE)
    ours = {*", ".join(imported).split(", "), "tail", "watch"}
    word = re.compile(rf"\b({'|'.join(map(re.escape, ours))})\b")
    code = text.partition('"""Yield')[2].partition('"""')[2]
    return len(imported) + sum(bool(word.search(line)) for line in code.splitlines())


def replaced(page: str, row: str) -> str:
    """Return the page with a row in place of the one that begins alike; at the end of the table if there is none."""
    head = row[: row.index("|", 1) + 1]
    old = re.compile(rf"^{re.escape(head)}.*$", re.MULTILINE)
    if old.search(page):
        return old.sub(lambda _: row, page, count=1)
    return page.replace("<!-- end of rows -->", f"{row}\n<!-- end of rows -->")


if __name__ == "__main__":
    raise SystemExit(main())
