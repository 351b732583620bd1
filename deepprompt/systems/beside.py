"""The texts of a preset beside its main prompt: agents and reminders."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from deepprompt.errors import UnknownPartError, VariableError
from deepprompt.prompt import Note, Pace, Part, Prompt
from deepprompt.systems.changes import files_of
from deepprompt.systems.context import render_sections
from deepprompt.systems.inputs import Inputs
from deepprompt.systems.rows import BUILT_IN
from deepprompt.systems.values import Values
from deepprompt.systems.variables import interpolate, variables_of
from deepprompt.text.disarm import escape_tags
from deepprompt.text.hygiene import scrub
from deepprompt.text.suggest import did_you_mean

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.sources.surroundings import Surroundings
    from deepprompt.systems.presets import Preset

_POLICIES = ("security_policy", "censoring")
"""The parts of a main prompt that an agent beside it has too."""
REMINDER_TAG = "system-reminder"


def agent_of(
    preset: Preset,
    name: str,
    around: Surroundings | None,
    skills: tuple[str, ...],
    variables: Mapping[str, str],
    *,
    policy: bool = True,
    tools: Iterable[str] = (),
) -> Prompt:
    """Return the prompt of an agent, with the policies. Variables that have a text in the preset need no value."""
    agent = preset.own_agents.get(name)
    if agent is None:
        raise UnknownPartError(f"no agent named {name!r:.60}; {did_you_mean(str(name), list(preset.own_agents))}")
    wanted = [each.lower() for each in variables_of(agent.text)]
    if unknown := sorted(set(variables) - set(wanted)):
        raise VariableError(f"agent {name!r} has no variable {', '.join(unknown)}; it takes: {', '.join(wanted)}")
    given = {each.upper(): str(value) for each, value in variables.items()}
    if missing := [each for each in variables_of(agent.text) if each not in given and _needs_value(preset, each)]:
        raise VariableError(f"agent {name!r} needs a value for {', '.join(each.lower() for each in missing)}")
    values = Values(preset, around, Inputs(tools=tools, variables=given))
    notes: list[Note] = [agent.part.note] if agent.part.note else []
    values.notes = notes
    parts = [Part("prompt", values.expand(agent.text, f"agents/{name}"), Pace.RELEASE, agent.part.origin)]
    values.refuse_problems()
    known = files_of(preset) if policy else {}
    for part in (known[each] for each in _POLICIES if each in known):
        parts.append(Part(part.name, f"\n\n{part.text}", Pace.RELEASE, part.origin))
    for skill in skills:
        body = around.skills.body(skill) if around is not None else ""
        if not body:
            raise UnknownPartError(f"agent {name!r}: the skill {skill!r:.60} needs surroundings that have it")
        shown = scrub(skill, "skills", notes)
        parts.append(Part(f"skill {shown}", f"\n\n{body}", Pace.PROJECT, f"skill:{shown}"))
    if around is not None:
        project, _, _ = render_sections(around.project, notes)
        parts.append(Part("project", f"\n{project}".rstrip("\n"), Pace.SESSION, "project"))
        notes += around.notes
    return Prompt(tuple(parts), notes=tuple(notes))


def _needs_value(preset: Preset, name: str) -> bool:
    variable = preset.variables.get(name)
    if variable is None:
        return name not in BUILT_IN
    return variable.default is None and not variable.cases and not variable.literal and not variable.tool


def reminder_of(
    preset: Preset, name: str, trigger: str, variables: Mapping[str, object], tools: Iterable[str] = ()
) -> str:
    """Return a reminder by its name or its event, with the values of its variables, in its tag."""
    reminders = preset.own_reminders
    if not name:
        named = [each.name for each in reminders.values() if each.trigger == trigger]
        if len(named) != 1:
            triggers = list(dict.fromkeys(each.trigger for each in reminders.values()))
            which = f"several have it: {', '.join(named)}" if named else did_you_mean(trigger, triggers)
            raise UnknownPartError(f"no single reminder has the trigger {trigger!r:.60}; {which}")
        name = named[0]
    if name not in reminders:
        raise UnknownPartError(f"no reminder named {name!r:.60}; {did_you_mean(name, list(reminders))}")
    text = _with_own_texts(preset, reminders[name].part.text, f"reminders/{name}", tools)
    wanted = [each.lower() for each in variables_of(text)]
    if unknown := sorted(set(variables) - set(wanted)):
        takes = ", ".join(wanted) or "none"
        raise VariableError(f"reminder {name!r} has no variable {', '.join(unknown)}; it takes: {takes}")
    if unset := sorted(each for each, value in variables.items() if value is None):
        raise VariableError(f"reminder {name!r} needs a value for {', '.join(unset)}, not None")
    values = {each.upper(): scrub(str(value)) for each, value in variables.items()}
    body = interpolate(text, values, f"reminders/{name}", [], allow_empty=True)
    # Escape the whole body: the text around a value could complete a tag that the value starts.
    return f"<{REMINDER_TAG}>\n{escape_tags(body, (REMINDER_TAG,))}\n</{REMINDER_TAG}>"


def _with_own_texts(preset: Preset, text: str, part: str, tools: Iterable[str]) -> str:
    """Return a text with the variables that the preset itself has a text or a tool for. Those of the caller stay."""
    own = [name for name in variables_of(text) if name in preset.variables and not _needs_value(preset, name)]
    if not own:
        return text
    values = Values(preset, None, Inputs(tools=tools))
    for name in own:
        text = text.replace(f"${{{name}}}", values.expand(f"${{{name}}}", part))
    return text
