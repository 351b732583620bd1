"""`deepprompt parts`: every prompt part there is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepprompt import bundled, estimate_tokens, load_preset
from deepprompt.cli import main
from deepprompt.prompt import sha256_hex

CaptureBytes = pytest.CaptureFixture[bytes]

FILES = {
    "own/1.0.0/preset.toml": 'format = 1\nrows = [{ part = "who" }]\n',
    "own/1.0.0/who.md": "Old.\n",
    "own/1.1.0/preset.toml": """\
format = 1
rows = [
  { part = "who" },
  { part = "how", pace = "project", when = "tool:Glob" },
  { text = "${NAME}", name = "name", pace = "session" },
]
[variables]
NAME = { cases = [{ when = "not list:mcp", part = "alone" }], pace = "session" }
[tools]
Glob = {}
""",
    "own/1.1.0/who.md": "Who you are, in a few words.\n",
    "own/1.1.0/how.md": "How.\n",
    "own/1.1.0/alone.md": "é" * 20,
    "own/1.1.0/tools/Glob.md": "More and more.\n",
    "own/1.1.0/tools/Glob.json": '{"type": "object"}',
    "texts/1.0/all.md": "",
}

TABLE = """\
family  version  part        tokens  pace     condition
own     1.1.0    who              7  release  always
own     1.1.0    how              1  project  tool:Glob
own     1.1.0    name             1  session  always
own     1.1.0    alone           10  session  not list:mcp
own     1.1.0    tools/Glob       3           tools
texts   1.0      all              0
"""


@pytest.fixture
def parts(tmp_path: Path) -> Path:
    """Return a folder with a preset and a family of texts."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode())
    return tmp_path


def said(capture: CaptureBytes, *arguments: str) -> str:
    """Run `parts` without failure, and return what it prints."""
    assert main(["parts", *arguments]) == 0
    out, err = capture.readouterr()
    assert err == b""
    return out.decode()


def test_table(parts: Path, capsysbinary: CaptureBytes) -> None:
    """The newest version of each family is listed: parts in order, then the others, aligned in columns."""
    assert said(capsysbinary, "--parts", str(parts)) == TABLE


@pytest.mark.parametrize(
    ("ask", "version"), [("own@1.0.0", "1.0.0"), ("own~=1.0.0", "1.0.0"), ("own", "1.1.0"), ("own>1.0", "1.1.0")]
)
def test_one_family(ask: str, version: str, parts: Path, capsysbinary: CaptureBytes) -> None:
    """One family is listed in the version that is asked for."""
    rows: Any = json.loads(said(capsysbinary, ask, "--parts", str(parts), "--json"))
    assert {(row["family"], row["version"]) for row in rows} == {("own", version)}


def test_json(parts: Path, capsysbinary: CaptureBytes) -> None:
    """`--json` gives the same, a part an object."""
    rows: Any = json.loads(said(capsysbinary, "own@1.0.0", "--parts", str(parts), "--json"))
    row = {"family": "own", "version": "1.0.0", "part": "who", "tokens": 1, "pace": "release", "condition": "always"}
    assert rows == [{**row, "from": ""}]


def test_bundled(capsysbinary: CaptureBytes) -> None:
    """Every bundled part is listed, once and with the tokens of its text; a list is one row, with all its files."""
    rows: Any = json.loads(said(capsysbinary, "--json"))
    listed = {(row["family"], row["version"], row["part"]) for row in rows}
    of_lists = {"instruction", "command", "server", "skill", "skills", "more_skills"}
    families = ("base", "claude_code", "coder", "deepseek", "request", "session", "slots", "tagged", "tiers")
    missing = [
        part
        for family in families
        for part in bundled().names(*bundled().resolve(family))
        if (*bundled().resolve(family), part) not in listed and part not in of_lists
    ]
    assert missing == []
    assert len(listed) == len(rows)
    for row in rows:
        name = f"{row['part']}.md"
        if not row["from"] and bundled().has(row["family"], row["version"], name) and row["part"] not in of_lists:
            exact = estimate_tokens(bundled().file(row["family"], row["version"], name))
            assert row["tokens"] - exact in (-1, 0) or row["family"] == "slots" or row["part"] == "mcp"


def test_bundled_order(capsysbinary: CaptureBytes) -> None:
    """The preset's rows come first, in its order and with their conditions, then agents, reminders and tools."""
    rows: Any = json.loads(said(capsysbinary, "claude_code@2.1.37", "--json"))
    preset = load_preset("claude_code@2.1.37")
    count = len(preset.rows)
    assert [(row["part"], row["condition"]) for row in rows[:count]] == [(row.name, row.when) for row in preset.rows]
    cases = [("focus_style", "set:OUTPUT_STYLE"), ("focus_engineering", "always"), ("security_policy", "always")]
    assert [(row["part"], row["condition"]) for row in rows[count : count + 3]] == cases
    rest = [row["part"] for row in rows[count + 3 :]]
    assert rest == sorted(rest)
    assert {name.partition("/")[0] for name in rest} == {"agents", "reminders", "tools"}


PRESET = """\
format = 1
extends = "coder@1.0.0"
changes = [{ add = "house", after = "work" }, { replace = "git" }]
"""


def test_an_extension(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """Each row of an extension says where its text comes from; one whose original moved is stale."""
    files = {"preset.toml": PRESET, "house.md": "House.\n", "git.md": "Git.\n", "overrides.toml": 'git = "0000"\n'}
    home = tmp_path / "pilot/1.0.0"
    home.mkdir(parents=True)
    for name, text in files.items():
        (home / name).write_text(text)
    rows: Any = json.loads(said(capsysbinary, "pilot", "--parts", str(tmp_path), "--json"))
    found = {row["part"]: row["from"] for row in rows}
    assert {name: found[name] for name in ("identity", "house", "git", "mcp", "project")} == {
        "identity": "coder@1.0.0",
        "house": "",
        "git": "stale",
        "mcp": "slots@1.0.0",
        "project": "deepprompt",
    }
    digest = sha256_hex(bundled().text("coder", "1.0.0", "git"))
    (home / "overrides.toml").write_text(f'git = "{digest}"\n')
    rows = json.loads(said(capsysbinary, "pilot", "--parts", str(tmp_path), "--json"))
    assert {row["part"]: row["from"] for row in rows}["git"] == "replaced"


def test_a_folder_of_overrides(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """A folder that `show --override-in` made can be listed too, though it has no preset."""
    assert main(["show", "glob", "--override-in", str(tmp_path)]) == 0
    assert "  glob  " in said(capsysbinary, "--parts", str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nope"], f"deepprompt has no family 'nope'; there are: {', '.join(bundled().families())}"),
        (["base@9"], "no version of base is 9; there are: 1.0.0, 1.1.0"),
        (["@"], "cannot read '@'; write FAMILY, FAMILY@VERSION or FAMILY~=VERSION"),
        (["--parts", "/nowhere"], "no folder of parts at '/nowhere'"),
    ],
)
def test_unknown(arguments: list[str], message: str, capsysbinary: CaptureBytes) -> None:
    """What there is not is an error of one line that says what there is."""
    assert main(["parts", *arguments]) == 1
    assert capsysbinary.readouterr() == (b"", f"deepprompt: {message}\n".encode())


def test_a_family_without_parts(capsysbinary: CaptureBytes) -> None:
    """A family that has files and no parts is an error that says how to see the files."""
    assert main(["parts", "providers"]) == 1
    said = (
        "providers 2026.11.18.1 has no prompt parts, only files; print one with 'deepprompt show providers/facts.json'"
    )
    assert capsysbinary.readouterr() == (b"", f"deepprompt: {said}\n".encode())


def test_a_folder_with_a_family_without_parts(parts: Path, capsysbinary: CaptureBytes) -> None:
    """Beside families that have parts, one that has none is passed over."""
    (parts / "data/1.0").mkdir(parents=True)
    (parts / "data/1.0/facts.json").write_text("{}")
    assert said(capsysbinary, "--parts", str(parts)) == TABLE
    assert main(["parts", "data", "--parts", str(parts)]) == 1
    assert b"data 1.0 has no prompt parts, only files; " in capsysbinary.readouterr().err


def test_empty_folder(tmp_path: Path, capsysbinary: CaptureBytes) -> None:
    """A folder without parts is an error, as `versions` has it, not an empty list."""
    assert main(["parts", "--parts", str(tmp_path)]) == 1
    message = f"deepprompt: {tmp_path}: no parts here; they would be FAMILY/VERSION/PART.md\n"
    assert capsysbinary.readouterr() == (b"", message.encode())


def test_missing_file(parts: Path, capsysbinary: CaptureBytes) -> None:
    """A part that a row names and the folder lacks is an error that names both."""
    (parts / "own/1.0.0/who.md").unlink()
    assert main(["parts", "own@1.0.0", "--parts", str(parts)]) == 1
    place = f"{parts}:own/1.0.0/preset.toml"
    message = f"deepprompt: {place}: row who: there is no file own/1.0.0/who.md in {parts}\n"
    assert capsysbinary.readouterr() == (b"", message.encode())
