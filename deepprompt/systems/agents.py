"""Prompts beside the main one: subagents, the bundled agents' prompts, and reminders for the user's message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deepprompt.arguments import expect, expect_each, expect_texts
from deepprompt.catalog import Catalog
from deepprompt.errors import MessageError, SkillError, UnknownPartError
from deepprompt.prompt import Note, Pace, Part, Prompt, notes_of
from deepprompt.sources.skills import SkillStore
from deepprompt.systems.beside import reminder_of
from deepprompt.systems.budget import check_budget
from deepprompt.systems.preset import CLAUDE_CODE, PromptAssemblyConfig, environment_part
from deepprompt.systems.presets import Preset, load_preset
from deepprompt.systems.variables import variables_of
from deepprompt.text.disarm import escape_roles
from deepprompt.text.hygiene import scrub
from deepprompt.text.suggest import did_you_mean

# The Responses API has names of its own for blocks, and does not take `text` beside them.
_RESPONSES_BLOCKS = ("input_text", "input_image", "input_file")


@dataclass(frozen=True, slots=True)
class AgentDefinition:
    """A subagent: its own prompt, a critical reminder, and the skills that it starts with."""

    prompt: str
    critical_system_reminder: str = ""
    skills: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Accept any iterable of names, but not a text, whose letters would be skills."""
        expect_texts(self, "prompt", "critical_system_reminder")
        object.__setattr__(self, "skills", expect_each(self.skills, str, "AgentDefinition: skills", "names of skills"))


def assemble_subagent_prompt(
    agent: AgentDefinition,
    parent: PromptAssemblyConfig,
    *,
    skills: SkillStore | Mapping[str, str] | None = None,
    include_claude_md: bool = False,
) -> str:
    """Return a subagent's system prompt. It has the parent's budget, and its CLAUDE.md if you ask for it.

    Raises `SkillError` for a skill that `skills` does not have, and `BudgetError` above the parent's budget.
    """
    return compose_subagent_prompt(agent, parent, skills=skills, include_claude_md=include_claude_md).text


def compose_subagent_prompt(
    agent: AgentDefinition,
    parent: PromptAssemblyConfig,
    *,
    skills: SkillStore | Mapping[str, str] | None = None,
    include_claude_md: bool = False,
) -> Prompt:
    """Return a subagent's system prompt as parts.

    Raises `SkillError` for a skill that `skills` does not have, and `BudgetError` above the parent's budget.
    """
    for what, value, kind, takes in (
        ("agent", agent, AgentDefinition, "an AgentDefinition, such as AgentDefinition('You review.')"),
        ("parent", parent, PromptAssemblyConfig, "the parent's PromptAssemblyConfig"),
        (
            "skills",
            skills,
            SkillStore | Mapping | None,
            "what load_skills(cwd) returns, or a mapping of names to texts",
        ),
    ):
        expect(value, kind, f"compose_subagent_prompt: {what}", takes)
    notes: list[Note] = [*notes_of(skills)]
    parts = [Part("prompt", agent.prompt, Pace.PROJECT, "argument:prompt")]
    if agent.critical_system_reminder:
        reminder_text = f"CRITICAL REMINDER: {agent.critical_system_reminder}"
        parts.append(Part("reminder", reminder_text, Pace.PROJECT, "argument:critical_system_reminder"))
    for name in agent.skills:
        shown = scrub(name, "skills", notes)
        parts.append(Part(f"skill {shown}", _skill_body(name, skills), Pace.PROJECT, f"skill:{shown}"))
    if include_claude_md and parent.claude_md_content:
        notes += notes_of(parent.claude_md_content)
        content = escape_roles(parent.claude_md_content, "CLAUDE.md", notes)
        parts.append(Part("claude_md", content, Pace.PROJECT, "argument:claude_md_content"))
    parts.append(environment_part(parent, notes))
    joined = [
        Part(part.name, ("\n\n" if index else "") + scrub(part.text, part.name, notes), part.pace, part.origin)
        for index, part in enumerate(parts)
    ]
    prompt = Prompt(tuple(joined), notes=tuple(notes))
    check_budget(prompt, parent.max_system_prompt_tokens)
    return prompt


def _skill_body(name: str, skills: SkillStore | Mapping[str, str] | None) -> str:
    if isinstance(skills, SkillStore):
        return skills.body(name)
    if skills is None or name not in skills:
        there = ", ".join(sorted(skills or ())) or "none"
        raise SkillError(f"no skill named {name!r}; there are: {there}")
    return skills[name]


def agent_prompt(name: str, overrides: Catalog | None = None, /) -> str:
    """Return the prompt of a bundled agent, or your own wording of it.

    Raises `UnknownPartError` for an unknown name.
    """
    expect(name, str, "agent_prompt: name", "one of agent_names()")
    agents = _preset(overrides).own_agents
    if name not in agents:
        raise UnknownPartError(f"no agent named {name!r}; {did_you_mean(name, list(agents))}")
    return agents[name].text


def agent_names() -> list[str]:
    """Return the names of the bundled agents."""
    return list(load_preset(CLAUDE_CODE).own_agents)


def reminder(name: str, overrides: Catalog | None = None, /, **variables: object) -> str:
    """Return a reminder for the end of a user's message, in its tag, with the values of its variables.

    Raises `UnknownPartError` for an unknown name, and `VariableError` for a missing value.
    """
    expect(name, str, "reminder: name", "one of reminder_names()")
    return reminder_of(_preset(overrides), name, "", variables)


def reminder_names() -> list[str]:
    """Return the names of the bundled reminders."""
    return list(load_preset(CLAUDE_CODE).own_reminders)


@dataclass(frozen=True, slots=True)
class Reminder:
    """A bundled reminder: its name, the event that calls for it, and the variables that `reminder` takes for it."""

    name: str
    trigger: str
    variables: tuple[str, ...]


def all_reminders() -> tuple[Reminder, ...]:
    """Return every bundled reminder, in order."""
    return tuple(
        Reminder(each.name, each.trigger, tuple(name.lower() for name in variables_of(each.part.text)))
        for each in load_preset(CLAUDE_CODE).own_reminders.values()
    )


def reminders_for(trigger: str) -> tuple[Reminder, ...]:
    """Return the reminders that an event calls for. Raises `UnknownPartError` for an unknown event."""
    expect(trigger, str, "reminders_for: trigger", "the name of an event, such as 'date_changed'")
    every = all_reminders()
    found = tuple(each for each in every if each.trigger == trigger)
    if not found:
        triggers = list(dict.fromkeys(each.trigger for each in every))
        raise UnknownPartError(f"no reminder has the trigger {trigger!r}; {did_you_mean(trigger, triggers)}")
    return found


def attach(message: str | Mapping[str, Any], *reminders: str) -> dict[str, Any]:
    """Return a copy of a user message with reminders at its end. Everything else in it stays as it is.

    A message is its text, or a mapping with text or a list of blocks as its content: tool results and images keep their
    places, and each reminder becomes a text block after them, in the form of the message's provider. Raises
    `MessageError` for a message that is not the user's.
    """
    expect(message, str | Mapping, "attach: message", "a text, or a mapping with a role and content", MessageError)
    copy: dict[str, Any] = {"role": "user", "content": message} if isinstance(message, str) else {**message}
    for text in reminders:
        expect(text, str, "attach: reminders", "texts, as reminder(...) returns them", MessageError)
    if copy.get("role") != "user":
        raise MessageError(f"a reminder belongs in a message of the user, not in one of role {copy.get('role')!r}")
    field = "parts" if "parts" in copy and "content" not in copy else "content"  # parts are Gemini's blocks
    content = copy.get(field)
    if isinstance(content, str) and field == "content":
        copy[field] = "\n\n".join([*([content] if content else []), *reminders])
    elif isinstance(content, list | tuple):
        kind = _text_type(content) if field == "content" else ""
        copy[field] = [*content, *({"type": kind, "text": text} if kind else {"text": text} for text in reminders)]
    else:
        takes = "text or a list of blocks" if field == "content" else "a list of parts"
        raise MessageError(f"{field} is {takes}, not {type(content).__name__}")
    return copy


def _text_type(blocks: Sequence[object]) -> str:
    """Return the type that a block of text has beside these, "" if blocks have none, as Bedrock's."""
    types = [block.get("type", "") for block in blocks if isinstance(block, Mapping)]
    if types and not any(types):
        return ""
    return "input_text" if any(kind in _RESPONSES_BLOCKS for kind in types) else "text"


def _preset(overrides: Catalog | None) -> Preset:
    expect(overrides, Catalog | None, "overrides", "a catalogue, as from_folder('own') returns")
    return load_preset(CLAUDE_CODE, *([overrides] if overrides else []))
