"""The closed sets of words that a caller can pass or read, as types: a type checker refuses any other word.

Each set is written here once. Code that checks a word at run time takes the words from the type: `get_args(Target)`.
Modules on the way to a first prompt import these names for type checkers only.
"""

from __future__ import annotations

from typing import Literal

Target = Literal["anthropic", "bedrock", "deepseek", "gemini", "litellm", "openai", "openai-responses"]
"""The APIs that a request can be written for."""

StrictProvider = Literal["anthropic", "deepseek", "openai"]
"""The providers whose strict mode for tools is known."""

Marks = Literal["", "auto", "automatic", "own", "none"]
"""Who places the cache marks of a request; "" lets the messages decide.

With `automatic`, the provider places the mark of the conversation if it can, as Anthropic does; otherwise it is `auto`.
"""

Caching = Literal["marked", "implicit", "automatic", "none"]
"""How a provider caches: only at marks, at marks and at the newest message, by itself, or not at all."""

Lifetime = Literal["", "5m", "30m", "1h", "12h"]
"""How long a cache entry can be asked to live, by the bundled facts; "" for the provider's default."""

OnChange = Literal["notice", "wait", "native"]
"""What a session does when a part or a tool of its frozen prefix changes."""

Order = Literal["algorithm", "catalog"]
"""The two orders of the preset catalogue."""

NoteKind = Literal[
    "skipped", "refused", "cut", "neutralised", "replaced", "kept", "redacted", "pace", "cache", "model", "requires"
]  # fmt: skip
"""What a `Note` reports."""

RefusalKind = Literal["missing", "unreadable", "outside", "forbidden", "replaced", "refused"]
"""Why one file is not read: `outside` its root, `forbidden` by its name, `replaced` while it was opened."""

GitState = Literal["read", "none", "unreadable"]
"""Whether git's answers about a folder are known."""

EditStatus = Literal["applied", "already there", "not found", "several", "refused"]
"""What became of an edit block of a response."""

VerdictKind = Literal["hit", "cold start", "expired", "below minimum", "ours", "provider", "unknown"]
"""Why a request was or was not read from the cache."""

ChangeKind = Literal["added", "replaced", "removed"]
"""What happened to a part or a tool of a session's prefix."""

BlameKind = Literal[
    "conversation", "setting", "images", "tool order", "tool added", "tool removed", "tool changed", "key order",
    "order", "extended", "inserted", "removed", "compaction", "role", "blocks", "line ends", "byte order mark",
    "trailing blanks", "white space", "Unicode form", "escapes", "truncation", "clock", "random id", "path", "number",
    "case", "edit",
]  # fmt: skip
"""The first change between two requests that costs a cache hit; `deepprompt.checks.blame.blame.KINDS` explains each."""

Complete = Literal["blame", "text", "usage"]
"""What a record of a log is complete enough for: to blame and simulate, to compare its text, or to sum up usage."""

Engine = Literal["process", "ray"]
"""What runs the parts of a large job: processes of this machine."""

MoveKind = Literal[
    "again", "turn", "clock", "time zone", "locale", "hash seed", "folder", "line ends", "home", "user", "host",
    "terminal", "listing", "umask", "temp",
]  # fmt: skip
"""A change of a function's surroundings; `deepprompt.checks.perturb.moves.MOVES` explains each."""

EntryKind = Literal["global", "project", "local", "rule", "import"]
"""What an entry of a load plan is: a file of the user's, of the project, of one checkout, a rule, or an import."""

EntryReason = Literal[
    "loaded", "cut", "shadowed", "duplicate", "blank", "missing", "refused", "unreadable", "over limit", "conditional",
    "outside", "excluded", "depth", "cycle",
]  # fmt: skip
"""Why a file is or is not included in a load plan."""

Trust = Literal["user", "repository", "outside"]
"""Who wrote an instruction file."""
