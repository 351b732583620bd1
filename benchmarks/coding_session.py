"""A coding session to measure with: the same fifty turns every time, in two layouts.

`coding_session` invents what is said and what the project looks like, out of a seed and of no clock. A turn is a user's
message, one to four tool calls with their results, and an answer: one request for the message and one after each round
of calls, as an agent's loop makes them. `session_layout` sends it as a `Session`; `build_layout` as the builder's
`build()` has it: the project's state at the end of the system prompt, which is rebuilt each turn.
"""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from deepprompt import InstructionFile, ProjectContext, Session, SystemPromptBuilder, build_request, tool_definitions
from deepprompt.checks.segments import read_request
from deepprompt.prompt import Prompt
from deepprompt.providers.segments import Segment
from deepprompt.words import Target

TURNS = 50
PREFIX_BYTES = 25_000
TOOLS = ("Agent", "Bash", "Edit", "Glob", "Grep", "Read", "TodoWrite", "WebFetch", "Write")
BREAK = 45 * 60.0
"""How long nobody worked before the session was resumed: longer than Anthropic's and OpenAI's entries live."""

Message = dict[str, Any]

_FOLDER = "/project"
_FILES = tuple(
    f"{folder}/{name}.py"
    for folder in ("src/tracker", "src/tracker/api", "tests")
    for name in ("store", "schema", "events", "retry", "limits", "report", "users", "tokens")
)
_VERBS = ("moves", "checks", "rejects", "returns", "keeps", "reads", "writes", "merges", "closes", "retries")
_NOUNS = (
    "the request", "a stale row", "the open handle", "each event", "the lock file", "an empty page", "the last cursor",
    "a user's token", "the retry budget", "the rate limit", "the schema version", "a partial batch", "the audit record",
)  # fmt: skip
_WHEN = (
    "before the transaction ends", "when the queue is full", "on the second attempt", "only after a timeout",
    "without taking the lock", "for every tenant", "if the clock goes back", "as the API promises", "once per session",
)  # fmt: skip
_ASKS = (
    "Please look at {file}. {said}",
    "The test of {file} fails on CI but not here. {said}",
    "Now do the same for {file}, and tell me what else would break. {said}",
    "Why is {file} written like that? {said}",
    "Good. Next is {file}; change it and run the tests. {said}",
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn: the prompt when it begins, the messages before each of its requests, and the answer that ends it."""

    number: int
    moved: tuple[str, ...]
    """What is not as it was a turn ago: `git`, `AGENTS.md`, `midnight`, `resume`."""
    prompt: Prompt
    rounds: tuple[tuple[Message, ...], ...]
    answer: Message
    times: tuple[float, ...]
    """When each request is started, in seconds."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One request as a cache reads it, and the turn and time of it."""

    turn: int
    at: float
    segments: list[Segment]


def coding_session(
    turns: int = TURNS, *, seed: int = 1, tools: tuple[str, ...] = TOOLS, most_calls: int = 4
) -> list[Turn]:
    """Return a session in which git moves in 60 % of the turns, and AGENTS.md, the date and the process once each."""
    rng = random.Random(seed)
    names = ("DEEPSEEK.md", "AGENTS.md", ".deepseek/instructions.md")
    instructions = [InstructionFile(f"{_FOLDER}/{name}", _guide(rng, 3_700)) for name in names]
    room = PREFIX_BYTES - len(SystemPromptBuilder(instructions=instructions).compose().static_prefix) - len("\n\n")
    house_rules = _guide(rng, room)
    definitions = tuple(tool_definitions(tools))
    git_moves = set(rng.sample(range(2, turns + 1), min(turns - 1, round(turns * 0.6))))
    edited, resumed, midnight = (max(2, round(turns * share)) for share in (0.36, 0.6, 0.8))
    files: dict[str, list[int]] = {}
    project = ProjectContext(
        cwd=_FOLDER,
        current_date="2026-11-15",
        active_branch="retry-budget",
        os_name="linux",
        os_version="6.8.0",
        shell="/bin/bash",
    )
    found = []
    clock = 0.0
    for number in range(1, turns + 1):
        moved = []
        clock += BREAK if number == resumed else rng.uniform(15, 240)  # the user thinks and types
        if number in git_moves:
            moved.append("git")
        if number == 1 or number in git_moves:
            _work(rng, files)
            project = replace(project, git_status=_status(files), git_diff=_diff(files))
        if number == edited:
            moved.append("AGENTS.md")
            instructions[1] = replace(instructions[1], content=f"{instructions[1].content}- {_sentence(rng)}\n")
        if number == midnight:
            moved.append("midnight")
            project = replace(project, current_date="2026-11-16")
        if number == resumed:
            moved.append("resume")
        builder = SystemPromptBuilder(instructions=instructions, project=project, append=house_rules)
        prompt = replace(builder.compose(), tools=definitions)
        rounds = _rounds(rng, number, most_calls)
        times = []
        for _ in rounds:
            times.append(clock)
            clock += rng.uniform(4, 15)  # the model answers, the tools run
        answer = {"role": "assistant", "content": _prose(rng, 3, 7)}
        found.append(Turn(number, tuple(moved), prompt, rounds, answer, tuple(times)))
    return found


def session_layout(turns: list[Turn], *, to: Target, model: str, **options: Any) -> Iterator[Sent]:
    """Yield the requests as a `Session` makes them; `options` are those of its `request`."""
    session = Session(turns[0].prompt)
    for turn in turns:
        if "resume" in turn.moved:
            session = _resumed(session)
        (opening,), *rounds = turn.rounds
        session.user(opening, turn.prompt)
        for at, added in zip(turn.times, [(), *rounds], strict=True):
            session.extend(added)
            yield Sent(turn.number, at, read_request(session.request(to=to, model=model, **options).body))
        session.append(turn.answer)


def build_layout(turns: list[Turn], *, to: Target, model: str, **options: Any) -> Iterator[Sent]:
    """Yield the same requests with the project's state in the system prompt, marked as well as they can be."""
    messages: list[Message] = []
    for turn in turns:
        for at, added in zip(turn.times, turn.rounds, strict=True):
            messages += added
            request = build_request(turn.prompt, messages, to=to, model=model, **options)
            yield Sent(turn.number, at, read_request(request.body))
        messages.append(turn.answer)


def _resumed(session: Session) -> Session:
    """Return a session as another process finds it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "session.json")
        session.save(path)
        return Session.load(path)


def _rounds(rng: random.Random, turn: int, most_calls: int) -> tuple[tuple[Message, ...], ...]:
    """Return what is said before each request of a turn: the user's message, then calls with their results."""
    ask = rng.choice(_ASKS).format(file=rng.choice(_FILES), said=_prose(rng, 1, 3))
    rounds: list[tuple[Message, ...]] = [({"role": "user", "content": ask},)]
    calls = [_call(rng, f"call_{turn}_{number}") for number in range(rng.randint(min(1, most_calls), most_calls))]
    while calls:
        size = rng.choice((1, 1, 1, 2))
        now, calls = calls[:size], calls[size:]
        said = {"role": "assistant", "content": _sentence(rng), "tool_calls": [call for call, _ in now]}
        rounds.append((said, *(result for _, result in now)))
    return tuple(rounds)


def _call(rng: random.Random, call_id: str) -> tuple[Message, Message]:
    """Return a tool call and its result."""
    file = rng.choice(_FILES)
    name = rng.choice(("Read", "Grep", "Edit", "Bash"))
    given, output = {
        "Read": ({"file_path": f"{_FOLDER}/{file}", "offset": rng.randint(1, 400), "limit": 8}, _code(rng, 3, 9)),
        "Grep": ({"pattern": rng.choice(_VERBS), "path": f"{_FOLDER}/src"}, _hits(rng)),
        "Edit": (
            {"file_path": f"{_FOLDER}/{file}", "old_string": _code(rng, 1, 2), "new_string": _code(rng, 1, 3)},
            f"The file {_FOLDER}/{file} has been updated.",
        ),
        "Bash": ({"command": f"python -m pytest -q {file}", "description": "Run the tests"}, _test_run(rng, file)),
    }[name]
    function = {"name": name, "arguments": json.dumps(given)}
    call = {"id": call_id, "type": "function", "function": function}
    return call, {"role": "tool", "tool_call_id": call_id, "content": output}


def _work(rng: random.Random, files: dict[str, list[int]]) -> None:
    """Edit one to three files, or, when there are many, commit them."""
    if len(files) > 9 and rng.random() < 0.5:
        files.clear()
        return
    for file in rng.sample(_FILES, rng.randint(1, 3)):
        lines = files.setdefault(file, [0, 0])
        lines[0] += rng.randint(1, 25)
        lines[1] += rng.randint(0, 12)


def _status(files: dict[str, list[int]]) -> str:
    return "".join(f" M {file}\n" for file in sorted(files))


def _diff(files: dict[str, list[int]]) -> str:
    """Return the files as `git diff --stat` shows them."""
    if not files:
        return ""
    width = max(map(len, files))
    lines = [f" {file:{width}} | {sum(files[file]):3} {_bar(*files[file])}\n" for file in sorted(files)]
    added, removed = (sum(counts[side] for counts in files.values()) for side in (0, 1))
    return "".join(lines) + f" {len(files)} files changed, {added} insertions(+), {removed} deletions(-)\n"


def _bar(added: int, removed: int) -> str:
    return "+" * min(added, 24) + "-" * min(removed, 12)


def _sentence(rng: random.Random) -> str:
    return f"It {rng.choice(_VERBS)} {rng.choice(_NOUNS)} {rng.choice(_WHEN)}."


def _prose(rng: random.Random, least: int, most: int) -> str:
    return " ".join(_sentence(rng) for _ in range(rng.randint(least, most)))


def _guide(rng: random.Random, size: int) -> str:
    """Return rules for a project, in a text of so many bytes."""
    text = ""
    while len(text) < size:
        text += f"## {rng.choice(_NOUNS).capitalize()}\n" + "".join(f"- {_sentence(rng)}\n" for _ in range(6)) + "\n"
    return text[: size - 1] + "\n"


def _code(rng: random.Random, least: int, most: int) -> str:
    words = [noun.split()[-1] for noun in _NOUNS]
    return "".join(
        f"    {rng.choice(words)} = {rng.choice(_VERBS)}({rng.choice(words)}, {rng.randint(0, 99)})\n"
        for _ in range(rng.randint(least, most))
    )


def _hits(rng: random.Random) -> str:
    hits = [f"{rng.choice(_FILES)}:{rng.randint(1, 400)}:{_code(rng, 1, 1)}" for _ in range(rng.randint(1, 6))]
    return "".join(hits)


def _test_run(rng: random.Random, file: str) -> str:
    passed, failed = rng.randint(4, 60), rng.choice((0, 0, 1))
    report = f"FAILED {file}::test_{rng.choice(_VERBS)} - AssertionError: {_sentence(rng)}\n" if failed else ""
    return f"{'.' * passed}{'F' * failed}\n{report}{passed} passed, {failed} failed in {rng.uniform(0.2, 9):.2f}s\n"
