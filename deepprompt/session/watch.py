"""`Watch`: what a provider's cache did with requests that somebody else builds, and the cause of each miss."""

from __future__ import annotations

import json
from collections.abc import Mapping

from deepprompt.checks.cache.simulate import Charge, Simulation, Simulator
from deepprompt.checks.segments import read_request
from deepprompt.errors import MessageError
from deepprompt.providers.facts import Facts, bundled_facts
from deepprompt.providers.segments import Segment
from deepprompt.providers.usage import Usage, read_usage
from deepprompt.request.marks import Mark
from deepprompt.request.request import Request
from deepprompt.session.messages import plain_json
from deepprompt.session.record import Verdict, judge
from deepprompt.tokens import estimate_tokens
from deepprompt.words import Target

_WHY = "as it was sent"


class Watch:
    """The requests of one conversation, to one provider and model, as a framework sends them.

    Use one for each conversation: a subagent has its own. Raises `MessageError` without a model.
    """

    def __init__(self, to: Target, model: str, *, facts: Facts | None = None) -> None:
        facts = bundled_facts() if facts is None else facts
        if not isinstance(model, str) or not model.strip():
            raise MessageError("Watch: model is the name of a model, such as claude-sonnet-4-5")
        self.to, self.model = to, model
        self._rules = facts.rules(facts.behind(to, model), model)
        self._simulator = Simulator(self._rules)
        self._charges: list[Charge] = []
        self._previous: Request | None = None
        self._at: float | None = None
        self.verdicts: list[Verdict] = []
        """The verdicts so far, in order."""

    def saw(self, body: Mapping[str, object], usage: object, at: float | None = None) -> Verdict:
        """Return what the cache did with a request, and why.

        `body` is the JSON that was sent. `usage` is the response, its usage in any provider's or framework's form that
        `read_usage` takes, or a `Usage`. `at` is when the request was started, in seconds; without it, expiry is not
        considered. Raises `MessageError` for a body that is not a request, and `UsageError` for a response without
        usage.
        """
        if not isinstance(body, Mapping):
            raise MessageError(f"Watch.saw: body is the JSON of a request, not {type(body).__name__}")
        counted = usage if isinstance(usage, Usage) else read_usage(usage)
        kept = json.loads(plain_json(body))  # frameworks go on with the same lists
        segments = read_request(kept)
        tokens, marks = self._measure(segments)
        current = Request(self.to, self.model, kept, marks, (), self._rules, tokens)
        elapsed = at - self._at if at is not None and self._at is not None else None
        verdict = judge(self._previous, current, counted, elapsed=elapsed, said=usage)
        self._charges.append(self._simulator.add(segments, at))
        self._previous, self._at = current, at
        self.verdicts.append(verdict)
        return verdict

    @property
    def simulation(self) -> Simulation:
        """What each request should have read and written, by the provider's published rules."""
        return Simulation(self._rules, tuple(self._charges), self._simulator.assumed)

    def _measure(self, segments: list[Segment]) -> tuple[int, tuple[Mark, ...]]:
        """Return the tokens of a request, by estimate, and its marks."""
        tokens, marks = 0, []
        for segment in segments:
            tokens += estimate_tokens(segment.text)
            if segment.mark is not None:
                lifetime = segment.mark or (*self._rules.lifetimes, "")[0]
                marks.append(Mark(segment.place, _WHY, lifetime, tokens))
        return tokens, tuple(marks)
