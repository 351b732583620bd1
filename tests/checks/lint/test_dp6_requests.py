"""DP6: each rule by requests that break it and requests that do not, then our own requests and hostile ones."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import build_cached_content, build_request
from deepprompt.checks.lint.dp6_requests import RULES, find
from deepprompt.checks.lint.findings import Finding, Limits
from deepprompt.checks.lint.subjects import subject_of
from deepprompt.errors import MessageError, ToolError
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY as BOUNDARY
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.recognise import provider_of
from deepprompt.words import Marks, Target
from tests.support.bodies import (
    BREAK,
    FUNCTION,
    GPT,
    HOUR,
    LONG,
    MARK,
    NOVA,
    NOW,
    OLD_GPT,
    OPUS,
    SONNET,
    THOUGHT,
    TOOL,
    Body,
    anything,
    assistant,
    claude,
    gpt,
    result,
    rules_for,
    text,
    use,
    user,
)
from tests.support.conversations import long_scenes, scenes
from tests.support.examples import examples
from tests.support.models import MODELS

SHORT: Body = {"cache_control": {"type": "ephemeral", "ttl": "5m"}}
POINT: Body = {"cachePoint": {"type": "default"}}


def converse(*messages: Any, **more: Any) -> Body:
    """A request for Bedrock, with a long system prompt that is marked."""
    asked = list(messages) or [user({"text": "Go."})]
    return {"system": [{"text": LONG}, POINT], "messages": asked, **more}


def litellm(model: str, *content: Any, **more: Any) -> Body:
    """A request for LiteLLM, whose system message has some blocks."""
    return {"model": model, "messages": [{"role": "system", "content": list(content)}, user("Go.")], **more}


def deepseek(*messages: Any, **more: Any) -> Body:
    """A request for DeepSeek."""
    return {"model": "deepseek-v4-pro", "messages": [user("Go."), *messages], **more}


def call(**more: Any) -> Body:
    """A call of a tool, as Chat Completions has it."""
    made = {"id": "a", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    return {"role": "assistant", "content": None, "tool_calls": [made], **more}


def found(body: Any, model: str = "", known: bool = True) -> list[Finding]:
    """What DP6 says of a request."""
    return list(find(subject_of(body, "request.json"), Limits(rules=rules_for(body, model) if known else None)))


def codes(body: Any, model: str = "", known: bool = True) -> list[str]:
    """The codes of it."""
    return [finding.code for finding in found(body, model, known)]


LINES = [text(f"line {number}") for number in range(25)]
DATED = f"{OPUS}, facts of 2026-11-18"
GPT_DATED = f"{GPT}, facts of 2026-11-18"

# A request, and where and what is found in it.
BROKEN: list[tuple[str, Body, str, str]] = [
    ("DP601", claude(user(*[text(**MARK)] * 4)), "messages[0].content[3]",
     f"5 marks; anthropic ({DATED}) takes 4 and refuses more"),
    ("DP601", gpt(user(*[text(**BREAK)] * 4)), "messages[1].content[3]",
     f"4 marks; openai ({GPT_DATED}) takes 3 and writes none before those"),
    ("DP602", claude(user("Go."), assistant(THOUGHT | MARK, text("Yes.")), user("More.")), "messages[1].content[0]",
     "a mark on reasoning, which carries none"),
    ("DP602", claude(user(text("", **MARK), text())), "messages[0].content[0]", "a mark on an empty text"),
    ("DP602", claude(user("Go.") | MARK), "messages[0]",
     "a mark beside the content of a message; make the content a list of blocks and mark the last"),
    ("DP602", claude(user(text()), cache_control="ephemeral", tools=[TOOL | {"cache_control": "ephemeral"}]),
     "tools[0] look", "cache_control is an object, not str"),
    ("DP602", claude(tools=[TOOL | {"defer_loading": True} | MARK]), "tools[0]",
     "a mark on a tool that is loaded later, and no part of the prefix"),
    ("DP602", gpt(user("Go."), assistant(text("Yes.", **BREAK)), user("More.")), "messages[2].content[0]",
     "a prompt_cache_breakpoint on an answer, which carries none; it stands on parts of what is sent"),
    ("DP602", gpt(tools=[FUNCTION | BREAK]), "tools[0] look",
     "a prompt_cache_breakpoint on a tool, which carries none; it stands on parts of what is sent"),
    ("DP602", {"model": GPT, "instructions": [{"type": "input_text", "text": LONG, **BREAK}], "input": "Go."},
     "instructions[0]", "a mark on instructions, which carry none; send them as a developer message"),
    ("DP602", {"model": OLD_GPT, "input": [user({"type": "input_text", "text": LONG} | MARK)]}, "input[0].content[0]",
     f"openai-responses ({OLD_GPT}, facts of 2026-11-18) does not read cache_control: it does nothing"),
    ("DP602", deepseek(user(text(**MARK))), "messages[1].content[0]",
     "deepseek (deepseek-v4-pro, facts of 2026-11-18) does not read cache_control: it does nothing"),
    ("DP602", converse(user(POINT, {"text": "Go."})), "messages[0].content", "a mark that follows nothing"),
    ("DP602", converse(user({"toolResult": {"toolUseId": "a", "content": [{"text": "red"}, POINT]}})),
     "messages[0].content[0]", "a cachePoint that is not an element of the content"),
    ("DP602", converse(modelId=NOVA, toolConfig={"tools": [{"toolSpec": {"name": "look"}}, POINT]}),
     "toolConfig.tools[0] look", f"a mark on tools, where bedrock ({NOVA}, facts of 2026-11-18) takes none"),
    ("DP603", claude(user(text(**HOUR))), "messages[0].content[0]", "a mark for 1h after one for 5m at system[0]"),
    ("DP604", claude(user(*[text(**MARK)] * 3, text("last")), cache_control={"type": "ephemeral"}), "cache_control",
     f"automatic caching beside 4 marks, which are all that anthropic ({DATED}) takes"),
    ("DP604", claude(user(text(**SHORT)), system=[text(LONG, **HOUR)], **HOUR), "messages[0].content[0]",
     "automatic caching for 1h on a block that is marked for 5m"),
    ("DP605", claude(user("Go."), assistant("Yes."), user(text("More."), text(NOW)), **MARK), "messages[2].content[1]",
     "automatic caching ends with the time of this turn, which no earlier message still has: written, never read"),
    ("DP605", gpt(user("Go."), assistant("Yes."), user(text("More."), text(NOW))), "messages[3].content[1]",
     "OpenAI's implicit mode ends with the time of this turn, which no earlier message still has: written, never read"),
    ("DP606", claude(user(text(**MARK)), assistant(*LINES), user(text(**MARK)), system=LONG)
     | {"messages": [user(text()), assistant(*LINES), user(text(**MARK))]}, "messages[2].content[0]",
     f"the mark is 26 positions behind messages[0].content[0], where the previous request ended; anthropic ({DATED}) "
     "looks at 20"),
    ("DP607", claude(system=[text("Be brief.", **MARK)]), "system[0]",
     f"about 2 tokens up to here; anthropic ({DATED}) caches nothing below 512"),
    ("DP608", gpt(prompt_cache_options={"mode": "explicit"}), "prompt_cache_options",
     "the mode is explicit, and no block is marked: nothing is cached"),
    ("DP609", gpt(prompt_cache_key="chat:0b6e1c0e-6b2f-4b8e-9d2a-1f0c5a7e9b3d"), "prompt_cache_key",
     "the key has a random id in it: with a new one for each request nothing is ever read"),
    ("DP609", gpt(prompt_cache_key="run-20261115T102233"), "prompt_cache_key",
     "the key has a time in it: with a new one for each request nothing is ever read"),
    ("DP610", deepseek(user_id="ada@example.com"), "user_id",
     "the id looks like one user's; with it nothing is read of what others have sent"),
    ("DP610", deepseek(metadata={"user_id": "user_4711"}), "metadata.user_id",
     "the id looks like one user's; with it nothing is read of what others have sent"),
    ("DP611", gpt(user(text(**BREAK)), model=OLD_GPT), "messages[1].content[0]",
     f"openai ({OLD_GPT}, facts of 2026-11-18) does not take prompt_cache_breakpoint"),
    ("DP611", gpt(model=OLD_GPT, prompt_cache_options={"mode": "implicit"}), "prompt_cache_options",
     f"openai ({OLD_GPT}, facts of 2026-11-18) does not take prompt_cache_options"),
    ("DP611", litellm("openai/gpt-4o", text(LONG, **BREAK)), "messages[0].content[0]",
     "openai (openai/gpt-4o, facts of 2026-11-18) does not take prompt_cache_breakpoint"),
    ("DP611", gpt(prompt_cache_retention="24h", prompt_cache_options={"ttl": "30m"}), "prompt_cache_retention",
     "prompt_cache_retention beside prompt_cache_options.ttl; each is for other models"),
    ("DP611", claude(user("Go."), {"role": "system", "content": "News."}, model="claude-sonnet-4-5"), "messages[1]",
     "anthropic (claude-sonnet-4-5, facts of 2026-11-18) takes no system message among the others"),
    ("DP612", {"cachedContent": "cachedContents/x", "tools": [{"functionDeclarations": []}], "contents": []}, "tools",
     "tools beside cached content, which Gemini refuses"),
    ("DP612", {"model": "gemini-3.8-flash", "contents": [],
               "config": {"cached_content": "cachedContents/x", "system_instruction": "Be brief."}},
     "config.system_instruction", "system_instruction beside cached content, which Gemini refuses"),
    ("DP613", litellm("openai/gpt-5.6", text(LONG, **MARK), tools=[FUNCTION]), "messages[0].content[0]",
     "LiteLLM drops cache_control on the way to OpenAI once there are tools; a prompt_cache_breakpoint arrives"),
    ("DP613", litellm("openai/gpt-4o", text(LONG, **MARK)), "messages[0].content[0]",
     "LiteLLM drops cache_control on the way to OpenAI for this model"),
    ("DP613", litellm("deepseek/deepseek-v4-pro", text(LONG, **MARK)), "messages[0].content[0]",
     "LiteLLM drops cache_control on this route"),
    ("DP613", litellm("gemini/gemini-3.8-flash", text(LONG, **MARK)), "messages[0].content[0]",
     "LiteLLM makes cached content of what is marked for Gemini, which is paid for by the hour"),
    ("DP613", litellm("anthropic/claude-opus-5-5", text(LONG, **MARK), text(" ")), "messages[0].content[1]",
     "LiteLLM puts a sentence of its own in place of a blank text"),
    ("DP614", deepseek(call(reasoning_content="Hm."), user("red"), call(), user("red")), "messages[3]",
     "a call without the reasoning_content that led to it, which DeepSeek wants back"),
    ("DP614", claude(user("Go."), assistant(use()), user(result()), thinking={"type": "enabled"}),
     "messages[1].content[0]", "the answer that is being continued called a tool, and its thinking is not in it"),
    ("DP615", claude(system=LONG), "request",
     f"no mark in about 4,200 tokens; anthropic ({DATED}) caches at marks only"),
    ("DP616", claude(system=[text(f"{LONG}{BOUNDARY}- date: 2026-11-15", **MARK)]), "system[0]",
     "a mark behind the boundary, where the text changes with the turn"),
    ("DP616", claude(user("Go."), assistant("Yes."), user(text("More."), text(NOW, **MARK))), "messages[2].content[1]",
     "a mark on the time of this turn, which no earlier message still has"),
    ("DP617", claude(user(text(cache_control={"type": "ephemeral", "ttl": "2h"})), system=[text(LONG, **HOUR)]),
     "messages[0].content[0]", f"no lifetime '2h'; anthropic ({DATED}) has 5m, 1h"),
    ("DP617", gpt(user(text(prompt_cache_breakpoint={"mode": "explicit", "ttl": "12h"}))), "messages[1].content[0]",
     f"no lifetime '12h'; openai ({GPT_DATED}) has 30m"),
]  # fmt: skip

# What looks like it, and is in order.
SOUND: list[tuple[str, Body]] = [
    ("DP601", claude(user(*[text(**MARK)] * 3))),
    ("DP601", gpt(user(*[text(**BREAK)] * 4), prompt_cache_options={"mode": "explicit"})),
    ("DP601", gpt(user(text(**BREAK)), assistant("Yes."), *[user(text(**BREAK))] * 4)),
    ("DP602", claude(user(text(), result(**MARK)), tools=[TOOL | MARK])),
    ("DP602", claude(user({"type": "document", "source": {}, **MARK}), assistant(use(**MARK)), user(result()))),
    ("DP602", claude(user({"type": "block_of_next_year", **MARK}))),
    ("DP602", claude(user(text(cache_control=None)))),
    ("DP602", claude(user("Go."), assistant(use(input=MARK)), user(result()))),
    ("DP602", converse(user({"text": "Go."}, POINT))),
    ("DP602", litellm("anthropic/claude-opus-5-5", text(LONG)) | {"messages": [user(LONG) | MARK]}),
    ("DP602", {"model": GPT, "input": [{"type": "function_call_output", "call_id": "a",
                                        "output": [{"type": "input_text", "text": LONG, **BREAK}]}]}),
    ("DP602", gpt(user("Go."), call(), {"role": "tool", "tool_call_id": "a", "content": [text("red", **BREAK)]})),
    ("DP603", claude(user(text(**MARK)), system=[text(LONG, **HOUR)])),
    ("DP603", claude(user(text(**SHORT)))),
    ("DP604", claude(user(*[text(**MARK)] * 2, text("last")), cache_control={"type": "ephemeral"})),
    ("DP604", claude(user(text(**SHORT)), cache_control={"type": "ephemeral"})),
    ("DP605", claude(user(NOW), assistant("Yes."), user(text("More."), text(NOW)), **MARK)),
    ("DP605", claude(user("Go."), assistant("Yes."), user("The log says 2026-11-15 10:22:31 ERROR."), **MARK)),
    ("DP605", claude(user("Go."), assistant("Yes."), user(text("More.", **MARK), text(NOW)), **MARK)),
    ("DP605", gpt(user("Go."), assistant("Yes."), user(text("More.", **BREAK), text(NOW)))),
    ("DP606", claude(user(text(**MARK)), assistant(*LINES), user(text(**MARK)))),
    ("DP606", claude(user(text()), assistant(*[use()] * 25), user(*[result()] * 25, text(**MARK)))),
    ("DP607", claude(user(text("Hm.", **MARK)))),
    ("DP607", claude(user({"type": "image", "source": {"type": "base64", "data": "aa"}}, text(**MARK)), system=[])),
    ("DP608", gpt(user(text(**BREAK)), prompt_cache_options={"mode": "explicit"})),
    ("DP608", gpt(prompt_cache_options={"mode": "implicit"})),
    ("DP609", gpt(prompt_cache_key="app:v3:tenant42")),
    ("DP609", gpt(prompt_cache_key="prompt-2026-11-15")),
    ("DP610", deepseek(user_id="tenant-42")),
    ("DP610", claude(metadata={"user_id": "ada@example.com"})),
    ("DP611", gpt(user(text(**BREAK)), prompt_cache_options={"ttl": "30m"})),
    ("DP611", gpt(model="gpt-next", prompt_cache_options={"mode": "implicit"})),
    ("DP611", claude(user("Go."), {"role": "system", "content": "News."})),
    ("DP612", {"cachedContent": "cachedContents/x", "contents": [{"role": "user", "parts": [{"text": "Go."}]}]}),
    ("DP612", {"systemInstruction": {"parts": [{"text": "Be brief."}]}, "tools": [{"x": {}}], "contents": []}),
    ("DP613", litellm("openai/gpt-5.6", text(LONG, **BREAK), tools=[FUNCTION])),
    ("DP613", litellm("openai/gpt-5.6", text(LONG, **MARK))),
    ("DP613", litellm("openai/gpt-4o", text(LONG, **MARK), api_base="https://gateway.example.com")),
    ("DP613", litellm("anthropic/claude-opus-5-5", text(LONG, **MARK), tools=[FUNCTION | MARK])),
    ("DP613", litellm("bedrock/converse/us.anthropic.claude-opus-5-5", text(LONG, **MARK))),
    ("DP614", deepseek(call(reasoning_content="Hm."), user("red"))),
    ("DP614", deepseek(call(), user("red"))),
    ("DP614", claude(user("Go."), assistant(THOUGHT, use()), user(result()), thinking={"type": "enabled"})),
    ("DP614", claude(user("Go."), assistant(use()), user(result()), thinking={"type": "adaptive"})),
    ("DP615", claude(system=LONG, **MARK)),
    ("DP615", claude(system="Be brief.")),
    ("DP615", litellm("anthropic/claude-opus-5-5", text(LONG), cache_control_injection_points=[{"index": 0}])),
    ("DP616", claude(system=[text(LONG, **MARK), text(f"{BOUNDARY}- date: 2026-11-15")])),
    ("DP616", claude(user(text(**MARK)), system=[text(LONG, **MARK), text(f"{BOUNDARY}- date: 2026-11-15")])),
    ("DP617", claude(user(text(**SHORT)), system=[text(LONG, **HOUR)])),
    ("DP617", {"model": GPT, "input": [user({"type": "input_text", "text": LONG,
                                            "prompt_cache_breakpoint": {"mode": "explicit", "ttl": "12h"}})]}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "body", "place", "message"), BROKEN)
def test_a_broken_rule_is_found(code: str, body: Body, place: str, message: str) -> None:
    """Each request breaks one rule, in one place, and that is said."""
    assert found(body, str(body.get("modelId", ""))) == [Finding(code, message, "request.json", place)]


@pytest.mark.parametrize("body", [body for _, body in SOUND], ids=[code for code, _ in SOUND])
def test_a_sound_request_raises_nothing(body: Body) -> None:
    """Each of these looks a little like the one that breaks the rule, and breaks none."""
    assert found(body, SONNET if provider_of(body) == "bedrock" else "") == []


def test_every_rule_has_an_example() -> None:
    """No rule is without a request that breaks it, and one that does not; codes are in order."""
    listed = [rule.code for rule in RULES]
    assert listed == sorted({code for code, *_ in BROKEN}) == sorted({code for code, _ in SOUND})


@pytest.mark.parametrize(
    "body", [claude(*[user(*[text(**MARK)] * 9)]), claude(system=LONG), claude(user(text(**HOUR))), gpt(model=OLD_GPT)]
)
def test_nothing_is_guessed_of_a_provider(body: Body) -> None:
    """Without facts nobody knows how many marks there may be, whether they are needed and what the default is."""
    assert codes(body, known=False) == []


@pytest.mark.parametrize(
    ("code", "body"),
    [
        ("DP602", claude(user(text("", **MARK), text()))),
        ("DP603", claude(user(text(**HOUR)), system=[text(LONG, **SHORT)])),
        ("DP604", claude(user(text(**SHORT)), system=[text(LONG, **HOUR)], **HOUR)),
        ("DP608", gpt(prompt_cache_options={"mode": "explicit"})),
        ("DP612", {"cachedContent": "cachedContents/x", "toolConfig": {"x": 1}, "contents": []}),
        ("DP613", litellm("openai/gpt-5.6", text(LONG, **MARK), tools=[FUNCTION])),
    ],
)
def test_the_shape_is_enough(code: str, body: Body) -> None:
    """What a request says itself is found without facts."""
    assert code in codes(body, known=False)


def test_a_lifetime_that_is_none_has_no_order() -> None:
    """Without facts, what cannot be read as a time is neither longer nor shorter."""
    odd = {"cache_control": {"type": "ephemeral", "ttl": "forever"}}
    assert codes(claude(user(text(**HOUR)), system=[text(LONG, **odd)]), known=False) == []


def test_a_body_of_anthropic_may_go_to_bedrock() -> None:
    """InvokeModel takes Anthropic's own body, with its marks."""
    body = claude(anthropic_version="bedrock-2023-05-31")
    limits = Limits(rules=bundled_facts().rules("bedrock", SONNET))
    assert list(find(subject_of(body, "x"), limits)) == []
    assert [finding.code for finding in find(subject_of(converse(user(text(**MARK))), "x"), limits)] == ["DP602"]


def test_messages_alone_may_be_marked_yet() -> None:
    """A list of messages is no whole request: nobody misses marks in it, but those that it has are looked at."""
    assert codes([user(LONG)]) == []
    assert codes([user(text("", **MARK), text())]) == ["DP602"]


def test_a_text_is_no_request() -> None:
    """DP6 is about requests."""
    assert list(find(subject_of(LONG, "AGENTS.md"), Limits())) == []


def test_with_earlier_requests_nothing_is_guessed_about_them() -> None:
    """A key that stays may be random, and where the request before ended is seen."""
    body = claude(user(text()), assistant(*LINES), user(text(**MARK)), prompt_cache_key="0" * 32, system=LONG)
    newest = subject_of(body, "x")
    assert [finding.code for finding in find(newest, Limits(rules=rules_for(body)))] == ["DP609", "DP606"]
    assert list(find(replace(newest, earlier=(newest,)), Limits(rules=rules_for(body)))) == []


def test_small_cached_content() -> None:
    """What makes cached content for Gemini needs a size of its own, and what names some may be small."""
    body = build_cached_content("Be brief.", model="gemini-3.8-flash").body
    limits = Limits(rules=bundled_facts().rules("gemini", "gemini-3.8-flash"))
    assert [finding.code for finding in find(subject_of(body, "x"), limits)] == ["DP607"]
    named = {"cachedContent": "cachedContents/x", "contents": [{"role": "user", "parts": [{"text": "Go."}]}]}
    assert list(find(subject_of(named, "x"), limits)) == []


# That little is cached, and that an answer came without reasoning, is so whoever builds the request.
TRUE_FACTS = {"DP607", "DP614"}


@pytest.mark.parametrize("to", MODELS)
@examples(4)
@given(data=st.data())
def test_our_own_requests_raise_nothing(to: Target, data: st.DataObject) -> None:
    """Whatever is said and wherever it goes, a request that we build breaks no rule, even if all were large enough."""
    model = data.draw(st.sampled_from(MODELS[to]))
    scene = data.draw(st.one_of(scenes(model.kinds), long_scenes(model.kinds)))
    chosen: Marks = data.draw(st.sampled_from(["auto", ""]))
    try:
        request = build_request(
            scene.prompt, scene.messages(), to=to, model=model.name, tools=scene.tools, marks=chosen, cache_key="us"
        )
    except (MessageError, ToolError):
        return
    assert provider_of(request.body) == to
    # A caller's own marks may leave no place for one where the previous request ended.
    known = TRUE_FACTS | ({"DP606"} if chosen == "" else set())
    for rules in (request.rules, replace(request.rules, minimum=0), None):
        subject = subject_of(request.body, to)
        assert {finding.code for finding in find(subject, Limits(rules=rules))} <= known


TOP = (
    "messages", "system", "tools", "model", "input", "contents", "toolConfig", "cache_control", "prompt_cache_options",
    "thinking", "config",
)  # fmt: skip
WHOSE = (
    ("anthropic", OPUS), ("openai", GPT), ("bedrock", SONNET), ("gemini", "gemini-3.8-flash"),
    ("deepseek", "deepseek-v4-pro"), None,
)  # fmt: skip


@examples(80)
@given(body=st.dictionaries(st.sampled_from(TOP), anything()), rules=st.sampled_from(WHOSE))
def test_a_hostile_body_is_refused_or_judged(body: Body, rules: tuple[str, str] | None) -> None:
    """Whatever a body is, there is a `MessageError` or a list of findings, each in a single line."""
    provider_of(body)
    try:
        subject = subject_of(body, "x")
    except MessageError:
        return
    for finding in find(subject, Limits(rules=bundled_facts().rules(*rules) if rules else None)):
        assert "\n" not in finding.message


def test_a_deep_body_is_refused() -> None:
    """Nesting that cannot be read is an error of the message, wherever it is."""
    deep: Any = "x"
    for _ in range(100_000):
        deep = [deep]
    for body in (
        {"messages": [{"role": "user", "content": deep}]},
        {"tools": [{"a": deep}]},
        {"system": "x", "text": deep},
    ):
        with pytest.raises(MessageError):
            subject_of(body, "x")
