"""Tiered message arrays: an agent's context about a repository, most stable first, with a breakpoint after each tier.

L0 is the system message. L1 to L3 are pairs of a user message and its acknowledgement, each followed by the part of the
conversation that belongs to the tier. The content that changes every turn comes last. A breakpoint is the mark
`cache_control` on the last block of a tier. The caller's messages are copied, never changed, and their own marks are
dropped: this module decides where a tier ends.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deepprompt.arguments import expect, expect_each
from deepprompt.catalog import bundled
from deepprompt.errors import MessageError
from deepprompt.prompt import Note, NotedText, Pace, Part, Prompt, notes_of
from deepprompt.sources.system_files import load_system_files
from deepprompt.text.hygiene import is_blank, neutralise, one_line, scrub, unify_line_ends

TIERS = ("L0", "L1", "L2", "L3")

STRUCTURE = (
    "# Repository Structure\n\n"
    "Below is a map of the repository showing classes, functions, and their relationships.\n"
    "Use this to understand the codebase structure and find relevant code.\n\n"
)
STRUCTURE_CONTINUED = "# Repository Structure (continued)\n\n"
REFERENCE_FILES = {
    "L0": "# Reference Files (Stable)\n\nThese files are included for reference:\n\n",
    "L1": "# Reference Files\n\nThese files are included for reference:\n\n",
    "L2": "# Reference Files (L2)\n\nThese files are included for reference:\n\n",
    "L3": "# Reference Files (L3)\n\nThese files are included for reference:\n\n",
}
FILE_TREE = "# Repository Files\n\nComplete list of files in the repository:\n\n"
URL_CONTEXT = "# URL Context\n\nThe following content was fetched from URLs mentioned in the conversation:\n\n"
WORKING_FILES = "# Working Files\n\nHere are the files:\n\n"
OK = "Ok."
OK_URLS = "Ok, I've reviewed the URL content."

_MARKS = ("cache_control", "prompt_cache_breakpoint")
# The keys of a message or block whose values may carry a mark. Anything else, such as a tool's arguments, is data.
_HOLDERS = ("content", "source", "tool_calls")
# A line of dashes before a heading that is a URL, as between two pages.
_OTHER_PAGE = re.compile(
    r"^([^\S\n]*)([-\uff0d\ufe63]{3,}[^\S\n]*)(?=\n(?:[^\S\n]*\n)*"
    r"[^\S\n]*[#\uff03\ufe5f]{2}[^\S\n]*<?(?:[A-Za-z][A-Za-z0-9+.-]*://|www\.))",
    re.MULTILINE,
)
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_FAMILY, _VERSION = "tiers", "1.0.0"
# What an argument takes, for messages.
_CONTEXT = "a TieredContext, such as TieredContext('You are ...', user_prompt=text)"
_TIERS = "{'L0': Tier(files={'a.py': text})}"

Message = dict[str, Any]
"""A message of a request: `role` and `content`, as OpenAI and Anthropic spell them."""


@dataclass(frozen=True, slots=True)
class Tier:
    """Content of one stability: symbol blocks and files by path, and the messages of that age."""

    symbols: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    history: Sequence[Mapping[str, object]] = ()

    def __post_init__(self) -> None:
        """Raise if symbols or files are not mappings."""
        expect(self.symbols, Mapping, "Tier: symbols", "a mapping of names to texts", MessageError)
        expect(self.files, Mapping, "Tier: files", "a mapping of paths to texts", MessageError)


@dataclass(frozen=True, slots=True)
class UrlContent:
    """A page that was fetched from a URL."""

    url: str
    title: str = ""
    content: str = ""
    symbol_map: str = ""


@dataclass(frozen=True, slots=True)
class TieredContext:
    """Everything that goes into one request. `images` are URLs, `data:` ones too."""

    system_prompt: str
    legend: str = ""
    tiers: Mapping[str, Tier] = field(default_factory=dict)
    file_tree: Sequence[str] = ()
    urls: Sequence[UrlContent] = ()
    active_files: Mapping[str, str] = field(default_factory=dict)
    history: Sequence[Mapping[str, object]] = ()
    user_prompt: str = ""
    images: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Raise if a field has the wrong type."""
        where = "TieredContext:"
        expect(self.tiers, Mapping, f"{where} tiers", f"a mapping of names to tiers, such as {_TIERS}", MessageError)
        for name, tier in self.tiers.items():
            expect(tier, Tier, f"{where} tiers[{name!r}]", "a Tier, such as Tier(files={'a.py': text})", MessageError)
        expect(self.active_files, Mapping, f"{where} active_files", "a mapping of paths to texts", MessageError)
        takes = "UrlContents, such as UrlContent('https://example.org', content=text)"
        object.__setattr__(self, "urls", expect_each(self.urls, UrlContent, f"{where} urls", takes, MessageError))


def tiered_system_prompt(extra: str = "", *, main: str = "", folder: str | os.PathLike[str] | None = None) -> NotedText:
    """Return the main prompt of a tiered context, followed by the project's own instructions, if any.

    Each is the text that you pass, or else the file `system.md` or `system_extra.md` in `folder`. Without either, the
    main prompt is the bundled one. The text carries the notes of the loader. Raises `MessageError` for an argument that
    is not text, and `SourceError` for a file that cannot be read.
    """
    notes: list[Note] = []
    texts = {"main": _scrubbed(main, "main", notes), "extra": _scrubbed(extra, "extra", notes)}
    if folder is not None:
        for name, found in zip(texts, load_system_files(folder), strict=True):
            if not texts[name]:
                texts[name] = found
                notes += found.notes
    first = texts["main"] or bundled().text(_FAMILY, _VERSION, "system").removesuffix("\n")
    return NotedText(f"{first}\n\n{texts['extra']}" if texts["extra"] else first, notes)


def commit_prompt() -> str:
    """Return the system prompt of a request for a commit message, whose user message is the diff."""
    return bundled().text(_FAMILY, _VERSION, "commit").removesuffix("\n")


def compaction_prompt() -> str:
    """Return the system prompt of a request that finds where the topic changed and summarises what came before.

    Its user message is the history to compact, with the index of each message. The response is a JSON object.
    """
    return bundled().text(_FAMILY, _VERSION, "compaction").removesuffix("\n")


def edit_reminder() -> str:
    """Return the edit format in short. It goes to the end of a user's message, as `attach` puts it there."""
    return bundled().text(_FAMILY, _VERSION, "reminder").removesuffix("\n")


def assemble_messages(context: TieredContext) -> list[Message]:
    """Return the whole message array, system message first, with one breakpoint per tier.

    Raises what `compose_messages` raises: `MessageError`.
    """
    expect(context, TieredContext, "assemble_messages: context", _CONTEXT, MessageError)
    notes: list[Note] = []
    return _mark_first(_system_parts(context, notes), _conversation(context, notes))


def compose_messages(context: TieredContext) -> Prompt:
    """Return the array as a `Prompt`: the system message as parts, the others as messages.

    Raises `MessageError` for an unknown tier, a message or path of a wrong form, or an empty user prompt.
    """
    expect(context, TieredContext, "compose_messages: context", _CONTEXT, MessageError)
    notes: list[Note] = []
    parts = _system_parts(context, notes)
    array = _mark_first(parts, _conversation(context, notes))
    return Prompt(tuple(parts), messages=tuple(array[1:] if parts else array), notes=tuple(notes))


def _mark_first(parts: list[Part], conversation: tuple[list[Message], list[Message]]) -> list[Message]:
    """Return the array of the L0 sequence, with its breakpoint, and everything after it."""
    first, rest = conversation
    if parts:
        first = [{"role": "system", "content": "".join([part.text for part in parts])}, *first]
    mark_last(first)
    return first + rest


def _conversation(context: TieredContext, notes: list[Note]) -> tuple[list[Message], list[Message]]:
    """Return the messages of L0, not yet marked, and those after it."""
    if unknown := sorted(set(context.tiers) - set(TIERS), key=repr):
        raise MessageError(f"unknown tier {unknown[0]!r}; the tiers are {', '.join(TIERS)}")
    first = _copies(context.tiers["L0"].history, "tiers['L0'].history", notes) if "L0" in context.tiers else []
    rest: list[Message] = []
    for name in TIERS[1:]:
        if name in context.tiers:
            rest += _tier(name, context.tiers[name], notes)
    if context.file_tree:
        rest += _pair(FILE_TREE + _file_tree(context.file_tree, notes), OK)
    if context.urls:
        rest += _pair(URL_CONTEXT + "\n---\n".join([_url(url, notes) for url in context.urls]), OK_URLS)
    if context.active_files:
        rest += _pair(WORKING_FILES + _files(context.active_files, notes), OK)
    rest += _copies(context.history, "history", notes)
    rest.append(_current(context, notes))
    return first, rest


def _system_parts(context: TieredContext, notes: list[Note]) -> list[Part]:
    """Return the parts of the L0 message, each with the empty line before it."""
    tier = context.tiers.get("L0", Tier())
    notes += notes_of(context.system_prompt)
    texts = [("system_prompt", _scrubbed(context.system_prompt, "system_prompt", notes), Pace.RELEASE)]
    entries = [text for text in (_scrubbed(context.legend, "legend", notes), *_symbols(tier, notes)) if text]
    texts.append(("structure", STRUCTURE + "\n".join(entries) if entries else "", Pace.PROJECT))
    texts.append(("files", REFERENCE_FILES["L0"] + _files(tier.files, notes) if tier.files else "", Pace.PROJECT))
    parts: list[Part] = []
    for name, text, pace in texts:
        if text:
            parts.append(Part(name, "\n\n" + text if parts else text, pace, f"argument:{name}"))
    return parts


def _tier(name: str, tier: Tier, notes: list[Note]) -> list[Message]:
    """Return the messages of L1, L2 or L3: its content, its part of the conversation, and a breakpoint at the end."""
    sections = []
    if symbols := _symbols(tier, notes):
        sections.append(STRUCTURE_CONTINUED + "\n".join(symbols))
    if tier.files:
        sections.append(REFERENCE_FILES[name] + _files(tier.files, notes))
    messages = _pair("\n\n".join(sections), OK) if sections else []
    messages += _copies(tier.history, f"tiers[{name!r}].history", notes)
    mark_last(messages)
    return messages


def _pair(text: str, answer: str) -> list[Message]:
    return [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]


def _symbols(tier: Tier, notes: list[Note]) -> list[str]:
    pairs = _by_key(tier.symbols, "key of symbols")
    texts = [_scrubbed(text, f"symbols of {scrub(key)}", notes) for key, text in pairs]
    return [text for text in texts if text]


def _files(files: Mapping[str, str], notes: list[Note]) -> str:
    """Return files by path, each as its path, a fence, its content, a fence."""
    shown = []
    for path, content in _by_key(files, "path"):
        name = _line(path, "path", notes)
        if _FENCE.match(name):  # what stands after it would not be in a fence any more
            notes.append(Note("neutralised", name, "a path that looks like a fence"))
            name = f"./{name}"
        shown.append(f"{name}\n{_fenced(_scrubbed(content, name, notes))}")
    return "\n\n".join(shown)


def show_working_files(files: Mapping[str, str]) -> str:
    """Return the message that shows files as they are now, as the array has it for its working files."""
    return WORKING_FILES + _files(files, [])


def _by_key(texts: Mapping[str, str], kind: str) -> list[tuple[str, str]]:
    """Return the items of a mapping with text keys, sorted by key."""
    for key in texts:
        _scrubbed(key, kind, [])
    return sorted(texts.items())


def _fenced(text: str) -> str:
    """Return a text between fences that are longer than any run of backticks in it."""
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`{3,}", text))])
    body = text if not text or text.endswith("\n") else text + "\n"
    return f"{fence}\n{body}{fence}"


def _file_tree(paths: Sequence[str], notes: list[Note]) -> str:
    if isinstance(paths, str):
        raise MessageError("file_tree is a list of paths, not one text")
    lines = sorted(_line(path, "path", notes) for path in paths)
    return "\n".join([f"# File Tree ({len(lines)} files)", "", *lines])


def _url(page: UrlContent, notes: list[Note]) -> str:
    url = neutralise(_line(page.url, "URL", notes), "URL", notes)
    scrubbed = [_scrubbed(text, url, notes) for text in (page.title, page.content, page.symbol_map)]
    scrubbed[0] = one_line(scrubbed[0], url, notes)
    title, content, symbols = [neutralise(unify_line_ends(text), url, notes) for text in scrubbed]
    content = _without_pages(content, url, notes)
    pieces = [f"## {url}"]
    if not is_blank(title):
        pieces.append(f"**{title}**")
    if content:
        pieces.append(content)
    if symbols:
        pieces += ["### Symbol Map", _fenced(symbols)]
    return "\n\n".join(pieces)


def _without_pages(content: str, url: str, notes: list[Note]) -> str:
    """Return the content of a page in which nothing looks like the end of it and the start of another page."""
    first = _OTHER_PAGE.search(content)
    if first is None:
        return content
    escaped, count = _OTHER_PAGE.subn(r"\1\\\2", content)
    notes.append(Note("neutralised", url, "look-alike of the line before another page", first.start(), count))
    return escaped


def _line(text: str, kind: str, notes: list[Note]) -> str:
    """Return a text that must be one line, such as a path. Raise if it is empty or has a line break."""
    text = _scrubbed(text, kind, notes)
    if not text or "\n" in text or "\r" in text:
        problem = "has a line break" if text else "is empty"
        raise MessageError(f"{kind} {text!r:.80} {problem}; a {kind} stands on one line")
    return text


def _current(context: TieredContext, notes: list[Note]) -> Message:
    """Return the user's message: plain text, or text and images."""
    text = _scrubbed(context.user_prompt, "user_prompt", notes)
    if isinstance(context.images, str):
        raise MessageError("images is a list of URLs, not one text")
    if is_blank(text) and not context.images:
        raise MessageError("the current prompt has neither text nor an image; set user_prompt or images")
    if not context.images:
        return {"role": "user", "content": text}
    urls = [_scrubbed(url, f"images[{index}]", notes) for index, url in enumerate(context.images)]
    if "" in urls:
        raise MessageError(f"images[{urls.index('')}] is empty; an image is its URL")
    blocks: list[Message] = [] if is_blank(text) else [{"type": "text", "text": text}]
    blocks += [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {"role": "user", "content": blocks}


def mark_last(messages: list[Message]) -> None:
    """Put a breakpoint on the last text that may carry one, if there is any."""
    for message in reversed(messages):
        content = message.get("content")
        if isinstance(content, str):
            if is_blank(content):
                continue
            message["content"] = [{"type": "text", "text": content, "cache_control": {"type": "ephemeral"}}]
            return
        for block in reversed(content or []):
            if block.get("type") == "text" and not is_blank(block["text"]):
                block["cache_control"] = {"type": "ephemeral"}
                return


def _copies(messages: Iterable[Mapping[str, object]], where: str, notes: list[Note]) -> list[Message]:
    """Return copies of messages, without their marks."""
    copies: list[Message] = []
    for index, message in enumerate(messages):
        place = f"{where}[{index}]"
        if not isinstance(message, Mapping):
            raise MessageError(f"{place}: a message is a mapping with a role and content, not {type(message).__name__}")
        if not isinstance(message.get("role"), str):
            raise MessageError(f"{place}: a message has a role that is text, such as user or assistant")
        try:
            copies.append(_copy(message, place, notes, _MARKS))
        except RecursionError:
            raise MessageError(f"{place}: nested too deeply") from None
        _check_content(copies[-1].get("content"), place)
    return copies


def _check_content(content: object, place: str) -> None:
    """Raise if content is not text or a list of blocks. Next to tool calls it may be None."""
    if not isinstance(content, str | list | None):
        raise MessageError(f"{place}: content is text or a list of blocks, not {type(content).__name__}")
    for index, block in enumerate(content if isinstance(content, list) else ()):
        kind = block.get("type") if isinstance(block, dict) else None
        if not isinstance(kind, str) or (kind == "text" and not isinstance(block.get("text"), str)):
            raise MessageError(
                f"{place}.content[{index}]: a block is a mapping with a type, and one of type text has a text"
            )


def _copy(value: object, place: str, notes: list[Note], marks: Sequence[str] = ()) -> Any:
    """Return a deep copy of a JSON value, without these marks where a provider would read them."""
    if isinstance(value, str):
        return scrub(value, place, notes)
    if value is None or isinstance(value, int | float):
        return value
    if isinstance(value, list | tuple):
        return [_copy(item, place, notes, marks) for item in value]
    if not isinstance(value, Mapping):
        raise MessageError(f"{place}: {type(value).__name__} cannot be written as JSON")
    return {
        _scrubbed(key, f"{place}: a key", notes): _copy(item, place, notes, marks if key in _HOLDERS else ())
        for key, item in value.items()
        if key not in marks
    }


def _scrubbed(text: str, source: str, notes: list[Note]) -> str:
    if not isinstance(text, str):
        raise MessageError(f"{source} is text, not {type(text).__name__}")
    return scrub(text, source, notes)
