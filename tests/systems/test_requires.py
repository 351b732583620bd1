"""What a host must provide: the words, what a prompt needs, and what was not declared."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from deepprompt import load_preset
from deepprompt.errors import PresetError
from deepprompt.systems.presets import Preset
from deepprompt.systems.requires import REQUIREMENTS, words_of
from tests.support.layout import lay_out
from tests.support.paths import ROOT

PRESET = """\
format = 1
rows = [
  { part = "main" },
  { part = "notes", when = "notes", requires = ["memory", "pager"] },
  { each = "skills", frame = "main", item = "skill", requires = ["skill_reader"] },
  { slot = "mcp", requires = ["mcp"] },
]
[flags]
notes = "notes are kept"
[tools]
Look = { names = ["Peek"], requires = ["files"] }
[agents]
helper = { requires = ["agent_runner"] }
[reminders]
ping = { trigger = "ping", requires = ["runtime_notes"] }
[requires]
pager = "pages somebody"
"""
FILES = {
    "preset.toml": PRESET,
    "main.md": "Work.\n",
    "notes.md": "Notes.\n",
    "skill.md": "${NAME}\n",
    "tools/Look.md": "Looks.\n",
    "tools/Look.json": '{"type": "object"}\n',
    "agents/helper.md": "Help.\n",
    "reminders/ping.md": "Ping.\n",
}


@pytest.fixture
def preset(tmp_path: Path) -> Preset:
    """A preset whose texts need something of their host."""
    return load_preset("post", lay_out(tmp_path, {f"post/1.0.0/{name}": text for name, text in FILES.items()}))


def test_what_was_not_declared_is_noted(preset: Preset) -> None:
    """Each row and tool of the prompt that needs more than was declared has a note; rows that are out have none."""
    prompt = preset.compose(tools=["Peek"], flags=["notes"], provides=["memory"])
    assert [(note.kind, note.source, note.detail) for note in prompt.notes] == [
        ("requires", "part notes", "it needs a host that pages somebody (pager), which was not declared"),
        ("requires", "tool Look", f"it needs a host that {REQUIREMENTS['files']} (files), which was not declared"),
    ]
    assert preset.compose(provides="memory").notes == ()


def test_nothing_is_noted_where_nothing_is_missing(preset: Preset) -> None:
    """With everything declared, or without a declaration, there are no notes, and the text is the same."""
    everything = preset.compose(tools=["Look"], flags=["notes"], provides=[*words_of(preset)])
    silent = preset.compose(tools=["Look"], flags=["notes"])
    assert everything.notes == silent.notes == ()
    assert everything.text == silent.text


def test_an_unknown_word_is_an_error(preset: Preset) -> None:
    """A misspelt declaration would count for nothing, so it is refused with a suggestion."""
    with pytest.raises(PresetError, match="no requirement 'memmory'; did you mean memory"):
        preset.compose(provides=["memmory"])


def test_the_words_of_a_preset_are_checked(tmp_path: Path) -> None:
    """A word that nobody explains, and an explanation that nothing uses, are problems."""
    wrong = PRESET.replace('"files"', '"filse"').replace('"memory", "pager"', '"memory"')
    lay_out(tmp_path, {f"post/1.0.0/{name}": text for name, text in {**FILES, "preset.toml": wrong}.items()})
    with pytest.raises(PresetError) as caught:
        load_preset("post", tmp_path)
    assert [problem.partition("preset.toml: ")[2] for problem in caught.value.problems] == [
        "tool Look: requires: no word 'filse'; did you mean files?",
        "requires pager: nothing requires it",
    ]


def test_agents_and_reminders_say_what_they_need(preset: Preset) -> None:
    """A host can read what an agent or a reminder needs before it uses it."""
    assert preset.agents()["helper"].requires == ("agent_runner",)
    assert preset.own_reminders["ping"].requires == ("runtime_notes",)


def test_the_page_is_up_to_date() -> None:
    """docs/requires.md lists what every text of the newest presets needs."""
    written = runpy.run_path(str(ROOT / "scripts" / "write_requires.py"))
    assert written["page"]() == (ROOT / "docs" / "requires.md").read_text("utf-8"), "run scripts/write_requires.py"
