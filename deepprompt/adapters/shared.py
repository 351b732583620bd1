"""What the adapters share: the tail of a conversation, the texts that a user's message gets, and the order of tools."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias, TypeVar

from deepprompt.errors import DeepPromptError
from deepprompt.prompt import Prompt
from deepprompt.session.tail import Tail
from deepprompt.session.watch import Watch

Tails: TypeAlias = Tail | Callable[[str], Tail]
"""The tail of the only conversation, or a function from the framework's name of a conversation to its tail."""

Watches: TypeAlias = Watch | Callable[[str], Watch]
"""The same for a `Watch`."""

_LOG = logging.getLogger(__name__)
_Tool = TypeVar("_Tool")


def tail_of(tail: Tails, conversation: str | None) -> Tail:
    """Return the tail of a conversation, "" if the framework does not name it."""
    return tail if isinstance(tail, Tail) else tail(conversation or "")


def watch_of(watch: Watches, conversation: str | None) -> Watch:
    """Return the watch of a conversation."""
    return watch if isinstance(watch, Watch) else watch(conversation or "")


def judge(watch: Watch, body: Mapping[str, object], usage: object, at: float) -> bool:
    """Give a request to a watch. One that cannot be judged is logged: it must not fail the agent's run."""
    try:
        watch.saw(body, usage, at)
    except DeepPromptError as error:
        _LOG.warning("no verdict on a request: %s", error)
        return False
    return True


def told(tail: Tail, question: str, prompt: Prompt | str) -> list[str]:
    """Return the texts of the user's next message: what changed, if anything did, then the question."""
    return [text for text in (tail.news(prompt), question) if text]


def by_name(tools: Iterable[_Tool]) -> list[_Tool]:
    """Return tools in the order of their names, which does not depend on who registered them first."""
    return sorted(tools, key=_name)


def _name(tool: object) -> str:
    """Return the name of a framework's tool; of a provider's own, which may have none, its type."""
    if isinstance(tool, Mapping):
        function = tool.get("function")
        holder = function if isinstance(function, Mapping) else tool
        return str(holder.get("name") or tool.get("type") or "")
    return str(getattr(tool, "name", None) or getattr(tool, "__name__", ""))
