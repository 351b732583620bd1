"""Text that somebody else wrote, made safe to print."""

from __future__ import annotations

from deepprompt.text.hidden import reveal
from deepprompt.text.hygiene import from_system, one_line
from deepprompt.text.secrets import redact


def display(text: str) -> str:
    """Return a text as one line that a terminal can print.

    Keys are redacted, hidden and control characters are written as `⟨U+XXXX⟩`, line breaks become blanks, and what
    cannot be encoded as UTF-8 becomes U+FFFD. Tabs stay.
    """
    # Keys first: a private key is recognised by its line breaks.
    return one_line(reveal(redact(from_system(text))))


def counted(number: int, what: str) -> str:
    """Return a number of things in words: `1 prompt`, `1,200 tokens`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"
