"""Tagged sections: the context of an agent for one run, in a fixed order from its identity to its task.

The builder only formats, and fetches nothing: clock, memories and task are arguments. Every section has a tag that only
the builder can open or close: in content, the `<` of such a tag is written `&lt;`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from deepprompt.arguments import expect, expect_each, expect_texts, expect_time
from deepprompt.catalog import bundled
from deepprompt.prompt import Note, Pace, Part, Prompt
from deepprompt.sources.files import path_text
from deepprompt.text.disarm import escape_tags
from deepprompt.text.hygiene import is_blank, neutralise, one_line, scrub, unify_line_ends

TAGS = (
    "Identity", "Instructions", "Responsibilities", "Responsibility", "Role", "Directories", "Storage", "Formatting",
    "Context", "Memories", "Task", "Background",
)  # fmt: skip

_FAMILY, _VERSION = "tagged", "1.0.0"
_CHANNELS = ("telegram",)
"""The channels with bundled rules, each a part of its name."""
_Path = str | os.PathLike[str]

# The ampersand first, or it would be escaped twice.
_ENTITIES = (
    ("&", "&amp;"), ('"', "&quot;"), ("<", "&lt;"), (">", "&gt;"), ("\uff1c", "&#xFF1C;"), ("\ufe64", "&#xFE64;"),
)  # fmt: skip

# In English whatever the locale is.
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Responsibility:
    """One duty of an agent, which it can refer to by its title."""

    title: str
    content: str

    def __post_init__(self) -> None:
        """Raise if a field is not text."""
        expect_texts(self, "title", "content")


@dataclass(frozen=True, slots=True)
class AgentConfig:
    """The description of an agent. `role` is an older form of `identity`, used only if that is empty.

    With `storage`, the prompt says what to keep where: `storage_text`, or the bundled advice. `formatting` has your own
    rules by channel, which replace bundled ones.
    """

    identity: str = ""
    instructions: str = ""
    responsibilities: Sequence[Responsibility] = ()
    role: str = ""
    storage: bool = True
    storage_text: str = ""
    formatting: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Raise if a field has the wrong type."""
        expect_texts(self, "identity", "instructions", "role", "storage_text")
        rules = "a mapping of channels to texts, such as {'slack': 'Write *bold* with one asterisk.'}"
        expect(self.formatting, Mapping, "AgentConfig: formatting", rules)
        for text in (*self.formatting, *self.formatting.values()):
            expect(text, str, "AgentConfig: formatting", rules)
        object.__setattr__(self, "formatting", {**self.formatting})
        takes = "Responsibilities, such as Responsibility('Stock', 'Count it on Mondays.')"
        duties = expect_each(self.responsibilities, Responsibility, "AgentConfig: responsibilities", takes)
        object.__setattr__(self, "responsibilities", duties)


@dataclass(frozen=True, slots=True)
class TaskStep:
    """One step of a task, which may refer to a task of its own."""

    title: str
    done: bool = False
    task_id: str | int | None = None

    def __post_init__(self) -> None:
        """Raise if a field is not text."""
        expect_texts(self, "title")


@dataclass(frozen=True, slots=True)
class Task:
    """The task of a run."""

    id: str | int
    title: str
    description: str
    status: str
    steps: Sequence[TaskStep] = ()

    def __post_init__(self) -> None:
        """Raise if a field is not text, or a step not a `TaskStep`."""
        expect_texts(self, "title", "description", "status")
        steps = expect_each(self.steps, TaskStep, "Task: steps", "TaskSteps, such as TaskStep('Count the crates')")
        object.__setattr__(self, "steps", steps)


def build_system_prompt(
    agent: AgentConfig,
    channel: str,
    cwd: str | os.PathLike[str] | None,
    directories: Iterable[str | os.PathLike[str]] | None,
    *,
    now: datetime,
    task: Task | None = None,
    background: bool = False,
    silent: bool = False,
    memories: Iterable[str] | None = (),
) -> str:
    """Return the system prompt for one run of an agent. `silent` is another word for `background`."""
    return compose_tagged_prompt(
        agent, channel, cwd, directories, now=now, task=task, background=background, silent=silent, memories=memories
    ).text


def compose_tagged_prompt(
    agent: AgentConfig,
    channel: str,
    cwd: str | os.PathLike[str] | None,
    directories: Iterable[str | os.PathLike[str]] | None,
    *,
    now: datetime,
    task: Task | None = None,
    background: bool = False,
    silent: bool = False,
    memories: Iterable[str] | None = (),
) -> Prompt:
    """Return the system prompt for one run of an agent as parts, one per section."""
    for name, value, kind, takes in (
        ("agent", agent, AgentConfig, "an AgentConfig, such as AgentConfig('You keep the stock.')"),
        ("channel", channel, str, "text, '' for none"),
        ("task", task, Task | None, "a Task, such as Task(7, 'Count', 'All crates.', 'open'), or None"),
    ):
        expect(value, kind, f"compose_tagged_prompt: {name}", takes)
    expect_time(now, "compose_tagged_prompt: now")
    page = _Page()
    if not is_blank(agent.identity):
        page.add("Identity", page.content(agent.identity, "identity"), Pace.PROJECT)
        page.add("Instructions", page.content(agent.instructions, "instructions"), Pace.PROJECT)
    else:
        if not is_blank(agent.instructions):
            page.notes.append(Note("skipped", "instructions", "they are shown only beside an identity: give one"))
        page.add("Role", page.content(agent.role, "role"), Pace.PROJECT)
    page.add("Responsibilities", _responsibilities(agent.responsibilities, page), Pace.PROJECT)
    page.add("Directories", _directories(cwd, directories, page), Pace.PROJECT)
    if agent.storage and not is_blank(agent.storage_text):
        page.add("Storage", page.content(agent.storage_text, "storage_text"), Pace.PROJECT)
    elif agent.storage:
        page.add_bundled("Storage", "storage", Pace.PROJECT)
    page.add_formatting(agent.formatting, channel)
    page.add("Context", f"Current time: {_time(now)} ({page.line(_zone(now), 'now')})", Pace.TURN)
    known = expect_each(() if memories is None else memories, str, "compose_tagged_prompt: memories", "texts")
    lines = [f"- {page.outside(memory, 'memories')}" for memory in known if not is_blank(memory)]
    page.add("Memories", "\n".join(lines), Pace.TURN)
    if task is not None:
        page.add("Task", _task(task, page), Pace.TURN)
    if background or silent:
        page.add_bundled("Background", "background", Pace.TURN)
    return Prompt(tuple(page.parts), notes=tuple(page.notes))


class _Page:
    """The sections so far."""

    def __init__(self) -> None:
        self.parts: list[Part] = []
        self.notes: list[Note] = []

    def add(self, tag: str, content: str, pace: Pace, origin: str = "") -> None:
        """Add a section, unless it would be empty."""
        if not is_blank(content):
            lead = "\n\n" if self.parts else ""
            origin = origin or f"argument:{tag.lower()}"
            self.parts.append(Part(tag.lower(), f"{lead}<{tag}>\n{content}\n</{tag}>", pace, origin))

    def add_bundled(self, tag: str, part: str, pace: Pace) -> None:
        """Add a section whose wording is bundled."""
        catalog = bundled()
        text = catalog.text(_FAMILY, _VERSION, part).removesuffix("\n")
        self.add(tag, text, pace, catalog.origin(_FAMILY, _VERSION, part))

    def add_formatting(self, own: Mapping[str, str], channel: str) -> None:
        """Add the rules for a channel: the agent's own, or else bundled ones. `telegram-work` is also `telegram`."""
        for name in dict.fromkeys([channel, channel.partition("-")[0]]):
            if name in own:
                self.add("Formatting", self.content(own[name], "formatting"), Pace.PROJECT)
                return
            if name in _CHANNELS:
                self.add_bundled("Formatting", name, Pace.PROJECT)
                return
        near = next((name for name in (*own, *_CHANNELS) if name and name.casefold() == channel.casefold()), "")
        if near:
            detail = f"there are no rules for the channel {channel!r}, only for {near!r}"
            self.notes.append(Note("skipped", "formatting", scrub(detail)))

    def content(self, text: str, source: str) -> str:
        """Return a caller's text unchanged, except for lone surrogates and look-alikes of our tags."""
        return escape_tags(scrub(text, source, self.notes), TAGS, source, self.notes)

    def line(self, text: str, source: str) -> str:
        """Return a caller's text on one line."""
        return self.content(one_line(text, source, self.notes), source)

    def outside(self, text: str, source: str) -> str:
        """Return text from outside, such as a memory, on one line, with hidden characters and tokens neutralised."""
        return self.content(self.neutral(text, source), source)

    def neutral(self, text: str, source: str) -> str:
        """Return the same, but with the tags of ours that may be in it."""
        return neutralise(one_line(scrub(text, source, self.notes), source, self.notes), source, self.notes)


def _responsibilities(responsibilities: Sequence[Responsibility], page: _Page) -> str:
    children = []
    for duty in responsibilities:
        if is_blank(duty.title) and is_blank(duty.content):
            continue
        title = one_line(scrub(duty.title, "responsibilities", page.notes), "responsibilities", page.notes)
        for character, entity in _ENTITIES:
            title = title.replace(character, entity)
        content = page.content(duty.content, "responsibilities")
        lines = [f"    {line}" if line else "" for line in content.split("\n")] if content else []
        children.append("\n".join([f'  <Responsibility title="{title}">', *lines, "  </Responsibility>"]))
    return "\n".join(children)


def _directories(cwd: _Path | None, directories: Iterable[_Path] | None, page: _Page) -> str:
    cwd = path_text("" if cwd is None else cwd, "compose_tagged_prompt: cwd")
    others = () if directories is None else directories
    folders = expect_each(others, str | os.PathLike, "compose_tagged_prompt: directories", "paths of folders")
    blocks = []
    if not is_blank(cwd):
        blocks.append(
            f"Your working directory is: {page.outside(cwd, 'cwd')}\n"
            "There may already be existing files — check before creating new ones."
        )
    lines = [f"- {page.outside(folder, 'directories')}" for folder in map(os.fspath, folders) if not is_blank(folder)]
    if lines:
        blocks.append("\n".join(["You also have access to these additional directories:", *lines]))
    return "\n\n".join(blocks)


def _time(now: datetime) -> str:
    hour = now.hour % 12 or 12
    half = "AM" if now.hour < 12 else "PM"
    day = f"{_DAYS[now.weekday()]}, {_MONTHS[now.month - 1]} {now.day}, {now.year}"
    return f"{day} at {hour}:{now.minute:02} {half}"


def _zone(now: datetime) -> str:
    return getattr(now.tzinfo, "key", None) or now.tzname() or "unknown"


def _task(task: Task, page: _Page) -> str:
    # Indent further lines, whatever character breaks them, so that none looks like a field.
    lines = unify_line_ends(task.description).split("\n")
    description = page.content("\n  ".join(page.neutral(line, "task") for line in lines), "task")
    current = next((index for index, step in enumerate(task.steps) if not step.done), None)
    steps = []
    for index, step in enumerate(task.steps):
        mark = "✓" if step.done else "→" if index == current else "○"
        bound = "" if step.task_id is None else f" (#{page.outside(str(step.task_id), 'task')})"
        steps.append(f"{index + 1}. {mark} {page.outside(step.title, 'task')}{bound}")
    return "\n".join(
        [
            f"You are working on task #{page.outside(str(task.id), 'task')}. Focus solely on progressing this task.",
            "",
            f"Title: {page.outside(task.title, 'task')}",
            f"Description: {description}",
            f"Status: {page.outside(task.status, 'task')}",
            "Steps:",
            *(steps or ["(no steps defined)"]),
        ]
    )
