"""Sessions in stores that others keep: a real SQLite, and a real Redis where one is installed."""

from __future__ import annotations

import shutil
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deepprompt import Session
from deepprompt.errors import SessionError
from tests.support.sessions import OPUS, answer, make


def talked() -> Session:
    """Return a session of two turns."""
    session = Session(make())
    for turn in range(2):
        session.user(f"Question {turn}: naïve?", make())
        session.request(**OPUS)
        session.append(answer("Yes."))
    session.user("And now?")
    return session


def test_sqlite(tmp_path: Path) -> None:
    """What a connection wrote, another one reads, and the session goes on with the same request."""
    session = talked()
    with sqlite3.connect(tmp_path / "sessions.db") as store:
        store.execute("CREATE TABLE sessions (name TEXT PRIMARY KEY, saved BLOB)")
        store.execute("REPLACE INTO sessions VALUES (?, ?)", ("a", session.to_bytes()))
    store.close()
    other = sqlite3.connect(tmp_path / "sessions.db")
    (saved,) = other.execute("SELECT saved FROM sessions WHERE name = ?", ("a",)).fetchone()
    other.close()
    assert Session.from_bytes(saved).request(**OPUS).body == session.request(**OPUS).body


@pytest.fixture
def redis_store(tmp_path: Path) -> Iterator[Any]:
    """A client of a Redis server on loopback that ends with the test."""
    redis = pytest.importorskip("redis")
    server = shutil.which("redis-server")
    if server is None:
        pytest.skip("redis-server is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [server, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)],
        stdout=subprocess.DEVNULL,
    )
    store = redis.Redis(port=port)
    try:
        for _ in range(100):
            try:
                store.ping()
                break
            except redis.ConnectionError:
                time.sleep(0.05)
        yield store
    finally:
        store.close()
        process.kill()
        process.wait()


@pytest.mark.slow
def test_redis(redis_store: Any) -> None:
    """The same with Redis, as the page shows it."""
    session = talked()
    redis_store.set("session:a", session.to_bytes(), ex=86_400)
    again = Session.from_bytes(redis_store.get("session:a"))
    assert again.request(**OPUS).body == session.request(**OPUS).body


def test_bytes_and_files_are_one_format(tmp_path: Path) -> None:
    """A file has the same bytes, and views of bytes are taken as stores return them."""
    session = talked()
    session.save(tmp_path / "s")
    data = session.to_bytes()
    assert (tmp_path / "s").read_bytes() == data
    for given in (data, bytearray(data), memoryview(data)):
        assert Session.from_bytes(given).to_bytes() == data  # type: ignore[arg-type]


def test_errors_quote_nothing(tmp_path: Path) -> None:
    """No error shows any of the saved bytes, and a path is not taken for bytes or the reverse."""
    session = talked()
    data = session.to_bytes()
    for wrong in (data[:-40], data.replace(b"Question", b"Answered"), b"naive " * 9):
        with pytest.raises(SessionError) as caught:
            Session.from_bytes(wrong)
        assert str(caught.value) == (
            "the saved session: not a saved session, or damaged; restore a copy, or start a new session"
        )
    with pytest.raises(SessionError, match=r"^a saved session is bytes, not str; load\(path\) reads a file$"):
        Session.from_bytes(str(tmp_path))  # type: ignore[arg-type]
    with pytest.raises(SessionError, match=r"^load takes the path of a file; from_bytes takes the bytes of a session$"):
        Session.load(data)  # type: ignore[arg-type]
