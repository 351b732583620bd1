"""A request that is built again and again for a conversation that only grows, in time for what is new.

What the last answer answered and what came before it is settled: it was written once, without marks, and is taken as
it is. Only the last turns are written again, because the marks stand there. The result is what `build_request` gives
for the whole; a test holds them to each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from deepprompt.errors import MessageError
from deepprompt.prompt import Note, Prompt
from deepprompt.providers.draft import Draft, Spot, shown
from deepprompt.providers.facts import Facts, Rules
from deepprompt.providers.neutral import Message, Outline, Thinking
from deepprompt.request.conversation import read_messages
from deepprompt.request.marks import Wish, plan_marks
from deepprompt.request.outline import read_prompt, with_messages
from deepprompt.request.request import WRITERS, Request, checked_limit, finished, note_state, note_unused, rules_of

_LISTS = {"gemini": "contents", "openai-responses": "input"}
"""Where a body has its messages; `messages` in all others."""


class GrowingRequest:
    """The requests of one conversation on one prompt, for one provider and model.

    Bodies share the messages that are settled: read them, send them, but do not change them.
    """

    def __init__(self, prompt: Prompt, *, to: str, model: str, facts: Facts | None = None) -> None:
        self._to = to
        self._rules = rules_of(to, model, facts)
        self._prompt_notes: list[Note] = []
        self._outline = replace(read_prompt(prompt, None, self._prompt_notes), model=model)
        self._key = _LISTS.get(to, "messages")
        self._window: list[Mapping[str, object]] = [*prompt.messages]
        self._settled: list[dict[str, Any]] = []
        self._settled_size = 0
        self._settled_tokens = 0
        self._taken: dict[str, int] = {}

    @property
    def size(self) -> int:
        """How many messages the conversation has, those that the prompt brought among them."""
        return self._settled_size + len(self._window)

    def extend(self, messages: Iterable[Mapping[str, object]]) -> None:
        """Take more of the conversation."""
        self._window += messages

    def request(
        self,
        *,
        sent: int = 0,
        marks: str = "auto",
        prefix_lifetime: str = "",
        lifetime: str = "",
        max_tokens: int | None = None,
        stream: bool = False,
        cache_key: str = "",
    ) -> Request:
        """Return the request for all of it. `sent` is how many messages the previous request had."""
        if marks not in ("auto", "none"):  # those of the caller's own may stand in what is settled
            raise MessageError(f"marks of a conversation that grows are 'auto' or 'none', not {marks!r}")
        notes = list(self._prompt_notes)
        self._settle(sent or self.size)
        outline = replace(
            self._outlined(self._window, dict(self._taken), notes),
            max_tokens=checked_limit(max_tokens),
            stream=stream,
            cache_key=cache_key,
        )
        note_state(outline, notes)
        draft = Draft(self._rules, notes)
        body = WRITERS[self._to](outline, draft)
        note_unused(outline, body, draft)
        written, lead = body[self._key], self._lead(outline, body)
        body[self._key] = [*written[:lead], *self._settled, *written[lead:]]
        draft.spots = self._all_spots(draft.spots)
        placed = plan_marks(draft.spots, self._rules, Wish(marks, prefix_lifetime, lifetime), sent, notes)
        return finished(self._to, body, draft, placed)

    def _settle(self, sent: int) -> None:
        """Settle what stands before an answer, so that a mark at the end of what was sent stands behind it."""
        read = read_messages(self._window, [], start=self._settled_size, taken=dict(self._taken))
        said = [message for message in read if _says_something(message)]
        ends = [number for number, message in enumerate(said) if message.index < sent and _ends(message, self._rules)]
        begun = self._settled_size > 0
        answer = None
        for before, after in pairwise(said[: ends[-1]] if ends else ()):
            begun = begun or before.role == "user"  # what a system message says at the start is no conversation
            if begun and before.role != "assistant" and after.role == "assistant":
                answer = after
        if answer is None:
            return
        end = answer.index - self._settled_size
        taken = dict(self._taken)
        outline = self._outlined(self._window[:end], taken, [])
        draft = Draft(self._rules, [])
        body = WRITERS[self._to](outline, draft)
        self._settled += body[self._key][self._lead(outline, body) :]
        self._settled_tokens += sum(spot.tokens for spot in draft.spots if spot.message >= 0)
        self._settled_size += end
        self._taken = taken
        self._outline = replace(outline, messages=(), continued=True)
        del self._window[:end]

    def _outlined(self, messages: list[Mapping[str, object]], taken: dict[str, int], notes: list[Note]) -> Outline:
        read = read_messages(messages, notes, start=self._settled_size, taken=taken)
        if self._outline.continued:
            return replace(self._outline, messages=tuple(read))
        return with_messages(self._outline, read)

    def _lead(self, outline: Outline, body: Mapping[str, Any]) -> int:
        """Return how many messages of a body are the system prompt."""
        return int(bool(outline.system) and self._key != "contents" and "system" not in body)

    def _all_spots(self, spots: list[Spot]) -> list[Spot]:
        """Return the spots with their places in the whole, and one for all that is settled."""
        if not self._settled:
            return spots
        prefix = [spot for spot in spots if spot.message < 0]
        settled = Spot("", "settled", self._settled_tokens, None, message=self._settled_size - 1)
        return [*prefix, settled, *[self._moved(spot) for spot in spots if spot.message >= 0]]

    def _moved(self, spot: Spot) -> Spot:
        place = re.sub(r"\d+", lambda number: str(int(number[0]) + len(self._settled)), spot.place, count=1)
        return replace(spot, place=place)


def _says_something(message: Message) -> bool:
    """Whether every provider is sent a message, so that its neighbours are who they seem."""
    return any(not isinstance(block, Thinking) for block in shown(message.blocks))


def _ends(message: Message, rules: Rules) -> bool:
    """Whether a request may end with a message, and have a mark there if only marks are cached."""
    carries = rules.caching != "marked" or any(block.kind in rules.carriers for block in shown(message.blocks))
    return message.role != "assistant" and carries
