"""The lock: one line a part, what it pins and what it leaves open, what has drifted, and what that costs."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.checks.lock.file import lock_text, read_lock
from deepprompt.checks.lock.lock import LockChange, LockedPart, LockedPrompt, compare_locks, lock_prompt
from deepprompt.checks.lock.review import rewarming
from deepprompt.errors import MessageError, SourceError
from deepprompt.prompt import Pace, Part, Prompt, sha256_hex
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.rules import Rules
from deepprompt.tools import fingerprint
from tests.support.examples import examples

TOOL = {"name": "Read", "description": "Reads.", "input_schema": {"type": "object"}}
PROMPT = Prompt(
    (
        Part("identity", "You are careful.\n", Pace.RELEASE, "deepprompt:base/1.0.0/identity.md"),
        Part("instructions AGENTS.md", "Use tabs.\n", Pace.PROJECT, "file:AGENTS.md"),
        Part("machine", "Linux\n", Pace.SESSION, "machine"),
        Part("boundary", "\n---\n", Pace.TURN, "deepprompt"),
        Part("git", "clean\n", Pace.TURN, "project"),
    ),
    (TOOL,),
)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
PARTS = st.builds(
    LockedPart, TEXTS, st.sampled_from(["release", "turn"]), TEXTS, st.integers(1, 9), st.integers(1, 9), st.just("ab")
)
PROMPTS = st.builds(
    LockedPrompt, TEXTS, TEXTS, st.just("cd"), st.integers(0), st.integers(0), st.lists(PARTS, max_size=3).map(tuple)
)


def test_a_part_is_a_line_with_all_that_pins_it() -> None:
    """Tools come first, as they are sent; what changes with the machine or the turn has nothing but its name."""
    parts = lock_prompt("main", "app:prompt", PROMPT).parts
    assert [(part.part, part.pace, part.version, part.bytes, part.tokens) for part in parts] == [
        ("tools[0] Read", "static", "", 71, 17),
        ("identity", "release", "base/1.0.0", 17, 4),
        ("instructions AGENTS.md", "project", "", 10, 2),
        ("machine", "session", "", 0, 0),
        ("boundary", "turn", "", 0, 0),
        ("git", "turn", "", 0, 0),
    ]
    assert parts[1].sha256 == sha256_hex("You are careful.\n")
    text = lock_text([lock_prompt("main", "app:prompt", PROMPT)])
    assert [line for line in text.split("\n") if "identity" in line] == [
        f'  {{ part = "identity", pace = "release", version = "base/1.0.0", bytes = 17, tokens = 4, '
        f'sha256 = "{parts[1].sha256}" }},'
    ]


def test_the_fingerprint_is_the_one_that_a_runtime_can_compute() -> None:
    """It is that of the static prefix and the tools, where nothing of the prefix is the machine's."""
    prompt = replace(PROMPT, parts=(PROMPT.parts[0], PROMPT.parts[1], *PROMPT.parts[3:]))
    made = lock_prompt("main", "app:prompt", prompt)
    assert made.fingerprint == fingerprint(prompt.static_prefix, prompt.tools).combined
    assert (made.bytes, made.tokens) == (71 + 17 + 10, (71 + 17 + 10) // 4)


VALUES = {
    "text": ("You are careful.", ["text"]),
    "messages": ([{"role": "system", "content": "A"}, {"role": "user", "content": "B"}], ["messages[0].content"]),
    "marked": (
        {
            "model": "claude-opus-5-5",
            "tools": [{"type": "web_search_20260101"}],
            "system": [{"type": "text", "text": "A", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": "B"}],
        },
        ["model", "tools[0] web_search_20260101", "system[0]"],
    ),
}


@pytest.mark.parametrize(("value", "pinned"), VALUES.values(), ids=VALUES)
def test_any_prompt_can_be_locked(value: object, pinned: list[str]) -> None:
    """A text, messages and a request are locked block by block, up to what their last mark ends."""
    assert [part.part for part in lock_prompt("main", "app:prompt", value).parts if part.sha256] == pinned


def body(**changes: object) -> dict[str, object]:
    """A request with one mark."""
    mark = {"cache_control": changes.pop("mark", {"type": "ephemeral"})}
    system = [{"type": "text", "text": "A", **mark}]
    return {"model": "claude-opus-5-5", "system": system, "messages": [{"role": "user", "content": "B"}], **changes}


CHANGED = {
    "model": (body(model="claude-opus-5"), ("model", "claude-opus-5")),
    "lifetime": (body(mark={"type": "ephemeral", "ttl": "1h"}), ("system[0]", "1h")),
    "thinking": (body(thinking={"type": "enabled"}), ("thinking", '{"type":"enabled"}')),
    "choice": (body(tool_choice={"type": "any"}), ("tool_choice", '{"type":"any"}')),
}


@pytest.mark.parametrize(("value", "row"), CHANGED.values(), ids=CHANGED)
def test_a_request_is_locked_with_what_its_cache_depends_on(value: object, row: tuple[str, str]) -> None:
    """Another model, setting or mark is drift, though no text changed; and the costs are those of its own model."""
    locked = lock_prompt("m", "t", body())
    assert locked.model == "anthropic/claude-opus-5-5"
    (found,) = compare_locks([locked], [lock_prompt("m", "t", value)])
    ((_, _, new),) = found.rows
    assert new is not None
    assert (new.part, new.value or new.mark) == row


def test_a_prompt_that_is_none_cannot_be_locked() -> None:
    """What would hold for anything is no lock: an empty list, texts in place of messages, a misspelt field."""
    for value in ([], ["A", "B"], {"sytem": "A", "messages": [{"role": "user", "content": "B"}]}, ""):
        with pytest.raises(MessageError, match=r"^it has no static prefix to lock: no text before the"):
            lock_prompt("m", "t", value)


def test_names_are_the_same_in_every_checkout() -> None:
    """A file below the project's folder is called by its path from there."""
    part = Part("instructions /srv/here/AGENTS.md", "A", Pace.PROJECT, "file:/srv/here/AGENTS.md")
    assert lock_prompt("m", "t", Prompt((part,)), folder="/srv/here").parts[0].part == "instructions AGENTS.md"


@examples(60)
@given(st.lists(PROMPTS, max_size=3))
def test_what_is_written_is_read_again(prompts: list[LockedPrompt]) -> None:
    """Whatever names there are, the file is TOML and gives the same prompts."""
    text = lock_text(prompts)
    tomllib.loads(text)
    assert read_lock(text, "deepprompt.lock") == prompts


DAMAGED = {
    "no TOML": ("lock = ", "deepprompt.lock: not a lock file: Invalid value"),
    "another format": ("lock = 2", "a lock of format 2; this release writes and reads 1"),
    "no format": ("", "a lock of format None"),
    "no parts": (
        'lock = 1\n[[prompt]]\nname = "a"',
        "damaged: prompt 1: no target, fingerprint, bytes, tokens, parts;",
    ),
    "not a number": ('lock = 1\n[[prompt]]\nbytes = "x"\nparts = []', "damaged: prompt 1: bytes is 'x'; prompt 1: no "),
    "an unknown field": ("lock = 1\n[[prompt]]\nfrob = 'x'\nparts = []", "damaged: prompt 1: 'frob' is no field of a "),
    "everything": (
        "lock = 1\n[[prompt]]\nname = 1\ntarget = ''\nfingerprint = ''\nbytes = 1\ntokens = true\n"
        "parts = [3, {part = 1}]",
        "damaged: prompt 1, part 1 is 3, not a table; prompt 1, part 2: part is 1; prompt 1, part 2: no pace; "
        "prompt 1: name is 1; prompt 1: tokens is True; restore it, or delete it and run 'deepprompt lock'",
    ),
    "too much": (
        "lock = 1\n" + "[[prompt]]\n" * 10,
        "; prompt 8: no name, target, fingerprint, bytes, tokens, parts; and 2 more;",
    ),
    "prompts that are none": ("lock = 1\nprompt = 3", "damaged: prompt is 3, not a list of tables; restore it"),
}


@pytest.mark.parametrize(("text", "message"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_lock_is_an_error(text: str, message: str) -> None:
    """Nothing in the file is taken on trust, and the message says what to do."""
    with pytest.raises(SourceError) as error:
        read_lock(text, "deepprompt.lock")
    assert message in str(error.value)


def drift(*new: Part, tools: tuple[Mapping[str, object], ...] = (TOOL,)) -> LockChange:
    """What becomes of PROMPT when its parts are others."""
    (found,) = compare_locks([lock_prompt("m", "t", PROMPT)], [lock_prompt("m", "t", Prompt(new, tools))])
    return found


def test_nothing_has_drifted() -> None:
    """The same prompt twice is no drift; neither is another state of the machine or the turn."""
    moved = replace(PROMPT, parts=(*PROMPT.parts[:2], replace(PROMPT.parts[2], text="Mac"), *PROMPT.parts[3:]))
    assert compare_locks([lock_prompt("m", "t", PROMPT)], [lock_prompt("m", "t", moved)]) == []


def test_each_kind_of_change_has_its_sign() -> None:
    """A changed part, one that is new, one that is gone, and one that only stands elsewhere."""
    identity, instructions, machine, *turn = PROMPT.parts
    changed = drift(replace(identity, text="You are bold.\n"), instructions, machine, *turn)
    assert [(sign, (new or old).part) for sign, old, new in changed.rows if new or old] == [("~", "identity")]  # type: ignore[union-attr]
    added = drift(identity, instructions, Part("skills", "A", Pace.PROJECT, ""), machine, *turn)
    assert [(sign, new.part) for sign, _, new in added.rows if new] == [("+", "skills")]
    gone = drift(identity, machine, *turn)
    assert [(sign, old.part) for sign, old, _ in gone.rows if old] == [("-", "instructions AGENTS.md")]
    other = Part("rules", "B", Pace.PROJECT, "")
    old = lock_prompt("m", "t", Prompt((identity, instructions, other)))
    new = lock_prompt("m", "t", Prompt((identity, other, instructions)))
    (elsewhere,) = compare_locks([old], [new])
    assert [(sign, new.part) for sign, _, new in elsewhere.rows if new] == [
        (">", "rules"),
        (">", "instructions AGENTS.md"),
    ]


def test_new_and_gone_prompts_are_drift() -> None:
    """A prompt without a lock, and a lock without a prompt."""
    a, b = lock_prompt("a", "t", "A"), lock_prompt("b", "t", "B")
    assert compare_locks([a], [b]) == [LockChange("b", None, b), LockChange("a", a, None)]


def large(*texts: tuple[str, int, Pace]) -> LockedPrompt:
    """A prompt whose parts have so many tokens."""
    return lock_prompt("m", "t", Prompt(tuple(Part(n, n * 4 * count, pace, "") for n, count, pace in texts)))


OLD = large(("a", 3000, Pace.RELEASE), ("b", 1000, Pace.PROJECT), ("c", 500, Pace.PROJECT))
COSTS = {
    "an entry ends where the pace changes": ("anthropic", "claude-opus-5-5", 3000, 1500, 1500 * 1.2),
    "the longest prefix": ("gemini", "gemini-2.5-pro", 4000, 500, 500 * 0.9),
    "whole units": ("deepseek", "deepseek-v4-pro", 0, 4500, 4500 * (1 - 0.033)),
}


@pytest.mark.parametrize(("provider", "model", "kept", "written", "cost"), COSTS.values(), ids=COSTS)
def test_what_filling_a_cache_again_costs(provider: str, model: str, kept: int, written: int, cost: float) -> None:
    """A change in the last part costs what the provider's own rules make of it."""
    new = large(("a", 3000, Pace.RELEASE), ("b", 1000, Pace.PROJECT), ("d", 500, Pace.PROJECT))
    (found,) = compare_locks([OLD], [new])
    assert found.same == 4000
    rules = bundled_facts().rules(provider, model)
    result = rewarming(found, rules)
    assert (result.kept, result.written, result.why_none) == (kept, written, "")
    assert result.cost == pytest.approx(cost, rel=0.06)


def marked_body(end: str, mark: object) -> dict[str, object]:
    """A request with two blocks, a mark on the first, or none."""
    first = {"type": "text", "text": "a" * 12_000} | ({"cache_control": mark} if mark else {})
    blocks = [first, {"type": "text", "text": end * 4_000, "cache_control": mark}] if mark else [first]
    return {"model": "claude-opus-5-5", "system": blocks, "messages": [{"role": "user", "content": "Hi"}]}


def test_what_a_request_costs_goes_by_its_own_marks() -> None:
    """What stands before a mark that is still there can be read; without any mark each request pays in full."""
    mark = {"type": "ephemeral"}
    old = lock_prompt("m", "t", marked_body("b", mark))
    rules = bundled_facts().rules("anthropic", "claude-opus-5-5")
    (found,) = compare_locks([old], [lock_prompt("m", "t", marked_body("c", mark))])
    assert (rewarming(found, rules).kept, rewarming(found, rules).written) == (3000, 1000)
    (found,) = compare_locks([old], [lock_prompt("m", "t", marked_body("b", None))])
    lost = rewarming(found, rules)
    assert (lost.kept, lost.written, lost.why_none) == (0, 0, "")
    assert lost.why_full == "without a mark nothing is cached"
    assert lost.cost == pytest.approx(3000 * 0.95, rel=0.01)


def test_what_became_too_short_costs_each_time() -> None:
    """A prompt that was cached and is now below the minimum is written no more: each request pays in full."""
    rules = Rules("p", "m", "2026-11-15", True, caching="automatic", minimum=1000, read_price=0.1)
    (found,) = compare_locks([OLD], [large(("x", 100, Pace.RELEASE))])
    lost = rewarming(found, rules)
    assert (lost.kept, lost.written, lost.why_full) == (0, 0, "fewer than 1,000 tokens are not cached")
    assert lost.cost == pytest.approx(90)


def test_where_nothing_is_cached_nothing_is_lost() -> None:
    """Below the minimum, without a cache, and where only the name of the target changed."""
    rules = Rules("p", "m", "2026-11-15", True, caching="automatic", minimum=5000)
    (found,) = compare_locks([OLD], [large(("x", 10, Pace.RELEASE))])
    assert rewarming(found, rules).why_none == "was not cached: 4,500 tokens of at least 5,000"
    assert rewarming(found, replace(rules, caching="none", minimum=0)).written == 0
    assert rewarming(found, replace(rules, minimum=0)).written == 10
    (renamed,) = compare_locks([OLD], [replace(OLD, target="other")])
    assert rewarming(renamed, replace(rules, minimum=0)).why_none == "what is sent before the last mark is the same"
    assert rewarming(LockChange("m", None, OLD), rules).cost == 0.0
