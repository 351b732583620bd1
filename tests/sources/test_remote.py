"""Files by URL: streams of fsspec, local files with their checks, errors without secrets."""

from __future__ import annotations

import http.server
import os
import sys
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from deepprompt.sources.remote import files_at, is_url, open_any, shown_url


@pytest.fixture
def memory() -> Iterator[Any]:
    """Yield fsspec's file system in memory, empty."""
    fsspec = pytest.importorskip("fsspec", reason="fsspec is not installed: pip install -e '.[remote]'")
    system = fsspec.filesystem("memory")
    system.store.clear()
    yield system
    system.store.clear()


@pytest.fixture
def web(tmp_path: Path) -> Iterator[str]:
    """Yield the address of a server on loopback that has the files of a folder."""
    pytest.importorskip("fsspec", reason="fsspec is not installed: pip install -e '.[remote]'")
    pytest.importorskip("aiohttp", reason="aiohttp is not installed: pip install -e '.[record]'")

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path)))
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("s3://bucket/a.jsonl", True),
        ("simplecache::s3://bucket/a.jsonl", True),
        ("HTTPS://x/a", True),
        ("file:///a", True),
        ("a/b.jsonl", False),
        ("C:\\logs\\a.jsonl", False),
        ("c://logs", False),
        ("//host/share", False),
        ("std::vector.md", False),
        ("-x://", False),
        ("", False),
    ],
)
def test_what_is_a_url(name: str, url: bool) -> None:
    """A name with a scheme is a URL; drives and names of C++ are not."""
    assert is_url(name) is url


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sftp://me:secret@host/a", "sftp://me@host/a"),
        ("https://host/a.jsonl?X-Amz-Signature=secret", "https://host/a.jsonl"),
        ("abfs://box@account/a", "abfs://box@account/a"),
        ("s3://bucket/a?b", "s3://bucket/a?b"),
        ("plain?x", "plain?x"),
    ],
)
def test_no_secret_is_shown(url: str, shown: str) -> None:
    """Passwords and signed queries are left out."""
    assert shown_url(url) == shown


def test_memory(memory: Any) -> None:
    """A file in memory is read as a stream, from any place; folders and patterns are listed, sorted."""
    for name in ("b.jsonl", "a.jsonl", ".hidden.jsonl", "notes.txt", "deep/c.jsonl"):
        memory.pipe(f"/logs/{name}", b"one\ntwo\n")
    with open_any("memory://logs/a.jsonl") as file:
        assert file.readline() == b"one\n"
        file.seek(4)
        assert file.read() == b"two\n"
    endings = (".jsonl",)
    assert files_at("memory://logs", endings) == [
        "memory:///logs/a.jsonl",
        "memory:///logs/b.jsonl",
        "memory:///logs/deep/c.jsonl",
    ]
    assert files_at("memory://logs/*.jsonl", endings)[-1] == "memory:///logs/b.jsonl"
    assert files_at("memory://logs/notes.txt", endings) == ["memory://logs/notes.txt"]
    assert files_at("memory://logs/a.jsonl", endings) == ["memory://logs/a.jsonl"]


def test_the_web(web: str, tmp_path: Path) -> None:
    """A file on a server is read; one that is not there is an OSError that does not show the query."""
    (tmp_path / "a.jsonl").write_bytes(b"x" * 3_000_000)
    with open_any(f"{web}/a.jsonl") as file:
        assert len(file.read()) == 3_000_000
    with pytest.raises(OSError, match="No such file") as caught, open_any(f"{web}/b.jsonl?key=secret") as file:
        file.read()
    assert "secret" not in str(caught.value)


def test_file_urls_have_the_checks_of_paths(tmp_path: Path) -> None:
    """`file://` needs no package, and waits for no pipe."""
    (tmp_path / "a b.txt").write_text("x")
    with open_any(f"file://{tmp_path}/a%20b.txt") as file:
        assert file.read() == b"x"
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="not a regular file"):
        open_any(f"file://{tmp_path}/pipe")
    with pytest.raises(OSError, match="not a regular file"):
        open_any("file:///dev/zero")


def test_a_folder_cannot_take_the_place_of_a_url(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: Any) -> None:
    """A repository with a folder called `memory:` is not read for a URL of that name."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "memory:" / "logs").mkdir(parents=True)
    (tmp_path / "memory:" / "logs" / "a.jsonl").write_text("theirs")
    memory.pipe("/logs/a.jsonl", b"ours")
    with open_any("memory://logs/a.jsonl") as file:
        assert file.read() == b"ours"


@pytest.mark.parametrize(
    ("url", "message"),
    [("nowhere://x/y", "Protocol not known"), ("memory://no/such", "No such file"), ("http://127.0.0.1:1/a", ".")],
)
def test_what_cannot_be_opened(url: str, message: str, memory: Any) -> None:  # noqa: ARG001
    """Every failure is an OSError."""
    with pytest.raises(OSError, match=message), open_any(url) as file:
        file.read()


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without fsspec it is an error that says what to install."""
    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(OSError, match=r"a URL needs the package fsspec: 'pip install deepprompt\[remote\]'"):
        open_any("s3://bucket/a.jsonl")


def test_an_error_in_the_middle(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """An error of any kind while reading or listing is an OSError without the keys that stand in it."""
    memory.pipe("/a.jsonl", b"x" * 10)

    def fail(*_: object) -> object:
        raise RuntimeError("broken\nby sk-ant-api03-" + "a1B2" * 24)

    with open_any("memory://a.jsonl") as file:
        monkeypatch.setattr(type(memory.open("/a.jsonl")), "read", fail, raising=False)
        with pytest.raises(OSError, match="broken by") as caught:
            file.read(5)
    assert "a1B2a1B2" not in str(caught.value)
