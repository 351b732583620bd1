"""Saved sessions: what goes on after a resume, who may read the file, and which files are refused."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from deepprompt import (
    Session,
)
from deepprompt.errors import MessageError, SessionError
from deepprompt.providers import TARGETS
from deepprompt.session.notices import Change
from deepprompt.session.saved import FORMAT
from tests.support.models import MODELS
from tests.support.paths import DATA, ROOT
from tests.support.sessions import (
    AGENTS,
    BASH,
    EDITED,
    GEMINI,
    GPT,
    OPUS,
    READ,
    answer,
    call,
    changed,
    make,
    result,
    saved,
    told,
)


def framed(state: object) -> bytes:
    """Return a file as `save` writes it, its checksum right."""
    text = json.dumps(state, ensure_ascii=False, separators=(",", ":")).encode()
    return b'{"sha256":"%s","session":%s}\n' % (hashlib.sha256(text).hexdigest().encode(), text)


def busy() -> Session:
    """A session in which everything has happened."""
    odd = {"name": "Odd", "description": "half \ud83d of it, naïve", "parameters": {"type": "object", "z": 1, "a": 2}}
    session = Session(make(tools=(READ, BASH, odd)))
    session.user("Go.", make(tools=(READ, BASH, odd)))
    session.request(**OPUS)
    session.append(call("call_0"))
    session.append(result("call_0"))
    session.request(**OPUS)
    session.append(call("call_0"))
    session.append(result("call_0"))
    session.user("half \ud83d of it \u2028 日本語", make(base="Other.", skills="", tools=(READ,)))
    session.request(**OPUS)
    session.append(answer("1.50"))
    session.new_epoch(make(files=(), tools=(BASH,)))
    session.user("On." * 3000, make(files=(AGENTS,), tools=(EDITED,)))
    for target in (OPUS, GPT):
        session.request(**target)
    session.append(answer("Yes."))
    return session


def test_a_loaded_session_goes_on_as_it_would_have(tmp_path: Path) -> None:
    """The same requests, marks and notes; the same changes, each still said once; the same answer to a request."""
    for now in (make(), make(skills=""), make(files=(AGENTS,), tools=(EDITED,)), make(project=None)):
        kept = busy()
        loaded = saved(kept, tmp_path / "s")
        assert loaded.messages == kept.messages
        assert (loaded.epoch, loaded.on_change, loaded.fingerprint) == (kept.epoch, kept.on_change, kept.fingerprint)
        assert loaded.waiting == kept.waiting
        assert loaded.user("Next.", now) == kept.user("Next.", now)
        for target in (OPUS, GPT, GEMINI):
            assert loaded.request(**target) == kept.request(**target)
        assert saved(loaded, tmp_path / "s").user("Again.", now) == ()


def test_a_wrong_option_after_a_resume_does_no_harm(tmp_path: Path) -> None:
    """It is refused, and the right one gives what it would have given."""
    session = busy()
    loaded = saved(session, tmp_path / "s")
    for one in (session, loaded):
        one.user("Next.")
        with pytest.raises(MessageError, match="has no lifetime '2y'"):
            one.request(**OPUS, lifetime="2y")  # type: ignore[arg-type]
    assert loaded.request(**OPUS) == session.request(**OPUS)


def test_what_was_not_said_yet_is_said_after_a_resume(tmp_path: Path) -> None:
    """The first context, what an epoch took back, and what waits."""
    session = saved(Session(make()), tmp_path / "s")
    session.user("One.")
    assert told(session)[0].startswith("<context>")
    session.user("Two.", make(tools=(READ,)))
    session.new_epoch(make())
    session = saved(session, tmp_path / "s")
    assert session.user("Three.") == (Change("added", "tool Bash"),)
    waiting = changed(make(skills=""), "wait")[0]
    loaded = saved(waiting, tmp_path / "s")
    assert loaded.waiting == waiting.waiting != ()
    assert loaded.user("Three.", make(skills="")) == ()


@pytest.mark.slow
def test_another_process_sends_the_same_bytes(tmp_path: Path) -> None:
    """With another hash seed too, for every provider; and once more after it has saved the session itself."""
    session = busy()
    session.save(tmp_path / "s")
    script = (
        "import json, sys\n"
        "from deepprompt import Session\n"
        "from tests.session.test_saved import everyone, make\n"
        "session = Session.load(sys.argv[1])\n"
        "session.user('Next.', make(skills=''))\n"
        "print(json.dumps(everyone(session)))\n"
        "session.save(sys.argv[1])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "s")],
        env={**os.environ, "PYTHONHASHSEED": "4242", "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    session.user("Next.", make(skills=""))
    assert json.loads(run.stdout) == everyone(session)
    session.save(tmp_path / "here")
    assert (tmp_path / "here").read_bytes() == (tmp_path / "s").read_bytes()


def everyone(session: Session) -> list[str]:
    """Return the request to each provider, as JSON."""
    return [json.dumps(session.request(to=to, model=MODELS[to][0].name).body) for to in TARGETS]


def test_the_file_is_its_owners(tmp_path: Path) -> None:
    """Nobody else may read a conversation, whoever could before; and nothing else is left in the folder."""
    path = tmp_path / "s"
    path.write_text("old")
    path.chmod(0o644)
    before = os.umask(0)
    try:
        Session(make()).save(str(path))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["s"]


@pytest.mark.slow
def test_a_file_is_whole_whenever_a_process_dies(tmp_path: Path) -> None:
    """Killed while it saves one session over the other again and again, it leaves the one or the other."""
    path = tmp_path / "s"
    script = (
        "import sys\n"
        "from deepprompt import Pace, Part, Prompt, Session\n"
        "sessions = []\n"
        "for text in 'ab':\n"
        "    sessions.append(Session(Prompt((Part('p', text, Pace.RELEASE, 't'),))))\n"
        "    sessions[-1].user(text * (1 << 20))\n"
        "sessions[0].save(sys.argv[1])\n"
        "print('ready', flush=True)\n"
        "while True:\n"
        "    for session in sessions:\n"
        "        session.save(sys.argv[1])\n"
    )
    for delay in (0.0, 0.01, 0.037):
        with subprocess.Popen([sys.executable, "-c", script, str(path)], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            for _ in range(10):  # while it is at it, too
                assert whole(path)
            time.sleep(delay)
            process.send_signal(signal.SIGKILL)
        assert whole(path)


def whole(path: Path) -> bool:
    """Whether a file has one of two sessions, all of it."""
    (text,) = told(Session.load(path))
    return text in ("a" * (1 << 20), "b" * (1 << 20))


NEWER = f"saved by a newer deepprompt (format {FORMAT + 1}, this one reads {FORMAT}); upgrade it"
DAMAGED = "not a saved session, or damaged; restore a copy, or start a new session"


def refused_to_load(path: Path, data: bytes) -> str:
    """Return why a file is not loaded, without its name."""
    path.write_bytes(data)
    with pytest.raises(SessionError) as refused:
        Session.load(path)
    assert str(refused.value).startswith(f"{path}: ")
    return str(refused.value).removeprefix(f"{path}: ")


def _session_in(data: bytes) -> object:
    """Return what a file holds, None if it is no JSON."""
    try:
        return json.loads(data)["session"]
    except (ValueError, KeyError):
        return None


def test_a_file_that_was_cut_or_altered(tmp_path: Path) -> None:
    """At any byte: it is told from a sound one, and nothing of it is used."""
    path = tmp_path / "s"
    session = Session(make())
    session.user("naïve")
    session.save(path)
    sound = path.read_bytes()
    for end in range(len(sound)):
        assert refused_to_load(path, sound[:end]) == DAMAGED
    for place in range(len(sound)):
        flipped = sound[:place] + bytes([sound[place] ^ 1]) + sound[place + 1 :]
        newer = json.loads(sound)["session"] | {"format": FORMAT ^ 1} == _session_in(flipped)
        assert refused_to_load(path, flipped) == (NEWER if newer and FORMAT ^ 1 > FORMAT else DAMAGED)
    for data in (sound + b"\n", b" " + sound, sound * 2, sound.replace(b":", b": ", 1)):
        assert refused_to_load(path, data) == DAMAGED
    path.write_bytes(sound)
    assert told(Session.load(path))[-1] == "naïve"


# Files that were never saved by a session.
STRANGE = {
    "nothing": b"",
    "a text": b"Hello.",
    "no object": b"[1, 2]",
    "a number": b"7",
    "no session": b'{"sha256": ""}',
    "another session": b'{"session": "s1"}',
    "no format": framed({"epoch": 1}),
    "a format that is none": framed({"format": None}),
    "no UTF-8": b'\xff\xfe{"session":1}',
    "an endless number": b'{"session":{"format":1,"epoch":1e999}}',
    "nested": b'{"session":' + b"[" * 100_000,
}


@pytest.mark.parametrize("data", STRANGE.values(), ids=STRANGE)
def test_a_file_that_is_no_session(data: bytes, tmp_path: Path) -> None:
    """A clear error, whatever it is."""
    assert refused_to_load(tmp_path / "s", data) == DAMAGED


# What cannot be in a file, although its checksum is right: a key, and a value that it cannot have.
IMPOSSIBLE: list[tuple[str, Any]] = [
    ("epoch", "first"),
    ("on_change", "never"),
    ("parts", [["rules"]]),
    ("parts", [[1, 2, 0, "x"]]),
    ("parts", [["rules", "text", 9, "x"]]),
    ("parts", None),
    ("tools", [{}]),
    ("tools", {"a": 1}),
    ("notices", []),
    ("notices", {"told": [{}, {}, {}], "news": [{}, {}], "waiting": [1]}),
    ("notices", {"told": [{"a": 1}, {}, {}], "news": [{}, {}, {}], "waiting": []}),
    ("notices", {"told": [{}, {}, {}, {}], "news": [{}, {}, {}], "waiting": []}),
    ("lines", [["anthropic", "claude-opus-5-5", 0, 99, None]]),
    ("lines", [["anthropic", "claude-opus-5-5", "0", 1, None]]),
    ("lines", [["anthropic"]]),
    ("messages", "Hi"),
    ("messages", [{"role": "nobody"}]),
    ("messages", [result("x")]),
    ("messages", None),
]


@pytest.mark.parametrize(("key", "value"), IMPOSSIBLE, ids=lambda value: str(value)[:40])
def test_a_file_with_what_cannot_be_in_it(key: str, value: Any, tmp_path: Path) -> None:
    """Made by hand or by another program: an error that says what, never a traceback or half a session."""
    path = tmp_path / "s"
    changed(make())[0].save(path)
    state = json.loads(path.read_bytes())["session"]
    assert framed(state) == path.read_bytes()
    why = refused_to_load(path, framed({**state, key: value}))
    assert why.startswith("damaged: ")
    assert why.endswith("; restore a copy, or start a new session")
    del state[key]
    assert refused_to_load(path, framed(state)).startswith(f"damaged: KeyError('{key}')")


def test_a_session_that_version_0_1_saved() -> None:
    """It loads, and goes on as that version would have: `0.1.0.next.json` is what it sent after the same messages."""
    session = Session.load(DATA / "sessions" / "0.1.0.session")
    assert (session.epoch, len(session.messages), len(session.recorded)) == (2, 15, 5)
    assert [recorded.kind for recorded in session.recorded] == ["cold start", "provider", "ours", "hit", "cold start"]
    bash: dict[str, Any] = {"name": "Bash", "description": "Runs a command."}
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    read = {"name": "Read", "description": "Reads a file.", "input_schema": schema}
    done = {"type": "tool_result", "tool_use_id": "z", "content": "done z"}
    session.append({"role": "user", "content": [done]})
    session.user("Four.", make(base="Be terse.", tools=(bash, read)))
    wanted = json.loads((DATA / "sessions" / "0.1.0.next.json").read_text("utf-8"))
    assert len(session.messages) == wanted["messages"]
    assert [[change.kind, change.source, change.text] for change in session.waiting] == wanted["waiting"]
    assert session.request(**OPUS, max_tokens=4096).body == wanted["anthropic"]  # 0.1 asked for no more
    assert session.request(**GPT).body == wanted["openai"]


def test_a_newer_file(tmp_path: Path) -> None:
    """It says which format it has, and what to do, however it is laid out and whatever its checksum is."""
    newer = f"saved by a newer deepprompt (format {FORMAT + 1}, this one reads {FORMAT}); upgrade it"
    state = {"format": FORMAT + 1, "all": "else"}
    for data in (framed(state), json.dumps({"session": state, "checksum": 1}).encode()):
        assert refused_to_load(tmp_path / "s", data) == newer


def test_places_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    """A missing file, a folder, a folder that is missing, a name that is none."""
    session = Session(make())
    hint = "a session is loaded from the file that save() wrote"
    (tmp_path / "file").write_text("")
    places: dict[str, tuple[str, str]] = {
        str(tmp_path / "missing"): ("No such file or directory", ""),
        str(tmp_path): ("Is a directory", "Is a directory"),
        str(tmp_path / "none" / "s"): ("No such file or directory", "No such file or directory"),
        str(tmp_path / "file" / "s"): ("Not a directory", "Not a directory"),
        "nul\0byte": ("embedded null byte", "embedded null byte"),
        "\ud800": ("a character that no path has", "a character that no path has"),
    }
    for name, (unread, unwritten) in places.items():
        with pytest.raises(SessionError) as refused:
            Session.load(name)
        assert str(refused.value) == f"{name}: {unread}; {hint}"
        if unwritten:
            with pytest.raises(SessionError) as refused:
                session.save(name)
            assert str(refused.value) == f"{name}: {unwritten}; the session was not saved"
    assert sorted(os.listdir(tmp_path)) == ["file"]
