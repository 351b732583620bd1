"""`deepprompt tiers`: the array, the request, the report, and the state between calls."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprompt.cli import main
from tests.support.layout import lay_out
from tests.support.repositories import make_repository

CaptureText = pytest.CaptureFixture[str]
ASK = ["--select", "a.py", "b.py", "--ask", "Why?"]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a repository with two files."""
    return make_repository(tmp_path / "root", {"a.py": "a = 1\n" * 500, "b.py": "b = 2\n" * 500})


def test_the_array(project: Path, capsys: CaptureText) -> None:
    """The message array is printed as JSON, with the conversation in it and the question last."""
    lay_out(
        project.parent, {"talk.json": '[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}]'}
    )
    assert main(["tiers", str(project), *ASK, "--history", str(project.parent / "talk.json")]) == 0
    messages = json.loads(capsys.readouterr().out)
    assert messages[-1] == {"role": "user", "content": "Why?"}
    assert "Yes?" in json.dumps(messages)
    assert json.dumps(messages).count("cache_control") <= 4


def test_a_request(project: Path, capsys: CaptureText) -> None:
    """With --to the body of a request is printed, with a mark at the end of each tier."""
    assert main(["tiers", str(project), *ASK, "--to", "anthropic", "--model", "claude-opus-5-5"]) == 0
    body = json.loads(capsys.readouterr().out)
    assert body["model"] == "claude-opus-5-5"
    assert 1 <= json.dumps(body).count("cache_control") <= 4


def test_the_state(project: Path, capsys: CaptureText) -> None:
    """With --state the second call reads what the first one wrote."""
    state = ["--state", str(project.parent / "state"), "--json"]
    assert main(["tiers", str(project), *ASK, *state]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(["tiers", str(project), *ASK, *state]) == 0
    second = json.loads(capsys.readouterr().out)
    assert second["messages"] == first["messages"]
    assert (first["report"]["read"], second["report"]["written"]) == (0, 0)
    (project / "b.py").write_text("b = 3\n")
    assert main(["tiers", str(project), *ASK, *state[:2], "--explain"]) == 0
    assert "the others were rebuilt: b.py changed" in capsys.readouterr().out


def test_the_ledger(project: Path, capsys: CaptureText) -> None:
    """With --outdated an old copy stays, and the new one is appended."""
    state = ["--state", str(project.parent / "state"), "--outdated", "0.9", "--json"]
    assert main(["tiers", str(project), *ASK, *state]) == 0
    (project / "b.py").write_text("b = 3\n" * 500)
    assert main(["tiers", str(project), *ASK, *state]) == 0
    assert json.loads(capsys.readouterr().out.split("\n}\n")[1] + "}")["report"]["outdated"] > 0
    assert main(["tiers", str(project), *ASK, *state[:2], "--outdated", "0.5"]) == 1
    assert "it was begun with another --outdated" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["tiers", str(project), *ASK, "--outdated", "2"])


def test_wrong_usage(project: Path, capsys: CaptureText) -> None:
    """Half of a target, an unknown provider and another model's state are refused."""
    for options in (["--to", "anthropic"], ["--to", "nobody", "--model", "x"]):
        with pytest.raises(SystemExit) as caught:
            main(["tiers", str(project), *ASK, *options])
        assert caught.value.code == 2
    state = ["--state", str(project.parent / "state")]
    assert main(["tiers", str(project), *ASK, *state]) == 0
    assert main(["tiers", str(project), *ASK, *state, "--to", "openai", "--model", "gpt-5.6"]) == 1
    assert "it is for anthropic and claude-opus-5-5" in capsys.readouterr().err
    lay_out(project.parent, {"talk.json": "{}"})
    assert main(["tiers", str(project), *ASK, "--history", str(project.parent / "talk.json")]) == 1
