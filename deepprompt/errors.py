"""The errors of deepprompt, in one tree, so that you can catch all of them as `DeepPromptError`.

    DeepPromptError
    ├── AssetError            a prompt part is missing, altered, or laid out wrongly
    │   ├── UnknownPartError  no family, version or part of that name; the message lists those that exist
    │   └── PresetError       a preset, or what it was given, has problems; `problems` lists every one
    ├── SourceError           a folder, file or argument cannot be used as input
    │   ├── FileRefusedError  one file may not or cannot be read; `kind` says which
    │   └── CallError         a function cannot be called, fails, or returns no prompt
    ├── SkillError            no skill of that name, or its body can no longer be read
    ├── PaceError             a part that changes often stands before one that changes rarely
    ├── VariableError         a variable of a part has no value, or a value has no variable
    ├── BudgetError           the prompt has more tokens than its budget
    ├── ToolError             a tool definition has no name or is not JSON
    ├── SessionError          a session cannot be saved or loaded, or cannot do what it was asked for
    ├── MessageError          a message or request that no provider would accept
    ├── AuditError            a log of assembled prompts cannot be written or read
    ├── UsageError            a response has no usage, or impossible numbers
    └── PromptAssemblyError   a template cannot be assembled; `problems` lists every reason, in order
        ├── UnresolvedTokenError  a line that starts with $$ names no include
        ├── UnusedIncludeError    an include is given, and no line of the template uses it
        ├── IncludeNotFoundError  a file is missing, empty or not a regular file
        ├── NestedTokenError      an included file contains a directive itself
        ├── EncodingError         a file is not UTF-8
        └── PathEscapeError       a path is absolute, has `..`, or a link leads out of the root

Every message says what is wrong, where, and what to do or what was available.
"""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from collections.abc import Iterable

    from deepprompt.words import NoteKind, RefusalKind


class DeepPromptError(Exception):
    """The base of all errors of deepprompt."""


class AssetError(DeepPromptError):
    """A prompt part is missing, altered, or laid out wrongly."""


class UnknownPartError(AssetError):
    """No family, version or part of that name."""


class PresetError(AssetError):
    """A preset, or what it was given to compose, has problems. `problems` lists every one, each with its place."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(dict.fromkeys(problems))
        super().__init__("; ".join(self.problems))


class SourceError(DeepPromptError):
    """A folder, file or argument cannot be used as input."""


class FileRefusedError(SourceError):
    """One file below a root is not read; `kind` says why.

    `missing` and `unreadable` files cannot be read. The others may not be: they lie `outside` the root, have a
    `forbidden` name, were `replaced` while they were opened, or are `refused` for what they are, such as a device.
    """

    def __init__(self, kind: RefusalKind, reason: str) -> None:
        super().__init__(reason)
        self.kind: RefusalKind = kind

    @property
    def note_kind(self) -> NoteKind:
        """The kind of the note that a loader writes about the file."""
        return "skipped" if self.kind in ("missing", "unreadable") else "refused"


class CallError(SourceError):
    """A function cannot be called, fails, takes too long, or returns no prompt."""

    def __init__(self, reason: str, function: object = None) -> None:
        super().__init__(reason if function is None else f"{function}: {reason}")
        self.reason = reason
        """The message without the function's name."""


class SkillError(DeepPromptError):
    """No skill of that name, or its body can no longer be read."""


class PaceError(DeepPromptError):
    """A part that changes often stands before one that changes rarely."""


class VariableError(DeepPromptError):
    """A variable of a part has no value, or a value has no variable."""


class BudgetError(DeepPromptError):
    """The prompt has more tokens than its budget."""


class ToolError(DeepPromptError):
    """A tool definition has no name or is not JSON."""


class MessageError(DeepPromptError):
    """A message or request that no provider would accept. `place` is the message or block, "" for a whole request."""

    def __init__(self, reason: str, place: str = "") -> None:
        self.place = place
        super().__init__(f"{place}: {reason}" if place else reason)


class SessionError(DeepPromptError):
    """A session cannot be saved or loaded, or cannot do what it was asked for."""


class AuditError(DeepPromptError):
    """A log of assembled prompts cannot be written or read."""


class UsageError(DeepPromptError):
    """A response has no usage, or impossible numbers."""


class PromptAssemblyError(DeepPromptError):
    """A template cannot be assembled. Its class is that of the first problem; `problems` lists every one, in order."""

    def __init__(self, reason: str, path: str, line: int = 0, problems: tuple[PromptAssemblyError, ...] = ()) -> None:
        self.reason = reason
        self.path = path
        self.line = line
        self.problems = problems or (self,)
        super().__init__("; ".join(problem.where_and_what() for problem in self.problems))

    def where(self) -> str:
        """Return the place of the problem as `FILE:LINE`, or as `FILE` if it is about the whole file."""
        return f"{self.path}:{self.line}" if self.line else self.path

    def where_and_what(self) -> str:
        """Return the problem as `FILE:LINE: REASON`."""
        return f"{self.where()}: {self.reason}"


class UnresolvedTokenError(PromptAssemblyError):
    """A line that starts with $$ names no include."""


class UnusedIncludeError(PromptAssemblyError):
    """An include is given, and no line of the template uses it."""


class IncludeNotFoundError(PromptAssemblyError):
    """A file is missing, empty or not a regular file."""


class NestedTokenError(PromptAssemblyError):
    """An included file contains a directive itself."""


class EncodingError(PromptAssemblyError):
    """A file is not UTF-8."""


class PathEscapeError(PromptAssemblyError):
    """A path is absolute, has `..`, or a link leads out of the root."""
