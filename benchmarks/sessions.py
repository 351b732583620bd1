"""What a fifty-turn coding session reads from each provider's cache, in two layouts, and what a turn costs in time.

Run `python -m benchmarks.sessions`. It ends with 1 if a target is missed: 98.5 % of the input tokens after the first
turn read from the cache under the rules of Anthropic, OpenAI, DeepSeek and vLLM; at most 6 % more input than with the
project's state in the system prompt; ten messages appended to ten thousand in 2 % of the time that building them all
takes. Prices are multiples of what the same input costs without a cache.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.coding_session import BREAK, PREFIX_BYTES, Message, Turn, build_layout, coding_session, session_layout
from deepprompt import Session
from deepprompt.checks.cache.simulate import Simulation, simulate
from deepprompt.providers.facts import bundled_facts
from deepprompt.words import Target

LEAST_READ = 0.985
MOST_INPUT = 0.06
MOST_TIME = 0.02
RUNS = 7


@dataclass(frozen=True, slots=True)
class Case:
    """By whose rules a session is measured, which request is built for it, and whether it has a target to meet."""

    name: str
    provider: str
    to: Target
    model: str
    has_target: bool = False


ENGINE: tuple[Target, str] = ("litellm", "hosted_vllm/any-model")
CASES = (
    Case("Anthropic", "anthropic", "anthropic", "claude-opus-5-5", True),
    Case("OpenAI Chat", "openai", "openai", "gpt-5.6-sol", True),
    Case("OpenAI Responses", "openai-responses", "openai-responses", "gpt-5.6-sol", True),
    Case("DeepSeek", "deepseek", "deepseek", "deepseek-v4-pro", True),
    Case("Gemini", "gemini", "gemini", "gemini-3.8-flash"),
    Case("vLLM", "vllm", *ENGINE, True),
    Case("SGLang", "sglang", *ENGINE),
    Case("llama.cpp", "llama.cpp", *ENGINE),
)
TIMED: tuple[tuple[Target, str], ...] = (
    ("anthropic", "claude-opus-5-5"),
    ("bedrock", "anthropic.claude-opus-5-5"),
    ("deepseek", "deepseek-v4-pro"),
    ("gemini", "gemini-3.8-flash"),
    ("openai", "gpt-5.6-sol"),
    ("openai-responses", "gpt-5.6-sol"),
    ENGINE,
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one layout came to: the part of the input after the first turn that was read, and the whole simulation."""

    read: float
    simulation: Simulation

    @property
    def price(self) -> str:
        """The price; engines have none."""
        return f"{self.simulation.price:.3f}" if self._is_paid else "-"

    @property
    def bill(self) -> float:
        """What all input costs, in tokens at the plain price; of an engine, what it evaluates."""
        simulation = self.simulation
        return simulation.paid if self._is_paid else float(simulation.total - simulation.read)

    @property
    def _is_paid(self) -> bool:
        return self.simulation.rules.read_price < 1


def measure(turns: list[Turn], case: Case) -> tuple[Measured, Measured]:
    """Return what the two layouts come to."""
    rules = bundled_facts().rules(case.provider, case.model)
    measured = []
    for layout in (session_layout, build_layout):
        sent = list(layout(turns, to=case.to, model=case.model))
        simulation = simulate([one.segments for one in sent], rules, times=[one.at for one in sent])
        later = [charge for charge, one in zip(simulation.charges, sent, strict=True) if one.turn > 1]
        measured.append(
            Measured(sum(charge.read for charge in later) / sum(charge.total for charge in later), simulation)
        )
    return measured[0], measured[1]


def caching(turns: list[Turn]) -> list[str]:
    """Print what both layouts read and cost under each provider's rules; return the targets that were missed."""
    print("                                          session            in the prompt")
    print("rules             model                read after  price    read after  price   bill")
    missed = []
    assumed: dict[str, list[str]] = {}
    more = 0.0
    for case in CASES:
        ours, other = measure(turns, case)
        name = "any" if (case.to, case.model) == ENGINE else case.model
        print(
            f"{case.name:<18}{name:<20}{100 * ours.read:8.2f} % {ours.price:>6}    {100 * other.read:8.2f} % "
            f"{other.price:>6} {ours.bill / other.bill:6.2f}"
        )
        more = max(more, ours.simulation.total / other.simulation.total - 1)
        if case.has_target and ours.read < LEAST_READ:
            missed.append(f"{case.name}: {100 * ours.read:.2f} % read, {100 * LEAST_READ:g} % wanted")
        for sentence in ours.simulation.assumed:
            assumed.setdefault(sentence, []).append(case.name)
    if more > MOST_INPUT:
        missed.append(f"{more:.2%} more input in all, {MOST_INPUT:.0%} at most wanted")
    print("in the prompt: as build() has it, the project's state at the end of the system prompt, rebuilt each turn.")
    print("read after: of the input tokens after the first turn. bill: what the session costs where the other layout")
    print("costs 1; for engines, the tokens they evaluate. What the session told the model of the project stays in it,")
    print(f"up to {more:.1%} more input in all: the bill has that too.")
    print(f"By the facts of {bundled_facts().as_of}. Assumed beside them:")
    for sentence, names in assumed.items():
        print(f"- {sentence}" + ("" if len(names) == len(CASES) else f" ({', '.join(names)})"))
    return missed


def library_time(turn: Turn) -> list[str]:
    """Print the time for ten more messages over that for ten thousand; return the targets that were missed."""
    print("\nTen messages appended to ten thousand, and a request: its time over that of building them all.")
    missed = []
    for to, model in TIMED:
        ten, whole = time_of_ten_more(turn, to, model)
        share = ten / whole
        print(f"{to:<18}{1000 * ten:7.2f} ms of {1000 * whole:7.0f} ms{share:9.2%}")
        if share > MOST_TIME:
            missed.append(f"{to}: ten messages take {share:.2%} of ten thousand, at most {MOST_TIME:.0%} wanted")
    return missed


def time_of_ten_more(turn: Turn, to: Target, model: str, runs: int = 3) -> tuple[float, float]:
    """Return the median times of ten messages more with their request, and of building all ten thousand."""
    whole = [_seconds(_Growing(turn, to, model).build) for _ in range(runs)]
    growing = _Growing(turn, to, model)
    growing.build()
    ten = [_seconds(growing.append_ten) for _ in range(RUNS)]
    return statistics.median(ten), statistics.median(whole)


def grown(turn: Turn, to: Target, model: str) -> Session:
    """Return a session of ten thousand messages."""
    growing = _Growing(turn, to, model)
    growing.build()
    return growing.session


class _Growing:
    """A session that grows to ten thousand messages, and then by ten."""

    def __init__(self, turn: Turn, to: Target, model: str) -> None:
        self.turn, self.to, self.model = turn, to, model
        self.made = 0

    def build(self) -> None:
        self.session = Session(self.turn.prompt)
        self.session.user(self._text(), self.turn.prompt)  # two messages: the project's state stands before it
        self.session.extend(self._calls())
        for _ in range(999):
            self._ten()
        self.session.request(to=self.to, model=self.model)
        if len(self.session.messages) != 10_000:
            raise SystemExit(f"{len(self.session.messages)} messages")

    def append_ten(self) -> None:
        self._ten(self.turn)
        self.session.request(to=self.to, model=self.model)

    def _ten(self, turn: Turn | None = None) -> None:
        """Say ten messages: an answer, the user's next message, four calls with their results."""
        self.session.append({"role": "assistant", "content": self._text()})
        self.session.user(self._text(), turn.prompt if turn else None)
        self.session.extend(self._calls())

    def _calls(self) -> list[Message]:
        said: list[Message] = []
        for _ in range(4):
            function = {"name": "Read", "arguments": f'{{"file_path": "/project/{self.made}.py"}}'}
            call = {"id": f"call_{self.made}", "type": "function", "function": function}
            said.append({"role": "assistant", "content": None, "tool_calls": [call]})
            said.append({"role": "tool", "tool_call_id": call["id"], "content": self._text()})
        return said

    def _text(self) -> str:
        self.made += 1
        return f"Message {self.made}. " + "The retry budget is read before the lock is taken. " * 4


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main() -> int:
    """Run both; return 1 if a target is missed."""
    turns = coding_session()
    requests = sum(len(turn.rounds) for turn in turns)
    print(
        f"{len(turns)} turns, {requests} requests, a prefix of {PREFIX_BYTES // 1000} KB and tools of "
        f"{sum(len(json.dumps(tool)) for tool in turns[0].prompt.tools) / 1000:.0f} KB; git moves in "
        f"{sum('git' in turn.moved for turn in turns)} turns,\nAGENTS.md and the date in one each; pauses of up to "
        f"four minutes, and one of {BREAK / 60:.0f} after which the session is resumed.\n"
    )
    missed = [*caching(turns), *library_time(turns[0])]
    print("\nEvery target is met." if not missed else "\nMissed:\n" + "\n".join(missed))
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
