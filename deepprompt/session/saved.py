"""The bytes of a saved session: one line of JSON with a format number and a checksum, so that damage is noticed.

`Session.to_bytes` and `Session.from_bytes` decide what is in it. No error quotes any of it.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

from deepprompt.errors import SessionError
from deepprompt.sources.files import read_named, reason_of, replace_file

FORMAT = 2
"""What this version writes. It also reads 1, which deepprompt 0.1 wrote."""
_MOST = 1 << 31


def write_file(name: str, data: bytes) -> None:
    """Write a saved session to a file that only its owner can read: all of it, or nothing."""
    try:
        replace_file(name, data, 0o600)
    except (OSError, ValueError) as error:
        raise SessionError(f"{name}: {reason_of(error)}; the session was not saved") from None


def read_file(name: str) -> bytes:
    """Return the bytes of a file, or say why it cannot be loaded."""
    try:
        return read_named(name, _MOST)
    except (OSError, ValueError) as error:
        raise SessionError(f"{name}: {reason_of(error)}; a session is loaded from the file that save() wrote") from None


def unpack(data: bytes, name: str) -> dict[str, Any]:
    """Return the state in saved bytes, or say why they cannot be used. `name` is where they are from."""
    try:
        state: dict[str, Any] = json.loads(data)["session"]
        form = state["format"]
    except (ValueError, KeyError, TypeError, RecursionError):
        form = None
    if isinstance(form, int) and form > FORMAT:
        raise SessionError(f"{name}: saved by a newer deepprompt (format {form}, this one reads {FORMAT}); upgrade it")
    if form is None or data != pack(data[len(pack(b"")) - 2 : -2]):
        raise SessionError(f"{name}: not a saved session, or damaged; restore a copy, or start a new session")
    return state


def pack(state: bytes) -> bytes:
    """Return the bytes of a saved session with this state, given as JSON."""
    return b'{"sha256":"%s","session":%s}\n' % (sha256(state).hexdigest().encode(), state)
