"""The perturbation test: whether a function's static prefix stays the same when its surroundings change.

The function is called many times, each time in a fresh process and with one thing changed (a move, see `moves`). A
static prefix that changes with it is a finding: it names the move, the part and the first difference. Changes after the
prefix are allowed, and only reported. So are changes of a part of pace SESSION with the machine, the folder or the day.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import asdict, dataclass, replace

from deepprompt.checks.blame.blame import Blame, blame
from deepprompt.checks.perturb.moves import MOVES, Move, plan_moves, starting_point
from deepprompt.checks.static import split_static
from deepprompt.errors import CallError, MessageError, SourceError
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY, Pace
from deepprompt.providers.segments import Segment
from deepprompt.sources.checkout import MOST_BYTES
from deepprompt.sources.function import Function, Scene, call_function, find_function
from deepprompt.sources.private import private_folder
from deepprompt.text.display import display
from deepprompt.text.secrets import redact

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.words import MoveKind

_ALWAYS = "again"
_DOUBTS = 3  # how often the same call is repeated after a finding, in case the function is random
_MOST_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Outcome:
    """The effect of one move on the prompt."""

    kind: MoveKind
    said: str
    moved: Blame | None = None
    """The first difference in the static prefix; None if there is none."""
    failed: str = ""
    """How the function failed, if it did."""
    skipped: str = ""
    """Why the move was skipped, if it was."""
    changing: tuple[str, ...] = ()
    """The parts after the static prefix that changed, for information."""

    @property
    def stable(self) -> bool:
        """Whether the static prefix stayed the same."""
        return self.moved is None and not self.failed


@dataclass(frozen=True, slots=True)
class Stability:
    """The effect of all moves on the prompt of a function."""

    target: str
    prefix_bytes: int
    outcomes: tuple[Outcome, ...]
    advice: str = ""
    """What may help, if the prefix changed."""

    @property
    def stable(self) -> bool:
        """Whether no move changed the static prefix."""
        return all(outcome.stable for outcome in self.outcomes)

    @property
    def unstable(self) -> tuple[Outcome, ...]:
        """The moves that changed the static prefix, or made the function fail."""
        return tuple(outcome for outcome in self.outcomes if not outcome.stable)

    def report(self) -> str:
        """Return the result in lines for a person."""
        made = [outcome for outcome in self.outcomes if not outcome.skipped]
        verdict = (
            f"changed in {len(self.unstable)} of {len(made)}" if self.unstable else f"is the same in all {len(made)}"
        )
        lines = [f"{self.target}: the static prefix ({self.prefix_bytes:,} bytes) {verdict} surroundings"]
        for outcome, others in _by_kind(self.unstable):
            lines += _difference(outcome)
            lines += [f"    also   {', '.join(others)}"] if others else []
        behind: dict[str, list[str]] = {}
        for outcome in made:
            for part in outcome.changing:
                kinds = behind.setdefault(part, [])
                kinds += [outcome.kind] if outcome.kind not in kinds else []
        for part, kinds in behind.items():
            # A part that is never the same twice changes with every move; the list would say nothing.
            lines.append(
                f"  {display(part)} may change, and changed with: {', '.join(kinds[:1] if _ALWAYS in kinds else kinds)}"
            )
        skipped: dict[str, list[str]] = {}
        for outcome in self.outcomes:
            kinds = skipped.setdefault(outcome.skipped, [])
            kinds += [outcome.kind] if outcome.kind not in kinds else []
        lines += [f"  skipped: {', '.join(kinds)}: {display(why)}" for why, kinds in skipped.items() if why]
        lines += [f"  {self.advice}"] if self.advice else []
        return "\n".join(lines)

    def as_json(self) -> dict[str, object]:
        """Return the result with all its outcomes, for JSON."""
        outcomes = [
            {"stable": outcome.stable, **{key: value for key, value in asdict(outcome).items() if value}}
            for outcome in self.outcomes
        ]
        return {
            "target": self.target,
            "stable": self.stable,
            "prefix_bytes": self.prefix_bytes,
            "outcomes": outcomes,
            **({"advice": self.advice} if self.advice else {}),
        }


def perturb(
    target: str | Callable[[], object] | Function,
    *,
    folder: str = ".",
    boundary: str = DYNAMIC_CONTEXT_BOUNDARY,
    skip: Iterable[MoveKind] = (),
    timeout: float = 60.0,
) -> Stability:
    """Call a function in changed surroundings, and return whether its static prefix stays the same.

    `target` is a function at the top of a module, or its name as `module:function`; it is called without arguments.
    `folder` is its project: it is called there, and copied for the moves that need it. `skip` names moves of `MOVES`.
    Raises `CallError` if the function cannot be called or returns no prompt, and `SourceError` for an unknown folder or
    move.
    """
    for kind in skip:
        if kind not in MOVES or kind == _ALWAYS:
            raise SourceError(f"no move {kind!r} to skip; there are: {', '.join(k for k in MOVES if k != _ALWAYS)}")
    if not os.path.isdir(folder):
        raise SourceError(f"{folder}: no such folder")
    function = target if isinstance(target, Function) else find_function(target, os.path.abspath(folder))
    start = starting_point(folder)
    caller = _Caller(boundary, timeout)
    base = caller.call(function, start)
    base.check(function)
    # The real path, so that a function that resolves paths does not see two of them.
    with private_folder(MOST_BYTES, programs=True) as private:
        again, *moves = plan_moves(function, start, os.path.realpath(private), frozenset(skip))
        first, *outcomes = caller.outcomes([again, *moves], base)
        if first.stable and not all(outcome.stable for outcome in outcomes):
            doubts = caller.outcomes([again] * _DOUBTS, base)
            first = next((doubt for doubt in doubts if not doubt.stable), first)
    if not first.stable:  # every move would show a difference, which proves nothing
        outcomes = [
            Outcome(move.kind, move.said, skipped="it is not the same twice even without a change") for move in moves
        ]
    result = Stability(str(function), base.size, (first, *outcomes))
    return result if result.stable else replace(result, advice=base.advice)


class _Caller:
    """Calls a function in several surroundings at once, and compares the prompts."""

    def __init__(self, boundary: str, timeout: float) -> None:
        self.boundary, self.timeout = boundary, timeout
        self.given_up = threading.Event()
        self.in_copy: dict[str, _Sides] = {}
        """The prompt that was made in a copy, by its folder, before a move changes the copy."""

    def call(self, function: Function, surroundings: Scene) -> _Sides:
        """Return the prompt that a function makes in the given surroundings."""
        value = call_function(function, surroundings, self.timeout, give_up=self.given_up.is_set)
        try:
            return _Sides(value, self.boundary)
        except MessageError as error:
            raise CallError(f"what it returned is no prompt: {error}", function) from None

    def outcomes(self, moves: Sequence[Move], base: _Sides) -> list[Outcome]:
        """Return the outcome of each move, in order; or only of some, as soon as a call is not the same again."""
        found: dict[int, Outcome] = {}

        def note(numbers: Sequence[int]) -> None:
            for number in numbers:
                if all(outcome.stable for outcome in found.copy().values() if outcome.kind == _ALWAYS):
                    found[number] = self.outcome(moves[number], base)

        # The moves in the copy come one after the other, as the last one changes it; and first, as they take longest.
        in_copy = [number for number, move in enumerate(moves) if move.copied]
        others = [[number] for number, move in enumerate(moves) if not move.copied]
        with ThreadPoolExecutor(min(os.cpu_count() or 1, _MOST_AT_ONCE)) as pool:
            try:
                list(pool.map(note, [in_copy, *others]))
                return [found[number] for number in sorted(found)]
            except BaseException:  # such as an interrupt: stop everything that was started
                self.given_up.set()
                pool.shutdown(cancel_futures=True)
                raise

    def outcome(self, move: Move, base: _Sides) -> Outcome:
        """Return the outcome of one move."""
        function, skipped = move.copied() if move.copied else (move.function, "")
        folder = move.surroundings.folder
        if move.then is not None and not skipped:
            try:
                base = self.in_copy.get(folder) or self.call(function, move.surroundings)
                move.then()
            except CallError as error:
                skipped = f"it fails even before that: {error.reason}"
        if skipped:
            return Outcome(move.kind, move.said, skipped=skipped)
        try:
            sides = self.call(function, move.surroundings)
        except CallError as error:
            return Outcome(move.kind, move.said, failed=error.reason)
        if move.copied and move.then is None:
            self.in_copy[folder] = sides
        if move.of_session:
            base, sides = base.without_session(), sides.without_session()
        moved = _first_difference(base.static, sides.static)
        return Outcome(move.kind, move.said, moved, changing=base.parts_that_differ(sides))


class _Sides:
    """A prompt in two: its static prefix, and the rest, which may change."""

    def __init__(self, value: object, boundary: str) -> None:
        self.boundary = boundary
        self.static, self.changing = split_static(value, boundary)
        self.is_cut = bool(self.changing) or not (len(self.static) == 1 and self.static[0].bare)
        self.size = sum(len(s.text.encode(errors="surrogatepass")) for s in self.static if s.kind != "setting")

    def without_session(self) -> _Sides:
        """Return the same with the parts of pace SESSION moved to the changing side."""
        sides = copy(self)
        sides.static = [segment for segment in self.static if segment.pace is not Pace.SESSION]
        sides.changing = [segment for segment in self.static if segment.pace is Pace.SESSION] + self.changing
        return sides

    @property
    def advice(self) -> str:
        """What may help if the prefix changed: a plain text does not say where its prefix ends."""
        if self.is_cut:
            return ""
        return "all of the text counts, as it has no boundary; --boundary TEXT (boundary=) says what ends the prefix"

    def check(self, function: Function) -> None:
        """Raise if there is no static prefix, or if the user's own boundary is not in the text."""
        if not self.is_cut and self.boundary not in ("", DYNAMIC_CONTEXT_BOUNDARY):
            raise CallError(f"the boundary {self.boundary!r} does not stand in what it returned", function)
        if not self.size:
            raise CallError(
                "what it returned has no static prefix: no text before the boundary, or, in a request, no tools, no "
                "system prompt and no cache mark",
                function,
            )

    def parts_that_differ(self, other: _Sides) -> tuple[str, ...]:
        """Return the names of the changing parts that differ."""
        both = [_by_place(side.changing) for side in (self, other)]
        return tuple(place for place in both[0] | both[1] if both[0].get(place) != both[1].get(place))


def _by_place(segments: Sequence[Segment]) -> dict[str, str]:
    texts: dict[str, str] = {}
    for segment in segments:
        texts[segment.place] = texts.get(segment.place, "") + segment.text
    return texts


def _first_difference(old: list[Segment], new: list[Segment]) -> Blame | None:
    """Return the first difference of two prefixes. Growth costs no cache hit, but here it is a difference too."""
    found = blame(list(old), list(new))
    if found is not None:
        return found
    grown = blame(list(new), list(old))
    if grown is None:
        return None
    return replace(grown, kind="inserted", old=grown.new, new=grown.old)


def _by_kind(outcomes: Sequence[Outcome]) -> list[tuple[Outcome, list[str]]]:
    """Return the first outcome of each kind of move, with the other moves of that kind."""
    kinds: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        kinds.setdefault(outcome.kind, []).append(outcome)
    return [(first, [other.said for other in others]) for first, *others in kinds.values()]


def _difference(outcome: Outcome) -> list[str]:
    what = f"  {outcome.kind}, {outcome.said}: "
    if outcome.moved is None:
        return [f"{what}it fails: {display(outcome.failed)}"]
    moved = outcome.moved
    place = moved.place if moved.source in ("", moved.place) else f"{moved.place}, {moved.source}"
    line = f", line {moved.line}" if moved.line else ""
    return [
        f"{what}{moved.why}",
        f"    where  {display(place)}{line}, byte {moved.offset:,}",
        f"    was    {_quoted(moved.old)}",
        f"    is     {_quoted(moved.new)}",
    ]


def _quoted(line: str) -> str:
    return display(json.dumps(redact(line), ensure_ascii=False)) if line else "(nothing)"
