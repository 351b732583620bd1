"""The SDKs in tests: where they are imported, and the server on loopback that they are pointed at.

The server writes down what arrives and answers what was queued. While it runs, no name is looked up and no other
address is connected to: an attempt is refused, and fails the test even if the SDK swallows the refusal.
"""

from __future__ import annotations

import importlib
import json
import os
import socket
import threading
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

# What an SDK reads from the environment: proxies, keys, other servers, where AWS keeps its own.
_VARIABLES = (
    "ALL_PROXY", "ANTHROPIC_", "AWS_", "AZURE_", "BEDROCK_", "BOTO_", "DEEPSEEK_", "FTP_PROXY", "GEMINI_", "GOOGLE_",
    "HTTP_PROXY", "HTTPS_PROXY", "LITELLM_", "NO_PROXY", "OPENAI_", "VERTEXAI_",
)  # fmt: skip
# Found nowhere, so that neither the machine's profiles nor the address of its metadata service matter.
_AWS = {
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}
_LOOPBACK = "127.0.0.1"


def sdk(module: str) -> Any:
    """Return a module of an SDK. Without the SDK the test is skipped, or fails where it is said to be needed."""
    try:
        with warnings.catch_warnings():  # a fresh install is compiled here, and pytest makes errors of its warnings
            warnings.simplefilter("ignore")
            return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if not f"{module}.".startswith(f"{error.name}."):
            raise  # the SDK is there, and something that it needs is not
    extra, needed = ("litellm", "DEEPPROMPT_NEED_LITELLM") if module == "litellm" else ("sdk", "DEEPPROMPT_NEED_SDKS")
    name = module.partition(".")[0].replace("google", "google-genai")
    reason = f"{name} is not installed: pip install -e '.[{extra}]'"
    if os.environ.get(needed):
        pytest.fail(f"{reason} ({needed} is set)")
    pytest.skip(reason)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it arrived. The names of `headers` are in lower case."""

    method: str
    path: str
    headers: Mapping[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        """The JSON of the body."""
        return json.loads(self.raw)


class Recorder:
    """What arrived so far, and what is answered next."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.url = f"http://{_LOOPBACK}:{port}"
        self.requests: list[Recorded] = []
        self.answers: deque[tuple[str, bytes]] = deque()
        self.respond: Callable[[Recorded], tuple[str, bytes]] | None = None
        """Makes the answer to a request, in place of those that are queued: its kind and its bytes."""

    def answer(self, body: Mapping[str, Any]) -> None:
        """Queue an answer."""
        self.answers.append(("application/json", json.dumps(body).encode()))

    def stream(self, events: Sequence[Mapping[str, Any]]) -> None:
        """Queue an answer that comes as events, named where they say their type; OpenAI's chunks have an end."""
        lines = []
        for event in events:
            lines += [f"event: {event['type']}\n"] if "type" in event else []
            lines += [f"data: {json.dumps(event)}\n\n"]
        end = "data: [DONE]\n\n" if events[-1].get("object") == "chat.completion.chunk" else ""
        self.answers.append(("text/event-stream", "".join([*lines, end]).encode()))

    @property
    def only(self) -> Recorded:
        """The one request that arrived."""
        (request,) = self.requests
        return request


@contextmanager
def recorder(*hosts: str) -> Iterator[Recorder]:
    """Run a server on loopback, also under the names of some hosts, and keep everything else out of reach."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.upper().startswith(_VARIABLES)]:
            patch.delenv(name)
        for name, value in _AWS.items():
            patch.setenv(name, value)
        strays = _refuse_others(patch, hosts)
        with _Server() as server:
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
            thread.start()
            try:
                yield server.recorder
            finally:
                server.shutdown()
                thread.join()
        if strays:
            raise AssertionError(f"a test reached for {', '.join(strays)}")


class _Server(ThreadingHTTPServer):
    """A server on a port of its own."""

    def __init__(self) -> None:
        super().__init__((_LOOPBACK, 0), _Handler)
        self.recorder = Recorder(self.server_port)


class _Handler(BaseHTTPRequestHandler):
    """Records a request and answers it; every request has a connection of its own, so that none is left open."""

    def do_POST(self) -> None:
        """Take a request of any method."""
        assert isinstance(self.server, _Server)
        recorder = self.server.recorder
        headers = {name.lower(): value for name, value in self.headers.items()}
        raw = self.rfile.read(int(headers.get("content-length", 0)))
        recorder.requests.append(Recorded(self.command, self.path, headers, raw))
        if recorder.respond is not None:
            kind, body = recorder.respond(recorder.requests[-1])
        else:
            kind, body = recorder.answers.popleft() if recorder.answers else ("application/json", b"")
        self.send_response(200 if body else 501)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)

    do_DELETE = do_GET = do_HEAD = do_PATCH = do_PUT = do_POST  # noqa: N815

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _refuse_others(patch: pytest.MonkeyPatch, hosts: Sequence[str]) -> list[str]:
    """Let sockets reach loopback only, and names be looked up only if they stand for it; return what was tried."""
    strays: list[str] = []
    look_up = socket.getaddrinfo

    def refused(host: object) -> OSError:
        strays.append(str(host))
        return OSError(f"{host} is not loopback")

    def only_here(connect: Callable[[socket.socket, Any], Any]) -> Callable[[socket.socket, Any], Any]:
        def connect_here(self: socket.socket, address: Any) -> Any:
            if isinstance(address, tuple) and address[0] != _LOOPBACK:
                raise refused(address[0])
            return connect(self, address)

        return connect_here

    def look_up_here(host: Any, *more: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in (_LOOPBACK, *hosts):
            raise refused(name)
        return look_up(_LOOPBACK, *more, **named)

    patch.setattr(socket.socket, "connect", only_here(socket.socket.connect))
    patch.setattr(socket.socket, "connect_ex", only_here(socket.socket.connect_ex))
    patch.setattr(socket, "getaddrinfo", look_up_here)
    return strays
