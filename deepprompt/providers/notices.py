"""How a notice to the model is spelled, and the notices on tools, which stand where a provider has no other means."""

from __future__ import annotations

from collections.abc import Sequence

from deepprompt.catalog import bundled
from deepprompt.providers.neutral import ToolChange
from deepprompt.text.disarm import escape_tags
from deepprompt.text.hygiene import one_line
from deepprompt.words import ChangeKind

TAGS = ("context", "notice", "summary")
"""The tags of what a session tells. In a text from outside they are escaped."""

_FAMILY, _VERSION = "session", "1.1.0"


def wording(name: str) -> str:
    """Return a text of ours that tells the model something."""
    return bundled().text(_FAMILY, _VERSION, name).removesuffix("\n")


def notice(kind: ChangeKind, source: str, worded: str, text: str = "") -> str:
    """Return a notice: what happened to a source, our wording of it by name, and its new text."""
    said = "\n\n".join([wording(worded), *([escape_tags(text, TAGS)] if text else [])])
    return f'<notice kind="{kind}" source="{_attribute(source)}">\n{said}\n</notice>'


def tools_notice(changes: Sequence[ToolChange]) -> str:
    """Return the notices on tools that were added or removed, one for all of a kind."""
    names: dict[tuple[ChangeKind, str], list[str]] = {}
    for change in changes:
        kind: ChangeKind = "added" if change.added else "removed"
        again = change.added and change.tool is None
        names.setdefault((kind, "tools_listed" if again else f"tools_{kind}"), []).append(change.name)
    return "\n\n".join([notice(kind, tools(some), worded) for (kind, worded), some in names.items()])


def tools(names: Sequence[str]) -> str:
    """Return tools as the source of a notice names them."""
    return f"tool{'s' * (len(names) > 1)} {', '.join(names)}"


def _attribute(text: str) -> str:
    """Return a name escaped for an attribute, on one line."""
    for character, entity in (("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(character, entity)
    return one_line(text)
