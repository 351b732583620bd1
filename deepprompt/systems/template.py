"""Template includes: a template, the files that its directives name, one pass, and a hash that can be replayed.

A directive stands alone on its line: `$$NAME`, resolved from the includes that the caller gives, or
`$$include PATH`. Included text is never expanded again. Everything else is verbatim. An include that no directive uses
is a note, or an error if the caller is strict.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from uuid import uuid4

from deepprompt.arguments import expect, expect_time
from deepprompt.errors import (
    EncodingError,
    FileRefusedError,
    IncludeNotFoundError,
    NestedTokenError,
    PathEscapeError,
    PromptAssemblyError,
    UnresolvedTokenError,
    UnusedIncludeError,
)
from deepprompt.prompt import Note, Pace, Part, Prompt, sha256_hex
from deepprompt.sources.files import is_folder, path_text, read_below
from deepprompt.text.hygiene import unify_line_ends

FILE_LIMIT = 1 << 26

_MISSING = "is not there"
# What an argument takes, for messages.
_TASK_REF = "the name of a template, without .txt"
_INCLUDES = "a mapping of names to paths, such as {'RULES': 'parts/rules.txt'}"
_MOST_NAMES = 20

_NAME = re.compile("[A-Z][A-Z0-9_]*")
_MENTION = re.compile(r"\$\$([A-Z][A-Z0-9_]*)")
_BLANKS = " \t"
# Strings, or runs of blanks between tokens: the contents of a string never change.
_JSON_BLANKS = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")|[ \t\n\r]+', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Span:
    """The characters of an assembled prompt that came from one file: `start` to `end` of its content."""

    name: str
    path: str
    start: int
    end: int
    file_hash: str


@dataclass(frozen=True)
class AssembledPrompt:
    """An assembled prompt, the files that it was made of, and the time."""

    content: str
    content_hash: str
    task_ref: str
    includes_resolved: dict[str, str]
    assembled_at: datetime
    correlation_id: str
    spans: tuple[Span, ...]
    """In order, without gaps: the template's own text and the includes."""
    template_root: str
    minify_json: bool
    notes: tuple[Note, ...] = ()
    """The includes that no directive uses."""

    @cached_property
    def prompt(self) -> Prompt:
        """The prompt as a `Prompt`, with a part for each piece of text from one file."""
        parts = tuple(
            Part(span.name, self.content[span.start : span.end], Pace.RELEASE, f"file:{span.path}")
            for span in self.spans
        )
        return Prompt(parts, notes=self.notes)


class PromptAssembler:
    """Assembles prompts from the templates and includes below one root. Each file is read once."""

    def __init__(
        self, root: str | os.PathLike[str], template_root: str | os.PathLike[str] = ".", minify_json: bool = False
    ) -> None:
        self.root = path_text(root, "PromptAssembler: root")
        self.template_root = path_text(template_root, "PromptAssembler: template_root")
        self.minify_json = minify_json
        self._files: dict[str, _File | PromptAssemblyError] = {}

    def assemble(
        self,
        task_ref: str | os.PathLike[str],
        includes: Mapping[str, str | os.PathLike[str]] | None,
        correlation_id: str | None = None,
        *,
        now: datetime | None = None,
        strict: bool = False,
    ) -> AssembledPrompt:
        """Return the prompt of a template and its includes.

        An include that no directive uses is a note; with `strict` it is an error too. Raises a `PromptAssemblyError`
        whose `problems` list everything that is wrong.
        """
        task_ref = _relative(path_text(task_ref, "PromptAssembler.assemble: task_ref", _TASK_REF), task_ref)
        includes = {} if includes is None else includes
        expect(includes, Mapping, "PromptAssembler.assemble: includes", _INCLUDES)
        if now is not None:
            expect_time(now, "PromptAssembler.assemble: now")
        problems: list[PromptAssemblyError] = []
        nested: set[str] = set()  # files whose directives were reported: naming one often costs nothing more
        given = _names(includes)
        template = self._template(task_ref)
        pieces: list[tuple[str, str, str, str]] = []  # name, path, text, hash of the file
        resolved: dict[str, str] = {}
        used: set[str] = set()
        own: list[str] = []

        def flush() -> None:
            if own:
                pieces.append(("template", template.path, "".join(own), template.digest))
                own.clear()

        lines = template.text.split("\n")
        for number, line in enumerate(lines, 1):
            end = "\n" if number < len(lines) else ""
            directive = line.strip(_BLANKS)
            if not directive.startswith("$$"):
                own.append(line + end)
                continue
            if is_token(directive[2:]):
                used.add(directive[2:])
            try:
                name, path = _resolve(directive, includes, given, template.path, number)
                file = self._include(path, template.path, number)
            except NestedTokenError as problem:
                if problem.path not in nested:
                    nested.add(problem.path)
                    problems += problem.problems
                continue
            except PromptAssemblyError as problem:
                problems += problem.problems
                continue
            resolved[name] = path
            flush()
            pieces.append((name, path, file.shown(path, self.minify_json), file.digest))
            own.append(end)
        flush()
        unused = _unused(includes, used, template)
        _raise_all([*problems, *unused] if strict else problems)
        notes = tuple(Note("skipped", each.where(), each.reason) for each in unused)
        return self._assembled(task_ref, pieces, resolved, correlation_id, now, notes)

    def assemble_node(
        self,
        node: Mapping[str, object],
        correlation_id: str | None = None,
        *,
        now: datetime | None = None,
        strict: bool = False,
    ) -> AssembledPrompt:
        """Return the prompt of a workflow's node: a mapping with `task_ref` and optional `includes`.

        Raises `PromptAssemblyError` as `assemble` does, and for a node of another form.
        """
        task_ref, includes = node.get("task_ref"), node.get("includes")
        if includes is None:
            includes = {}
        if not isinstance(task_ref, str) or not isinstance(includes, Mapping):
            raise PromptAssemblyError(
                "a node needs a task_ref that is text, and includes that map names to paths", "node"
            )
        return self.assemble(task_ref, includes, correlation_id, now=now, strict=strict)

    def _assembled(
        self,
        task_ref: str,
        pieces: list[tuple[str, str, str, str]],
        resolved: dict[str, str],
        correlation_id: str | None,
        now: datetime | None,
        notes: tuple[Note, ...],
    ) -> AssembledPrompt:
        spans = []
        start = 0
        for name, path, text, digest in pieces:
            spans.append(Span(name, path, start, start + len(text), digest))
            start += len(text)
        content = "".join(text for _, _, text, _ in pieces)
        return AssembledPrompt(
            content=content,
            content_hash=sha256_hex(content),
            task_ref=task_ref,
            includes_resolved=resolved,
            assembled_at=(now or datetime.now(UTC)).astimezone(UTC),
            correlation_id=correlation_id or str(uuid4()),
            spans=tuple(spans),
            template_root=self.template_root,
            minify_json=self.minify_json,
            notes=notes,
        )

    def _template(self, task_ref: str) -> _File:
        _refuse_path(task_ref, f"task_ref {task_ref!r}", 0)
        path = f"{task_ref}.txt"
        if self.template_root not in ("", "."):
            path = f"{self.template_root.rstrip('/')}/{path}"
        return self._file(path, lambda error, reason: error(f"template {reason}{self._hint(path, reason)}", path, 0))

    def _hint(self, path: str, reason: str) -> str:
        """Return a hint about the right name of a missing template, "" if there is none."""
        named = path.removesuffix(".txt")
        if reason == _MISSING and named.endswith(".txt") and isinstance(self._read(named), _File):
            return f": {named} is there, and a template is named without .txt"
        return ""

    def _include(self, path: str, template: str, line: int) -> _File:
        """Return an included file. Raise what is wrong with it, located at the line that names it."""
        _refuse_path(path, template, line)
        file = self._file(path, lambda error, reason: error(f"{path} {reason}", template, line))
        if file.nested:
            raise file.nested.with_traceback(None)  # raised before, and kept
        return file

    def _file(
        self,
        path: str,
        problem: Callable[[type[PromptAssemblyError], str], PromptAssemblyError],
    ) -> _File:
        found = self._files.get(path)
        if found is None:
            found = self._files[path] = self._read(path)
        if isinstance(found, PromptAssemblyError):
            raise problem(type(found), found.reason)
        if not found.text:
            raise problem(IncludeNotFoundError, "is empty")
        return found

    def _read(self, path: str) -> _File | PromptAssemblyError:
        try:
            data = read_below(self.root, path, FILE_LIMIT, lambda _: None, whole=True).data
        except FileRefusedError as error:
            kind = PathEscapeError if error.kind == "outside" else IncludeNotFoundError
            reason = _MISSING if error.kind == "missing" else f"is refused: {error}"
            if reason == _MISSING and not is_folder(self.root):
                reason = f"{_MISSING}: the root {self.root!r} is no folder"
            return kind(reason, path)
        try:
            text = unify_line_ends(data.decode("utf-8-sig"))
        except UnicodeDecodeError as error:
            return EncodingError(f"is not UTF-8 at byte {error.start}", path)
        return _File(path, text, sha256_hex(text))


class _File:
    """A file that was read: its text, its hash, and the directives that an include may not have."""

    def __init__(self, path: str, text: str, digest: str) -> None:
        self.path = path
        self.text = text
        self.digest = digest
        self._shown: dict[bool, str] = {}

    def shown(self, path: str, minify: bool) -> str:
        """Return the text for a prompt: without trailing newlines, and JSON minified if wanted."""
        if minify not in self._shown:
            text = self.text.rstrip("\n")
            self._shown[minify] = minified(text) if minify and path.endswith(".json") else text
        return self._shown[minify]

    @cached_property
    def nested(self) -> NestedTokenError | None:
        """The error about directives in an included file, None if there are none."""
        found = []
        if "$$" in self.text:
            for number, line in enumerate(self.text.split("\n"), 1):
                directive = line.strip(_BLANKS)
                if directive.startswith("$$") and (_NAME.fullmatch(directive[2:]) or _included(directive)):
                    found.append(NestedTokenError(f"an include may not include: {directive[:80]}", self.path, number))
        return NestedTokenError(found[0].reason, self.path, found[0].line, tuple(found)) if found else None


def minified(text: str) -> str:
    """Return JSON without blanks between its tokens. Everything else, and text that is not JSON, stays unchanged."""
    import json

    try:
        # Numbers keep their spelling, so they may have more digits than Python can convert.
        json.loads(text, parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return text
    return _JSON_BLANKS.sub(lambda match: match[1] or "", text)


def is_token(name: str) -> bool:
    """Whether a name can be used as `$$NAME`."""
    return _NAME.fullmatch(name) is not None


def _included(directive: str) -> str | None:
    """Return the path of a `$$include PATH`, None for anything else."""
    word, blank, path = directive[2:].replace("\t", " ").partition(" ")
    path = directive[len("$$include") :].strip(_BLANKS)
    return path if word == "include" and blank and path else None


def _relative(text: str, path: str | os.PathLike[str]) -> str:
    """Return a path below the root as a template writes it: text as it is, a `Path` of any system with slashes."""
    return text if isinstance(path, str) else text.replace(os.sep, "/")


def _names(includes: Mapping[str, str | os.PathLike[str]]) -> str:
    """Return the given names, for a message."""
    names = sorted(includes)
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return (", ".join(names[:_MOST_NAMES]) or "none") + more


def _resolve(
    directive: str, includes: Mapping[str, str | os.PathLike[str]], given: str, template: str, line: int
) -> tuple[str, str]:
    """Return the name and the path of the file that a directive includes."""
    name = directive[2:]
    if path := _included(directive):
        return path, path
    if not _NAME.fullmatch(name):
        raise UnresolvedTokenError(
            f"{directive[:80]}: a line that starts with $$ must be $$NAME in capitals or $$include PATH", template, line
        )
    if name not in includes:
        raise UnresolvedTokenError(f"$${name} has no include; given: {given}", template, line)
    found = includes[name]
    text = os.fspath(found) if isinstance(found, os.PathLike) else found
    if not isinstance(text, str):
        raise PathEscapeError(f"$${name}: a path is text, not {type(found).__name__}", template, line)
    return name, _relative(text, found)


def _raise_all(problems: list[PromptAssemblyError]) -> None:
    """Raise all problems as one error of the first one's class."""
    if problems:
        first = problems[0]
        raise type(first)(first.reason, first.path, first.line, tuple(problems))


def _unused(
    includes: Mapping[str, str | os.PathLike[str]], used: set[str], template: _File
) -> list[UnusedIncludeError]:
    """Return a problem for each include that no directive uses, by name."""
    left = {name: path for name, path in includes.items() if name not in used}
    lines = _mentions(template.text) if left else {}
    problems = []
    for name, path in sorted(left.items()):
        if not is_token(name):
            reason = f"the include {name!r} has a name that no directive can have: capitals, digits and _"
        elif name in lines:
            reason = f"$${name} inside a line is plain text, so {path} is not included: put $${name} alone on its line"
        else:
            reason = f"no line is $${name}, so {path} is not included: add the line, or remove the include"
        problems.append(UnusedIncludeError(reason, template.path, lines.get(name, 0)))
    return problems


def _mentions(text: str) -> dict[str, int]:
    """Return the line of the first `$$NAME` for each name, wherever it stands in its line."""
    lines: dict[str, int] = {}
    line, last = 1, 0
    for match in _MENTION.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        lines.setdefault(match[1], line)
    return lines


def _refuse_path(path: str, where: str, line: int) -> None:
    names = path.replace("\\", "/").split("/")
    if not path:
        raise IncludeNotFoundError("the path is empty", where, line)
    if path.startswith(("/", "\\", "~")) or re.match("[A-Za-z]:", path) or ".." in names:
        raise PathEscapeError(f"{path}: a path is relative and stays below the root", where, line)
