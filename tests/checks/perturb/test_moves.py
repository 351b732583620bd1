"""What the surroundings are moved to."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import get_args

import pytest

from deepprompt.checks.perturb import moves
from deepprompt.checks.perturb.moves import MOVES, Move, plan_moves, starting_point
from deepprompt.sources.function import Function
from deepprompt.words import MoveKind
from tests.support.layout import lay_out

FUNCTION = Function("prompts", "", "make", ())


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a function."""
    return lay_out(tmp_path / "project", {"prompts.py": "def make(): return 'x'", "src/a.py": ""})


def plan(project: Path, function: Function = FUNCTION, skip: frozenset[MoveKind] = frozenset()) -> dict[str, Move]:
    """Return the last move of each kind."""
    private = project.parent / "deepprompt-private"
    private.mkdir(exist_ok=True)
    return {move.kind: move for move in plan_moves(function, starting_point(str(project)), str(private), skip)}


def test_every_kind(project: Path) -> None:
    """Everything is moved, or what is not skipped."""
    assert set(plan(project)) == set(MOVES)
    kinds = frozenset(MOVES) - {"again", "clock"}
    assert list(plan(project, skip=kinds)) == ["again", "clock"]


LOCALES = {
    "another language": ("de_DE.UTF-8", "C C.utf8 POSIX de_DE.utf8 fr_FR fr_FR.utf8", ["fr_FR.utf8", "C"]),
    "not the same language": ("en_US.UTF-8", "C en_GB.utf8 en_US.utf8", ["C"]),
    "none": ("C.UTF-8", "C C.utf8 POSIX", ["C"]),
    "C": ("C", "C C.utf8 POSIX", ["C.UTF-8"]),
    "not set": ("", "C C.utf8 POSIX nl_NL.utf8", ["nl_NL.utf8", "C.UTF-8"]),
}


@pytest.mark.parametrize("current, installed, chosen", LOCALES.values(), ids=LOCALES)
def test_locales(
    current: str, installed: str, chosen: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another language where there is one, and none."""
    program = lay_out(tmp_path, {"locale": f"#!/bin/sh\nprintf '%s\\n' {installed}\n"}) / "locale"
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    for name in ("LC_ALL", "LC_CTYPE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANG", current)
    assert moves._other_locales(str(tmp_path / "project")) == chosen


def test_without_a_list_of_locales(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing lists them there is still one."""
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setenv("LC_ALL", "en_US.UTF-8")
    assert moves._other_locales(str(tmp_path / "project")) == ["C"]


ZONES = {"UTC": "Pacific/Tongatapu", "Pacific/Auckland": "Pacific/Pago_Pago", "America/Lima": "Pacific/Tongatapu"}


@pytest.mark.parametrize("zone", ZONES)
def test_zones(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A zone far away, by its name if that is known, because libraries ask for one."""
    try:
        with monkeypatch.context() as patch:
            patch.setenv("TZ", zone)
            time.tzset()
            patch.setattr("zoneinfo.TZPATH", ("/usr/share/zoneinfo",))
            patch.setattr(os.path, "isfile", lambda _: True)
            assert moves._other_zone() == ZONES[zone]
            patch.setattr(os.path, "isfile", lambda _: False)
            assert moves._other_zone() in ("<+13>-13", "<-11>11")
    finally:
        time.tzset()


def test_home(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same home under another name, and what the environment says lies in it."""
    home = lay_out(project.parent / "home", {"notes.md": "x"})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", f"{home}/.config")
    monkeypatch.setenv("XDG_DATA_HOME", "/elsewhere")
    changed = plan(project)["home"].surroundings.environment
    other = changed["HOME"]
    assert other != str(home)
    assert Path(str(other), "notes.md").read_text() == "x"
    assert changed["XDG_CONFIG_HOME"] == f"{other}/.config"
    assert "XDG_DATA_HOME" not in changed


def test_no_home(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has no home gets an empty one, not a link to nowhere."""
    monkeypatch.setenv("HOME", "/nowhere")
    assert os.listdir(str(plan(project)["home"].surroundings.environment["HOME"])) == []


def test_temp(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new folder, in which what others keep for later is found; not our own folders, which would be a circle."""
    lay_out(project.parent, {"cache/x": "x"})
    monkeypatch.setattr("tempfile.tempdir", str(project.parent))
    temp = str(plan(project)["temp"].surroundings.environment["TMPDIR"])
    assert sorted(os.listdir(temp)) == ["cache", "project"]
    assert Path(temp, "cache/x").read_text() == "x"
    assert os.path.realpath(temp) == temp


def test_folder(project: Path) -> None:
    """In a copy, the function's file and its modules are those of the copy, but for what is not in it."""
    path = (str(project), str(project / "src"), str(project / "gone"), "/usr/lib", str(project.parent))
    moves = plan(project, Function("", str(project / "prompts.py"), "make", path))
    move = moves["folder"]
    copy = move.surroundings.folder
    assert move.surroundings.environment["PWD"] == copy
    assert not os.path.exists(copy)  # it is made when it is needed, beside other calls
    assert move.copied is not None
    function, problem = move.copied()
    assert (function.file, problem) == (f"{copy}/prompts.py", "")
    assert function.path == (copy, f"{copy}/src", *path[2:])
    assert moves["line ends"].surroundings.folder == copy
    assert moves["line ends"].copied is move.copied  # one copy for both


def test_the_type_names_every_move() -> None:
    """The words that a type checker accepts are the moves that there are."""
    assert get_args(MoveKind) == tuple(MOVES)
