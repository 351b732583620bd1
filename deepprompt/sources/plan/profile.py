"""Profiles: how one agent finds, orders and truncates instruction files and skills, as data.

`profile_file.py` reads them from TOML, and `docs/instructions.md` describes every field. The engine knows nothing else
of an agent, so no agent has code of its own.
"""

from __future__ import annotations

from deepprompt.frozen import dataclass, field

AT = ("home", "walk", "root", "cwd", "touch")
KINDS = ("global", "project", "local", "rule")
STRIP = ("front matter", "comments")
SKIP = ("span", "fence", "indent", "comment")
ONE_FENCE = "backticks"


@dataclass(frozen=True, slots=True)
class Slot:
    """Names of which one folder gives at most one file, or a pattern with `*` that gives every file it matches."""

    names: tuple[str, ...]
    kind: str = "project"
    pick: str = "first"
    """Which name counts: `first` that exists, first `filled` one, or first found anywhere on the `walk`."""
    any_case: bool = False
    globs: str = ""
    """The field of the front matter that lists the paths a rule is for."""
    words: str = ""
    """The field of the front matter whose words in a conversation call for the file; it is never loaded at start."""
    always: tuple[str, ...] = ()
    """Globs that mean "always"."""
    strip: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Slots that are looked up together, folder by folder.

    `at` says in which: the `home` folder, all folders of the `walk` (and below cwd on a touch), the `root`, `cwd`, or
    only folders below cwd on a `touch`.
    """

    at: str
    slots: tuple[Slot, ...]
    unless: tuple[str, ...] = ()
    """The group is left out if a file of one of these names was found on the walk."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How many bytes may be included, and which files get them first."""

    per_file: int = 0
    total: int = 0
    largest: int = 0
    """Files above this size are left out; 0 for no such rule."""
    spend: str = "in order"
    """`in order`, `last first`, or `drop first`: leave out whole files from the front until the rest fits."""
    kinds: tuple[str, ...] = ()
    """The kinds that count; all of them if empty."""
    cut: str = "line"
    """`line`, with a notice that says how much is missing; or `marker`, at the byte, as the default loader does."""


@dataclass(frozen=True, slots=True)
class Imports:
    """How `@path` in a file is read: where it may stand, how far it goes, and where the imported text goes."""

    place: str = "inline"
    """`inline` for the text instead of `@path`, `beside` to keep `@path` before it, `after` for an entry of its own."""
    depth: int = 5
    before: str = ""
    """Characters that may stand before `@`, besides white space."""
    punctuation: bool = False
    """Whether punctuation at the end of a path is dropped."""
    letters: bool = False
    """Whether a path must start with a letter, `.` or `/`."""
    escapes: bool = False
    skip: tuple[str, ...] = SKIP
    repeat: str = "chain"
    """A file is imported again `never`, outside its own `chain` of imports, or `always`, down to the depth."""
    outside: bool = False
    """Whether paths may lead out of the project, below the folder that the caller passes as root."""
    home: bool = False
    links: bool = False
    """Whether a link may lead out of the project, in the same bounds."""
    alone: bool = False
    """Only a file that holds nothing but imports is expanded: it points to the real one."""


@dataclass(frozen=True, slots=True)
class Touch:
    """What is loaded when a file is touched: the folders' files below cwd, in this order, and matching rules."""

    folders: str = "none"
    imports: bool = True
    rules: str = "last"
    """Whether matching rules come before or after the folders' files: `first` or `last`."""


@dataclass(frozen=True, slots=True)
class SkillFolder:
    """A folder that skills lie in: where it is looked up, and its path, or several of which the first counts."""

    at: str
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SkillRules:
    """Which skills an agent lists, by the folders that it searches and the fields that it needs."""

    folders: tuple[SkillFolder, ...]
    """In the order of the search; `duplicates` says which of two skills with one name counts."""
    duplicates: str = "first"
    depth: int = 1
    """How many folders deep a skill's own folder may lie."""
    hidden: bool = False
    any_case: bool = False
    links: bool = True
    """Whether a file that is a link is listed. It never is if it leads out of the root."""
    flat: bool = False
    """Whether a file beside the folders, such as `name.md`, is a skill."""
    stubs: bool = False
    """Whether a file that holds nothing but `@path` stands for the file at that path."""
    name: str = "either"
    """Where the name is from: the `front` matter, the `folder`, or `either`, the front matter first."""
    names: str = "any"
    """Which names are listed: `any`, only `plain` ones without white space, or only those that equal their `folder`.
    With `hyphens` all are, and white space becomes a hyphen."""
    name_limit: int = 0
    description: str = "needed"
    """A skill without one is not listed (`needed`), or gets the first line of its `body`, or an `empty` one."""
    description_limit: int = 1_024
    over: str = "cut"
    front_matter: bool = True
    """Whether a skill without front matter is left out."""
    yaml: str = "lenient"
    bom: bool = True
    """Whether a skill that starts with a byte order mark is listed."""
    invalid: str = "replace"
    hide: tuple[str, ...] = ()
    """Fields that keep a skill from the list if they are true."""
    budget: int = 16_384
    """The bytes that the index may have before descriptions are shortened."""


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything that the engine knows about one agent."""

    name: str
    agent: str
    version: str
    recorded: str
    groups: tuple[Group, ...]
    markers: tuple[str, ...] = ()
    unmarked: str = "cwd"
    """Where the walk starts if no folder has a marker: in `cwd`, or at the `top` that may be read."""
    above: int = 0
    """How many folders above the project the walk starts; -1 for all of them."""
    folders: str = "all"
    order: str = "root first"
    trim: str = ""
    dedupe: str = ""
    invalid: str = "replace"
    """What the agent does with bytes that are not UTF-8: `replace`, `skip` the file, or `fail`. We always replace."""
    linked: tuple[str, ...] = ()
    """Names of CLAUDE files that a file of this profile may link or point to."""
    exclude: tuple[str, ...] = ()
    limit: Limit = field(default_factory=Limit)
    imports: Imports | None = None
    touch: Touch | None = None
    skills: SkillRules | None = None
    guard: tuple[str, ...] = ()
    """Where our guard does something else than the agent, in words for the profile's page."""

    @property
    def names_claude(self) -> bool:
        """Whether the profile loads CLAUDE files by name."""
        names = (name for group in self.groups for slot in group.slots for name in slot.names)
        return any("claude" in name.lower() for name in names)
