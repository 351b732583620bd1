"""The tools that a model calls: names, canonical JSON, and the fingerprint of a prefix."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any

import pytest

from deepprompt import fingerprint
from deepprompt.errors import ToolError
from deepprompt.tools import Fingerprint, canonical_tools, tool_name

NOTHING = sha256(b"").hexdigest()

READ: dict[str, object] = {
    "name": "read",
    "description": "Read a file.",
    "input_schema": {"type": "object", "properties": {}},
}
WRITE: dict[str, object] = {"type": "function", "function": {"name": "write", "parameters": {"type": "object"}}}
BASH: dict[str, object] = {"name": "bash", "timeout": 10}

CANONICAL: dict[str, tuple[list[Any], str]] = {
    "none": ([], ""),
    "keys sorted at every level": (
        [{"name": "a", "b": {"z": 1, "y": [{"d": 1, "c": 2}]}}],
        '[{"b":{"y":[{"c":2,"d":1}],"z":1},"name":"a"}]',
    ),
    "lists keep their order": ([{"name": "a", "enum": ["z", "a"]}], '[{"enum":["z","a"],"name":"a"}]'),
    "sorted by name": ([{"name": "b"}, {"name": "a"}], '[{"name":"a"},{"name":"b"}]'),
    "both shapes sorted together": (
        [{"name": "c"}, {"function": {"name": "b"}}, {"name": "a"}],
        '[{"name":"a"},{"function":{"name":"b"}},{"name":"c"}]',
    ),
    "capitals first": ([{"name": "a"}, {"name": "B"}], '[{"name":"B"},{"name":"a"}]'),
    "no HTML escaping": ([{"name": "a", "d": "<&>'/é漢🎉"}], '[{"d":"<&>\'/é漢🎉","name":"a"}]'),
    "blanks only inside strings": ([{"name": "a", "d": "b : c, d"}], '[{"d":"b : c, d","name":"a"}]'),
    "all digits": ([{"name": "a", "n": 2**70 + 1}], '[{"n":1180591620717411303425,"name":"a"}]'),
    "scalars": ([{"name": "a", "v": [None, True, 0.5]}], '[{"name":"a","v":[null,true,0.5]}]'),
    "lone surrogate": ([{"name": "a", "d": "x\ud800"}], '[{"d":"x\ufffd","name":"a"}]'),
}

LOOP: dict[str, object] = {"name": "a"}
LOOP["self"] = LOOP
DEEP: list[Any] = []
for _ in range(200_000):
    DEEP = [DEEP]

NOT_JSON: dict[str, tuple[dict[Any, Any], str]] = {
    "set": ({"name": "a", "v": {1}}, "Object of type set is not JSON serializable"),
    "bytes": ({"name": "a", "v": b""}, "Object of type bytes is not JSON serializable"),
    "not a number": ({"name": "a", "v": float("nan")}, "Out of range float values are not JSON compliant"),
    "infinity": ({"name": "a", "v": float("inf")}, "Out of range float values are not JSON compliant"),
    "loop": (LOOP, "Circular reference detected"),
    "mixed keys": ({"name": "a", 1: 2}, "'<' not supported between instances of"),
    "very deep": ({"name": "a", "v": DEEP}, "nested too deeply"),
}

NAMELESS: list[dict[str, Any]] = [
    {},
    {"name": ""},
    {"name": None},
    {"name": 7},
    {"description": "a"},
    {"function": {}},
    {"function": {"name": ""}},
]


@pytest.mark.parametrize(("tools", "text"), CANONICAL.values(), ids=CANONICAL)
def test_canonical(tools: list[Any], text: str) -> None:
    """Tools have one spelling: sorted by name, keys sorted, no blanks, nothing escaped that need not be."""
    assert canonical_tools(tools) == text


@pytest.mark.parametrize("order", list(itertools.permutations([READ, WRITE, BASH])))
def test_order_does_not_matter(order: tuple[Mapping[str, object], ...]) -> None:
    """The order of tools and of their keys does not change the fingerprint."""
    turned = [dict(reversed(list(tool.items()))) for tool in order]
    assert fingerprint("s", order) == fingerprint("s", turned) == fingerprint("s", [READ, WRITE, BASH])


def test_tools_of_one_name_keep_their_order() -> None:
    """Tools that share a name stay in the order they were given."""
    assert canonical_tools([{"name": "a", "v": 2}, {"name": "a", "v": 1}]) == '[{"name":"a","v":2},{"name":"a","v":1}]'


def test_input_is_left_alone() -> None:
    """The caller's list is not sorted in place."""
    tools = [{"name": "b"}, {"name": "a"}]
    fingerprint("s", tools)
    assert tools == [{"name": "b"}, {"name": "a"}]


def test_any_iterable() -> None:
    """Tools may come from any iterable, a generator too."""
    assert fingerprint("s", (tool for tool in [READ, BASH])) == fingerprint("s", [READ, BASH])


def test_any_mapping() -> None:
    """Tools may be any mappings, read-only ones too, at every level."""
    frozen = MappingProxyType({"name": "a", "schema": MappingProxyType({"type": "object"})})
    assert canonical_tools([frozen]) == '[{"name":"a","schema":{"type":"object"}}]'


@pytest.mark.parametrize("system", ["", "a prompt\n", "é漢🎉"])
def test_digests(system: str) -> None:
    """The fingerprint is the SHA-256 of the system, of the canonical tools, and of both digests with a colon."""
    first = sha256(system.encode()).hexdigest()
    second = sha256(canonical_tools([READ]).encode()).hexdigest()
    assert fingerprint(system, [READ]) == Fingerprint(first, second, sha256(f"{first}:{second}".encode()).hexdigest())


@pytest.mark.parametrize("tools", [None, [], ()])
def test_no_tools(tools: list[Any] | None) -> None:
    """No tools have the SHA-256 of nothing."""
    assert fingerprint("", tools) == Fingerprint(NOTHING, NOTHING, sha256(f"{NOTHING}:{NOTHING}".encode()).hexdigest())
    assert fingerprint("") == fingerprint("", tools)


def test_lone_surrogate_in_the_system() -> None:
    """A lone surrogate in the system prompt counts as the U+FFFD that it becomes."""
    assert fingerprint("a\udc80") == fingerprint("a\ufffd")


@pytest.mark.parametrize(
    ("tool", "name"),
    [
        ({"name": "a"}, "a"),
        ({"function": {"name": "a"}}, "a"),
        ({"type": "function", "name": "outer", "function": {"name": "inner"}}, "inner"),
        ({"name": "a", "function": "not a mapping"}, "a"),
        (MappingProxyType({"name": "a"}), "a"),
    ],
)
def test_name(tool: Mapping[str, object], name: str) -> None:
    """A tool's name is found in the plain and in the OpenAI function shape."""
    assert tool_name(tool) == name


@pytest.mark.parametrize("tool", NAMELESS, ids=str)
def test_nameless(tool: dict[str, Any]) -> None:
    """A tool without a name is an error that shows it."""
    with pytest.raises(ToolError) as caught:
        fingerprint("s", [tool])
    assert str(caught.value) == f"a tool needs a name, as 'name' or 'function.name': {tool}"


def test_nameless_is_shown_in_short() -> None:
    """A long tool without a name is shown by its first 80 characters."""
    with pytest.raises(ToolError) as caught:
        tool_name({"description": "x" * 10_000})
    assert len(str(caught.value)) == len("a tool needs a name, as 'name' or 'function.name': ") + 80


@pytest.mark.parametrize(("tools", "kind"), [(["a"], "str"), ([None], "NoneType"), ({"name": "a"}, "str")])
def test_not_a_mapping(tools: Any, kind: str) -> None:
    """What is not a mapping is an error that says what it is, also when one tool is passed in place of a list."""
    with pytest.raises(ToolError) as caught:
        fingerprint("s", tools)
    assert str(caught.value) == f"a tool is a mapping with a name, not {kind}"


@pytest.mark.parametrize(("tool", "reason"), NOT_JSON.values(), ids=NOT_JSON)
def test_not_json(tool: dict[Any, Any], reason: str) -> None:
    """A tool that JSON cannot hold is an error that says why."""
    with pytest.raises(ToolError) as caught:
        canonical_tools([tool])
    assert str(caught.value).startswith(f"tools are not JSON: {reason}")


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1", "4242"])
def test_same_in_every_process(seed: str) -> None:
    """The fingerprint is the same in a fresh process with another hash seed."""
    script = f"from deepprompt import fingerprint; print(fingerprint('s', [{READ!r}, {WRITE!r}]).combined)"
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    ran = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
    assert ran.stdout.strip() == fingerprint("s", [READ, WRITE]).combined, ran.stderr
