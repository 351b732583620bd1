"""What to do about each kind of cause, in a sentence or two: the one table that reports take their advice from."""

from __future__ import annotations

EXPIRED = "expired"
"""The kind of cause for an entry that was not used for too long. All other kinds are those of `blame`."""

_AS_SENT = "Store each message as it was first sent, and send those bytes again; do not render it a second time."
_NEWEST = "Put it into the newest message, or leave it out."

ADVICE: dict[str, str] = {
    EXPIRED: "Send the next request sooner, or ask for a longer lifetime if the provider sells one.",
    "setting": "Set it once for each conversation; change it only when a new conversation begins.",
    "images": "Send images from the first request on, or describe them in text.",
    "tool order": "Sort the tools, for example by name, before each request.",
    "tool added": "Declare all tools in the first request; add more only when a new conversation begins.",
    "tool removed": "Keep declaring the tool and refuse calls to it; drop it when a new conversation begins.",
    "tool changed": "Freeze tool definitions for the conversation; put text that changes into the newest message.",
    "key order": "Write JSON with its keys in a fixed order.",
    "order": "Sort the list, for example by name, before it goes into the prompt.",
    "extended": "Append a new message instead of extending one that was sent.",
    "inserted": "Append new text at the end instead of inserting it before what was sent.",
    "removed": "Keep what was sent; say in a new message that it no longer applies.",
    "compaction": "Summarize rarely and a lot at a time: each summary makes you pay for the rest once more.",
    "role": _AS_SENT,
    "blocks": _AS_SENT,
    "line ends": _AS_SENT,
    "byte order mark": _AS_SENT,
    "trailing blanks": _AS_SENT,
    "white space": _AS_SENT,
    "Unicode form": _AS_SENT,
    "escapes": _AS_SENT,
    "case": _AS_SENT,
    "truncation": "Truncate a text before it is first sent, and keep that form.",
    "clock": _NEWEST,
    "random id": f"{_NEWEST} If it must stay there, keep one value for the whole conversation.",
    "path": "Use relative paths, or the same folder in every run.",
    "number": _NEWEST,
    "edit": "Send the change as a new message. If it is a rules file, edit it between conversations.",
}
"""What to do, by the kind of a cause."""


def advice_for(kind: str) -> str:
    """Return what to do about a kind of cause; "" if nothing is known."""
    return ADVICE.get(kind, "")
