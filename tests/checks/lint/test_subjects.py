"""What lint is given: texts, prompts, reports, bodies and recorded requests as subjects."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from deepprompt import Pace, Part, Prompt, Session
from deepprompt.checks.lint.subjects import body_of, subject_of, subjects_of_requests
from deepprompt.checks.segments import read_request
from deepprompt.errors import MessageError
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY as BOUNDARY
from deepprompt.providers.recognise import model_of

BODY: dict[str, Any] = {
    "model": "claude-opus-5-5",
    "system": "Be brief.",
    "messages": [{"role": "user", "content": "Go."}],
}
MARK: dict[str, Any] = {"cache_control": {"type": "ephemeral"}}
SAID = [{"role": "user", "content": "Go."}]


def test_a_text() -> None:
    """A text is a prompt; a file's lines are its places."""
    subject = subject_of("Be brief.\n", "AGENTS.md", is_file=True)
    assert (subject.name, subject.is_file, subject.body, subject.at) == ("AGENTS.md", True, None, None)
    assert [(segment.place, segment.text) for segment in subject.segments] == [("text", "Be brief.\n")]


def test_a_prompt_says_itself_what_changes() -> None:
    """The parts behind the boundary of a prompt change with the turn, and it is no request."""
    prompt = Prompt((Part("base", "Be brief.\n", Pace.RELEASE, ""), Part("tide", "Low.\n", Pace.TURN, "")))
    subject = subject_of(prompt, "module:function")
    assert [(segment.place, segment.changing) for segment in subject.segments] == [("base", False), ("tide", True)]
    assert subject.body is None


@pytest.mark.parametrize("before", ["Be brief.\nBe kind.", ""])
def test_a_text_is_cut_at_the_boundary(before: str) -> None:
    """What stands behind it changes with the turn, and its lines are counted from the start of the text."""
    told = "\n- date: 2026-11-15\n"
    text = f"{before}{BOUNDARY}{told}"
    *static, moving = subject_of(text, "x").segments
    assert [segment.text for segment in static] == ([before] if before else [])
    assert moving.changing
    assert not any(segment.changing for segment in static)
    line = moving.text[: moving.text.index("- date")].count("\n") + 1
    assert text.split("\n")[line - 1] == moving.text.split("\n")[line - 1] == "- date: 2026-11-15"


def test_a_body_is_cut_at_the_boundary() -> None:
    """The mark at the end of the block is that of what changes; later blocks of the system prompt change too."""
    system = [{"type": "text", "text": f"Be brief.{BOUNDARY}Low.", **MARK}, {"type": "text", "text": "High."}]
    subject = subject_of(BODY | {"system": system}, "x")
    rows = [(s.place, s.text.strip(), s.mark, s.changing) for s in subject.segments if s.kind != "setting"]
    assert rows == [
        ("system[0]", "Be brief.", None, False),
        ("system[0]", "Low.", "", True),
        ("system[1]", "High.", None, True),
        ("messages[0].content", "Go.", None, False),
    ]


def test_nothing_behind_the_boundary() -> None:
    """A boundary at the end cuts nothing off, and leaves the mark where it is."""
    system = [{"type": "text", "text": f"Be brief.{BOUNDARY}", **MARK}]
    first = subject_of(BODY | {"system": system}, "x").segments[1]
    assert (first.text, first.mark, first.changing, first.ends_message) == ("Be brief.", "", False, True)


def test_a_boundary_in_a_message_is_only_text() -> None:
    """Who talks about the boundary changes nothing."""
    body = BODY | {"messages": [{"role": "user", "content": f"a{BOUNDARY}b"}]}
    assert list(subject_of(body, "x").segments) == read_request(body)


def test_what_commands_wrote(tmp_path: Path) -> None:
    """A report has its body inside, and with `--to` the model beside it; a prompt's report and a session have none."""
    assert body_of({"model": "x", "body": BODY}) == body_of({"request": BODY}) == BODY
    parts = [{"name": "base", "bytes": 9}]
    report = subject_of({"text": "Be brief.", "parts": parts}, "x")
    assert (report.body, [segment.place for segment in report.segments]) == (None, ["base"])
    Session(Prompt((Part("base", "Be brief.", Pace.RELEASE, ""),))).save(tmp_path / "session.json")
    saved = subject_of(json.loads((tmp_path / "session.json").read_text("utf-8")), "x")
    assert (saved.body, [segment.place for segment in saved.segments]) == (None, ["base"])


def test_a_list_is_the_messages_of_a_request() -> None:
    """A message array has no more than messages."""
    assert subject_of(SAID, "x").body == {"messages": SAID}


def test_recorded_requests() -> None:
    """The newest has those before it, each with its time and without its own."""
    bodies = [BODY, BODY | {"messages": [*SAID, {"role": "assistant", "content": "Yes."}, *SAID]}]
    recorded = [{"body": bodies[0], "at": "2026-11-15T09:30:00Z"}, {"body": bodies[1], "at": 1794735060.5}]
    newest = subjects_of_requests(recorded, "log.jsonl")
    (first,) = newest.earlier
    assert (newest.name, newest.body, newest.at) == ("log.jsonl", bodies[1], 1794735060.5)
    assert (first.name, first.body, first.at, first.earlier) == ("log.jsonl", bodies[0], 1794735000.0, ())
    assert subjects_of_requests([*bodies], "x").earlier[0].at is None


@pytest.mark.parametrize("text", ["[{0}, {0}]", "{0}\n\n{0}\n", "{0}\r\n{0}"])
def test_recorded_requests_as_text(text: str) -> None:
    """A JSON list and JSON Lines are the same."""
    newest = subjects_of_requests(text.replace("{0}", json.dumps(BODY)), "log.jsonl")
    assert newest.body == newest.earlier[0].body == BODY


def test_one_recorded_request() -> None:
    """A single object is one request."""
    assert subjects_of_requests(json.dumps(BODY, indent=1), "x").earlier == ()


def test_the_model_beside_a_body_is_a_setting() -> None:
    """Gemini and Bedrock have it in the address; a record has it beside the body."""
    record = {"model": "gemini-3.8-flash", "body": {"contents": []}}
    assert model_of(subjects_of_requests([record], "x").segments) == "gemini-3.8-flash"
    assert model_of(subject_of(BODY, "x").segments) == "claude-opus-5-5"
    assert model_of(subject_of("model", "x").segments) == ""


WRONG: list[tuple[Any, str]] = [
    ([], "log: no request in it"),
    ("\n", "log: no request in it"),
    ([BODY, 3], "log: request 2: expected the body of a request, not int"),
    ([{"role": "user", "content": "Go."}], "log: request 1: not a request of any provider: no messages"),
    ([{"body": BODY, "at": "noon"}], "at is seconds, or a time such as 2026-11-15T09:30:00Z, not 'noon'"),
    ([{"body": BODY, "at": float("nan")}], "log: request 1: at is seconds"),
    ([{"body": BODY, "at": True}], "log: request 1: at is seconds"),
    (json.dumps(BODY) + "\n{", "log:2: not JSON: Expecting property name enclosed in double quotes"),
    ("[" * 100_000, "log: nested too deeply"),
    ('{"a":1}\n' + "[" * 100_000, "log:2: nested too deeply"),
]  # fmt: skip


@pytest.mark.parametrize(("recorded", "message"), WRONG, ids=range(len(WRONG)))
def test_what_is_no_record_is_refused(recorded: Any, message: str) -> None:
    """An error says which request, or which line, is wrong."""
    with pytest.raises(MessageError, match=re.escape(message)):
        subjects_of_requests(recorded, "log")
