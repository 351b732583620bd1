"""The file of a saved session: one line of JSON with a format number and a checksum, so that damage is noticed.

`Session.save` and `Session.load` decide what is in it.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from deepprompt.errors import SessionError
from deepprompt.sources.files import read_named, reason_of, replace_file

FORMAT = 1
_MOST = 1 << 31


def write_saved(name: str, state: bytes) -> None:
    """Write a state, given as JSON, to a file that only its owner can read: all of it, or nothing."""
    try:
        replace_file(name, _framed(state), 0o600)
    except (OSError, ValueError) as error:
        raise SessionError(f"{name}: {reason_of(error)}; the session was not saved") from None


def read_saved(name: str) -> dict[str, Any]:
    """Return the state in a file, or say why it cannot be loaded."""
    try:
        data = read_named(name, _MOST)
    except (OSError, ValueError) as error:
        raise SessionError(f"{name}: {reason_of(error)}; a session is loaded from the file that save() wrote") from None
    try:
        state: dict[str, Any] = json.loads(data)["session"]
        form = state["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        form = None
    if isinstance(form, int) and form > FORMAT:
        raise SessionError(f"{name}: saved by a newer deepprompt (format {form}, this one reads {FORMAT}); upgrade it")
    if form is None or data != _framed(data[len(_framed(b"")) - 2 : -2]):
        raise SessionError(f"{name}: not a saved session, or damaged; restore a copy, or start a new session")
    return state


def _framed(state: bytes) -> bytes:
    """Return the bytes of a file with this state."""
    return b'{"sha256":"%s","session":%s}\n' % (sha256(state).hexdigest().encode(), state)
