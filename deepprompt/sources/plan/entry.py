"""One line of a load plan: a file that was looked at, and what became of it."""

from __future__ import annotations

from deepprompt.frozen import dataclass

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.words import EntryKind, EntryReason, Trust


@dataclass(frozen=True, slots=True)
class Entry:
    """A file that the plan looked at: its text if it is included, and the reason why it is or is not."""

    path: str
    """The path as the prompt shows it."""
    kind: EntryKind
    trust: Trust
    """Who wrote it: the `user`, in the home folder; the `repository`; or somebody `outside` of both."""
    reason: EntryReason
    detail: str = ""
    """What belongs to the reason: the file that shadows it or that it repeats, its globs, why it was refused."""
    text: str = ""
    """The text as it is included, "" if it is not."""
    parent: str = ""
    """The file that imports this one."""
    inline: bool = False
    """Whether the text is part of the parent's text already."""
    bytes_file: int = 0
    bytes_read: int = 0
    bytes_included: int = 0
    sha256: str = ""
    """The digest of the bytes that were read, in hex."""
    globs: tuple[str, ...] = ()
    """For a rule: the paths that it is for."""

    @property
    def included(self) -> bool:
        """Whether the text, or the beginning of it, is included."""
        return self.reason in ("loaded", "cut")


@dataclass(frozen=True, slots=True)
class Deviation:
    """A place where our guard does something else than the agent: what it is about, and both behaviours."""

    path: str
    ours: str
    agent: str

    def __str__(self) -> str:
        return f"{self.path}: {self.ours}; the agent {self.agent}"
