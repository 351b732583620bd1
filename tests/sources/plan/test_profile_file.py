"""Profiles as files: the bundled ones, one's own, and everything that can be wrong with one, in one error."""

from __future__ import annotations

from pathlib import Path

import pytest

from deepprompt.errors import SourceError
from deepprompt.sources.plan.profile_file import load_profile, profile_names

PAGE = Path(__file__).resolve().parents[3] / "docs" / "instructions.md"
BUNDLED = (
    "agents", "claude-code", "codex", "copilot-cli", "deepseek", "dsh", "gemini-cli", "goose", "kimi-cli", "opencode",
    "openhands", "qwen-code",
)  # fmt: skip


def test_the_bundled_profiles() -> None:
    """Twelve profiles are bundled, each with its agent, its version and the day it was recorded."""
    assert profile_names() == BUNDLED
    for name in BUNDLED:
        profile = load_profile(name)
        assert profile.agent and profile.version and profile.recorded == "2026-11-17"
        assert all(slot.names for group in profile.groups for slot in group.slots)


def test_the_page_names_every_profile_and_deviation() -> None:
    """docs/instructions.md has a row for each profile with its version, and each sentence of its `guard`."""
    page = PAGE.read_text("utf-8")
    for name in BUNDLED:
        profile = load_profile(name)
        (line,) = (line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        assert profile.agent == "deepprompt" or name == "agents" or profile.version in line
        assert [f"- `{name}`: {sentence}" in page for sentence in profile.guard] == [True] * len(profile.guard)


def test_a_profile_of_ones_own_extends_another(tmp_path: Path) -> None:
    """Tables of the file replace those of the profile that it extends; the others stay."""
    (tmp_path / "base.toml").write_text('extends = "codex"\n[limit]\ntotal = 100\n')
    own = tmp_path / "own.toml"
    own.write_text('extends = "base.toml"\nagent = "mine"\n')
    profile, codex = load_profile(own), load_profile("codex")
    assert (profile.agent, profile.limit.total, profile.limit.kinds) == ("mine", 100, ())
    assert profile.groups == codex.groups


WRONG = {
    "unknown": ("", "groups: is missing"),
    "toml": ("[", "own.toml: not TOML"),
    "table": ("groups = []\nwlak = 1\n", "wlak: no such table of a profile"),
    "word": (
        'groups = []\n[walk]\norder = "down"\n',
        "walk.order: no such word: 'down'; there are: by path, ends first",
    ),
    "way out": (
        '[[groups]]\nat = "home"\nfiles = [{ names = ["../x", "/etc/passwd", "~/x", "a/../b", ""] }]\n',
        "'../x' is no path below a folder",
    ),
    "no name": ('[[groups]]\nat = "walk"\nfiles = [{ names = [] }]\n', "expected at least one name"),
    "pattern": ('[[groups]]\nat = "walk"\nfiles = [{ names = ["*.md", "x"] }]\n', "a pattern with * stands alone"),
    "at": ('[[groups]]\nat = "top"\nfiles = []\n', "groups[0].at: no such word: 'top'"),
    "number": ("groups = []\n[limit]\ntotal = -1\n", "limit.total: expected 0 or more, found -1"),
    "itself": ('extends = "own.toml"\n', "extends: expected the name or path of a profile, 4 at most"),
    "base": ('extends = "codx"\n', "extends: no profile 'codx'; did you mean codex?"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_profile_is_an_error(case: str, tmp_path: Path) -> None:
    """The message names the file, the field and what would be right."""
    text, message = WRONG[case]
    own = tmp_path / "own.toml"
    own.write_text(text)
    with pytest.raises(SourceError) as caught:
        load_profile(own)
    assert message in str(caught.value)


def test_all_faults_are_one_error(tmp_path: Path) -> None:
    """Three faults in one file are three messages of one error."""
    own = tmp_path / "own.toml"
    own.write_text('groups = 3\nagent = 1\n[walk]\nabove = "x"\n')
    with pytest.raises(SourceError) as caught:
        load_profile(own)
    assert str(caught.value).count(f"profile {own}: ") == 3


def test_a_missing_profile_is_an_error(tmp_path: Path) -> None:
    """A path that leads nowhere, and a name that no profile has, say so."""
    with pytest.raises(SourceError, match=r"none\.toml: No such file"):
        load_profile(tmp_path / "none.toml")
    with pytest.raises(SourceError, match="profile takes the name of a profile, or the path of your own, not 3"):
        load_profile(3)  # type: ignore[arg-type]
