"""The store of recorded requests: JSON Lines in a folder that only its owner can read, one file a process and day.

A line is written whole, so a recorder that is killed loses one at most. Keys in texts are replaced by a keyed hash: the
key itself is never stored, but a change of it still shows. Headers are stored by an allow-list.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Mapping
from typing import Any

from deepprompt.errors import SourceError
from deepprompt.text.secrets import find_secrets

KEPT_HEADERS = (
    "user-agent", "anthropic-version", "anthropic-beta", "openai-beta", "content-type", "x-stainless-retry-count",
)  # fmt: skip
"""The headers of a request that may be stored as they are."""

_KEY_FILE = ".key"
_NAME = re.compile(r"\d{4}-\d{2}-\d{2}-\d+\.jsonl(?:\.zst)?")
_DAY = 86_400
# A private name, an account or a device: stored as a hash, by which requests of one person can still be told apart.
_PERSONAL = ("user_id", "device_id", "account_uuid", "user", "safety_identifier", "x-codex-installation-id")


def default_store() -> str:
    """Return the folder of the store: below $XDG_STATE_HOME, or in the home folder."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "deepprompt", "records")


class Store:
    """A folder of records that this process adds to."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.written = 0
        self.path = ""
        """The file that was written to last."""
        self._day = ""
        self._file = -1
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            if not stat.S_ISDIR(os.lstat(folder).st_mode) or os.stat(folder).st_uid != os.getuid():
                raise SourceError(f"{folder}: is not a folder of your own; name another with --store")
            os.chmod(folder, 0o700)
            self._key = self._own_key()
        except (OSError, ValueError) as error:
            raise SourceError(f"{folder}: {getattr(error, 'strerror', None) or error}") from None

    def _own_key(self) -> bytes:
        """Return the key that secrets are hashed with. It never leaves the folder."""
        path = os.path.join(self.folder, _KEY_FILE)
        try:
            file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        except FileExistsError:
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            with os.fdopen(file, "rb") as known:
                return known.read(32)
        with os.fdopen(file, "wb") as new:
            new.write(key := secrets.token_bytes(32))
        return key

    def digest(self, text: str) -> str:
        """Return a short keyed hash of a text."""
        return hmac.new(self._key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:8]

    def hidden(self, text: str) -> str:
        """Return a text with every key in it replaced by its hash. Works on the JSON text of a body too."""
        pieces, end = [], 0
        for _, start, stop, key in find_secrets(text):
            pieces += [text[end:start], f"[redacted:{self.digest(key)}]"]
            end = stop
        return "".join((*pieces, text[end:])) if end else text

    def line(self, head: Mapping[str, Any], body: bytes | None) -> bytes:
        """Return a record as one line: what is known of the request, and its body with keys and names hidden."""
        known = {name: value for name, value in head.items() if value not in (None, "", {})}
        start = self.hidden(json.dumps({"v": 1, **known}, ensure_ascii=False, separators=(",", ":")))
        text = "" if body is None else _one_line(body)
        if not text:
            return start.encode("utf-8", "replace") + b"\n"
        return f'{start[:-1]},"body":{self._impersonal(self.hidden(text))}}}\n'.encode("utf-8", "replace")

    def _impersonal(self, text: str) -> str:
        """Return a body with the names of people and machines hashed. A session's own id stays readable."""
        if not any(f'"{name}"' in text for name in _PERSONAL):
            return text
        pattern = rf'("(?:{"|".join(map(re.escape, _PERSONAL))})"\s*:\s*")((?:[^"\\]|\\.)*)"'
        return re.sub(pattern, lambda found: f'{found[1]}{self._named(found[2])}"', text)

    def _named(self, name: str) -> str:
        session = re.search(r"_session_[0-9a-fA-F-]+$", name) or re.search(r'session_id\\*":\\*"([0-9a-fA-F-]+)', name)
        tail = session[0] if session and session[0].startswith("_") else f"_session_{session[1]}" if session else ""
        return f"{self.digest(name)}{tail}"

    def write(self, line: bytes) -> None:
        """Append one line to today's file."""
        day = time.strftime("%Y-%m-%d", time.gmtime())
        if day != self._day:
            self.close()
            self.path = os.path.join(self.folder, f"{day}-{os.getpid()}.jsonl")
            self._file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
            self._day = day
        view = memoryview(line)
        while view:
            view = view[os.write(self._file, view) :]
        self.written += 1

    def close(self) -> None:
        """Close the file."""
        if self._file >= 0:
            os.close(self._file)
        self._file, self._day = -1, ""


def _one_line(body: bytes) -> str:
    """Return a JSON body on one line; "" if it is not a JSON object."""
    text = body.decode("utf-8", "replace").strip()
    if not text.startswith("{") or not text.endswith("}"):
        return ""
    if "\n" not in text and "\r" not in text:
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":"))
    except (ValueError, RecursionError):
        return ""


def forget(folder: str, days: float, now: float | None = None) -> int:
    """Remove the files of a store that are older than so many days, and return how many they were."""
    oldest = (time.time() if now is None else now) - days * _DAY
    gone = 0
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        path = os.path.join(folder, name)
        if _NAME.fullmatch(name) and os.lstat(path).st_mtime < oldest:
            os.unlink(path)
            gone += 1
    return gone
