"""Transcripts: what kind of file one is, whom it was sent to, and what its answers say about sizes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepprompt import AuditLog, PromptAssembler, Session
from deepprompt.errors import MessageError
from deepprompt.providers.facts import bundled_facts
from deepprompt.session.transcript import (
    Transcript,
    are_requests,
    is_log,
    is_session,
    read_log_transcript,
    read_transcript,
    sent_to,
)

BODY: dict[str, Any] = {"model": "claude-opus-5-5", "system": "Hi.", "messages": [{"role": "user", "content": "A?"}]}
CONVERSE = {"modelId": "anthropic.claude-opus-5-5", "messages": [{"role": "user", "content": [{"text": "A?"}]}]}
USAGE = {"usage": {"input_tokens": 9, "output_tokens": 1}}
SAVED = {"sha256": "0", "session": {"recorded": [["openai", "gpt-5.6", 1], ["openai", "gpt-5.6", 2], ["x", "y", 3]]}}


def read(data: object) -> Transcript:
    """Read parsed JSON by Anthropic's rules."""
    facts = bundled_facts()
    return read_transcript(data, "talk", "anthropic", facts.rules("anthropic", "claude-opus-5-5"), facts)


def test_kinds() -> None:
    """A saved session, a log, several requests and one request are known by their fields."""
    assert (is_session(SAVED), is_session(BODY)) == (True, False)
    assert (is_log([{"assembled_prompt_hash": ""}]), is_log({"assembled_prompt_hash": ""}), is_log(BODY)) == (
        True,
        True,
        False,
    )
    assert (are_requests([BODY, BODY]), are_requests(BODY["messages"]), are_requests([]), are_requests(BODY)) == (
        True,
        False,
        False,
        False,
    )


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (BODY, ("", "claude-opus-5-5")),
        ([CONVERSE, {"body": CONVERSE}, BODY], ("", "anthropic.claude-opus-5-5")),
        (SAVED, ("openai", "gpt-5.6")),
        ([{"role": "user", "content": "A?"}], ("", "")),
        (5, ("", "")),
    ],
    ids=["body", "most", "saved", "messages", "number"],
)
def test_sent_to(data: object, expected: tuple[str, str]) -> None:
    """The provider and the model are those of most requests, as far as they say."""
    assert sent_to(data) == expected


def test_measured() -> None:
    """Sizes are of answered requests without images, of the model that is asked for or of any."""
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QQ=="}}
    pictured = {**BODY, "messages": [{"role": "user", "content": [image]}]}
    transcript = read([{"body": BODY, **USAGE}, {"body": BODY}, {"body": pictured, **USAGE}])
    size = len("Hi.") + len("A?")
    assert transcript.measured("") == transcript.measured("claude-opus-5-5") == [(size, 9)]
    assert transcript.measured("gpt-5.6") == []


def test_a_saved_session(tmp_path: Path) -> None:
    """A session that recorded its answers has requests, and answers with their verdicts."""
    session = Session("You are careful.")
    session.user("Hello")
    session.request(to="anthropic", model="claude-opus-5-5", max_tokens=9)
    session.record(USAGE, at=0.0)
    session.append({"role": "assistant", "content": "Hello."})
    session.save(tmp_path / "saved")
    transcript = read(json.loads((tmp_path / "saved").read_bytes()))
    assert (len(transcript.requests), transcript.rebuilt, transcript.times) == (1, True, (0.0,))
    assert (transcript.answers[0].kind, transcript.answers[0].model) == ("cold start", "claude-opus-5-5")
    assert transcript.replay(bundled_facts().rules("anthropic", "claude-opus-5-5"), None).times == (0.0,)


@pytest.mark.parametrize("system", [5, {"text": "a"}, ["a"], [{"text": 5}]], ids=str)
def test_a_wrong_system(system: object) -> None:
    """The system prompt of a conversation is text, or blocks of text."""
    with pytest.raises(MessageError, match=r"^talk: system is a text, or a list of blocks that have one$"):
        read({"messages": [{"role": "user", "content": "A?"}], "system": system})


def test_a_log(tmp_path: Path) -> None:
    """The prompts of a log are requests with times and labels."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root/task.txt").write_text("Do it.\n")
    log = AuditLog(str(tmp_path / "log"), workspace=str(tmp_path / "root"))
    for _ in range(2):
        log.append(PromptAssembler(str(tmp_path / "root")).assemble("task", {}))
    transcript = read_log_transcript(str(tmp_path / "log"), "log")
    assert transcript.labels == ("task", "task")
    assert (len(transcript.requests), transcript.times[0], transcript.rebuilt) == (2, 0.0, False)
    (tmp_path / "log").write_text("")
    with pytest.raises(MessageError, match=r"^log: no whole record in it$"):
        read_log_transcript(str(tmp_path / "log"), "log")
