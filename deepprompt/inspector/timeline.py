"""The view of a session, a transcript or a log: what each turn read, wrote and paid for in full.

The charges are those of the simulated cache, beside them what was recorded, where it was. Why a request could not be
read from what the one before it left is found by comparing the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from deepprompt.checks.blame.blame import Blame, blame
from deepprompt.checks.explain import Explanation
from deepprompt.counters import size_of
from deepprompt.inspector.page import label_of
from deepprompt.inspector.views import View, cause_of, prompt_view
from deepprompt.providers.segments import Segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.checks.cache.simulate import Charge, Simulation
    from deepprompt.session.transcript import Answer

_FINE = ("hit", "cold start", "")
# Some of what two requests share stands after the last mark. Reading this share of it is not a miss.
_ENOUGH = 0.85


def timeline_view(
    title: str,
    requests: Sequence[Sequence[Segment]],
    result: Simulation,
    last: Explanation,
    *,
    times: Sequence[float] = (),
    answers: Mapping[int, Answer] | None = None,
    assumed: Sequence[str] = (),
    labels: Sequence[str] = (),
    doubts: Sequence[str] = (),
) -> View:
    """Return a conversation. The text of `last`, its last request, is shown; `labels` describe each turn.

    `doubts` say why the turns may not be what happened.
    """
    answers = answers or {}
    causes = [None, *(_cause(before, after) for before, after in pairwise(requests))]
    turns = []
    for number, (charge, cause) in enumerate(zip(result.charges, causes, strict=True)):
        turn = _turn(number, charge, cause, _kept(result, requests, number, cause), answers.get(number))
        turn |= {"at": times[number] - times[0]} if times else {}
        turns.append(turn | ({"label": label_of(labels[number])} if labels else {}))
    rules = result.rules
    return {
        "kind": "session",
        "title": label_of(title),
        "provider": label_of(rules.provider),
        "model": label_of(rules.model),
        "facts": label_of(rules.as_of),
        "turns": turns,
        "input": result.total,
        "read": result.read,
        "read_share": result.read_share,
        "price": result.price if rules.caching != "automatic" or rules.read_price != 1.0 else None,
        "recorded": len(answers),
        "assumed": [label_of(sentence) for sentence in assumed],
        "doubts": [label_of(sentence) for sentence in doubts],
        "last": prompt_view(last, "the last request"),
    }


def _turn(number: int, charge: Charge, cause: Blame | None, kept: int, answer: Answer | None) -> View:
    unread = number > 0 and bool(charge.why) and charge.read < _ENOUGH * kept
    missed = cause is not None or unread or (answer is not None and answer.kind not in _FINE)
    turn: View = {
        "read": charge.read,
        "written": sum(charge.written.values()),
        "full": charge.full,
        "why": label_of(charge.why),
        "kept": kept,
        "miss": missed,
        "cause": None if cause is None else cause_of(cause),
    }
    if answer is not None:
        usage = answer.usage
        turn["recorded"] = {
            "read": usage.cached_read,
            "written": usage.written,
            "full": usage.uncached,
            "kind": label_of(answer.kind),
            "detail": label_of(answer.detail),
        }
    return turn


def _kept(result: Simulation, requests: Sequence[Sequence[Segment]], number: int, cause: Blame | None) -> int:
    """Return the tokens that a request shares with the start of the one before it, counted as the simulation does."""
    if number == 0:
        return 0
    before, now = result.charges[number - 1].total, result.charges[number].total
    if cause is None:
        return min(before, now)
    size = sum(size_of(segment.text) for segment in requests[number] if segment.kind != "setting")
    return min(now, now * cause.offset // size) if size else 0


def _cause(before: Sequence[Segment], after: Sequence[Segment]) -> Blame | None:
    """Return why a request does not begin with the one before it. Most do, and then no full comparison is needed."""
    if len(before) <= len(after) and all(map(_same, before, after)):
        return None
    return blame(list(before), list(after))


def _same(one: Segment, two: Segment) -> bool:
    return (one.kind, one.role, one.text) == (two.kind, two.role, two.text) and (
        one.kind != "setting" or one.place == two.place
    )
