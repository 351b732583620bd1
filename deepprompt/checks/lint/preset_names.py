"""The texts of a preset as a set: what each of them names, and which words two of them share.

A name is taken only where its form leaves no doubt. A tool whose name is an ordinary word too, such as Read, counts
where it is called a tool (`the Read tool`). A name of two words, such as TodoWrite, counts everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass
from itertools import product

from deepprompt.systems.bundled_presets import PRESETS
from deepprompt.systems.conditions import parse_condition
from deepprompt.systems.variables import pattern, variables_of
from deepprompt.text.suggest import nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.systems.presets import Preset
    from deepprompt.systems.rows import File

SHARED_WORDS = 8
"""So many words in a row in two texts are the same sentence, written twice."""
RUNTIME_TAGS = frozenset(("system-reminder", "notice", "context"))
"""The tags that reminders and sessions write."""

_MOST_WORDS = 12
_TWO_WORDS = re.compile(r"\b[A-Z][a-z]+(?:[A-Z][a-z]+)+\b")
_CALLED_TOOL = re.compile(r"\b(?:[Tt]he|with|through|using) `?([A-Z][A-Za-z]*[a-z])`? tool\b")
_CALLED_AGENT = re.compile(r"`([a-z][\w-]*)` (?:sub)?agents?\b")
_TAG = re.compile(r"`</?([A-Za-z][\w-]*)>`")
_CALLED_TAGS = re.compile(r"(?:`[A-Za-z][\w-]*`,?\s(?:(?:or|and)\s)?){1,8}tags?\b")
_FENCE = re.compile(r"^</([A-Za-z][\w-]*)>$", re.MULTILINE)
_SECTION = re.compile(r'"([A-Z][^"\n]{1,60})" section\b|\bsection "([A-Z][^"\n]{1,60})"')
_LOOK_ALIKE = re.compile(r"\$\{ *[A-Za-z_][A-Za-z0-9_ -]{0,40}\}|\$\{\{ *[A-Za-z_]\w{0,40} *\}\}")
_IF_THERE = re.compile(r",?\s(?:if|where)\syou\shave\sit\b")
_HEADING = re.compile(r"^#{1,6} +(.+?) *$", re.MULTILINE)
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?")


@dataclass(frozen=True, slots=True)
class Text:
    """A text of a preset: where it stands, when it is sent, whether with the main prompt, and whether about a tool."""

    place: str
    text: str
    when: str = "always"
    main: bool = True
    of_tool: bool = False
    own: bool = False
    """Whether it is a user's, not one of ours."""
    raw: bool = False
    """Whether `${...}` in it is meant as it stands."""


@dataclass(frozen=True, slots=True)
class Naming:
    """A name in a text: of a tool, an agent, a tag or a section."""

    kind: str
    name: str
    offset: int


def texts_of(preset: Preset) -> list[Text]:
    """Return every text that a preset can send, each once."""
    own = preset.label != "deepprompt"
    found = [_of_file(file, row.when, raw=row.raw) for row in preset.rows for _, file in row.files]
    found += [Text(f"row {row.name}", row.what, row.when, own=own) for row in preset.rows if row.kind == "text"]
    of_agents = {name for agent in preset.own_agents.values() for name in variables_of(agent.text)}
    ours = {name for each in PRESETS.values() for name in each.get("variables", ())}
    for variable in preset.variables.values():
        main = variable.name not in of_agents
        for case in variable.cases:
            if case.part:
                found.append(_of_file(case.part, case.when, main=main))
            else:
                found.append(
                    Text(f"variable {variable.name}", case.text, case.when, main, own=own and variable.name not in ours)
                )
    found += [_of_file(tool.description, f"tool:{tool.name}", of_tool=True) for tool in preset.own_tools.values()]
    beside = [each.part for each in preset.own_agents.values()] + [each.part for each in preset.own_reminders.values()]
    found += [_of_file(part, main=False) for part in beside]
    return list(dict.fromkeys(found))


def _of_file(file: File, when: str = "always", *, main: bool = True, of_tool: bool = False, raw: bool = False) -> Text:
    return Text(place(file), file.text, when, main, of_tool, not file.catalog.is_bundled, raw)


def place(file: File) -> str:
    """Return the path of a file as a finding shows it."""
    inside = f"{file.family}/{file.version}/{file.path}"
    return inside if file.catalog.is_bundled else f"{file.catalog.label}/{inside}"


def names_in(text: str, tools: Iterable[str], elsewhere: Iterable[str]) -> Iterator[Naming]:
    """Yield what a text names. Of `tools`, and of those that exist `elsewhere`, near misses count too."""
    known, others = [*tools], {*elsewhere}
    for match in _TWO_WORDS.finditer(text):
        if match[0] in others or match[0] in known or nearest(match[0], known, 0.85):
            yield Naming("tool", match[0], match.start())
    for match in _CALLED_TOOL.finditer(text):
        if not _TWO_WORDS.fullmatch(match[1]):
            yield Naming("tool", match[1], match.start(1))
    for match in _CALLED_AGENT.finditer(text):
        yield Naming("agent", match[1], match.start(1))
    for paragraph in re.finditer(r"(?:.+\n?)+", text):
        if re.search(r"\btags?\b", paragraph[0]):
            for match in _TAG.finditer(paragraph[0]):
                yield Naming("tag", match[1], paragraph.start() + match.start(1))
            for listed in _CALLED_TAGS.finditer(paragraph[0]):
                for match in re.finditer(r"`([\w-]+)`", listed[0]):
                    yield Naming("tag", match[1], paragraph.start() + listed.start() + match.start(1))
    for match in _SECTION.finditer(text):
        yield Naming("section", match[1] or match[2], match.start())


def named_by(text: str, variables: Container[str]) -> Iterator[tuple[str, int]]:
    """Yield the variables in a text that are among these, with their offsets, unless the text says "if you have"."""
    for match in pattern().finditer(text):
        if match[1] in variables and not _IF_THERE.match(text, match.end()):
            yield match[1], match.start()


def misspelt(text: str) -> Iterator[tuple[str, int]]:
    """Yield what looks like a variable and is none, because its name has small letters or blanks; and its offset."""
    for match in _LOOK_ALIKE.finditer(text):
        if variables_of(match[0]) == []:
            yield match[0], match.start()


def fences_of(texts: Iterable[Text]) -> set[str]:
    """Return the tags that the texts of a preset write around something."""
    return {tag for text in texts for tag in _FENCE.findall(text.text)}


def headings_of(texts: Iterable[Text]) -> set[str]:
    """Return the headings in the texts of a preset, in small letters."""
    return {heading.lower() for text in texts for heading in _HEADING.findall(text.text)}


def can_hold(preset: Preset, *conditions: str, off: Iterable[str] = ()) -> bool:
    """Whether conditions can hold together while every word of `off` is off. Too many words to try count as yes."""
    parsed = [parse_condition(condition) for condition in conditions]
    words = list(dict.fromkeys(word for each in parsed for word in each.words if word not in (*off, "always")))
    if len(words) > _MOST_WORDS:
        return True
    axes = [{f"{name}:{value}" for value in axis} for name, axis in preset.flags.items() if not isinstance(axis, str)]
    for states in product((False, True), repeat=len(words)):
        on = {word for word, state in zip(words, states, strict=True) if state}
        if all(len(on & axis) < 2 for axis in axes) and all(each.holds(on.__contains__) for each in parsed):
            return True
    return False


def shared(texts: Iterable[Text], length: int = SHARED_WORDS) -> Iterator[tuple[Text, Text, str, int]]:
    """Yield each two texts that share a run of words, once: both, the words, and their offset in the second."""
    seen: dict[tuple[str, ...], list[Text]] = {}
    told: set[tuple[str, str]] = set()
    for text in texts:
        words = [(match[0].lower(), match.start(), match.end()) for match in _WORD.finditer(text.text)]
        for start in range(len(words) - length + 1):
            run = words[start : start + length]
            key = tuple(word for word, _, _ in run)
            for earlier in seen.setdefault(key, []):
                if earlier.place != text.place and (earlier.place, text.place) not in told:
                    told.add((earlier.place, text.place))
                    said = " ".join(text.text[run[0][1] : run[-1][2]].split())
                    yield earlier, text, said, run[0][1]
            if not any(earlier.place == text.place for earlier in seen[key]):
                seen[key].append(text)
