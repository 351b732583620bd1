"""Each kind of log becomes records, plain or compressed; a line that is none is named with its place."""

from __future__ import annotations

import base64
import gzip
import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from deepprompt import Usage, read_records
from deepprompt.errors import SourceError
from deepprompt.fleet.readers import READERS
from deepprompt.fleet.record import Record, Unread

BODY: dict[str, Any] = {"model": "gpt-5.4", "messages": [{"role": "user", "content": "Hi."}], "tools": []}
USAGE = {"prompt_tokens": 9, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}}
COUNTED = Usage(9, 4, {}, 2)
AT = "2026-11-17T10:00:00Z"
SECONDS = 1794909600.0
STARTED = {"input_tokens": 3, "cache_read_input_tokens": 6, "output_tokens": 1}
EVENTS = "\n\n".join([
    f'data: {json.dumps({"type": "message_start", "message": {"usage": STARTED}})}',
    'data: {"type":"message_delta","usage":{"output_tokens":2}}', "data: [DONE]",
])  # fmt: skip


def attributes(**values: Any) -> list[dict[str, Any]]:
    """Return attributes of a span as OTLP writes them."""
    found = []
    for name, value in values.items():
        typed = {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}
        found.append({"key": name.replace("__", "."), "value": typed})
    return found


def entry(content: dict[str, Any]) -> dict[str, Any]:
    """Return an entry of a HAR file."""
    headers = [{"name": "User-Agent", "value": "claude-cli/2.1.37 (x)"},
               {"name": "X-Claude-Code-Session-Id", "value": "s1"},
               {"name": "Authorization", "value": "Bearer secret"}]  # fmt: skip
    request = {"method": "POST", "url": "https://api/v1/messages?beta=1", "headers": headers,
               "postData": {"text": json.dumps(BODY)}}  # fmt: skip
    return {"startedDateTime": AT, "time": 12.4, "request": request, "response": {"status": 200, "content": content}}


SPAN = {
    "startTimeUnixNano": "1794909600000000000",
    "endTimeUnixNano": "1794909601000000000",
    "attributes": attributes(
        gen_ai__request__model="gpt-5.4",
        gen_ai__provider__name="openai",
        gen_ai__conversation__id="s1",
        gen_ai__usage__input_tokens=9,
        gen_ai__usage__output_tokens=2,
        gen_ai__usage__cache_read__input_tokens=4,
        gen_ai__input__messages='[{"role":"user","parts":[{"type":"text","content":"Hi."}]}]',
        gen_ai__system_instructions='[{"type":"text","content":"Be brief."}]',
    ),
}
LITELLM = {"litellm_call_id": "c", "startTime": SECONDS, "endTime": SECONDS + 1, "model": "gpt-5.4", "session_id": "s1",
           "messages": BODY["messages"], "model_parameters": {"tools": [{"type": "function", "function": {}}]},
           "metadata": {"usage_object": USAGE}, "status": "success"}  # fmt: skip
HELICONE = {"request_id": "r", "request_created_at": AT, "request_body": BODY, "response_body": {"usage": USAGE},
            "request_properties": {"Helicone-Session-Id": "s1"}}  # fmt: skip
LANGFUSE = {"type": "GENERATION", "trace_id": "t", "session_id": "s1", "start_time": "2026-11-17 10:00:00.000000",
            "input": json.dumps(BODY["messages"]), "provided_model_name": "gpt-5.4", "prompt_name": "p",
            "usage_details": {"input": 5, "input_cached_tokens": 4, "output": 2, "total": 11}}  # fmt: skip
LOGS: dict[str, tuple[Any, str, str]] = {
    "lines": ([{"at": SECONDS, "session": "s1", "usage": USAGE, "body": BODY}], "blame", "s1"),
    "body first": ([{"body": BODY, "at": AT, "session": "s1", "usage": USAGE}], "blame", "s1"),
    "body as text": (
        [{"at": AT, "session": "s1", "body": json.dumps(BODY), "response": {"usage": USAGE}}],
        "blame",
        "s1",
    ),
    "request": ([{"timestamp": AT, "session_id": "s1", "request": BODY, "usage": USAGE}], "blame", "s1"),
    "LiteLLM": ([LITELLM], "blame", "s1"),
    "Helicone": ([HELICONE], "blame", "s1"),
    "Langfuse": ([LANGFUSE], "text", "s1"),
    "OTLP": ([{"resourceSpans": [{"scopeSpans": [{"spans": [SPAN]}]}]}], "text", "s1"),
}


def only(path: Path) -> Record:
    """Return the one record of a log."""
    records = list(read_records(path))
    assert len(records) == 1
    assert isinstance(records[0], Record), records
    return records[0]


@pytest.mark.parametrize("form", ["lines", "array", "indented"])
@pytest.mark.parametrize("name", LOGS)
def test_kinds(name: str, form: str, tmp_path: Path) -> None:
    """Usage, time, session and model are read from every kind, on lines, in an array, or as one long document."""
    values, complete, session = LOGS[name]
    text = {"lines": "\n".join(map(json.dumps, values)), "array": json.dumps(values),
            "indented": json.dumps(values[0], indent=2)}[form]  # fmt: skip
    (tmp_path / "log.json").write_text(text)
    found = only(tmp_path / "log.json")
    body = found.request()
    assert (found.usage, found.at, found.session, found.complete) == (COUNTED, SECONDS, session, complete)
    assert body is not None
    assert body["messages"][0]["role"] == "user"
    assert found.model == "gpt-5.4" or body["model"] == "gpt-5.4"


@pytest.mark.parametrize("encoded", [False, True])
def test_har(encoded: bool, tmp_path: Path) -> None:
    """A HAR file has whole requests, streamed answers included; no other header than the session's is kept."""
    content = (
        {"text": EVENTS} if not encoded else {"text": base64.b64encode(EVENTS.encode()).decode(), "encoding": "base64"}
    )
    har = {
        "log": {"version": "1.2", "entries": [entry(content), {"startedDateTime": AT, "request": {"method": "GET"}}]}
    }
    (tmp_path / "a.har").write_text(json.dumps(har, indent=1))
    found, other = read_records(tmp_path / "a.har")
    assert isinstance(found, Record)
    assert (found.agent, found.version, found.session, found.ms) == ("claude-cli", "2.1.37", "s1", 12)
    assert found.usage == Usage(9, 6, {}, 2)
    assert "secret" not in repr(found)
    assert other == Unread(f"{tmp_path / 'a.har'}#2", "GET, with no JSON posted")


def test_codex(tmp_path: Path) -> None:
    """A rollout's requests are rebuilt from its items: what stands before each count, without the answer."""

    def item(**payload: Any) -> dict[str, Any]:
        return {"timestamp": AT, "type": "response_item", "payload": payload}

    usage = {"input_tokens": 100, "cached_input_tokens": 80, "output_tokens": 5}
    count, later = (
        {"timestamp": AT, "type": "event_msg", "payload": {"type": "token_count", "info": {"last_token_usage": one}}}
        for one in (usage, {**usage, "input_tokens": 120})
    )
    about = {"id": "s1", "cli_version": "0.169", "instructions": "Be brief."}
    lines = [
        {"timestamp": AT, "type": "session_meta", "payload": about},
        {"timestamp": AT, "type": "turn_context", "payload": {"model": "gpt-5.6-sol"}},
        item(type="message", role="user", content=[{"type": "input_text", "text": "Hi."}]),
        item(type="function_call", call_id="1", name="a", arguments="{}"),
        count, count,
        item(type="function_call_output", call_id="1", output="x"),
        later,
    ]  # fmt: skip
    (tmp_path / "rollout-1.jsonl").write_text("\n".join(map(json.dumps, lines)))
    one, two = read_records(tmp_path)
    assert isinstance(one, Record)
    assert isinstance(two, Record)
    assert (one.usage, one.session, one.version, one.complete) == (Usage(100, 80, {}, 5), "s1", "0.169", "text")
    assert one.body is not None
    assert two.body is not None
    assert [len(one.body["input"]), len(two.body["input"])] == [1, 3]
    assert one.body["instructions"] == "Be brief."


def test_claude(tmp_path: Path) -> None:
    """An answer that is written on several lines counts once, with its last numbers."""

    def answer(name: str, output: int) -> dict[str, Any]:
        usage = {"input_tokens": 3, "cache_read_input_tokens": 6, "output_tokens": output}
        return {"type": "assistant", "sessionId": "s1", "timestamp": AT, "version": "2.1",
                "message": {"id": name, "model": "claude-opus-5-5", "usage": usage}}  # fmt: skip

    lines = [{"type": "user", "sessionId": "s1", "message": {"role": "user", "content": "Hi."}},
             answer("a", 1), answer("a", 7), answer("b", 2), answer("a", 7)]  # fmt: skip
    (tmp_path / "s1.jsonl").write_text("\n".join(map(json.dumps, lines)))
    records = list(read_records(tmp_path))
    assert [one.usage for one in records if isinstance(one, Record)] == [Usage(9, 6, {}, 7), Usage(9, 6, {}, 2)]
    assert {one.complete for one in records if isinstance(one, Record)} == {"usage"}


@pytest.mark.parametrize("pack", ["gzip", "xz", "zstd"])
def test_compressed(pack: str, tmp_path: Path) -> None:
    """A log is unpacked by its first bytes, whatever its name, and zstd in several frames."""
    line = json.dumps({"at": AT, "body": BODY}).encode() + b"\n"
    if pack == "zstd":
        zstandard = pytest.importorskip("zstandard", reason="the extra report is not installed")
        packed = zstandard.compress(line) + zstandard.compress(line)
    else:
        packed = gzip.compress(line * 2) if pack == "gzip" else lzma.compress(line * 2)
    (tmp_path / "log").write_bytes(packed)
    assert len(list(read_records(tmp_path / "log"))) == 2
    (tmp_path / "log").write_bytes(packed[:-20])
    with pytest.raises(SourceError):
        records = list(read_records(tmp_path / "log"))
        if len(records) < 2:  # a frame may be whole
            raise SourceError("short")


def test_nothing_is_guessed(tmp_path: Path) -> None:
    """A line that is no request is named with file and line, and why; the others are read."""
    (tmp_path / "a.jsonl").write_text(
        f'{json.dumps({"body": BODY})}\n{{"cut\n{{"x": 1}}\n{json.dumps({"body": BODY})}\n'
    )
    found = list(read_records(tmp_path / "a.jsonl"))
    assert [type(one).__name__ for one in found] == ["Record", "Unread", "Unread", "Record"]
    assert found[1] == Unread(f"{tmp_path / 'a.jsonl'}:2", "not a whole JSON object")
    assert found[2] == Unread(f"{tmp_path / 'a.jsonl'}:3", "no request in it")
    (tmp_path / "b.jsonl").write_text('{"hello": 1}\n')
    assert list(read_records(tmp_path / "b.jsonl")) == [
        Unread(
            f"{tmp_path / 'b.jsonl'}:1",
            "no request in it: its kind is none of HAR, OTLP, Langfuse, LiteLLM, Helicone, Codex rollout, Claude Code "
            "transcript, recorded requests",
        )
    ]
    (tmp_path / "empty.jsonl").write_text("")
    assert list(read_records(tmp_path / "empty.jsonl")) == []


def test_files_that_are_not_there(tmp_path: Path) -> None:
    """A missing file and a folder without logs are errors."""
    with pytest.raises(SourceError, match="No such file"):
        list(read_records(tmp_path / "none"))
    with pytest.raises(SourceError, match="no log in it"):
        list(read_records(tmp_path))


def test_every_reader_says_what_it_is_good_for() -> None:
    """Each has a name and what its records are complete enough for."""
    assert all(reader.COMPLETE in ("blame", "text", "usage") and reader.NAME for reader in READERS)
    assert len({reader.NAME for reader in READERS}) == 8
