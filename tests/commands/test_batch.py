"""`deepprompt batch`: files for each service that the official SDKs' types accept, joins, and wrong usage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from deepprompt.batch.services import services
from deepprompt.cli import main
from tests.support.recorder import recorder, sdk

CaptureText = pytest.CaptureFixture[str]

MODELS = {
    "anthropic": "claude-opus-5-5",
    "bedrock": "us.anthropic.claude-opus-5-5",
    "bedrock-invoke": "us.anthropic.claude-opus-5-5",
    "gemini": "gemini-4-argon",
    "openai": "gpt-6.1-sol",
    "openai-responses": "gpt-6.1-sol",
    "vllm": "some/model",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with rows and a prompt, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "prompt.md").write_text("You translate into German. " * 800)
    (tmp_path / "rows.csv").write_text("id,text\na1,cat\na2,dog\n")
    return tmp_path


def written(service: str, *more: str) -> int:
    """Write the batch of the folder."""
    options = ("--prompt", "prompt.md", "--user", "Word: {text}", "--to", service, "--model", MODELS[service])
    return main(["batch", "rows.csv", *options, "--out", "out", "--id", "id", *more])


@pytest.mark.parametrize("service", services())
def test_written(service: str, folder: Path, capsys: CaptureText) -> None:
    """The files are written, and the output says how many requests are where and what they share."""
    assert written(service) == 0
    out = capsys.readouterr().out
    assert out.startswith("2 requests in 1 file, ")
    assert "shared by every request: about 5,4" in out
    assert sorted(path.name for path in (folder / "out").iterdir())[0].startswith("00001.json")


@pytest.mark.slow
def test_the_sdks_accept_the_files(folder: Path) -> None:
    """The requests are what the official SDKs' own types describe."""
    anthropic, types = sdk("anthropic"), sdk("google.genai.types")
    assert written("anthropic") == 0
    body = json.loads((folder / "out" / "00001.json").read_bytes())
    with recorder() as server, anthropic.Anthropic(api_key="test", base_url=server.url, max_retries=0) as client:
        server.answer({"id": "msgbatch_1", "type": "message_batch", "processing_status": "in_progress"})
        assert client.messages.batches.create(**body).id == "msgbatch_1"
        assert server.only.body == body
    assert [request["custom_id"] for request in body["requests"]] == ["a1", "a2"]
    assert body["requests"][0]["params"]["system"][-1]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}

    (folder / "out").rename(folder / "anthropic")
    assert written("gemini") == 0
    for line in (folder / "out" / "00001.jsonl").read_text().splitlines():
        types.Content.model_validate(json.loads(line)["request"]["contents"][0])


def test_joined(folder: Path, capsys: CaptureText) -> None:
    """A join with a row missing exits 1 and names it, the next run writes it, and with everything there it exits 0."""
    assert written("openai") == 0
    usage = {"prompt_tokens": 100, "completion_tokens": 3, "total_tokens": 103}
    line = {"custom_id": "a1", "response": {"status_code": 200, "body": {"choices": [], "usage": usage}}, "error": None}
    (folder / "r.jsonl").write_text(json.dumps(line) + "\n")
    capsys.readouterr()
    assert main(["batch", "join", "out", "r.jsonl", "--out", "answers.jsonl"]) == 1
    said = capsys.readouterr()
    assert said.out.splitlines() == [
        "2 rows in answers.jsonl: 1 done, 1 missing",
        "usage: 100 input tokens, 0 of them read from the cache, 3 output",
    ]
    assert said.err == "deepprompt: no response: a2 (missing)\n"
    assert written("openai") == 0
    assert "1 request in 1 file" in capsys.readouterr().out
    (folder / "r2.jsonl").write_text(json.dumps(line | {"custom_id": "a2"}) + "\n")
    assert main(["batch", "join", "out", "r.jsonl", "r2.jsonl", "--out", "answers.jsonl", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["states"], report["usage"]["input"], report["open"]) == ({"done": 2}, 200, {})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["rows.csv", "--out", "o"], "--prompt is missing"),
        (["rows.csv", "b.csv", "--out", "o"], "one table of rows, not 2; or 'join DIR RESULTS'"),
        (["join", "out", "--out", "o"], "join needs the folder of the batch and at least one file of results"),
        (["join", "out", "r", "--out", "o", "--to", "openai"], "join takes no --to"),
        (["join", "out", "r", "--out", "./r"], "--out names a file of results"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: CaptureText) -> None:
    """Wrong usage exits 2 with one sentence."""
    with pytest.raises(SystemExit) as caught:
        main(["batch", *arguments])
    assert caught.value.code == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("service", "user", "message"),
    [
        ("deepseek", "{text}", "no batch service 'deepseek'"),
        ("openai", "{txt}", "rows.csv:2: no column 'txt'; there are: id, text"),
        ("openai", "text", "every row would send the same"),
        ("bedrock-invoke", "{text}", "has another form for the model 'm'"),
    ],
)
def test_problems(service: str, user: str, message: str, folder: Path, capsys: CaptureText) -> None:
    """A problem exits 1 with one sentence, and nothing is written."""
    options = ("--prompt", "prompt.md", "--user", user, "--to", service, "--model", "m", "--out", "out")
    assert main(["batch", "rows.csv", *options]) == 1
    assert message in capsys.readouterr().err
    assert not list(folder.glob("out/*"))


def test_tools_that_a_service_does_not_take(folder: Path, capsys: CaptureText) -> None:
    """Bedrock's Converse jobs fail with tools, so they are refused here."""
    (folder / "app.py").write_text(
        "from deepprompt import Prompt\n"
        "def prompt():\n"
        "    return Prompt([], tools=[{'name': 'x', 'input_schema': {'type': 'object'}}])\n"
    )
    options = ("--prompt", "app:prompt", "--user", "{text}", "--to", "bedrock", "--model", "m", "--out", "out")
    assert main(["batch", "rows.csv", *options]) == 1
    assert "Amazon Bedrock batch inference takes no tools: a Converse job with tools fails" in capsys.readouterr().err
    invoke = ("--to", "bedrock-invoke", "--model", "anthropic.claude-opus-5-5", "--out", "out")
    assert main(["batch", "rows.csv", *options[:4], *invoke]) == 0
    line = json.loads((folder / "out" / "00001.jsonl").read_text().splitlines()[0])
    assert line["modelInput"]["tools"][0]["name"] == "x"


def test_by_url(folder: Path, capsys: CaptureText) -> None:
    """Rows and results may be URLs. A password is neither shown nor stored, so the rows have to be named again."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install -e '.[remote]'")
    memory = fsspec.filesystem("memory")
    memory.pipe("/in/rows.csv", b"id,text\na1,cat\na2,dog\n")
    line = {"custom_id": "a%d", "response": {"status_code": 200, "body": {"choices": []}}, "error": None}
    memory.pipe("/in/r.jsonl", "".join(json.dumps(line | {"custom_id": f"a{n}"}) + "\n" for n in (2, 1)).encode())
    options = ("--prompt", "prompt.md", "--user", "{text}", "--to", "vllm", "--model", "m", "--id", "id")
    assert main(["batch", "memory://in/rows.csv", *options, "--out", "out"]) == 0
    assert main(["batch", "join", "out", "memory://in/r.jsonl", "--out", "answers.jsonl"]) == 0
    assert [json.loads(line)["id"] for line in Path("answers.jsonl").read_text().splitlines()] == ["a1", "a2"]
    memory.pipe("/in/rows.jsonl", b'{"id": "x\\u001b[31m"}\n')
    assert main(["batch", "memory://in/rows.jsonl", *options, "--out", "other"]) == 1
    assert "\x1b" not in capsys.readouterr().err
    manifest = json.loads((folder / "out" / "manifest.json").read_text())
    assert manifest["rows"]["path"] == "memory://in/rows.csv"
    assert main(["batch", "nowhere://u:secret@host/rows.csv", *options, "--out", "other"]) == 1
    error = capsys.readouterr().err
    assert "nowhere://u@host/rows.csv: " in error
    assert "secret" not in error
    memory.store.clear()
