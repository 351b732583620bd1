"""DP8: problems of a preset as a whole: its file, the names in its texts, and sentences that two texts repeat."""

from __future__ import annotations

from collections.abc import Iterable

from deepprompt.checks.lint.findings import Finding, Limits, Rule, Subject
from deepprompt.checks.lint.preset_names import (
    RUNTIME_TAGS,
    Naming,
    Text,
    can_hold,
    fences_of,
    headings_of,
    misspelt,
    named_by,
    names_in,
    place,
    shared,
    texts_of,
)
from deepprompt.prompt import CONTEXT_HEADINGS
from deepprompt.systems.bundled_presets import PRESETS
from deepprompt.text.suggest import did_you_mean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.systems.presets import Preset

RULES = (
    Rule(
        "DP801",
        "preset-problem",
        "A preset cannot be loaded as it is written.",
        "Fix what the message names. Until then, nothing can be built from the preset.",
        error=True,
        excusable=False,
    ),
    Rule(
        "DP802",
        "unknown-name",
        "A text names a tool, an agent, a tag or a section that the preset does not have.",
        "Declare it in preset.toml, or use a name that the preset has.",
        error=True,
    ),
    Rule(
        "DP803",
        "tool-not-asked-for",
        "A text names a tool, but is in the prompt even if the tool is off.",
        "Put tool:NAME into the condition of its row.",
    ),
    Rule(
        "DP804",
        "said-twice",
        "Two texts that can stand in one prompt share a sentence.",
        "Say it in one of them: when to choose a tool in its part, what a call does in its description.",
    ),
    Rule(
        "DP805",
        "replaced-text-changed",
        "A part replaces a text that has changed since it was written.",
        "Compare them with 'deepprompt diff', adapt yours, and record that with 'deepprompt show --replace-in'.",
    ),
    Rule(
        "DP806",
        "no-variable",
        "A text has something that looks like a variable and is sent as it stands.",
        "Write the name in capital letters, as in ${TEAM}; if it is meant as it stands, set raw = true for its row.",
    ),
)


def find(subject: Subject, _limits: Limits) -> Iterable[Finding]:
    """Return the findings of the presets in a folder. Other subjects have none."""
    found = [_problem(problem, subject.name) for problem in subject.problems]
    for preset in subject.presets:
        found += find_in(preset, subject.name)
    return found


def find_in(preset: Preset, name: str, *, bundled: bool = False) -> list[Finding]:
    """Return the findings of a preset that can be loaded: in texts of its own, or also in the bundled ones."""
    texts = texts_of(preset)
    known = _Known(preset, texts)
    found = [finding for text in texts if text.own or bundled for finding in known.check(text, name)]
    for first, second, words, offset in shared([text for text in texts if text.main]):
        # Each tool's description has to do without the others, so two of them may say the same.
        if (first.own or second.own or bundled) and not (first.of_tool and second.of_tool):
            here, there = (first, second) if first.own and not second.own else (second, first)
            if can_hold(preset, first.when, second.when):
                at = offset if here is second else max(here.text.find(words.split()[0]), 0)
                message = f"{words!r} stands in {there.place} too"
                found.append(Finding("DP804", message, name, here.place, here.text.count("\n", 0, at) + 1, 1))
    files = [file for row in preset.rows for _, file in row.files if file.note]
    found += [Finding("DP805", str(file.note and file.note.detail), name, place(file)) for file in files]
    return found


def _problem(problem: str, subject: str) -> Finding:
    """Return the finding for a problem, which begins with its file: FOLDER:PATH."""
    file, colon, what = problem.partition(": ")
    if not colon or " " in file:
        return Finding("DP801", problem, subject, subject)
    return Finding("DP801", what, subject, file.replace(":", "/", 1))


def _shows_project(preset: Preset) -> bool:
    return any(row.kind == "slot" and row.what == "project" for row in preset.rows)


class _Known:
    """What a preset has by name, to hold its texts against."""

    def __init__(self, preset: Preset, texts: list[Text]) -> None:
        self.preset = preset
        self.tools = {name: tool.name for tool in preset.own_tools.values() for name in (tool.name, *tool.names)}
        tables = [table for each in PRESETS.values() for table in each.get("tools", {}).items()]
        self.elsewhere = {name for tool, keys in tables for name in (tool, *keys.get("names", ()))}
        self.names = {
            "tool": {*self.tools},
            "agent": {*preset.own_agents},
            "tag": fences_of(texts) | RUNTIME_TAGS,
            "section": headings_of(texts) | ({*CONTEXT_HEADINGS} if _shows_project(preset) else set()),
        }
        self.variables = {tool.variable: tool.name for tool in preset.own_tools.values() if tool.variable}

    def check(self, text: Text, subject: str) -> Iterable[Finding]:
        """Yield a finding for each name in a text that nothing has, or that may be off."""
        for said, offset in misspelt(text.text) if not text.raw and not text.of_tool else ():
            line = text.text.count("\n", 0, offset) + 1
            column = offset - text.text.rfind("\n", 0, offset)
            yield Finding("DP806", f"{said} is no variable and is sent as it stands", subject, text.place, line, column)
        by_variable = [Naming("tool", self.variables[name], at) for name, at in named_by(text.text, self.variables)]
        for naming in [*names_in(text.text, self.tools, self.elsewhere), *by_variable]:
            line = text.text.count("\n", 0, naming.offset) + 1
            column = naming.offset - text.text.rfind("\n", 0, naming.offset)
            name = naming.name.lower() if naming.kind == "section" else naming.name
            known = self.names[naming.kind]
            if name not in known:
                hint = did_you_mean(name, sorted(known))
                message = f"no {naming.kind} {naming.name!r:.60} in {self.preset.name}; {hint}"
                yield Finding("DP802", message, subject, text.place, line, column)
            elif naming.kind == "tool" and text.main and not text.of_tool and self.may_be_off(name, text.when):
                message = f"{name} may be off while this text is in the prompt: its condition is {text.when!r:.80}"
                yield Finding("DP803", message, subject, text.place, line, column)

    def may_be_off(self, name: str, when: str) -> bool:
        """Whether a condition can hold while a tool is off."""
        same = [f"tool:{each}" for each, tool in self.tools.items() if tool == self.tools[name]]
        return can_hold(self.preset, when, off=same)
