"""`Record`: one request out of a log, with what the log says about it, whichever program wrote the log."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from deepprompt.errors import MessageError
from deepprompt.providers.usage import Usage
from deepprompt.words import Complete

_SESSION_IN_USER = "_session_"


@dataclass(slots=True)
class Record:
    """One request of a log. Texts are "" and numbers None where the log does not say."""

    where: str
    """The file and the line or entry, such as `run.jsonl:12`."""
    at: float | None = None
    """When the request started, in seconds since 1970."""
    body: Mapping[str, Any] | None = None
    """The request; None if only its usage is known, or until `request()` parses `raw`."""
    raw: str = field(default="", repr=False)
    """The request as JSON text, if the log stores it as text."""
    usage: Usage | None = None
    complete: Complete = "blame"
    """What the record is complete enough for: `blame`, only the `text` of it, or only its `usage`."""
    session: str = ""
    agent: str = ""
    version: str = ""
    provider: str = ""
    model: str = ""
    prompt: str = ""
    """The name and version of the prompt, as `name@version`."""
    path: str = ""
    status: int | None = None
    end: str = ""
    """`done`, `aborted`, or the kind of error."""
    ms: int | None = None
    """How long the response took, in milliseconds."""
    retry: int = 0
    said: str = ""
    """The reason for a cache miss that the provider gave."""

    def request(self) -> Mapping[str, Any] | None:
        """Return the request's body. Raises `MessageError` if its text is not a JSON object."""
        if self.body is None and self.raw:
            try:
                body = json.loads(self.raw)
            except (ValueError, RecursionError) as error:
                raise MessageError(f"{self.where}: the body is not JSON: {error}") from None
            if not isinstance(body, dict):
                raise MessageError(f"{self.where}: the body is no object")
            self.body = body
        return self.body


@dataclass(frozen=True, slots=True)
class Unread:
    """A line or an entry of a log that holds no request."""

    where: str
    why: str


def file_of(where: str) -> str:
    """Return the file of a place such as `run.jsonl:12` or `run.har#3`."""
    for sign in ":#":
        file, _, line = where.rpartition(sign)
        if file and line.isdecimal():
            return file
    return where


def session_in(body: Mapping[str, Any]) -> str:
    """Return the id of the session that a body itself names, as Codex and Claude Code do; "" if it names none."""
    for name in ("client_metadata", "metadata"):
        inner = body.get(name)
        if not isinstance(inner, Mapping):
            continue
        for key in ("session_id", "thread_id", "litellm_session_id"):
            if isinstance(found := inner.get(key), str):
                return found
        user = inner.get("user_id")
        if isinstance(user, str) and user.startswith("{"):
            try:
                user = json.loads(user).get("session_id", "")
                return user if isinstance(user, str) else ""
            except (ValueError, AttributeError, RecursionError):
                return ""
        if isinstance(user, str) and _SESSION_IN_USER in user:
            return user.rpartition(_SESSION_IN_USER)[2]
    return ""


def agent_of(user_agent: str) -> tuple[str, str]:
    """Return the name and the version of a program by its `User-Agent` header."""
    first = user_agent.split(None, 1)[0] if user_agent.split() else ""
    name, _, version = first.partition("/")
    return name[:80], version[:40]
