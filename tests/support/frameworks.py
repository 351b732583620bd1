"""Twelve requests of a framework: six turns of a tool call and an answer, with edits and a commit between.

The server on loopback counts truly: the usage of each answer is what `deepprompt.simulate` makes of the requests that
arrived, by the provider's published rules.
"""

from __future__ import annotations

import importlib
import json
import os
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import pytest

from deepprompt import Pace, Part, Prompt, Tail, Watch
from deepprompt.checks.cache.simulate import Simulation, simulate
from deepprompt.checks.segments import read_request
from deepprompt.prompt import BOUNDARY_PART
from deepprompt.providers.facts import bundled_facts
from deepprompt.text.compare import shared_start
from tests.support.framework_answers import APIS
from tests.support.recorder import Recorded, recorder

TURNS = 6
STATES = ("(clean)", "M app.py", "M app.py", "M app.py", "(clean) after a commit", "(clean) after a commit")
EDITED = "Run the linter before you answer."
TEMPLATE = "Write {{ 7*7 }} and {state} as they are, {% raw %}also this{% endraw %}."
"""A line of AGENTS.md that template engines would change."""

# The extra that installs a framework, and the variable that says that it has to be there.
_EXTRAS = {"google_adk": ("adk", "DEEPPROMPT_NEED_ADK"), "litellm": ("litellm", "DEEPPROMPT_NEED_LITELLM")}
_EXTRAS |= {"claude_agent": ("claude-agent", "DEEPPROMPT_NEED_CLAUDE_AGENT")}
_EXTRAS |= dict.fromkeys(("agent_framework", "openhands", "smolagents"), ("", "DEEPPROMPT_NEED_EXAMPLES"))
_OTHERS = ("frameworks", "DEEPPROMPT_NEED_FRAMEWORKS")

Ask = Callable[[str], object]
Agent = Callable[[str, "Talk"], AbstractContextManager[Ask]]
"""An agent at an address: a function that asks it a question."""


def framework(module: str, name: str = "") -> Any:
    """Return a module that needs a framework. Without it the test is skipped, or fails if it is said to be needed."""
    extra, needed = _EXTRAS.get(name, _OTHERS)
    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks a server for prices when it is imported
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        how = f"pip install -e '.[{extra}]'" if extra else "see .github/workflows/frameworks.yml"
        reason = f"{error.name} is not installed: {how}"
    if os.environ.get(needed):
        pytest.fail(f"{reason} ({needed} is set)")
    pytest.skip(reason)


def example(name: str) -> Agent:
    """Return the agent of `examples/frameworks`."""
    made = framework(f"examples.frameworks.with_{name}", name)
    return lambda url, talk: made.agent(url, talk.tail, talk.prompt, talk.watch)


def prompt_at(turn: int) -> Prompt:
    """Return the prompt before a turn: a file is edited before the second, AGENTS.md before the third."""
    rules = EDITED if turn >= 2 else "Answer briefly."
    return Prompt(
        (
            Part("base", "You are an agent that reads before it writes.\n" * 250, Pace.RELEASE, "assets:base"),
            Part("AGENTS.md", f"\n{TEMPLATE}\n{rules}\n", Pace.PROJECT, "file:AGENTS.md"),
            Part(BOUNDARY_PART, "\n=== BOUNDARY ===\n", Pace.TURN, "deepprompt"),
            Part("git status", STATES[turn], Pace.TURN, "git"),
        )
    )


@dataclass
class Talk:
    """A conversation while it runs: what an agent gets."""

    to: Any
    model: str
    turn: int = 0
    tail: Tail = field(default_factory=lambda: Tail(prompt_at(0)))
    watch: Watch = field(init=False)

    def __post_init__(self) -> None:
        self.watch = Watch(self.to, self.model)

    def prompt(self) -> Prompt:
        """Return the prompt as it is now."""
        return prompt_at(self.turn)


@dataclass(frozen=True)
class Run:
    """What arrived, and what was judged."""

    talk: Talk
    bodies: list[dict[str, Any]]

    @property
    def kept(self) -> float:
        """The share of each request's bytes that the next one begins with, over all of them."""
        kept = sent = 0
        for before, after in pairwise(pieces(body) for body in self.bodies):
            sent += sum(map(len, before))
            for one, other in zip(before, after, strict=False):
                if one != other:
                    kept += shared_start(one, other)
                    break
                kept += len(one)
        return kept / sent

    @property
    def simulation(self) -> Simulation:
        """What a cache would have read of it."""
        return simulated(self.bodies, self.talk)

    @property
    def told(self) -> list[bool]:
        """Whether each request has the edit of AGENTS.md."""
        return [EDITED in json.dumps(pieces(body)) for body in self.bodies]

    @property
    def marked(self) -> set[str]:
        """The places of the last request that have a mark, without their numbers."""
        places = [segment.place for segment in read_request(self.bodies[-1]) if segment.mark is not None]
        return {place.partition("[")[0].partition(".")[0] for place in places}


def simulated(bodies: list[dict[str, Any]], talk: Talk) -> Simulation:
    """Return what a provider's cache does with some bodies."""
    facts = bundled_facts()
    return simulate(bodies, facts.rules(facts.behind(talk.to, talk.model), talk.model))


def run(agent: Agent, api: str, model: str, *, streams: bool = False, **named: str) -> Run:
    """Run six turns of an agent against loopback. `named` are the names of its tool and of its last one."""
    shape = APIS[api]
    talk = Talk(shape.to, model)
    bodies: list[dict[str, Any]] = []

    def respond(request: Recorded) -> tuple[str, bytes]:
        if shape.path not in request.path or not is_conversation(request.body):
            return "application/json", b"{}"
        bodies.append(request.body)
        turn, number = divmod(len(bodies) - 1, 2)
        usage = shape.usage(simulated(bodies, talk).charges[-1])
        return shape.spelled(shape.answers(turn, **named)[number], usage, streams=streams)

    with recorder() as server:
        server.respond = respond
        with agent(server.url, talk) as ask:
            for talk.turn in range(TURNS):
                ask(f"question {talk.turn}")
    return Run(talk, bodies)


def is_conversation(body: Mapping[str, Any]) -> bool:
    """Whether a request is one of the conversation: a CLI also asks for titles, and counts tokens."""
    return "tools" in body


def check(found: Run, *, marks: set[str], verdicts: bool = True) -> None:
    """Hold that each request begins with the whole one before it, that every edit is told, and that all is a hit."""
    assert len(found.bodies) == 2 * TURNS
    for before, after in pairwise(found.bodies):
        start = pieces(before)
        assert pieces(after)[: len(start)] == start
    assert found.kept == 1
    texts = [json.dumps(pieces(body)) for body in found.bodies]
    assert found.told == [number >= 4 for number in range(12)]
    assert [STATES[1] in text for text in texts] == [number >= 2 for number in range(12)]
    assert [STATES[4] in text for text in texts] == [number >= 8 for number in range(12)]
    assert texts[-1].count(EDITED) == 1
    assert json.dumps(TEMPLATE)[1:-1] in texts[0]
    assert found.marked == marks
    if verdicts:
        until = time.monotonic() + 5
        while len(found.talk.watch.verdicts) < len(found.bodies) and time.monotonic() < until:
            time.sleep(0.01)  # LiteLLM reports from threads
        assert [str(verdict.kind) for verdict in found.talk.watch.verdicts] == ["cold start", *["hit"] * 11]


def pieces(body: Mapping[str, Any]) -> list[str]:
    """Return a request in the order of a cache, without marks; a text is a list of one block."""
    found = [_plain(tool) for tool in body.get("tools", ())]
    system = body.get("system") or body.get("instructions") or body.get("systemInstruction") or ""
    found += [_plain(block) for block in _blocks(system)]
    for message in body.get("messages") or body.get("input") or body.get("contents") or ():
        head = {key: value for key, value in message.items() if key not in ("content", "parts")}
        inner = message.get("content") or message.get("parts") or ""
        found += [_plain({**head, "block": block}) for block in _blocks(inner)]
    return found


def _blocks(content: Any) -> list[Any]:
    content = content.get("parts", content) if isinstance(content, dict) else content
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _plain(value: Any) -> str:
    return json.dumps(_unmarked(value), sort_keys=True)


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        marks = ("cache_control", "prompt_cache_breakpoint")
        return {key: _unmarked(item) for key, item in value.items() if key not in marks}
    return [_unmarked(item) for item in value] if isinstance(value, list) else value
