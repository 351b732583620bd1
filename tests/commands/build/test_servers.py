"""`deepprompt build --mcp`: servers by name, or with their instructions and tools out of a file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprompt import McpServer
from deepprompt.cli import main
from deepprompt.commands.build.servers import servers_of
from deepprompt.errors import SourceError

TICKETS = {"name": "tickets", "instructions": "Ask first.", "tools": ["search", {"name": "close", "inputSchema": {}}]}
EXPECTED = McpServer("tickets", "Ask first.", ("search", "close"))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder to be in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("option", "content", "servers"),
    [
        ("db", None, [McpServer("db")]),
        ("one.json", TICKETS, [EXPECTED]),
        ("one.json", [TICKETS, {"name": "db"}], [EXPECTED, McpServer("db")]),
        ("one.json", [], []),
        ("tickets=one.json", TICKETS, [EXPECTED]),
        ("tickets=one.json", {"tools": ["search"]}, [McpServer("tickets", "", ("search",))]),
        ("db=one.json", [TICKETS, {"name": "db"}], [McpServer("db")]),
    ],
)
def test_004_f_servers_from_a_file(option: str, content: object, servers: list[McpServer], folder: Path) -> None:
    """A server is a name, or an object of a file with its instructions and the names of its tools."""
    if content is not None:
        (folder / "one.json").write_text(json.dumps(content))
    assert servers_of(option, []) == servers


@pytest.mark.seed("004.14")
def test_004_f_in_the_prompt(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What a file says of a server stands in the prompt, beside servers that are only named."""
    (folder / "servers.json").write_text(json.dumps([TICKETS]))
    options = ["--preset", "claude_code@2.1.37", "--mcp", "servers.json", "--mcp", "db", "--quiet"]
    assert main(["build", *options]) == 0
    assert "## db\n\n## tickets\n\nTools: close, search\n\nAsk first.\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("option", "content", "message"),
    [
        ("=one.json", "{}", "--mcp =one.json: write NAME, NAME=FILE or FILE.json"),
        ("db=", "{}", "--mcp db=: write NAME, NAME=FILE or FILE.json"),
        ("gone.json", "{}", "gone.json: No such file or directory"),
        ("one.json", "{", "one.json:1: not JSON: Expecting property name enclosed in double quotes"),
        ("one.json", "{}", "one.json: name: is missing"),
        ("one.json", '"db"', 'one.json: the whole file: expected an object, found "db"; one.json: name: is missing'),
        (
            "one.json",
            '[{"name": 1, "tool": []}, {"name": "x", "tools": [{}, ""]}]',
            "one.json: [0].name: expected text, found 1; "
            "one.json: [0].tool: no such field; there are: name, instructions, tools; "
            "one.json: [1].tools[0]: expected a name, or an object with one; "
            "one.json: [1].tools[1]: expected a name, or an object with one",
        ),
        ("db=one.json", json.dumps([TICKETS]), "one.json: no server named 'db'; there are: tickets"),
        ("db=one.json", json.dumps(TICKETS), "one.json: no server named 'db'; there are: tickets"),
    ],
)
def test_004_f_wrong_files(option: str, content: str, message: str, folder: Path) -> None:
    """Everything that is wrong with a file is one error that names the file and the field."""
    (folder / "one.json").write_text(content)
    with pytest.raises(SourceError) as caught:
        servers_of(option, [])
    assert str(caught.value) == message
