"""`deepprompt build --agent`: JSON files in, an agent's prompt out, and one line that helps when a file is wrong."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from deepprompt import AgentConfig, Responsibility, Task, TaskStep, build_system_prompt
from deepprompt.cli import main

NOW = "2031-03-04T15:06:00+00:00"
TASK = {"id": 1, "title": "t", "description": "d", "status": "s"}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to be in, with an agent that is right."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.json").write_text('{"identity": "Ada"}')
    return tmp_path


@pytest.mark.seed("001.1")
def test_everything(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """The files have the fields of the Python values, and give the same prompt."""
    duties = [{"title": "a", "content": "b"}]
    agent = {"identity": "Ada", "instructions": "do", "responsibilities": duties, "role": "r", "storage": False}
    steps = [{"title": "x", "done": True}, {"title": "y", "task_id": 4}, {"title": "z", "task_id": None}]
    (folder / "agent.json").write_text(json.dumps(agent))
    (folder / "task.json").write_text(json.dumps(TASK | {"steps": steps}))
    (folder / "memories.json").write_bytes(b'\xef\xbb\xbf["one", "two"]')
    options = ["--agent", "agent.json", "--channel", "telegram", "--directory", "sub", "--task", "task.json"]
    assert main(["build", *options, "--memories", "memories.json", "--background", "--now", NOW]) == 0
    assert capsysbinary.readouterr() == (
        build_system_prompt(
            AgentConfig("Ada", "do", (Responsibility("a", "b"),), "r", False),
            "telegram",
            str(folder),
            [str(folder / "sub")],
            now=datetime(2031, 3, 4, 15, 6, tzinfo=UTC),
            task=Task(1, "t", "d", "s", (TaskStep("x", True), TaskStep("y", task_id=4), TaskStep("z"))),
            memories=["one", "two"],
            background=True,
        ).encode(),
        b"",
    )


@pytest.mark.seed("001.10")
def test_001_own_texts_from_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A user adds a channel and replaces the storage advice by files alone: the agent's, or one for each text."""
    agent = {"identity": "Ada", "storage_text": "Keep it.", "formatting": {"slack": "Slack, in JSON."}}
    (folder / "agent.json").write_text(json.dumps(agent))
    (folder / "slack.md").write_text("Write *bold*\nwith one asterisk.\n")
    (folder / "storage.md").write_text("Keep nothing.\n")
    common = ["build", "--agent", "agent.json", "--channel", "slack", "--prefix-only"]
    assert main(common) == 0
    printed = capsys.readouterr().out
    assert "<Storage>\nKeep it.\n</Storage>\n\n<Formatting>\nSlack, in JSON.\n</Formatting>" in printed
    assert main([*common, "--formatting", "slack=slack.md", "--storage-file", "storage.md"]) == 0
    printed = capsys.readouterr().out
    assert "<Storage>\nKeep nothing.\n</Storage>\n\n<Formatting>\nWrite *bold*\nwith one asterisk.\n</Form" in printed


def test_the_clock(folder: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    """Without a time the clock is asked, and the parts are reported like any other prompt's."""
    assert main(["build", "--agent", "agent.json", "--cwd", str(folder), "--json"]) == 0
    report = json.loads(capsysbinary.readouterr().out)
    assert [part["name"] for part in report["parts"]] == ["identity", "directories", "storage", "context"]
    assert f" {datetime.now().year} at " in report["text"]


WRONG = {
    "no file": ({}, "agent", None, "agent.json: No such file or directory"),
    "not JSON": ({}, "agent", "{\n]", "agent.json:2: not JSON: Expecting property name enclosed in double quotes"),
    "not UTF-8": ({}, "agent", b'{"identity": "caf\xe9"}', "agent.json: not UTF-8 at byte 17; save it as UTF-8"),
    "a list": ({}, "agent", "[]", "agent.json: the whole file: expected an object, found []"),
    "a number": ({}, "agent", '{"identity": 5}', "agent.json: identity: expected text, found 5"),
    "null": ({}, "agent", '{"identity": null}', "agent.json: identity: expected text, found null"),
    "a text for a flag": (
        {}, "agent", '{"storage": "no"}', 'agent.json: storage: expected true or false, found "no"',
    ),
    "a misspelt field": (
        {}, "agent", '{"identiti": ""}',
        "agent.json: identiti: no such field; there are: identity, instructions, role, responsibilities, storage, "
        "storage_text, formatting",
    ),
    "rules that are no texts": (
        {}, "agent", '{"formatting": {"slack": 5}}', "agent.json: formatting.slack: expected text, found 5",
    ),
    "no list": (
        {}, "agent", '{"responsibilities": {}}', "agent.json: responsibilities: expected a list of objects, found {}",
    ),
    "a duty without a title": (
        {}, "agent", '{"responsibilities": [{"title": "a", "content": "b"}, {"content": "b"}]}',
        "agent.json: responsibilities[1].title: is missing",
    ),
    "a task without a status": (
        {"task": "task.json"}, "task", '{"id": 1, "title": "t", "description": "d"}', "task.json: status: is missing",
    ),
    "a task with a flag for its id": (
        {"task": "task.json"}, "task", json.dumps(TASK | {"id": True}),
        "task.json: id: expected a number or text, found true",
    ),
    "a step that is not done by a flag": (
        {"task": "task.json"}, "task", json.dumps(TASK | {"steps": [{"title": "x", "done": 1}]}),
        "task.json: steps[0].done: expected true or false, found 1",
    ),
    "memories that are not texts": (
        {"memories": "memories.json"}, "memories", '["a", 5]',
        "memories.json: the whole file: expected a list of texts, found 5 in it",
    ),
    "several faults": (
        {}, "agent", '{"identity": 5, "responsibilities": [{"title": 1}], "roles": ""}',
        "agent.json: identity: expected text, found 5; agent.json: responsibilities[0].content: is missing; "
        "agent.json: responsibilities[0].title: expected text, found 1; "
        "agent.json: roles: no such field; there are: identity, instructions, role, responsibilities, storage, "
        "storage_text, formatting",
    ),
    "deep nesting": ({}, "agent", "[" * 100_000, "agent.json: nested too deeply"),
}  # fmt: skip


@pytest.mark.parametrize(("options", "name", "text", "message"), WRONG.values(), ids=WRONG)
def test_wrong_file(
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    options: dict[str, str],
    name: str,
    text: str | bytes | None,
    message: str,
) -> None:
    """A wrong or incomplete file is one line that names the file, the field and what was expected."""
    path = folder / f"{name}.json"
    path.unlink(missing_ok=True)
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    extra = [word for option, value in options.items() for word in (f"--{option}", value)]
    assert main(["build", "--agent", "agent.json", *extra]) == 1
    assert capsys.readouterr() == ("", f"deepprompt: {message}\n")


@pytest.mark.parametrize("now", ["yesterday", "2031-03-04", "2031-03-04T15:06:00"])
def test_wrong_time(folder: Path, capsys: pytest.CaptureFixture[str], now: str) -> None:
    """A time that cannot be read, or has no zone, is one line with an example."""
    assert main(["build", "--agent", str(folder / "agent.json"), "--now", now]) == 1
    assert capsys.readouterr().err == (
        f"deepprompt: --now {now}: expected a time with its zone, such as 2031-03-04T15:06:00+00:00\n"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--channel", "telegram"], "--channel needs --agent FILE"),
        (["--background"], "--background needs --agent FILE"),
        (["--directory", "x"], "--directory needs --agent FILE"),
        (["--formatting", "a=b"], "--formatting needs --agent FILE"),
        (["--agent", "agent.json", "--formatting", "slack"], "--formatting slack: write NAME=FILE"),
        (["--agent", "agent.json", "--append", "x"], "--append does not go with --agent"),
        (["--agent", "agent.json", "--preset", "claude_code"], "--preset does not go with --agent"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_wrong_usage(capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    """Options that do not go together are wrong usage."""
    with pytest.raises(SystemExit) as caught:
        main(["build", *options])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
