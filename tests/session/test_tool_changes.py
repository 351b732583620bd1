"""Tools that come and go in the middle of a conversation, by the provider's own means where it has them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from deepprompt import Pace, Part, Prompt, Request, Session, blame, build_request
from deepprompt.errors import MessageError
from deepprompt.providers import TARGETS
from deepprompt.providers.facts import bundled_facts
from deepprompt.words import Target
from tests.support.models import MODELS
from tests.support.recorder import recorder, sdk

OPUS: dict[str, Any] = {"to": "anthropic", "model": "claude-opus-5-5"}
OLD: dict[str, Any] = {"to": "anthropic", "model": "claude-sonnet-4-5"}
RESPONSES: dict[str, Any] = {"to": "openai-responses", "model": "gpt-5.6-sol"}
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
READ = {"name": "Read", "description": "Reads a file.", "input_schema": SCHEMA}
BASH = {"name": "Bash", "description": "Runs a command.", "input_schema": SCHEMA}
GREP = {"type": "function", "function": {"name": "Grep", "description": "Searches.", "parameters": SCHEMA}}
GREP_FOR_ANTHROPIC = {"name": "Grep", "description": "Searches.", "input_schema": SCHEMA}
RULES = Part("rules", "Be brief. " * 2000, Pace.PROJECT, "test")


def prompt(*tools: Mapping[str, object]) -> Prompt:
    """A prompt with tools."""
    return Prompt((RULES,), tools)


def begun(**options: Any) -> Session:
    """A session of one turn, with two tools."""
    session = Session(prompt(READ, BASH), **{"on_change": "native", **options})
    session.user("One.", prompt(READ, BASH))
    return session


def answered(session: Session) -> None:
    """Let the model answer."""
    session.append({"role": "assistant", "content": "Yes."})


def changed() -> Session:
    """A session in which Bash is gone and Grep is new."""
    session = begun()
    session.request(**OPUS)
    answered(session)
    session.user("Two.", prompt(READ, GREP))
    return session


def accepts(kind: str, module: str, value: object) -> None:
    """A type of an SDK takes a value."""
    sdk("pydantic").TypeAdapter(getattr(sdk(module), kind)).validate_python(value)


def assert_extends(before: Request, after: Request) -> None:
    """A request begins with the one before it, marks aside."""
    assert not blame(before.body, after.body)


class TestAnthropic:
    """Anthropic has `tool_addition` and `tool_removal`."""

    def test_the_blocks_stand_in_a_system_message_at_the_end(self) -> None:
        """The listed tools stay, and the definition is written as Anthropic spells it, whoever's spelling it was."""
        request = changed().request(**OPUS)
        assert [tool["name"] for tool in request.body["tools"]] == ["Bash", "Read"]
        assert request.body["messages"][-1] == {
            "role": "system",
            "content": [
                {"type": "tool_addition", "tool": {"type": "tool_definition", "definition": GREP_FOR_ANTHROPIC}},
                {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "Bash"}},
            ],
        }
        assert "notice" not in json.dumps(request.body["messages"])
        assert "replaced" not in [note.kind for note in request.notes]

    def test_the_request_asks_for_the_features_in_trial_from_then_on(self) -> None:
        """Before the first change it asks for none."""
        session = begun()
        assert session.request(**OPUS).headers == {}
        assert "extra_headers" not in session.request(**OPUS).arguments
        answered(session)
        for number in range(6):
            session.user("Next.", prompt(READ))
            request = session.request(**OPUS)
            assert request.betas == ("mid-conversation-tool-changes-2026-07-01",), number
            answered(session)
        session.user("Last.", prompt(READ, GREP))
        arguments = session.request(**OPUS).arguments
        both = "inline-tools-2026-09-15,mid-conversation-tool-changes-2026-07-01"
        assert arguments["extra_headers"] == {"anthropic-beta": both}

    def test_a_tool_that_comes_back_is_named_only(self) -> None:
        """It is listed in the request."""
        session = changed()
        answered(session)
        session.user("Three.", prompt(READ, BASH, GREP))
        (block,) = session.request(**OPUS).body["messages"][-1]["content"]
        assert block == {"type": "tool_addition", "tool": {"type": "tool_reference", "name": "Bash"}}

    def test_an_added_tool_whose_definition_changes_is_added_again(self) -> None:
        """What is not in the prefix can be defined again."""
        session = changed()
        answered(session)
        session.user("Three.", prompt(READ, {**GREP_FOR_ANTHROPIC, "description": "Searches quickly."}))
        (block,) = session.request(**OPUS).body["messages"][-1]["content"]
        assert block["tool"]["definition"]["description"] == "Searches quickly."

    def test_another_definition_of_a_listed_tool_is_told_by_a_notice(self) -> None:
        """The prefix stays, and a provider has no word for that."""
        session = begun()
        session.request(**OPUS)
        answered(session)
        session.user("Two.", prompt({**READ, "description": "Reads a page."}, BASH))
        said = session.request(**OPUS).body["messages"][-2:]
        assert [message["role"] for message in said] == ["user", "user"]
        assert '<notice kind="replaced" source="tool Read">' in said[0]["content"][0]["text"]

    def test_in_a_tool_loop_they_follow_the_results(self) -> None:
        """`update` tells them, and no user's message is needed."""
        session = begun()
        session.append({"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "Read", "input": {}}]})
        session.append({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "x"}]})
        session.update(prompt(READ))
        roles = [message["role"] for message in session.request(**OPUS).body["messages"]]
        assert roles == ["user", "assistant", "user", "system"]

    def test_where_no_system_message_may_stand_a_notice_tells_it(self) -> None:
        """Another user's message follows, or the model takes none."""
        session = changed()
        session.append({"role": "user", "content": "And quickly."})
        for target in (OPUS, OLD):
            request = session.request(**target)
            assert {message["role"] for message in request.body["messages"]} == {"user", "assistant"}
            assert '<notice kind="removed" source="tool Bash">' in json.dumps(request.body).replace('\\"', '"')
            assert any("takes no change of tools here" in note.detail for note in request.notes)
            assert request.headers == {}

    def test_each_request_begins_with_the_one_before_it(self) -> None:
        """Also over the change, and in long conversations, whose start is settled."""
        session = begun()
        before = session.request(**OPUS)
        for number, tools in enumerate([(READ,), (READ, GREP), (READ,), (READ, BASH), (READ, BASH, GREP), ()] * 2):
            answered(session)
            session.user(f"{number}.", prompt(*tools))
            after = session.request(**OPUS)
            assert_extends(before, after)
            before = after

    def test_the_sdk_takes_and_sends_it(self) -> None:
        """Its types take the body, and its client sends the header."""
        request = changed().request(**OPUS)
        for message in request.body["messages"]:
            accepts("BetaMessageParam", "anthropic.types.beta", message)
        with recorder() as server:
            server.answer({"type": "message", "role": "assistant", "content": []})
            with sdk("anthropic").Anthropic(api_key="test", base_url=server.url, max_retries=0) as client:
                client.messages.create(**request.arguments)
            sent = server.only
        assert sent.body["messages"] == request.body["messages"]
        assert set(sent.headers["anthropic-beta"].split(",")) == set(request.betas)


class TestResponses:
    """OpenAI's Responses has an item for tools that are added, and none for those that go."""

    def test_added_tools_are_an_item_and_removed_ones_a_notice(self) -> None:
        """The item is the developer's."""
        request = changed().request(**RESPONSES)
        *_, question, added, told = request.body["input"]
        assert question["content"][0]["text"] == "Two."
        assert added["type"] == "additional_tools"
        assert (added["role"], [tool["name"] for tool in added["tools"]]) == ("developer", ["Grep"])
        assert "tool Bash" in told["content"][0]["text"]
        assert "Grep" not in told["content"][0]["text"]

    def test_the_sdk_takes_it(self) -> None:
        """Its types do."""
        for item in changed().request(**RESPONSES).body["input"]:
            accepts("ResponseInputItemParam", "openai.types.responses", item)


@pytest.mark.parametrize("to", TARGETS)
class TestEveryTarget:
    """What a session accepted can be sent to all of them."""

    def test_the_change_is_told_to_each(self, to: Target) -> None:
        """By its own means, or by the notice that a session without them sends."""
        model = MODELS[to][0].name
        body = json.dumps(changed().request(to=to, model=model).body)
        assert "Bash" in body.replace("Runs", "")
        for name in ("Grep", "Bash"):
            assert name in body

    def test_notices_are_the_same_as_without_own_means(self, to: Target) -> None:
        """Word for word, where a target has none."""
        session = changed()
        plain = begun(on_change="notice")
        plain.request(**OPUS)
        answered(plain)
        plain.user("Two.", prompt(READ, GREP))
        if to not in ("anthropic", "openai-responses"):
            told = json.dumps(session.request(to=to, model=MODELS[to][0].name).body)
            notice = str(plain.messages[-2]["content"])
            assert json.dumps(notice)[1:-1] in told

    def test_save_fork_and_rewind(self, to: Target) -> None:
        """The next request is the same after a save; what was forgotten is told again."""
        model = MODELS[to][0].name
        session = changed()
        loaded = Session.from_bytes(session.to_bytes())
        assert loaded.request(to=to, model=model).body == session.request(to=to, model=model).body
        answered(session)
        point = len(session.messages)
        session.rewind(point - 2)
        assert session.messages[-1]["content"] == "Two."
        session.rewind(point - 3)
        session.user("Two.", prompt(READ, GREP))
        assert [message["role"] for message in session.messages[-2:]] == ["user", "system"]
        assert loaded.messages == session.messages

    def test_a_summary_tells_it_again(self, to: Target) -> None:
        """What holds now stands behind the summary."""
        session = changed()
        answered(session)
        child = session.compacted("All is well.").session
        told: Any = child.messages[-1]["content"]
        assert [block["type"] for block in told] == ["tool_addition", "tool_removal"]
        child.request(to=to, model=MODELS[to][0].name)

    def test_a_name_that_the_target_refuses_is_told_by_a_notice(self, to: Target) -> None:
        """A session is never bricked by it."""
        session = begun()
        answered(session)
        session.user("Two.", prompt(READ, BASH, {**READ, "name": "a b/ü" * 30}))
        assert session.request(to=to, model=MODELS[to][0].name).body


class TestGivenByTheCaller:
    """Such blocks can be appended, too."""

    def test_they_belong_in_a_system_message_after_the_first_message(self) -> None:
        """Anything else is refused at once."""
        block = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "Bash"}}
        session = Session(prompt(BASH))
        for message in ({"role": "system", "content": [block]}, {"role": "user", "content": [block]}):
            with pytest.raises(MessageError):
                session.append(message)
        session.user("Go.")
        session.append({"role": "system", "content": [block]})
        assert session.request(**OPUS).body["messages"][-1]["content"] == [block]

    @pytest.mark.parametrize("tool", [None, {}, {"type": "tool_reference"}, {"type": "tool_reference", "name": 1}])
    def test_a_block_without_a_tool_is_refused(self, tool: object) -> None:
        """By its place."""
        session = Session(prompt(BASH))
        session.user("Go.")
        with pytest.raises(MessageError, match=r"messages\[1\].content\[0\]"):
            session.append({"role": "system", "content": [{"type": "tool_addition", "tool": tool}]})

    def test_build_request_refuses_what_a_target_cannot_say(self) -> None:
        """It has the message and its target at the same time."""
        block = {"type": "tool_removal", "tool": {"type": "tool_reference", "name": "Bash"}}
        messages: list[dict[str, object]] = [{"role": "user", "content": "Go."}, {"role": "system", "content": [block]}]
        assert build_request(prompt(BASH), messages, **OPUS).betas
        with pytest.raises(MessageError, match="takes no change of tools"):
            build_request(prompt(BASH), messages, to="deepseek", model="deepseek-v4-pro")

    def test_the_facts_know_the_models(self) -> None:
        """Anthropic's older models take no system message, and so no change."""
        facts = bundled_facts()
        assert facts.rules("anthropic", "claude-opus-5-5").system_messages
        assert not facts.rules("anthropic", "claude-sonnet-4-5").system_messages
