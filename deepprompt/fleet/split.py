"""Which conversation a request belongs to: the request that it continues, found by ids and by what the two share.

Two requests are related within a session if the log names sessions, and anywhere else if it does not. The parent of a
request is the latest one whose messages it begins with. If there is none, the conversation may be broken: then it is
the one that shares most of what the model or its tools have said. A request with nothing of that kind begins a
conversation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from deepprompt.checks.blame.blame import Blame, blame
from deepprompt.checks.blame.kinship import begins_another
from deepprompt.checks.cache.caches import Charge
from deepprompt.checks.cache.price import Price
from deepprompt.fleet.bodies import BodyReader, Element, ReadBody, same_text, size_of
from deepprompt.providers.segments import Segment

MEMORY = 32 << 20
"""So many bytes of conversations a report remembers, about."""

# So many conversations are remembered for one thing that was said.
_SAME = 8
_WEIGHT = 3
# Only the latest of a long request are looked up.
_LOOKED_UP = 400


@dataclass(slots=True, eq=False)
class Request:
    """A request of the log, as the next one of its conversation needs it."""

    body: ReadBody
    at: float
    where: str
    conversation: Conversation
    charge: Charge | None = None
    mended: list[Segment] | None = None


@dataclass(slots=True, eq=False)
class Conversation:
    """The requests that continue one another."""

    number: int
    session: str
    root: int = 0
    """The number of the conversation that it branched off; its own number if it did not."""
    tip: Request | None = None
    began_with: frozenset[int] = frozenset()
    """What the model had said in the first request: examples that belong to the prompt."""
    requests: int = 0
    causes: set[tuple[str, ...]] = field(default_factory=set)
    """Why its requests broke so far, for whoever counts conversations by cause."""


@dataclass(slots=True)
class Placed:
    """Where a request belongs, and what broke since the request before it."""

    request: Request
    parent: Request | None
    """The request that it continues; None if it begins a conversation."""
    broke: Blame | None = None
    price: Price | None = None
    """What it lost, in the units of the log, if the request was summed up."""


@dataclass(slots=True)
class Splitter:
    """Finds the conversation of each request, in the order of time."""

    reader: BodyReader
    """The reader of the bodies."""
    memory: int = MEMORY
    """So many bytes of messages are remembered, about; then what was continued longest ago is forgotten."""
    count: int = 0
    _said: dict[tuple[str, int], list[Conversation]] = field(default_factory=dict)
    _open: dict[int, Conversation] = field(default_factory=dict)

    def place(self, body: ReadBody, at: float, where: str, session: str) -> Placed:
        """Return where a request belongs."""
        if self.reader.size > self.memory:
            self._forget()
        said = list(_said(body))
        parent, depth = self._begun(body, session, bool(said))
        if said and (parent is None or parent.conversation.tip is not parent):
            # Nothing ended where this one goes on, or something else went on there: it may be a broken conversation.
            parent = self._broken(body, session, list(_said(body, depth))) or parent or self._first(body, session)
        broke = None
        if parent is not None and not _extends(parent.body, body):
            broke = blame(list(parent.body.segments), list(body.segments))
            if broke is not None and broke.kind == "conversation":
                parent, broke = None, None
        if parent is None:
            conversation = self._new(session, said)
        elif parent.conversation.tip is parent:
            conversation = parent.conversation
        else:  # a branch
            conversation = self._new(session, said)
            trunk = parent.conversation
            conversation.root, conversation.began_with, conversation.causes = trunk.root, trunk.began_with, trunk.causes
        request = Request(body, at, where, conversation)
        conversation.tip = request
        conversation.requests += 1
        if body.path:
            tips = body.path[-1].node.tips.setdefault(session, [])
            tips.append(request)
            del tips[:-_SAME]
        keys = [key for key, _ in said[-_LOOKED_UP:]] or list(_asked(body))
        for key in keys:
            known = self._said.setdefault((session, key), [])
            if conversation not in known:
                known.append(conversation)
                del known[:-_SAME]
        return Placed(request, parent, broke)

    def _new(self, session: str, said: list[tuple[int, int]]) -> Conversation:
        self.count += 1
        found = Conversation(self.count, session, self.count, began_with=frozenset(dict(said)))
        self._open[found.number] = found
        return found

    def _forget(self) -> None:
        """Forget the conversations that were continued longest ago, about half of them."""
        oldest, nodes = self.reader.forget()
        self._open = {number: one for number, one in self._open.items() if one.tip and one.tip.body.number > oldest}
        self._said = {
            key: kept
            for key, known in self._said.items()
            if (kept := [one for one in known if one.number in self._open])
        }
        for node in nodes:
            node.tips = {
                session: kept
                for session, tips in node.tips.items()
                if (kept := [tip for tip in tips if tip.conversation.number in self._open])
            }
            self.reader.size += sum(size_of(tip.body) for tips in node.tips.values() for tip in tips)

    def _begun(self, body: ReadBody, session: str, speaks: bool) -> tuple[Request | None, int]:
        """Return the latest request whose messages this one begins with, and how many these are.

        A request that sends all messages of an earlier one again is either a retry or a second run of the same
        script. So a conversation that waits for more messages comes first.
        """
        last = len(body.path) - 1
        same = body.path[last].node.tips.get(session, []) if body.path else []
        if same and not speaks:
            return None, 0  # the same first message again begins a conversation of its own
        again = _nearest(same, body)
        best, depth = None, 0
        for number in range(last - 1, -1, -1):
            tips: list[Request] = body.path[number].node.tips.get(session, [])
            if (found := _nearest(tips, body, alike_only=best is not None)) is None:
                continue
            if best is None or found.conversation.tip is found:
                best, depth = found, number + 1
                if _alike(found, body):  # otherwise one with the same prompt and tools may wait further up
                    break
        if again is None or (best is not None and best.conversation.tip is best):
            return best, depth
        return again, last + 1

    def _first(self, body: ReadBody, session: str) -> Request | None:
        """Return the first request of a conversation that broke at once: both have what the user asked, and no more."""
        for key in _asked(body):
            for known in reversed(self._said.get((session, key), ())):
                tip = known.tip if known.requests == 1 else None
                if tip is not None and not begins_another(tip.body.segments, body.segments):
                    return tip
        return None

    def _broken(self, body: ReadBody, session: str, said: list[tuple[int, int]]) -> Request | None:
        """Return the latest request of the conversation that shares most with this one, out of what was said in it."""
        votes: Counter[int] = Counter()
        found: dict[int, Request] = {}
        for key, weight in dict(said[-_LOOKED_UP:]).items():
            for known in self._said.get((session, key), ()):
                if known.tip is None:
                    continue
                if key not in known.began_with:
                    votes[known.number] += weight
                    found[known.number] = known.tip
                elif known.requests == 1 and known.number not in found and _goes_on(known.tip.body.path, body.path):
                    votes[known.number] += 0  # its examples are in both: only the first request can tell
                    found[known.number] = known.tip
        ranks = {number: (_shared(tip.body, body), votes[number], tip.at) for number, tip in found.items()}
        for number in sorted(ranks, key=ranks.__getitem__, reverse=True)[:_SAME]:
            if not begins_another(found[number].body.segments, body.segments):
                return found[number]
        return None


def _alike(one: Request, body: ReadBody) -> bool:
    """Whether a request has the same settings, tools and prompt as a body."""
    return one.body.head is body.head or same_text(one.body.head, body.head)


def _nearest(tips: list[Request], body: ReadBody, alike_only: bool = False) -> Request | None:
    """Return the request that is most likely continued, of several with the same messages, by prompts and tools."""
    alike = [tip for tip in tips if _alike(tip, body)]
    if alike or alike_only:
        return max(alike, key=lambda tip: (tip.conversation.tip is tip, tip.at), default=None)
    own = {(segment.place, segment.text) for segment in body.head}
    shares = {id(tip): sum(len(one.text) for one in tip.body.head if (one.place, one.text) in own) for tip in tips}
    kin = [tip for tip in tips if not begins_another(tip.body.segments, body.segments)]
    return max(kin, key=lambda tip: (tip.conversation.tip is tip, shares[id(tip)], tip.at), default=None)


def _said(body: ReadBody, start: int = 0) -> Iterator[tuple[int, int]]:
    """Yield a key for each thing that the model or its tools have said, from a message on, and its weight.

    What a tool returned tells more than what the model said: scripted runs repeat that word by word.
    """
    for element in body.path[start:]:
        for segment in element.segments:
            if segment.role == "assistant" or segment.kind == "tool_result":
                yield hash((segment.kind, segment.text)), _WEIGHT if segment.kind == "tool_result" else 1


def _asked(body: ReadBody) -> Iterator[int]:
    """Yield a key for what the user asked before the model said anything, the last of it first."""
    start = next((number for number, one in enumerate(body.path) if _is_said(one)), len(body.path))
    for element in reversed(body.path[:start]):
        for segment in reversed(element.segments):
            if segment.role == "user":
                yield hash(("asked", segment.text))


def _is_said(element: Element) -> bool:
    return any(segment.role == "assistant" or segment.kind == "tool_result" for segment in element.segments)


def _shared(old: ReadBody, new: ReadBody) -> int:
    """Return how many messages two requests share from the start."""
    pairs = enumerate(zip(old.path, new.path, strict=False))
    return next((number for number, (one, two) in pairs if one.node is not two.node), min(len(old.path), len(new.path)))


def _goes_on(old: list[Element], new: list[Element]) -> bool:
    """Whether a longer list of messages has most of a shorter one, somewhere."""
    texts = {tuple(segment.text for segment in element.segments) for element in new}
    kept = sum(tuple(segment.text for segment in element.segments) in texts for element in old)
    return len(new) > len(old) and 2 * kept >= len(old)


def _extends(old: ReadBody, new: ReadBody) -> bool:
    """Whether a request begins with all of an earlier one, settings included. Equal pieces are the same objects."""
    if old.head is not new.head and not same_text(old.head, new.head):
        return False
    return len(old.path) <= len(new.path) and all(map(_leads_alike, old.path, new.path))


def _leads_alike(one: Element, two: Element) -> bool:
    return one.node is two.node
