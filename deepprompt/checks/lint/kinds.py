"""What the files of a folder are to an agent: prompts, texts that it reads when it needs them, or mere documents.

A repository has more documents than prompts: plans, decisions, reports, recorded chats. Their dates and folders say
how things were, and no prompt has them. So a file of a folder is a prompt only if its name or its folder says so, or
if it begins by telling a model who it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal

Kind = Literal["prompt", "reference", "document", "output"]
"""A prompt is sent whole, a reference is read by a tool when an agent needs it, a document is for people, and output is
what programs leave behind: logs and lists, without any markup."""

_AGENTS = (
    r"\.(?:agents?|aider|amazonq|augment|claude|clinerules|codex|continue|cursor|deepseek|factory|gemini|goose|junie"
    r"|kilocode|kimi|kiro|opencode|qwen|roo|trae|windsurf)"
)
_SENT_WHOLE = re.compile(
    r"(?:^|/)(?:(?:AGENTS?|CLAUDE|GEMINI|QWEN|DEEPSEEK|SKILL|WARP|CONVENTIONS)(?:\.override|\.local)?\.md"
    r"|\.(?:cursor|windsurf|cline)rules|copilot-instructions\.md|[^/]+\.(?:mdc|instructions\.md|prompt\.md|chatmode\.md"
    r"|agent\.md)|\.deepseek/instructions\.md|\.(?:claude|opencode|codex|gemini|agents)/(?:agents|commands|prompts|rules)/.+)$"
)
# Of these folders an agent reads neither the page for people nor, of a skill, more than its SKILL.md.
_NOT_SENT = re.compile(r"(?:^|/)README[^/]*$|(?:^|/)skills/[^/]+/(?:.+/)?(?:AGENTS?|CLAUDE|GEMINI)\.md$", re.IGNORECASE)
_PROMPTS = re.compile(r"(?:^|/)(?:system[_-]?)?prompts?/|\.prompt$", re.IGNORECASE)
_REFERENCES = re.compile(rf"(?:^|/)(?:skills?|agents?|commands|rules|instructions|{_AGENTS})/", re.IGNORECASE)
# Records of past work: folders with these names, and files whose name has a date or says that it is a record.
_RECORDS = re.compile(
    r"(?:^|/)(?:[^/]*[_-])?(?:archived?|archives|audits?|chats|conversations|evidence|examples?|handoffs|history|journals?"
    r"|learnings|logs|memory|memories|notes|outputs?|plans|qa|reports|research|results|retrospectives|reviews|samples?|sessions|specs"
    r"|stories|tasks|tests?|tickets|transcripts)/"
    r"|(?:20\d\d[_-]?[01]\d|[01]\d[_-]?[0-3]\d[_-]?20\d\d)[^/]*(?:/|$)"
    r"|(?:^|/)(?:[^/]*[_-]|\.)?(?:answer|chat|conversation|examples?|handoff|history|journal|learnings|log|memory|question|report|samples?|session|transcript)"
    r"[^/.]{0,4}\.[a-z]+$",
    re.IGNORECASE,
)
_FOR_PEOPLE = re.compile(
    r"(?:^|/)(?:README|CHANGELOG|CHANGES|CONTRIBUTING|LICEN[CS]E|NOTICE|SECURITY|CODE_OF_CONDUCT)[^/]*$", re.IGNORECASE
)
_DOCS = re.compile(r"(?:^|/)docs?/", re.IGNORECASE)
_EXAMPLE = re.compile(r"(?:^|/)examples?\b[^/]*$", re.IGNORECASE)
# How a prompt begins that was rendered for a model, and how short one is that need not.
_ROLE = re.compile(
    r"^(?:[#>* \t]{0,8}|[^\n]{0,200}[.!?:] )"
    r"(?:You are (?:an?|the|acting|operating|working|helping|[A-Z])\b|You['’]re an? |Act as )",
    re.MULTILINE,
)
_STAMPED = re.compile(r"\s*[*_]{0,2}[A-Za-z]{4,20}[*_]{0,2}: [^\n]{1,80}\n[*_]{0,2}[A-Za-z ]{2,20}[*_]{0,2}: ")
_SHORT, _LONG = 1_000, 20_000
_MARKUP = (".md", ".mdc", ".rst")


def is_sent_whole(path: str) -> bool:
    """Whether agents send a file whole, by its name and folder."""
    path = _posix(path)
    return _SENT_WHOLE.search(path) is not None and _NOT_SENT.search(path) is None


def is_titled(text: str) -> bool:
    """Whether a text that was found in a folder is written as a document: long, or with a title, and to no model."""
    titled = len(text) > _SHORT or text.lstrip().startswith(("#", "---")) or _STAMPED.match(text) is not None
    return len(text) > _LONG or (titled and not _has_role(text))


def kind_of(path: str, text: str, root: str = "") -> Kind:
    """Return what a file of a repository is to an agent. `root` is the folder that was named, and begins the path.

    Whoever names a folder of documents wants them linted, so only the folders below it can make a document.
    """
    path, below = _posix(path), _below(path, root)
    document: Kind = "document" if path.endswith(_MARKUP) else "output"
    if _EXAMPLE.search(below):
        return document
    if is_sent_whole(path):
        return "prompt"
    if _RECORDS.search(below) or _FOR_PEOPLE.search(below):
        return document
    told = _PROMPTS.search(path) is not None or (_has_role(text) and len(text) <= _LONG)
    if _REFERENCES.search(path):
        return "prompt" if told else "reference"
    return "prompt" if told and not _DOCS.search(below) else document


def is_repository(paths: Iterable[str], root: str = "") -> bool:
    """Whether some of the files of a folder are prompts, references or for people by their paths.

    Otherwise it is a folder of parts, and every text in it counts as a prompt.
    """
    for path in paths:
        below = _below(path, root)
        if _FOR_PEOPLE.search(below) or _DOCS.search(below) or kind_of(path, "", root) in ("prompt", "reference"):
            return True
    return False


def _has_role(text: str) -> bool:
    return _ROLE.search(text, 0, _SHORT) is not None


def _posix(path: str) -> str:
    return path.replace("\\", "/")


def _below(path: str, root: str) -> str:
    return _posix(path).removeprefix(f"{_posix(root)}/") if root else _posix(path)
