"""The Agent Skills specification: what is wrong with a skill."""

from __future__ import annotations

import pytest

from deepprompt.sources.plan.skill_spec import faults, text_faults, tool_names

GOOD: dict[str, object] = {"name": "a-b2", "description": "d"}
FAULTS: dict[str, tuple[dict[str, object] | None, tuple[str, ...]]] = {
    "right": (GOOD, ()),
    "nothing": (None, ("it has no front matter with name and description",)),
    "empty": ({}, ("name is missing", "description is missing")),
    "characters": (
        {**GOOD, "name": "A_b"},
        ("name may have a-z, 0-9 and single hyphens between them", "name is not the name of its folder"),
    ),
    "hyphens": (
        {**GOOD, "name": "a--b"},
        ("name may have a-z, 0-9 and single hyphens between them", "name is not the name of its folder"),
    ),
    "long name": (
        {**GOOD, "name": "a" * 65},
        ("name has 65 characters; 64 are allowed", "name is not the name of its folder"),
    ),
    "long description": (
        {**GOOD, "description": "d" * 1_025},
        ("description has 1,025 characters; 1,024 are allowed",),
    ),
    "compatibility": ({**GOOD, "compatibility": "x" * 501}, ("compatibility is not a text of 1 to 500 characters",)),
    "metadata": ({**GOOD, "metadata": {"a": ["b"]}}, ("metadata is not a table of texts",)),
    "commas": (
        {**GOOD, "allowed-tools": "Read, Grep"},
        ("allowed-tools are separated by commas; the specification has spaces",),
    ),
    "commas in arguments": ({**GOOD, "allowed-tools": "Bash(a, b) Read"}, ()),
    "list": (
        {**GOOD, "allowed-tools": ["Read"], "license": []},
        ("license is not a text", "allowed-tools is not a text; tools are separated by spaces"),
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_a_fault_is_named(case: str) -> None:
    """Every rule that a skill breaks is one sentence."""
    front, found = FAULTS[case]
    assert faults(front, "a-b2") == found


TEXTS = {
    "---\nname: a\ndescription: d\n---\nbody\n": (),
    "---\nname: a\ndescription: d\n---\n": ("it has no text after the front matter",),
    "---\nname: a\ndescription: use when: x\n---\nbody\n": (
        "its front matter is not YAML; quote values with a colon in them",
    ),
    "# Heading\n": ("it has no front matter with name and description",),
}


@pytest.mark.parametrize("text", TEXTS)
def test_a_file_is_checked(text: str) -> None:
    """The text of a whole file is checked: YAML, fields, and that there is a body."""
    assert text_faults(text, "a") == TEXTS[text]


TOOLS: list[tuple[object, list[str]]] = [
    ("Read Grep", ["Read", "Grep"]),
    ("Read, Grep", ["Read", "Grep"]),
    ("Bash(git add:*, x) Read", ["Bash(git add:*, x)", "Read"]),
    (["Read", 3, ""], ["Read"]),
    (None, []),
    ("Bash(", ["Bash("]),
]


@pytest.mark.parametrize(("value", "names"), TOOLS)
def test_tools_are_separated(value: object, names: list[str]) -> None:
    """By spaces or commas, but not within parentheses."""
    assert tool_names(value) == names
