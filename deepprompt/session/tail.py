"""`Tail`: what has changed in a prompt since the model was last told, for conversations that a framework keeps.

A session writes its own messages. A framework that has its own takes the frozen prefix as its system prompt, and the
news as a text that goes before the user's next message, where the framework stores it.
"""

from __future__ import annotations

import os

from deepprompt.errors import DeepPromptError, SessionError
from deepprompt.prompt import Prompt, read_part, write_part
from deepprompt.session.messages import plain_json
from deepprompt.session.notices import Change, Notices
from deepprompt.session.prefix import as_prompt, comparable, frozen
from deepprompt.session.saved import FORMAT, pack, read_file, unpack, write_file
from deepprompt.words import OnChange

_KIND = "tail"


class Tail:
    """A frozen prefix, and notices about everything that changed since.

    Give `prefix` to the framework once, as its system prompt and tools. Before each message of the user, `news` returns
    what the model does not know yet. `on_change` is as in `Session`: with `"wait"`, only the project's state is news.
    """

    def __init__(self, prompt: Prompt | str, *, on_change: OnChange = "notice") -> None:
        prompt = as_prompt(prompt)
        self._notices = Notices(on_change)
        self.prefix = frozen(prompt)
        """The frozen static prefix and tools, as a `Prompt` of its own."""
        self._notices.freeze(prompt)
        self._told = 0

    def __repr__(self) -> str:
        return f"Tail(parts={len(self.prefix.parts)}, tools={len(self.prefix.tools)})"

    @property
    def waiting(self) -> tuple[Change, ...]:
        """Changes of the prefix that the model is not told about: they need a new tail."""
        return self._notices.waiting

    def news(self, prompt: Prompt | str | None = None) -> str:
        """Return what changed since the last call, "" if nothing did. The tail assumes that you send it.

        Pass the prompt as you would build it now. The first news holds the state of the project. Put the text where the
        framework stores it: news that is missing from the next request breaks the cache there.
        """
        if prompt is not None:
            self._notices.compare(comparable(prompt, self.prefix))
        text = self._notices.text()
        self._notices.mark_sent(self._told)
        self._told += 1
        return text

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the tail to a file that only its owner can read. Save it whenever the framework saves its messages."""
        state = {
            "format": FORMAT,
            "kind": _KIND,
            "on_change": self._notices.on_change,
            "parts": [write_part(part) for part in self.prefix.parts],
            "tools": self.prefix.tools,
            "notices": self._notices.state(),
            "told": self._told,
        }
        write_file(os.fspath(path), pack(plain_json(state).encode()))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Tail:
        """Return a saved tail: its next news is what it would have been without the break.

        Raises `SessionError` if the file cannot be read, is damaged, or holds something else.
        """
        name = os.fspath(path)
        state = unpack(read_file(name), name)
        if state.get("kind") != _KIND:
            raise SessionError(f"{name}: a saved session, not a saved tail; load it with Session.load")
        try:
            parts = tuple(read_part(row) for row in state["parts"])
            tail = cls(Prompt(parts, state["tools"], fixed_order=True), on_change=state["on_change"])
            tail._told = int(state["told"])
            tail._notices.restore(state["notices"], tail._told)
        except (AttributeError, KeyError, TypeError, ValueError, DeepPromptError) as error:
            raise SessionError(f"{name}: damaged: {error!r:.200}; restore a copy, or start a new tail") from None
        return tail
