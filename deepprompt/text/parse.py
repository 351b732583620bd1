"""JSON, JSON Lines, TOML and times that somebody else wrote, parsed within bounds, with errors that name the file."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from math import isfinite
from typing import Any

from deepprompt.errors import DeepPromptError, MessageError, SourceError

MOST_TOML = 1 << 20
# Python's parser takes time that grows with the square of the words in one dotted key.
_LONG_KEY = re.compile(r"""(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}""")


def parse_json(
    text: str, name: str, error: type[DeepPromptError] = MessageError, *, line: int = 1, several: str = ""
) -> Any:
    """Return the value in a text that errors call `name` and that begins on `line` of it.

    `several` is added to the error if another value follows the first.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as wrong:
        follows = several if wrong.msg == "Extra data" else ""  # Python has no other name for it
        raise error(f"{name}:{wrong.lineno + line - 1}: not JSON: {wrong.msg}{follows}") from None
    except ValueError:  # the only other reason
        raise error(f"{name}: a number has too many digits") from None
    except RecursionError:
        raise error(f"{name}{f':{line}' if line > 1 else ''}: nested too deeply") from None


def parse_json_lines(text: str, name: str) -> Any:
    """Return the value in a text, or a list of them if there is one on each line. Blank lines are skipped."""
    try:
        return parse_json(text, name)
    except MessageError as error:
        whole = error
    values: list[Any] = []
    for number, line in enumerate(text.split("\n"), 1):
        try:
            values += [parse_json(line, name, line=number)] if line.strip() else []
        except MessageError:
            if values:
                raise
            raise whole from None  # it is one value over several lines, which fails where it is wrong
    return values


def parse_toml(data: bytes, name: str, what: str = "TOML") -> dict[str, Any]:
    """Return the tables in the bytes of a TOML file that errors call `name`, and `what` it should be."""
    import tomllib

    try:
        text = data.decode()
        if _LONG_KEY.search(text):
            raise SourceError(f"{name}: a dotted key of more than 64 words")
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(f"{name}: not {what}: {error}") from None


def parse_time(at: object) -> float:
    """Return a time as seconds."""
    try:
        if isinstance(at, str):
            time = datetime.fromisoformat(at)
            return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
        if isinstance(at, int | float) and not isinstance(at, bool) and isfinite(at):
            return float(at)
    except (ValueError, OverflowError):
        pass
    raise MessageError(f"at is seconds, or a time such as 2026-11-15T09:30:00Z, not {at!r:.40}")
