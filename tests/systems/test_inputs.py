"""What a caller can give to compose a preset, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepprompt import gather, load_preset
from deepprompt.errors import DeepPromptError
from deepprompt.systems.inputs import Inputs

SHOUT = {"name": "Shout", "description": "Shouts.", "input_schema": {"type": "object", "required": ["text"]}}


def test_one_name_for_a_list() -> None:
    """One name stands for a list of it: its letters are neither tools nor flags."""
    inputs = Inputs(tools="Bash", flags="memory")
    assert (inputs.tools, inputs.flags) == (("Bash",), ("memory",))


def test_iterators_are_read_once() -> None:
    """An iterator can be given: it is read into a tuple, so that a prompt and its choices see the same."""
    inputs = Inputs(tools=iter(["Bash"]), lists={"servers": iter([{"NAME": "a"}])})
    assert (inputs.tools, inputs.lists) == (("Bash",), {"servers": ({"NAME": "a"},)})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tool": ["Bash"]}, "Preset.compose: no argument 'tool'; did you mean tools"),
        ({"text": "x"}, "Preset.compose: no argument 'text'; there are: append, base"),
    ],
)
def test_no_such_argument(arguments: dict[str, Any], message: str) -> None:
    """A misspelt argument is a TypeError, as Python has it, that names the nearest one."""
    for method in (load_preset("coder").compose, load_preset("coder").choices):
        with pytest.raises(TypeError) as caught:
            method(**arguments)
        assert str(caught.value).startswith(message)


def test_flags_have_no_values() -> None:
    """A mapping of flags is refused: a flag that is False in it would be turned on."""
    flags: Any = {"memory": False}
    message = r"Preset\.compose: flags takes the names of those that are on, .*, not \{'memory': False\}"
    with pytest.raises(DeepPromptError, match=message):
        load_preset("coder").compose(flags=flags)


def test_a_folder_is_no_surroundings() -> None:
    """A path in place of what `gather` returns is refused with what to write."""
    around: Any = "."
    with pytest.raises(DeepPromptError, match=r"around takes Surroundings, as gather\('\.'\) returns, not '\.'"):
        load_preset("coder").compose(around)


class TestTools:
    """The definitions of a prompt belong to that prompt."""

    def test_not_shared(self, tmp_path: Path) -> None:
        """Changing the tools of one prompt changes no other prompt, whether it was composed before or after."""
        preset, around = load_preset("coder"), gather(tmp_path, git=False)
        first, second = (preset.compose(around, tools=["Bash", SHOUT]) for _ in range(2))
        was = json.dumps(second.tools)
        changed: Any = first.tools
        for tool in changed:
            tool["input_schema"]["required"].append("added")
            tool["name"] = "renamed"
        assert json.dumps(second.tools) == was
        assert json.dumps(preset.compose(around, tools=["Bash", SHOUT]).tools) == was
        assert SHOUT["input_schema"] == {"type": "object", "required": ["text"]}

    def test_a_changed_definition(self) -> None:
        """A definition that the caller has changed since is sent as it is now."""
        own = json.loads(json.dumps(SHOUT))
        preset = load_preset("coder")
        assert preset.compose(tools=[own]).tools[0] == SHOUT
        own["input_schema"]["required"].append("volume")
        assert preset.compose(tools=[own]).tools[0] == own
