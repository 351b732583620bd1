"""`deepprompt record`: run a command with its requests going through the recorder."""

from __future__ import annotations

import http.server
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepprompt import read_records
from deepprompt.cli import main
from deepprompt.fleet.record import Record
from deepprompt.fleet.store import Store, forget
from deepprompt.recorder.agents import known_agents, set_up, upstreams

CaptureBytes = pytest.CaptureFixture[bytes]
# A client of the standard library: it reads the variable, as every SDK does.
AGENT = """
import json, os, sys, urllib.request
body = {"model": "claude-opus-5-5", "messages": [{"role": "user", "content": sys.argv[1]}]}
request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
                                 {"content-type": "application/json", "x-api-key": "k"})
print(json.load(urllib.request.urlopen(request))["usage"]["output_tokens"])
sys.exit(int(sys.argv[2]))
"""


@pytest.fixture
def upstream() -> Iterator[str]:
    """A stand-in for a provider."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            data = json.dumps({"usage": {"input_tokens": 3, "cache_read_input_tokens": 6, "output_tokens": 2}}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def record(folder: Path, upstream: str, *command: str) -> subprocess.CompletedProcess[str]:
    """Run `deepprompt record`."""
    pytest.importorskip("aiohttp", reason="the extra record is not installed")
    arguments = ["record", "--upstream", upstream, "--store", str(folder / "store"), "--", *command]
    return subprocess.run([sys.executable, "-m", "deepprompt", *arguments], capture_output=True, text=True, timeout=60)


def test_a_command(upstream: str, tmp_path: Path) -> None:
    """The command runs with the variables set, its exit is ours, and what it sent is stored and told."""
    (tmp_path / "agent.py").write_text(AGENT)
    ran = record(tmp_path, upstream, sys.executable, str(tmp_path / "agent.py"), "Hi.", "3")
    assert (ran.returncode, ran.stdout) == (3, "2\n")
    lines = ran.stderr.splitlines()
    assert lines[0] == "deepprompt: request 1  read 6, wrote 0, full 3"
    assert lines[1] == "deepprompt: this run alone, compared with no earlier one: 1 request in 1 conversation"
    (file,) = (tmp_path / "store").glob("*.jsonl")
    whole = f"the report on everything recorded: deepprompt report {tmp_path}/store"
    assert lines[-1] == f"deepprompt: {whole}; of this run: deepprompt report {file}"
    (found,) = read_records(tmp_path / "store")
    assert isinstance(found, Record)
    assert (found.path, found.provider, found.status) == ("/v1/messages", "anthropic", 200)
    assert (tmp_path / "store").stat().st_mode & 0o777 == 0o700
    assert all(path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "store").iterdir())


def test_an_agent_inside_another_command(upstream: str, tmp_path: Path) -> None:
    """A wrapped agent gets the settings that recording needs, and a line says how it gets its own name."""
    inside = AGENT.replace("import ", "import os\nassert os.environ['ENABLE_TOOL_SEARCH'] == 'true'\nimport ", 1)
    inside = inside.replace('"content-type"', '"user-agent": "claude-cli/2.1.197 (external)", "content-type"')
    (tmp_path / "agent.py").write_text(inside)
    ran = record(tmp_path, upstream, sys.executable, str(tmp_path / "agent.py"), "Hi.", "0")
    said = "claude ran inside another command; with --for claude, it is recorded under its own name"
    assert (ran.returncode, ran.stderr.splitlines()[-1]) == (0, f"deepprompt: {said}")


def test_a_command_that_is_not_there(upstream: str, tmp_path: Path) -> None:
    """The message names it, and nothing hangs."""
    ran = record(tmp_path, upstream, "no-such-agent")
    assert ran.returncode == 1
    assert "deepprompt: no-such-agent: not found; is it installed, and on your PATH?" in ran.stderr


@pytest.mark.slow
def test_a_recorder_that_is_killed(upstream: str, tmp_path: Path) -> None:
    """Whatever the moment, every line of the store but the last is whole."""
    pytest.importorskip("aiohttp", reason="the extra record is not installed")
    arguments = ["record", "--upstream", upstream, "--store", str(tmp_path / "store"), "--print-env"]
    process = subprocess.Popen([sys.executable, "-m", "deepprompt", *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    variables = dict(process.stdout.readline().strip().removeprefix("export ").split("=", 1) for _ in range(1))
    (tmp_path / "agent.py").write_text(AGENT)
    environment = os.environ | {name: value.strip("'") for name, value in variables.items()}
    command = [sys.executable, str(tmp_path / "agent.py"), "x" * 100_000, "0"]
    agents = [subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
              for _ in range(5)]  # fmt: skip
    time.sleep(0.6)
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    for one in agents:
        one.wait()
    for path in (tmp_path / "store").glob("*.jsonl"):
        for line in path.read_text().split("\n")[:-1]:
            assert json.loads(line)["v"] == 1


class TestAgents:
    """The table of agents."""

    def test_known(self) -> None:
        """A known agent gets its own variables, and what recording would change is set right."""
        found = set_up(["/usr/bin/claude"], "http://127.0.0.1:1/t")
        assert found.environment == {
            "ANTHROPIC_BASE_URL": "http://127.0.0.1:1/t/anthropic",
            "ENABLE_TOOL_SEARCH": "true",
        }
        assert found.owns_screen
        assert set_up(["codex"], "http://127.0.0.1:1/t").arguments[0] == "-c"

    def test_unknown(self) -> None:
        """For any other command the variables of every SDK are set."""
        found = set_up(["python", "agent.py"], "http://127.0.0.1:1/t")
        assert {"ANTHROPIC_BASE_URL", "OPENAI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"} <= set(found.environment)
        assert found.environment["OPENAI_BASE_URL"] == "http://127.0.0.1:1/t/openai/v1"
        assert not found.owns_screen

    def test_upstreams(self) -> None:
        """Each route has one address, all of them https, or the one that was given."""
        assert all(address.startswith("https://") for address in upstreams().values())
        assert set(upstreams("https://x").values()) == {"https://x"}
        assert "claude" in known_agents()


class TestStore:
    """What is stored, and for how long."""

    def test_people(self, tmp_path: Path) -> None:
        """Names of people and machines are hashed; the session's id stays, by which requests are related."""
        store = Store(str(tmp_path))
        body = {
            "metadata": {"user_id": "user_ab_account__session_1234-5678"},
            "user": "ada@example.org",
            "messages": [],
        }
        line = store.line({"at": 1}, json.dumps(body).encode())
        assert b"ada@example.org" not in line
        assert b"user_ab" not in line
        assert b"_session_1234-5678" in line
        assert line == store.line({"at": 1}, json.dumps(body).encode())
        assert line != Store(str(tmp_path / "other")).line({"at": 1}, json.dumps(body).encode())

    def test_lines(self, tmp_path: Path) -> None:
        """A body over several lines is one line in the store; what is no JSON is not stored."""
        store = Store(str(tmp_path))
        assert store.line({}, b'{\n "a": 1\n}') == b'{"v":1,"body":{"a":1}}\n'
        assert store.line({"at": 1}, b"binary \xff") == b'{"v":1,"at":1}\n'

    def test_forget(self, tmp_path: Path, capsysbinary: CaptureBytes) -> None:
        """Old files of the store go, and nothing else."""
        for name in ("2026-01-01-1.jsonl", "2026-11-18-2.jsonl", "notes.txt"):
            (tmp_path / name).write_text("")
        os.utime(tmp_path / "2026-01-01-1.jsonl", (0, 0))
        os.utime(tmp_path / "notes.txt", (0, 0))
        assert main(["record", "--forget", "30d", "--store", str(tmp_path)]) == 0
        assert capsysbinary.readouterr().out == f"1 files removed from {tmp_path}\n".encode()
        assert sorted(path.name for path in tmp_path.iterdir()) == ["2026-11-18-2.jsonl", "notes.txt"]
        assert forget(str(tmp_path / "none"), 1) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "name the command to run, after --, or use --print-env"),
        (["--forget", "soon"], "--forget takes days, as in 30d"),
        (["--websocket", "maybe", "--", "x"], "invalid choice: 'maybe'"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsysbinary: CaptureBytes) -> None:
    """Wrong usage exits 2 and says what is wrong."""
    with pytest.raises(SystemExit) as ended:
        main(["record", *arguments])
    assert ended.value.code == 2
    assert message in capsysbinary.readouterr().err.decode()
