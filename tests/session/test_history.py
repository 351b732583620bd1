"""Going back in a session, forks, regenerating and editing, compaction, and what each leaves in the cache."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from deepprompt import InstructionFile, Prompt, Session, read_request, simulate
from deepprompt.errors import MessageError, SessionError
from deepprompt.providers import TARGETS
from deepprompt.providers.facts import bundled_facts
from tests.support import sessions as support
from tests.support.block_law import MODELS
from tests.support.paths import DATA
from tests.support.sessions import AGENTS, BASH, OPUS, PROJECT, READ, answer, call, result, told

EDITED = InstructionFile(AGENTS.path, "Use four spaces.")
BIG = "A rule that everybody keeps. " * 400


def make(status: str = "", instructions: tuple[InstructionFile, ...] = (AGENTS,), **options: Any) -> Prompt:
    """Build a prompt with a status of git."""
    project = replace(PROJECT, git_status=status or PROJECT.git_status)
    return support.make(files=instructions, project=project, **options)


def talked(turns: int = 3) -> Session:
    """Return a session of a few turns, in which git changed each time."""
    session = Session(make(base=BIG))
    for turn in range(turns):
        session.user(f"Question {turn}.", make(base=BIG, status=f" M file{turn}.py\n"))
        session.request(**OPUS)
        session.append(answer(f"Answer {turn}."))
    return session


def body(session: Session, to: Any = "anthropic") -> Any:
    """Return a request without marks."""
    return session.request(to=to, model=MODELS[to], marks="none").body


def test_a_fork_is_the_session_at_that_point() -> None:
    """At every point: its requests are those that the session sent there, and the parent does not notice."""
    session = Session(make())
    before: dict[int, Any] = {}
    for turn in range(4):
        session.user(f"Question {turn}.", make(status=f" M file{turn}.py\n"))
        before[len(session.messages)] = body(session)
        session.append(call(f"call_{turn}"))
        session.append(result(f"call_{turn}"))
        before[len(session.messages)] = body(session)
        session.append(answer("Yes."))
    size = len(session.messages)
    for at, wanted in before.items():
        fork = session.fork(at=at).session
        assert body(fork) == wanted
        fork.user("Another way.")
        assert body(fork)["messages"][: len(wanted["messages"])] == wanted["messages"]
    assert len(session.messages) == size


def test_a_fork_takes_up_to_the_last_answered_call() -> None:
    """Without a point, a response whose calls are open is left out."""
    session = talked()
    size = len(session.messages)
    session.append(call("open"))
    assert len(session.fork().session.messages) == size


def test_rewinding_tells_again_what_is_forgotten() -> None:
    """State and changes that later messages told are told again after going back, and those told before are not."""
    session = Session(make())
    session.user("One.", make(status=" M a.py\n"))
    session.append(answer("Yes."))
    point = len(session.messages)
    session.user("Two.", make(status=" M a.py\n M b.py\n", instructions=(EDITED,)))
    assert "b.py" in told(session)[-2]
    session.rewind(to=point)
    assert len(session.messages) == point
    changes = session.user("Again.", make(status=" M a.py\n M b.py\n", instructions=(EDITED,)))
    assert [change.source for change in changes] == [f"instructions {AGENTS.path}"]
    assert "b.py" in told(session)[-2]
    assert "a.py" not in told(session)[-2].replace("b.py", "")


def test_what_stays_in_the_cache_is_read() -> None:
    """By the provider's own rules, a request after going back reads what was said to be cached."""
    session = talked(4)
    sent = []
    for at in (5, 8):
        fork = session.fork(at=at)
        fork.session.user("Another way.")
        sent.append((fork.shared, fork.session.request(**OPUS)))
    bodies = []
    again = Session(make(base=BIG))
    for turn in range(4):
        again.user(f"Question {turn}.", make(base=BIG, status=f" M file{turn}.py\n"))
        bodies.append(again.request(**OPUS).body)
        again.append(answer(f"Answer {turn}."))
    rules = bundled_facts().rules("anthropic", "claude-opus-5-5")
    for promised, request in sent:
        charge = simulate([read_request(one) for one in (*bodies, request.body)], rules).charges[-1]
        assert charge.read >= 0.95 * promised > 2000


def test_regenerate() -> None:
    """Without a message the last response goes, and the request is the one that it answered."""
    session = Session(make())
    session.user("Go.", make())
    first = session.request(**OPUS)
    session.append(answer("No."))
    found = session.replace_last()
    assert found.session is session
    assert found.note == "the prefix and 2 of 2 messages stay in the cache of anthropic, claude-opus-5-5"
    assert session.request(**OPUS).body == first.body
    session.append(answer("Yes."))
    assert told(session)[-1] == "Yes."


def test_regenerate_in_a_tool_loop() -> None:
    """Only the last response goes: the results before it stay."""
    session = Session(make())
    session.user("Go.", make())
    session.append(call("a"))
    session.append(result("a"))
    size = len(session.messages)
    session.append(call("b"))
    session.replace_last()
    assert (len(session.messages), session.open_calls) == (size, ())
    session.rewind(to=size - 1)
    assert [one.id for one in session.open_calls] == ["a"]
    session.append(result("a"))


def test_edit() -> None:
    """With a message the user's last one goes, and everything after it, and the notices that came with it."""
    session = talked()
    point = len(session.messages) - 3
    session.append(call("a"))
    session.append(result("a"))
    session.append(answer("Done."))
    found = session.replace_last("Better question.", make(base=BIG, status=" M other.py\n"))
    assert "other.py" in told(session)[point]
    assert told(session)[point + 1 :] == ["Better question."]
    assert found.note == "the prefix and 5 of 6 messages stay in the cache of anthropic, claude-opus-5-5"


def test_the_first_question_can_be_edited() -> None:
    """Back before the first request, only the prefix is in the cache, and the verdict says so."""
    session = talked(1)
    found = session.replace_last("Another one.")
    assert found.note == "the prefix and 0 of 0 messages stay in the cache of anthropic, claude-opus-5-5"
    session.request(**OPUS)
    usage = {"input_tokens": 3, "cache_read_input_tokens": 2900, "cache_creation_input_tokens": 40, "output_tokens": 1}
    verdict = session.record(usage)
    assert verdict.detail == "the session went back before its first request, and the prefix was read from the cache"


WRONG_POINTS: tuple[Any, ...] = (-1, 99, True, "3", None, 1.0)


@pytest.mark.parametrize("point", WRONG_POINTS)
def test_wrong_points(point: Any) -> None:
    """A point is a number of messages that there are."""
    session = talked(1)
    with pytest.raises(SessionError, match=r"^a point in this session is a number of messages from 0 to 3, not "):
        session.rewind(to=point)
    assert len(session.messages) == 3
    empty = Session("Be brief.")
    with pytest.raises(SessionError, match=r"^there is no user's message to replace$"):
        empty.replace_last("x")


def test_records_of_what_is_gone_are_past() -> None:
    """What was recorded stays in the list, marked as past, in a saved session too."""
    session = talked(2)
    usage = {"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 40, "output_tokens": 1}
    session.record(usage)
    session.rewind(to=3)
    assert [one.past for one in Session.from_bytes(session.to_bytes()).recorded] == [True]


def test_compaction_from_question_to_answer() -> None:
    """Ask by the cache, replace, and go on: prefix, epoch, records and what holds now stay."""
    session = Session(make(base=BIG, tools=(READ, BASH)))
    session.user("Go.", make(base=BIG, status=" M a.py\n", tools=(READ,), instructions=(EDITED,)))
    session.request(**OPUS)
    usage = {"input_tokens": 3, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 40, "output_tokens": 1}
    session.record(usage, at=1.0)
    session.append(answer("Done."))
    asked = session.compaction()
    asked.session.request(**OPUS)
    summary = {"role": "assistant", "content": [{"type": "text", "text": "We did <summary>it</summary>."}]}
    found = session.compacted(summary)
    after = found.session
    assert (after.prefix, after.epoch, after.fingerprint) == (session.prefix, session.epoch, session.fingerprint)
    assert [one.past for one in after.recorded] == [True]
    notice, text = told(after)
    assert "a.py" in notice
    assert EDITED.content.strip() in notice
    assert "These tools are gone" in notice
    assert text == (
        "<summary>\nThis summary replaces the conversation so far. Continue from here.\n\n"
        "We did <\\summary>it<\\/summary>.\n</summary>"
    )
    assert found.note.endswith("; the prefix stays in the cache")
    assert found.shared > 2500
    after.user("Next.", make(base=BIG, status=" M a.py\n", tools=(READ,), instructions=(EDITED,)))
    assert told(after)[2:] == ["Next."]
    for to in TARGETS:
        assert body(after, to)
    after.request(**OPUS)
    read = {"input_tokens": 3, "cache_read_input_tokens": 2900, "cache_creation_input_tokens": 40, "output_tokens": 1}
    verdict = after.record(read, at=2.0)
    assert verdict.kind == "hit"
    assert verdict.detail == "a summary replaced the conversation, and the prefix was read from the cache"
    assert 0.8 < verdict.expected < 1
    assert len(Session.from_bytes(after.to_bytes()).recorded) == 2
    assert len(session.messages) == 3  # the conversation that was replaced is still there


def test_a_compaction_by_a_text_and_without_one() -> None:
    """A summary may be a text. A response without text is no summary, and nothing was cached before a request."""
    session = Session("Be brief.")
    session.user("Go.")
    session.append(answer("Yes."))
    found = session.compacted("All done.")
    assert found.shared == 0
    assert "All done." in told(found.session)[0]
    with pytest.raises(MessageError, match=r"^a summary is a text, or a response that has one, not dict without text$"):
        session.compacted({"role": "assistant", "content": [{"type": "brand_new"}]})


def test_a_session_of_the_first_version_knows_no_points_before_it_was_saved() -> None:
    """0.1 did not say when it sent its notices: going back before that is refused, and nothing changes."""
    session = Session.load(DATA / "sessions" / "0.1.0.session")
    size = len(session.messages)
    with pytest.raises(
        SessionError, match=rf"did not say when it sent its notices: go back to message {size} or later"
    ):
        session.rewind(to=2)
    assert len(session.messages) == size
    for one in list(session.open_calls):
        session.append({"role": "tool", "tool_call_id": one.id, "content": "done"})
    session.user("More.")
    session.rewind(to=size)
    assert len(Session.from_bytes(session.to_bytes()).messages) == size


def test_only_what_came_after_a_response() -> None:
    """With the id of a response that was appended whole, the body has what is new and the tools, and nothing else."""
    session = Session(make(base=BIG, tools=(READ,)))
    session.user("Go.")
    session.request(to="openai-responses", model="gpt-5.6-sol")
    items = [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "ZQ=="}]
    items += [{"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "Read", "arguments": "{}"}]
    session.append({"id": "resp_1", "object": "response", "output": items})
    session.append({"type": "function_call_output", "call_id": "c1", "output": "text"})
    session = Session.from_bytes(session.to_bytes())
    whole = session.request(to="openai-responses", model="gpt-5.6-sol")
    tail = session.request(to="openai-responses", model="gpt-5.6-sol", previous_response_id="resp_1")
    assert [*tail.body] == ["model", "previous_response_id", "tools", "input"]
    assert tail.body["tools"] == whole.body["tools"]
    assert json.dumps(tail.body["input"]) == json.dumps(
        [{"type": "function_call_output", "call_id": "c1", "output": [{"type": "input_text", "text": "text"}]}]
    )
    assert (tail.tokens, tail.marks) == (whole.tokens, ())
    with pytest.raises(MessageError, match=r"^no response 'resp_2' was appended whole; .* resp_1$"):
        session.request(to="openai-responses", model="gpt-5.6-sol", previous_response_id="resp_2")
    with pytest.raises(MessageError, match=r"^previous_response_id is for openai-responses; openai takes none$"):
        session.request(to="openai", model="gpt-5.6-sol", previous_response_id="resp_1")


def test_gemini_reads_the_prefix_from_cached_content() -> None:
    """A session's request names the cached content of its prefix, and sends the conversation only."""
    session = Session(make(base=BIG, tools=(READ,)))
    for turn in range(3):
        session.user(f"Question {turn}.")
        plain = session.request(to="gemini", model="gemini-3.8-flash").body
        cached = session.request(to="gemini", model="gemini-3.8-flash", cached_content="cachedContents/a").body
        assert cached == {"cachedContent": "cachedContents/a", "contents": plain["contents"]}
        session.append(answer("Yes."))
