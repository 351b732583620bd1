"""Front matter: the YAML between `---` lines at the start of a file, parsed within bounds; and what stands for it."""

from __future__ import annotations

import re
from contextlib import suppress

from deepprompt.text.hygiene import trim

YAML_LIMIT = 1 << 14
MOST_BRACKETS = 128

_HEADING = r"#[\t\f ]+(.*)"
_FENCE = r" {0,3}(`{3,}(?=[^`]*$)|~{3,})"


def split(text: str) -> tuple[str | None, str]:
    """Return the front matter of a text, None if it has none, and the rest."""
    if not text.startswith("---\n"):
        return None, text
    rest = text[4:]
    end = rest.find("\n---\n")
    if end >= 0:
        return rest[:end], rest[end + 5 :]
    if rest.endswith("\n---"):
        return rest[:-4], ""
    return None, text


def parse(text: str) -> dict[object, object] | None:
    """Return the mapping in a text of YAML, with strings, lists and mappings as values; None if it is no mapping."""
    parsed: object = None
    if len(text) <= YAML_LIMIT and text.count("[") + text.count("{") <= MOST_BRACKETS:
        # The parser takes seconds for more brackets, and for longer texts.
        import yaml

        with suppress(yaml.YAMLError, RecursionError, ValueError, OverflowError):
            parsed = yaml.load(text, Loader=yaml.BaseLoader)  # it makes strings, lists and dicts, nothing else
    return parsed if isinstance(parsed, dict) else None


def split_fields(text: str) -> tuple[dict[str, str] | None, str]:
    """Return the fields of a text's front matter as strings, None if it has none, and the rest."""
    front, rest = split(text)
    return None if front is None else fields(front), rest


def fields(text: str) -> dict[str, str]:
    """Return keys in lower case with their values as strings; lists are joined by commas."""
    parsed = parse(text)
    if parsed is None:
        return plain_fields(text)
    front = {}
    for key, value in parsed.items():
        if isinstance(value, list):
            value = ",".join(item for item in value if isinstance(item, str))
        if isinstance(key, str) and isinstance(value, str):
            front[trim(key).lower()] = value
    return front


def plain_fields(text: str) -> dict[str, str]:
    """Read front matter that is not YAML as `key: value` lines, without matching quotes around a value."""
    front = {}
    for line in text.split("\n"):
        key, colon, value = line.partition(":")
        value = trim(value)
        if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'":
            value = value[1:-1]
        if colon:
            front[trim(key).lower()] = value
    return front


def first_heading(text: str) -> str:
    """Return the text of the first `# Heading` outside a code fence, or ""."""
    fence = ""
    for line in text.split("\n"):
        if mark := re.match(_FENCE, line):
            run = mark.group(1)
            if not fence:
                fence = run
            elif run.startswith(fence) and not trim(line[mark.end() :]):
                fence = ""
        elif not fence and (heading := re.fullmatch(_HEADING, line)) and (title := trim(heading.group(1))):
            return title
    return ""
