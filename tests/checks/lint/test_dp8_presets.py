"""DP8: what is wrong with the presets of a folder, what their texts name, and what two of them say."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt import load_preset
from deepprompt.checks.lint.dp8_presets import find_in
from deepprompt.checks.lint.linter import lint
from deepprompt.cli import main
from deepprompt.commands.targets import load_subject
from tests.support.layout import lay_out

PRESET = """\
format = 1
rows = [
  { part = "one" },
  { part = "two", when = "tool:SendMail and not quiet" },
  { part = "three", when = "quiet" },
  { boundary = true },
  { slot = "project" },
]
[flags]
quiet = "nothing is sent"
[tools]
SendMail = {}
Look = {}
[agents]
auditor = { about = "audits" }
"""
FILES = {
    "preset.toml": PRESET,
    "one.md": "# Who you are\n\nText between `letter` tags is a letter.\n\n<letter>\nDear.\n</letter>\n",
    "two.md": '# Sending\n\nUse SendMail once. Ask the `auditor` agent first, as the "Who you are" section says.\n',
    "three.md": "# Silence\n\nWrite the letter and leave it in the folder.\n",
    "tools/SendMail.md": "Sends a letter to one person.\n",
    "tools/SendMail.json": '{"type": "object"}\n',
    "tools/Look.md": "Looks at a letter.\n",
    "tools/Look.json": '{"type": "object"}\n',
    "agents/auditor.md": "You audit letters.\n",
}


def linted(tmp_path: Path, **changed: str) -> list[tuple[str, str, int, str]]:
    """Lint the preset with some of its files changed; `two` stands for two.md."""
    files = FILES | {f"{name}.md" if "." not in name else name: text for name, text in changed.items()}
    lay_out(tmp_path, {f"prompts/post/1.0.0/{name}": text for name, text in files.items()})
    found = lint(load_subject("prompts", "prompts", str(tmp_path), 1.0), select=["DP8"])
    return [(f.code, f.place.removeprefix("prompts/post/1.0.0/"), f.line, f.message) for f in found]


def test_a_preset_in_order(tmp_path: Path) -> None:
    """Nothing is found where every name is declared and every tool asked for."""
    assert linted(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        ("Use TodoWrite.\n", "DP802", "no tool 'TodoWrite' in post@1.0.0; there are: Look, SendMail"),
        ("Use SendMial.\n", "DP802", "no tool 'SendMial' in post@1.0.0; there are: Look, SendMail"),
        ("Use the Read tool.\n", "DP802", "no tool 'Read' in post@1.0.0; there are: Look, SendMail"),
        ("Ask the `auditer` agent.\n", "DP802", "no agent 'auditer' in post@1.0.0; there are: auditor"),
        ("It stands in `secret` tags.\n", "DP802", "no tag 'secret' in post@1.0.0; there are: [...]"),
        (
            "It stands in `<leter>` tags.\n",
            "DP802",
            "no tag 'leter' in post@1.0.0; there are: context, letter, notice, system-reminder",
        ),
        (
            'See the "Sendng" section.\n',
            "DP802",
            "no section 'Sendng' in post@1.0.0; there are: git diff, git status, project, sending, [...]",
        ),
        ("Use SendMail.\n", "DP803", "SendMail may be off while this text is in the prompt: its condition is 'quiet'"),
        ("Use the Look tool.\n", "DP803", "Look may be off while this text is in the prompt: its condition is 'quiet'"),
    ],
)
def test_names(text: str, code: str, message: str, tmp_path: Path) -> None:
    """A name that nothing has is found, and a tool that may be off, each in its line."""
    ((found, place, line, said),) = linted(tmp_path, three=f"# Silence\n\n{text}")
    assert (found, place, line) == (code, "three.md", 3)
    assert said.startswith(message.removesuffix("[...]"))


@pytest.mark.parametrize(
    ("text", "said"), [("Ask ${team}.", "${team}"), ("Ask ${ TEAM }.", "${ TEAM }"), ("Ask ${{team}}.", "${{team}}")]
)
def test_no_variables(text: str, said: str, tmp_path: Path) -> None:
    """What looks like a variable and is none is found, unless its row says that it is meant so."""
    assert linted(tmp_path / "one", three=text + "\n") == [
        ("DP806", "three.md", 1, f"{said} is no variable and is sent as it stands")
    ]
    raw = PRESET.replace('{ part = "three", when', '{ part = "three", raw = true, when')
    assert linted(tmp_path / "two", three=text + "\n", **{"preset.toml": raw}) == []


@pytest.mark.parametrize(
    "text", ["Use JavaScript and GitHub.\n", "Read it. Look at it. Send Mail.\n", "Tags such as `div`.\n"]
)
def test_ordinary_words(text: str, tmp_path: Path) -> None:
    """Words that only look like names are left alone."""
    assert linted(tmp_path, three=text) == []


SENTENCE = "Always write the date of today above every letter.\n"


def test_said_twice(tmp_path: Path) -> None:
    """Two texts of one prompt that share eight words are found, once."""
    ((code, place, line, message),) = linted(tmp_path, one=f"You write.\n\n{SENTENCE}", two=f"Use SendMail. {SENTENCE}")
    assert (code, place, line) == ("DP804", "two.md", 1)
    assert "prompts/post/1.0.0/one.md" in message


def test_texts_that_exclude_each_other(tmp_path: Path) -> None:
    """Texts that never stand in one prompt may share a sentence, and so may an agent's."""
    changed = {"two": f"Use SendMail. {SENTENCE}", "three": SENTENCE, "agents/auditor.md": SENTENCE}
    assert linted(tmp_path, **changed) == []


def test_seven_words(tmp_path: Path) -> None:
    """Seven words in a row are chance."""
    changed = {
        "one": "# Who you are\n\nYou write the date of today above each.\n",
        "three": "We write the date of today above it.\n",
    }
    assert linted(tmp_path, **changed) == []


def test_problems(tmp_path: Path) -> None:
    """Everything wrong with a preset is found at once, and its texts are linted all the same."""
    found = linted(tmp_path, one="${WHO}\n", extra="More.\n")
    assert [(code, place) for code, place, _, _ in found] == [("DP801", "preset.toml")] * 2
    assert [message for *_, message in found] == [
        "row one: one.md: ${WHO} is not declared; there are: BRANCH, CLAUDE_MD, CWD, DATE, MCP_SERVERS, MODEL, OS, "
        "OUTPUT_STYLE, SHELL, SLASH_COMMANDS",
        "extra.md: nothing refers to this file",
    ]


def test_a_replaced_text_that_changed(tmp_path: Path) -> None:
    """A part that was written against another text than the one that it replaces now is found."""
    preset = 'format = 1\nextends = "coder@1.0.0"\nchanges = [{ replace = "git" }]\n'
    home = "prompts/mine/1.0.0"
    lay_out(
        tmp_path, {f"{home}/preset.toml": preset, f"{home}/git.md": "# Git\n", f"{home}/overrides.toml": 'git = "00"\n'}
    )
    (finding,) = lint(load_subject("prompts", "prompts", str(tmp_path), 1.0), select=["DP8"])
    assert (finding.code, finding.place) == ("DP805", "prompts/mine/1.0.0/git.md")


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`lint --parts DIR` prints the findings and fails."""
    monkeypatch.chdir(tmp_path)
    linted(tmp_path, three="Use TodoWrite.\n")
    assert main(["lint", "--parts", "prompts"]) == 1
    assert "prompts/post/1.0.0/three.md:1:5: DP802 no tool 'TodoWrite'" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["coder@1.0.0", "claude_code@2.1.37", "deepseek@1.0.0"])
def test_our_own_presets(name: str) -> None:
    """Nothing is found in the presets that we ship."""
    assert find_in(load_preset(name), name, bundled=True) == []


def test_deepseek() -> None:
    """Four sentences of the frozen base prompt V1 stand in descriptions of tools too; nothing else is found."""
    found = find_in(load_preset("deepseek@1.1.0"), "deepseek", bundled=True)
    assert len(found) == 4
    assert all(finding.code == "DP804" and "base/1.0.0/tools.md" in finding.message for finding in found)


NAMED = PRESET.replace("SendMail = {}", 'SendMail = { variable = "MAIL" }')


def test_a_tool_by_its_variable(tmp_path: Path) -> None:
    """A variable names its tool: it may be off where the text can stand, unless the text says "if you have it"."""
    found = linted(tmp_path / "a", three="# Silence\n\nUse ${MAIL}.\n", **{"preset.toml": NAMED})
    assert [(code, place, line) for code, place, line, _ in found] == [("DP803", "three.md", 3)]
    assert linted(tmp_path / "b", two="Use ${MAIL}.\n", **{"preset.toml": NAMED}) == []
    assert linted(tmp_path / "c", three="Use ${MAIL}\nif you have it.\n", **{"preset.toml": NAMED}) == []


def test_sections_about_the_project(tmp_path: Path) -> None:
    """A text may refer to the sections that deepprompt writes behind the boundary."""
    assert linted(tmp_path, three='# Silence\n\nThe "Project" section says where you are.\n') == []
