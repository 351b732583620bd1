"""What a session records of its responses: a verdict on each, saved as it was and read back only if it is that."""

from __future__ import annotations

import copy
import json
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from deepprompt import Prompt, Session, Usage
from deepprompt.errors import SessionError, UsageError
from deepprompt.prompt import sha256_hex
from deepprompt.providers.facts import bundled_facts
from deepprompt.session.record import Recorded, Verdict, judge, read_recorded
from tests.support.recorder import sdk
from tests.support.sessions import GPT, LLAMA, OPUS, SONNET, answer, make, saved


def anthropic_answer(read: int, total: int, **beside: Any) -> dict[str, Any]:
    """An answer of Anthropic's with so many tokens read, of all."""
    usage = {
        "input_tokens": total - read,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": 0,
        "output_tokens": 5,
    }
    return {"type": "message", "role": "assistant", "content": [], "usage": usage, **beside}


def openai_answer(read: int, total: int, **beside: Any) -> dict[str, Any]:
    """An answer of OpenAI's Responses."""
    details = {"cached_tokens": read, "cache_write_tokens": 0}
    usage = {"input_tokens": total, "input_tokens_details": details, "output_tokens": 5}
    return {"object": "response", "usage": usage, **beside}


def anthropic_says(word: str) -> dict[str, Any]:
    """A miss, and why, as Anthropic's diagnostics have it."""
    reason = {"type": word, "cache_missed_input_tokens": 2000}
    return anthropic_answer(0, 2200, diagnostics={"cache_miss_reason": reason})


def openai_says(word: str) -> dict[str, Any]:
    """A miss, and why, as OpenAI's diagnostics have it."""
    return openai_answer(
        0, 2200, prompt_cache_diagnostics={"type": "cache_miss", "reason": word, "cache_missed_tokens": 2000}
    )


def asked(target: dict[str, Any] = OPUS, size: int = 8000, at: float | None = 0.0, **options: Any) -> Session:
    """A session with two requests, the first of them recorded."""
    session = Session(make())
    session.user("1" * size)
    session.request(**target, **options)
    assert session.record(Usage(input=2100), at=at).kind == "cold start"
    session.append(answer("Yes."))
    session.user("2" * 100)
    session.request(**target, **options)
    return session


MISS = Usage(input=2200)
FACTS = f"facts of {bundled_facts().as_of}"


def test_a_hit() -> None:
    """By an answer, an SDK's object, its usage alone, or numbers; and how much was expected."""
    usage = SimpleNamespace(
        input_tokens=100, output_tokens=5, cache_read_input_tokens=2000, cache_creation_input_tokens=0
    )
    for said_so in (
        anthropic_answer(2000, 2100),
        anthropic_answer(2000, 2100)["usage"],
        SimpleNamespace(usage=usage, diagnostics=None),
        usage,
        Usage(input=2100, cached_read=2000),
    ):
        verdict = asked().record(said_so, at=1.0)
        assert (verdict.kind, verdict.detail) == ("hit", "the earlier request was read from the cache")
        assert verdict.read == pytest.approx(0.95, abs=0.01)
        assert verdict.expected == pytest.approx(0.98, abs=0.02)
        assert verdict.blame is None
    assert str(asked().record(Usage(input=100, cached_read=90))) == (
        "hit: the earlier request was read from the cache (90% of the input read, 99% expected)"
    )


def test_a_cold_start() -> None:
    """Nothing was sent before, or not on this prefix; what another session left there is a hit all the same."""
    session = Session(make())
    session.user("1" * 8000)
    session.request(**OPUS)
    assert session.record(MISS) == Verdict("cold start", "nothing was sent before", 0.0, 0.0)
    shared = session.record(Usage(input=2200, cached_read=1000))
    assert (shared.kind, shared.detail) == ("hit", "an entry of another request was read from the cache")
    session.new_epoch(make(base="Other."))
    session.user("2")
    session.request(**OPUS)
    assert session.record(MISS) == Verdict(
        "cold start", "epoch 2 began, with a new prefix that no cache has yet", 0.0, 0.0
    )
    assert session.record(Usage()) == Verdict(
        "cold start", "epoch 2 began, with a new prefix that no cache has yet", 0.0, 0.0
    )


def test_nothing_to_record() -> None:
    """Without a request, and without a usage."""
    session = Session(make())
    with pytest.raises(SessionError) as refused:
        session.record(MISS)
    assert str(refused.value) == "no request was made yet: call request() first"
    session.user("Hi")
    session.request(**OPUS)
    with pytest.raises(UsageError):
        session.record({"id": "msg_1"})


# How long after the first request the second was started, with what lifetimes, and what a miss is then.
TIMES: dict[str, tuple[dict[str, Any], float | None, dict[str, str], str, str]] = {
    "in time": (OPUS, 300.0, {}, "provider", "this request begins with the earlier one, in time and long enough, "),
    "too late": (OPUS, 301.0, {}, "expired", "this request came 301 s after the last one, and an entry lives 5m"),
    "an hour is longer": (OPUS, 3600.0, {"lifetime": "1h"}, "provider", "this request begins with the earlier one"),
    "and ends too": (
        OPUS,
        3601.5,
        {"lifetime": "1h"},
        "expired",
        "this request came 3,602 s after the last one, and an entry lives 1h",
    ),
    "of the conversation": (
        OPUS,
        400.0,
        {"prefix_lifetime": "1h"},
        "expired",
        "this request came 400 s after the last one",
    ),
    "not said": (
        OPUS,
        None,
        {},
        "unknown",
        "this request begins with the earlier one, but perhaps too late: an entry lives 5m; ",
    ),
    "openai": (GPT, 1801.0, {}, "expired", "this request came 1,801 s after the last one, and an entry lives 30m"),
    "without marks": (
        {**GPT, "model": "gpt-5.5"},
        90000.0,
        {},
        "expired",
        "this request came 90,000 s after the last one",
    ),
    "nobody says": ({"to": "deepseek", "model": "deepseek-v4-pro"}, None, {}, "provider", "this request begins with"),
}


@pytest.mark.parametrize(("target", "at", "options", "kind", "detail"), TIMES.values(), ids=TIMES)
def test_a_lifetime(target: dict[str, Any], at: float | None, options: Any, kind: str, detail: str) -> None:
    """An entry lives from the start of the request that wrote it; what nobody knows is not guessed."""
    verdict = asked(target, 16000, **options).record(Usage(input=4300), at=at)
    assert (verdict.kind, verdict.detail[: len(detail)]) == (kind, detail)
    assert (verdict.read, verdict.blame) == (0.0, None)
    assert verdict.expected > 0.9


def test_a_time_that_was_not_recorded() -> None:
    """Only the request right before counts; one whose start is not known leaves it open."""
    session = asked(at=None)
    assert session.record(MISS, at=10.0).kind == "unknown"
    session.user("3")
    session.request(**OPUS)
    assert session.record(MISS, at=20.0).kind == "provider"
    session.user("4")
    session.request(**OPUS)
    session.user("5")
    session.request(**OPUS)
    assert session.record(MISS, at=1000.0).kind == "unknown"


def test_a_resumed_session_knows_when_it_was_sent(tmp_path: Path) -> None:
    """So a miss in the morning is the night's doing, and no cold start."""
    session = asked()
    session.record(Usage(input=2200, cached_read=2100), at=100.0)
    session.append(answer("Yes."))
    session = saved(session, tmp_path / "s")
    with pytest.raises(SessionError, match="no request was made yet"):
        session.record(MISS)
    session.user("Good morning.")
    session.request(**OPUS)
    verdict = session.record(MISS, at=30_000.0)
    assert (verdict.kind, verdict.detail) == (
        "expired",
        "this request came 29,900 s after the last one, and an entry lives 5m",
    )
    assert verdict.expected > 0.9
    assert saved(session, tmp_path / "s").request(**OPUS) == session.request(**OPUS)


def test_too_small() -> None:
    """Below the minimum nothing is kept, or below what is counted in."""
    verdict = asked(size=80).record(Usage(input=200), at=1.0)
    detail = f"the earlier request was too short: anthropic caches nothing below 512 tokens ({FACTS})"
    assert (verdict.kind, verdict.detail, verdict.expected) == ("below minimum", detail, 0.0)
    verdict = asked({**GPT, "model": "gpt-5.5"}, 6000).record(Usage(input=1700), at=1.0)
    detail = f"the earlier request was too short: openai caches nothing below 2,048 tokens ({FACTS})"
    assert (verdict.kind, verdict.detail) == ("below minimum", detail)


def test_what_is_read_is_made_of_whole_units() -> None:
    """Where these are large, one less than expected is still all that could be read."""
    session = asked({**GPT, "model": "gpt-5.5"}, 17000)
    assert session.record(Usage(input=4500, cached_read=2048), at=1.0).kind == "hit"
    session = asked(OPUS, 17000)
    assert session.record(Usage(input=4500, cached_read=2048), at=1.0).kind == "provider"


def test_another_model() -> None:
    """It has nothing of the conversation, and that was our choice."""
    for target in (SONNET, GPT):
        session = asked()
        session.request(**target)
        verdict = session.record(MISS, at=1.0)
        name = f"{target['to']}, {target['model']}"
        assert (verdict.kind, verdict.detail) == (
            "ours",
            f"the first request to {name}: the caches of other models are of no use to it",
        )
        verdict = judge(asked().request(**OPUS), session.request(**target), MISS, elapsed=1.0)
        assert (verdict.kind, verdict.detail) == (
            "ours",
            f"the first request to {name}: the caches of other models are of no use to it",
        )
        assert (verdict.expected, verdict.blame) == (0.0, None)
    session.request(**OPUS)
    assert session.record(MISS, at=1.0).kind == "provider"


# What the caller does to a request on its way, and what is to blame for a miss then.
ON_THE_WAY: dict[str, tuple[dict[str, Any], str | None]] = {
    "max_tokens": ({"max_tokens": 9}, None),
    "thinking": ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "thinking"),
    "tool_choice": ({"tool_choice": {"type": "any"}}, "tool_choice"),
    "a tool": ({"tools": [{"name": "Zeta", "input_schema": {"type": "object"}}]}, "tools"),
    "the system prompt": ({"system": [{"type": "text", "text": "It is 12:00."}]}, "system"),
}


@pytest.mark.parametrize(("change", "blamed"), ON_THE_WAY.values(), ids=ON_THE_WAY)
def test_what_was_changed_on_the_way(change: dict[str, Any], blamed: str | None) -> None:
    """What matters to the cache is ours, and it says which part; what does not is not."""
    session = asked()
    session.append(answer("Yes."))
    session.user("3")
    session.request(**OPUS).body.update(copy.deepcopy(change))
    verdict = session.record(MISS, at=1.0)
    if blamed is None:
        assert verdict.blame is None
        assert verdict.kind == "unknown"
    else:
        assert verdict.kind == "ours"
        assert verdict.blame is not None
        assert verdict.blame.place.startswith(blamed)
        where = verdict.blame.source or verdict.blame.place
        assert verdict.detail == f"{verdict.blame.why}: {where}; from there on nothing is in the cache"


def test_another_cache_key() -> None:
    """OpenAI keeps them apart, so it is ours."""
    session = asked(GPT, cache_key="us")
    session.append(answer("Yes."))
    session.user("3")
    session.request(**GPT, cache_key="them")
    verdict = session.record(MISS, at=1.0)
    assert verdict.kind == "ours"
    assert verdict.blame is not None
    assert verdict.blame.source == "prompt_cache_key"


def test_nothing_was_asked_to_be_cached() -> None:
    """Where only marks are cached, a request without any leaves nothing."""
    verdict = asked(marks="none").record(MISS, at=1.0)
    detail = "the earlier request had no marks, so nothing was cached"
    assert (verdict.kind, verdict.detail, verdict.expected) == ("ours", detail, 0.0)


def test_a_provider_that_caches_nothing() -> None:
    """That is the provider's doing, if the facts know the model; if not, nobody knows."""
    verdict = asked(LLAMA).record(MISS, at=1.0)
    assert (verdict.kind, verdict.expected) == ("unknown", 0.0)
    assert verdict.detail == f"bedrock caches nothing of {LLAMA['model']} ({FACTS})"
    own = {"providers": {"bedrock": {"models": [{"names": [LLAMA["model"]], "caching": "none"}]}}}
    facts = bundled_facts().overlaid(own, "mine")
    assert asked(LLAMA, facts=facts).record(MISS, at=1.0).kind == "provider"


# What Anthropic and OpenAI say themselves, and what it means.
SAID: dict[str, tuple[dict[str, Any], str, str]] = {
    "anthropic's model": (anthropic_says("model_changed"), "ours", "the provider says: the model or its speed changed"),
    "anthropic's system": (anthropic_says("system_changed"), "ours", "the provider says: the system prompt changed"),
    "anthropic's tools": (anthropic_says("tools_changed"), "ours", "the provider says: the tools changed"),
    "anthropic's messages": (
        anthropic_says("messages_changed"),
        "ours",
        "the provider says: an earlier message changed",
    ),
    "anthropic does not know": (
        anthropic_says("previous_message_not_found"),
        "unknown",
        "this request begins with the earlier one, and the provider says only: previous message not found",
    ),
    "anthropic cannot say": (
        anthropic_says("unavailable"),
        "unknown",
        "this request begins with the earlier one, and the provider says only: unavailable",
    ),
    "anthropic is not done": (anthropic_answer(0, 2200, diagnostics={"cache_miss_reason": None}), "provider", ""),
    "anthropic was not asked": (anthropic_answer(0, 2200, diagnostics=None), "provider", ""),
    "anthropic's stream": (
        {"type": "message_start", "message": anthropic_says("tools_changed")},
        "ours",
        "the provider says: the tools changed",
    ),
    "openai's stream": (
        {"type": "response.completed", "response": openai_says("input_changed")},
        "ours",
        "the provider says: the input changed",
    ),
    "openai cannot say": (
        openai_answer(0, 2200, prompt_cache_diagnostics={"type": "unavailable"}),
        "unknown",
        "this request begins with the earlier one, and the provider says only: unavailable",
    ),
    "openai says it was read": (
        openai_answer(400, 2200, prompt_cache_diagnostics={"type": "cache_hit"}),
        "hit",
        "the earlier request was read from the cache",
    ),
    "a reason that is new": (
        openai_says("weather_changed"),
        "unknown",
        "this request begins with the earlier one, and the provider says only: weather changed",
    ),
} | {
    f"openai's {reason}": (openai_says(f"{reason}_changed"), "ours", f"the provider says: {what} changed")
    for reason, what in {
        "model": "the model or its speed",
        "prompt_cache_key": "the prompt_cache_key",
        "tools": "the tools",
        "text_format": "the format of the answer",
        "reasoning_effort": "the reasoning effort",
        "verbosity": "the verbosity",
        "input": "the input",
        "service_tier": "the service tier",
    }.items()
}


@pytest.mark.parametrize(("answered", "kind", "detail"), SAID.values(), ids=SAID)
def test_what_the_provider_says(answered: dict[str, Any], kind: str, detail: str) -> None:
    """It counts before our own comparison; where it knows nothing, ours is all there is."""
    verdict = asked().record(answered, at=1.0)
    assert (verdict.kind, verdict.detail[: len(detail)]) == (kind, detail)


def test_what_the_provider_says_beside_what_we_know() -> None:
    """A diagnosis that could not be made does not hide our own, and one that was made has the place beside it."""
    for word, told_by_provider in (("unavailable", False), ("system_changed", True)):
        session = asked()
        session.append(answer("Yes."))
        session.user("3")
        session.request(**OPUS).body["system"] = [{"type": "text", "text": "You are a pirate."}]
        verdict = session.record(anthropic_says(word), at=1.0)
        assert verdict.kind == "ours"
        assert verdict.detail.startswith("the provider says: ") == told_by_provider
        assert verdict.blame is not None
        assert verdict.blame.place == "system[0]"
    assert asked().record(anthropic_says("unavailable"), at=400.0).kind == "expired"


@pytest.mark.slow
def test_answers_of_the_real_sdks() -> None:
    """Their own objects are read, diagnostics and all."""
    message = sdk("anthropic.types").Message.model_validate(
        {"id": "msg_1", "model": "claude-opus-5-5", "stop_reason": "end_turn", "stop_sequence": None}
        | anthropic_says("tools_changed")
    )
    assert asked().record(message).detail == "the provider says: the tools changed"
    diagnostics = sdk("openai.types.responses.response").PromptCacheDiagnosticsCacheMiss.model_validate(
        {"type": "cache_miss", "reason": "verbosity_changed", "cache_missed_tokens": 9}
    )
    response = SimpleNamespace(usage=openai_answer(0, 2200)["usage"], prompt_cache_diagnostics=diagnostics)
    assert asked().record(response).detail == "the provider says: the verbosity changed"


ONE = Recorded("anthropic", "m", 3, 120, Usage(130, 100, {"5m": 20}, 7), "hit", "it was read", 12.5)

DAMAGED: tuple[Any, ...] = (
    [],
    ["anthropic"],
    ["anthropic", 1, 3, 120, [130, 100, {}, 7], "hit", "", None],
    ["anthropic", "m", -3, 120, [130, 100, {}, 7], "hit", "", None],
    ["anthropic", "m", True, 120, [130, 100, {}, 7], "hit", "", None],
    ["anthropic", "m", 3, 1.5, [130, 100, {}, 7], "hit", "", None],
    ["anthropic", "m", 3, 120, [1, 100, {}, 7], "hit", "", None],
    ["anthropic", "m", 3, 120, [130], "hit", "", "now"],
    5,
)


def test_a_row_is_read_back() -> None:
    """What is saved is what was recorded, through JSON."""
    assert read_recorded(json.loads(json.dumps(ONE.row()))) == ONE


@pytest.mark.parametrize("row", DAMAGED, ids=str)
def test_a_damaged_session_is_not_loaded(tmp_path: Path, row: Any) -> None:
    """A record that is none is the error of a damaged session, never a traceback."""
    session = Session(Prompt(()))
    session.save(tmp_path / "session")
    state = json.loads((tmp_path / "session").read_text())["session"] | {"recorded": [row]}
    text = json.dumps(state, separators=(",", ":"))
    (tmp_path / "session").write_text(f'{{"sha256":"{sha256_hex(text)}","session":{text}}}\n')
    with pytest.raises(SessionError, match="damaged"):
        Session.load(tmp_path / "session")


def test_a_session_of_before_there_were_records(tmp_path: Path) -> None:
    """A session that was saved without records loads with none."""
    session = Session(Prompt(()))
    session.save(tmp_path / "session")
    state = json.loads((tmp_path / "session").read_text())["session"]
    del state["recorded"]
    text = json.dumps(state, separators=(",", ":"))
    (tmp_path / "session").write_text(f'{{"sha256":"{sha256_hex(text)}","session":{text}}}\n')
    assert Session.load(tmp_path / "session").recorded == []


@pytest.mark.parametrize("at", [datetime(2026, 11, 17, tzinfo=UTC), "10:00", True])
def test_a_time_that_is_none(at: Any) -> None:
    """A request starts at a number of seconds; anything else is refused, and nothing is recorded."""
    session = asked(OPUS, 100)
    before = list(session.recorded)
    with pytest.raises(SessionError) as found:
        session.record(Usage(input=10), at=at)
    assert str(found.value) == f"at is a number of seconds, such as time.time(), not {type(at).__name__}"
    assert session.recorded == before


def test_edits_of_the_context_are_named() -> None:
    """What Anthropic cleared because context editing was asked for is the cause, and not the provider."""
    session = Session("A long rule. " * 400)
    session.user("One.")
    session.request(**OPUS)
    session.append({"role": "assistant", "content": "Yes."})
    session.user("Two.")
    session.request(**OPUS)
    edit = {"type": "clear_tool_uses_20250919", "cleared_tool_uses": 12, "cleared_input_tokens": 5400}
    usage = {"input_tokens": 9, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 1500, "output_tokens": 1}
    verdict = session.record({"usage": usage, "context_management": {"applied_edits": [edit]}}, at=2.0)
    assert (verdict.kind, verdict.detail) == (
        "ours",
        "the provider edited the context, as you asked: 12 tool uses, 5,400 input tokens cleared, "
        "and everything after that is new to it",
    )


# Usages that say nothing of the cache: of an engine without the flag, of smolagents, of an old SDK.
SILENT: dict[str, tuple[dict[str, Any], object]] = {
    "vllm": ({**GPT, "model": "gpt-5.5"}, {"prompt_tokens": 4300, "completion_tokens": 5}),
    "smolagents": (OPUS, SimpleNamespace(input_tokens=4300, output_tokens=5)),
    "nulls": (OPUS, {"input_tokens": 4300, "output_tokens": 5, "cache_read_input_tokens": None}),
    "unknown names": (OPUS, {"input_tokens": 4300, "output_tokens": 5, "tokens_from_cache": 4000}),
}


@pytest.mark.parametrize(("target", "usage"), SILENT.values(), ids=SILENT)
@pytest.mark.parametrize("at", [None, 1.0, 90_000.0])
def test_a_usage_that_does_not_say_is_unknown_and_not_zero(
    target: dict[str, Any], usage: object, at: float | None, tmp_path: Path
) -> None:
    """Neither the provider nor the clock is blamed for what nobody knows; also after a save."""
    session = asked(target, 16000)
    verdict = session.record(usage, at=at)
    assert (verdict.kind, verdict.read) == ("unknown", None)
    assert str(verdict) == (
        "unknown: the usage does not say what was read from the cache "
        f"(no word on what was read, {verdict.expected:.0%} expected)"
    )
    assert not session.recorded[-1].usage.tells_cache
    assert saved(session, tmp_path / "s").recorded == session.recorded


def test_what_the_requests_alone_say_does_not_need_a_usage() -> None:
    """A cold start is one, and so is another model."""
    silent = {"input_tokens": 4300, "output_tokens": 5}
    session = Session(make())
    session.user("Hi")
    session.request(**OPUS)
    assert session.record(silent).kind == "cold start"
    session.request(**GPT)
    assert session.record({"prompt_tokens": 9, "completion_tokens": 1}).kind == "ours"
