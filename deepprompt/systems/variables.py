"""Variables in prompt parts: `${NAME}` is replaced once, by position. Values are never expanded.

A variable alone on its line is a block and keeps the lines of its value. Anywhere else it is part of a sentence
or of a one-line field, and its value is put on one line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from deepprompt.errors import VariableError
from deepprompt.prompt import Note
from deepprompt.text.hygiene import one_line
from deepprompt.text.suggest import did_you_mean


@cache
def pattern() -> re.Pattern[str]:
    """Return the pattern of a variable; its first group is the name."""
    return re.compile(r"\$\{([A-Z][A-Z0-9_]*)\}")


def variables_of(text: str) -> list[str]:
    """Return the names of the variables in a text, each once, in order."""
    return list(dict.fromkeys(pattern().findall(text))) if "${" in text else []


def interpolate(
    text: str, values: Mapping[str, str], part: str, notes: list[Note], *, allow_empty: bool = False
) -> str:
    """Replace the variables of a part. One without a value, or an empty one, is an error that names all of them.

    With `allow_empty`, a block may be empty.
    """
    if "${" not in text:
        return text
    empty_ok = {match[1] for match in pattern().finditer(text) if allow_empty and is_block(text, match)}
    missing = [name for name in variables_of(text) if not (values.get(name) or (name in values and name in empty_ok))]
    if missing:
        known = sorted(name for name in values if values[name])
        unknown = [name for name in missing if name not in values] if known else []
        hints = dict.fromkeys(f"; {did_you_mean(name, known, 'known')}" for name in unknown)
        raise VariableError(f"part {part!r} needs a value for {', '.join(missing)}{''.join(hints)}")

    def replace(match: re.Match[str]) -> str:
        value = values[match[1]]
        return value if is_block(text, match) else one_line(value, f"{part} {match[1]}", notes)

    return pattern().sub(replace, text)


def is_block(text: str, match: re.Match[str]) -> bool:
    """Whether a variable stands alone on its line."""
    before, after = text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]
    return before in ("", "\n") and after in ("", "\n")


def closing_tags(text: str) -> tuple[str, ...]:
    """Return the names of the tags that stand closed on a line of their own: what a text fences a value with."""
    if "\n</" not in text:
        return ()
    return tuple(dict.fromkeys(re.findall(r"^</([A-Za-z][\w-]*)>$", text, re.MULTILINE)))
