"""DP7: each rule by conversations that break it and conversations that do not, then our own and hostile ones."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import Pace, Part, Prompt, Request, Session
from deepprompt.checks.lint.dp7_turns import RULES, find
from deepprompt.checks.lint.findings import Finding, Limits
from deepprompt.checks.lint.subjects import subjects_of_requests
from deepprompt.errors import MessageError
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY as BOUNDARY
from deepprompt.providers.facts import bundled_facts
from deepprompt.words import Target
from tests.support.bodies import (
    BREAK,
    FUNCTION,
    GPT,
    HOUR,
    LONG,
    MARK,
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
from tests.support.growing import as_prompt, outcome
from tests.support.models import MODELS

GO, YES, MORE = user(text(**MARK)), assistant("Yes."), user(text("More.", **MARK))
UNMARKED = user(text())
PIXEL: Body = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aa"}}
OTHER: Body = {"name": "list", "input_schema": {"type": "object"}}
LONG_RESULT = "\n".join(f"row {number}: a boat" for number in range(40))
LINES = [text(f"line {number}") for number in range(25)]
KEYED: Body = {"name": "look", "input_schema": {"type": "object", "properties": {}}}
REKEYED: Body = {"input_schema": {"properties": {}, "type": "object"}, "name": "look"}
SPOKEN: Body = {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm."}
EXPLICIT: Body = {"prompt_cache_options": {"mode": "explicit"}}
PLAIN_GPT = [user("Go."), assistant("Yes."), user("More.")]
DATED = "facts of 2026-11-18"
TWO = "requests 1 and 2"


def at(seconds: float, body: Body) -> Body:
    """A request with its time."""
    return {"body": body, "at": seconds}


def told(said: str) -> Body:
    """A request whose system prompt says something behind what it always says."""
    return claude(UNMARKED, YES, MORE, system=[text(f"{LONG}\n{said}", **MARK)])


def first_told(said: str) -> Body:
    """The first request of a conversation with such a system prompt."""
    return told(said) | {"messages": [GO]}


def found(*recorded: Body, known: bool = True) -> list[Finding]:
    """What DP7 says of some requests."""
    newest = subjects_of_requests(recorded, "log.jsonl")
    return list(find(newest, Limits(rules=rules_for(newest.body) if known else None)))


# Requests in order, and where and what is found.
BROKEN: list[tuple[str, tuple[Body, ...], str, str]] = [
    ("DP701", (claude(GO, tools=[TOOL]), claude(UNMARKED, YES, MORE, tools=[TOOL, OTHER])), "tools[1] list",
     f"{TWO}: a tool was added: tools[1] list"),
    ("DP701", (claude(GO, tools=[OTHER, TOOL]), claude(UNMARKED, YES, MORE, tools=[TOOL])), "tools[0] list",
     f"{TWO}: a tool was removed: tools[0] list"),
    ("DP702", (claude(GO, tools=[TOOL | {"description": "Looks."}]),
               claude(UNMARKED, YES, MORE, tools=[TOOL | {"description": "Stares."}])), "tools[0] look",
     f"{TWO}: a tool's definition changed: tools[0] look: description, line 1"),
    ("DP703", (claude(GO, tools=[TOOL, OTHER]), claude(UNMARKED, YES, MORE, tools=[OTHER, TOOL])), "tools[0] list",
     f"{TWO}: the same tools are in another order: tools[0] list"),
    ("DP704", (claude(GO, tools=[KEYED]), claude(UNMARKED, YES, MORE, tools=[REKEYED])), "tools[0] look",
     f"{TWO}: the same JSON has its keys in another order: tools[0] look"),
    ("DP705", (claude(GO), claude(UNMARKED, YES, MORE, model="claude-haiku-5-5")), "model",
     f"{TWO}: model changed from claude-opus-5-5 to claude-haiku-5-5"),
    ("DP706", (claude(GO, output_config={}), claude(UNMARKED, YES, MORE, output_config={"effort": "high"})),
     "output_config", f"{TWO}: output_config changed"),
    ("DP706", (gpt(user("Go.")), gpt(*PLAIN_GPT, reasoning_effort="high")), "reasoning_effort",
     f"{TWO}: reasoning_effort is new"),
    ("DP706", (gpt(user("Go."), service_tier="flex"), gpt(*PLAIN_GPT)), "service_tier", f"{TWO}: service_tier is gone"),
    ("DP707", (claude(GO), claude(UNMARKED, YES, MORE, tool_choice={"type": "any"})), "tool_choice",
     f"{TWO}: tool_choice is new"),
    ("DP707", (claude(GO), claude(UNMARKED, YES, user(PIXEL, text(**MARK)))), "messages[2].content[0]",
     f"{TWO}: the first image was added or the last one removed, so no message can be read: "
     "messages[2].content[0]"),
    ("DP708", (claude(user("Go."), assistant(use()), user(result(LONG_RESULT, **MARK))),
               claude(user("Go."), assistant(use()), user(result(LONG_RESULT[:40])), YES, MORE)),
     "messages[2].content[0]", f"{TWO}: one of the two is truncated: messages[2].content[0], line 3"),
    ("DP708", (claude(user("Go."), assistant(use()), user(result(LONG_RESULT)), YES, GO),
               claude(user("Go."), assistant(use()), user(result("[cleared]")), YES, UNMARKED, YES, MORE)),
     "messages[2].content[0]", f"{TWO}: one of the two is truncated: messages[2].content[0], line 1"),
    ("DP709", (claude(user("Go."), assistant(THOUGHT, text("Yes.")), GO),
               claude(user("Go."), assistant(text("Yes.")), UNMARKED, YES, MORE)), "messages[1].content[0]",
     f"{TWO}: something that was sent is missing: messages[1].content[0]"),
    ("DP709", ({"model": "deepseek-v4-pro", "messages": [user("Go."), SPOKEN, user("On.")]},
               {"model": "deepseek-v4-pro", "messages": [user("Go."), YES, user("On."), YES, user("More.")]}),
     "messages[1].reasoning_content", f"{TWO}: something that was sent is missing: messages[1].reasoning_content"),
    ("DP710", (claude(user(text("Go.", **MARK))), claude(user(text("Go. And then look.", **MARK)), YES, MORE)),
     "messages[0].content[0]", f"{TWO}: a message was extended in place; append a new one: messages[0].content[0], "
     "line 1"),
    ("DP711", (gpt(user("Go.")), gpt(user("Go."), YES, user(text(**BREAK)), **EXPLICIT)), "prompt_cache_options",
     f"{TWO}: implicit mode, then explicit, and no mark where the earlier ended"),
    ("DP711", (gpt(user(text(**BREAK), text("Hm.")), **EXPLICIT), gpt(user(text(), text("Hm.")), YES, user("More."))),
     "prompt_cache_options", f"{TWO}: explicit mode, then implicit, and no mark where the earlier ended"),
    ("DP712", (gpt(user("Go."), prompt_cache_key="a"), gpt(*PLAIN_GPT, prompt_cache_key="b")), "prompt_cache_key",
     f"{TWO}: prompt_cache_key changed"),
    ("DP713", (claude(GO), claude(UNMARKED, assistant(*LINES), MORE)), "messages[0].content[0]",
     f"{TWO}: 26 positions were added behind messages[0].content[0]; anthropic ({OPUS}, {DATED}) looks back 20"),
    ("DP713", (gpt(user("Go.")), gpt(user("Go."), YES, *[user("More.")] * 21)), "messages[1].content",
     f"{TWO}: 21 messages were added behind messages[1].content; openai ({GPT}, {DATED}) looks back 20"),
    ("DP714", (at(0, claude(GO)), at(301, claude(UNMARKED, YES, MORE))), "messages[0].content[0]",
     f"{TWO}: 301 s lie between their starts; an entry of anthropic ({OPUS}, {DATED}) lives 5m"),
    ("DP715", (at(0, claude(GO)), at(0.4, claude(user("Look."))), at(0.9, claude(user("List.")))), "system[0]",
     "requests 1, 2 and 3 start at once and share 4,200 tokens: each pays for them"),
    ("DP716", (first_told("Be brief."), told("Be kind to all who ask.")), "system[0]",
     f"{TWO}: the text was edited: system[0], line 2"),
    ("DP716", (first_told("It is 10:22."), told("It is 10:23.") | {"messages": [user("Another question.")]}),
     "system[0]", f"{TWO}: a date or a time changed: system[0], line 2"),
    ("DP717", (claude(user(text("A red boat.")), YES, GO), claude(user(text("A green boat.")), YES, GO, YES, MORE)),
     "messages[0].content[0]", f"{TWO}: the text was edited: messages[0].content[0], line 1"),
    ("DP717", (claude(user("Up."), assistant("Aye."), user("On."), YES, GO), claude(user("On."), YES, GO, YES, MORE)),
     "messages[0].content", f"{TWO}: something that was sent is missing: messages[0].content"),
    ("DP718", (claude(user(text(), text(NOW, **MARK))), claude(user(text()), YES, user(text(), text(NOW, **MARK)))),
     "messages[1].content", f"{TWO}: messages[0].content[1] ended the earlier one and is not in the later: written, "
     "never read"),
    ("DP718", (gpt(user("Go.")), gpt(user("Look."))), "messages[1].content",
     f"{TWO}: both begin with the same 4,200 tokens, and no mark stands at their end: written, never read"),
]  # fmt: skip

# What looks like it, and is in order.
SOUND: list[tuple[str, tuple[Body, ...]]] = [
    ("DP701", (claude(GO, tools=[TOOL]), claude(UNMARKED, YES, MORE, tools=[TOOL]))),
    ("DP701", (claude(GO, tools=[TOOL]), claude(user("What is a title for this?"), tools=[OTHER], system=[]))),
    ("DP702", (claude(GO, tools=[TOOL | MARK]), claude(UNMARKED, YES, MORE, tools=[TOOL]))),
    ("DP703", (claude(GO, tools=[OTHER, TOOL]), claude(UNMARKED, YES, MORE, tools=[OTHER, TOOL]))),
    ("DP704", (claude(GO, tools=[KEYED]), claude(UNMARKED, YES, MORE, tools=[KEYED]))),
    ("DP705", (claude(GO), claude(user("A title?"), model="claude-haiku-5-5"), claude(UNMARKED, YES, MORE))),
    ("DP706", (claude(GO, thinking={"type": "adaptive"}), claude(UNMARKED, YES, MORE, thinking={"type": "adaptive"}))),
    ("DP706", ({"model": OPUS, "body": claude(GO)}, {"body": claude(UNMARKED, YES, MORE, model=None, speed="fast")})),
    ("DP706", (claude(GO, max_tokens=9, stream=True), claude(UNMARKED, YES, MORE, max_tokens=99))),
    ("DP707", (gpt(user(text(**BREAK)), tools=[FUNCTION]),
               gpt(user(text(**BREAK)), YES, user("More."), tools=[FUNCTION], tool_choice="none"))),
    ("DP707", (claude(user(PIXEL, text(**MARK))), claude(user(PIXEL, text()), YES, user(PIXEL, text(**MARK))))),
    ("DP708", (claude(user("Go."), assistant(use()), user(result(LONG_RESULT, **MARK))),
               claude(user("Go."), assistant(use()), user(result(LONG_RESULT)), YES, MORE))),
    ("DP709", (claude(user("Go."), assistant(THOUGHT, text("Yes.")), GO),
               claude(user("Go."), assistant(THOUGHT, text("Yes.")), UNMARKED, YES, MORE))),
    ("DP710", (claude(GO), claude(user(text(), text("And then look.", **MARK))))),
    ("DP710", ({"model": OLD_GPT, "messages": [user("Go.")]},
               {"model": OLD_GPT, "messages": [user("Go. And then look."), YES, user("More.")]})),
    ("DP711", (gpt(user("Go.")), gpt(user("Go."), YES, user("More."), prompt_cache_options={"mode": "implicit"}))),
    ("DP711", (gpt(user(text())), gpt(user(text(**BREAK)), YES, user(text(**BREAK)), **EXPLICIT))),
    ("DP711", (gpt(user(text(**BREAK)), **EXPLICIT), gpt(user(text()), YES, user("More.")))),
    ("DP712", (gpt(user("Go."), prompt_cache_key="a"), gpt(*PLAIN_GPT, prompt_cache_key="a"))),
    ("DP713", (claude(GO), claude(GO, assistant(*LINES), MORE))),
    ("DP713", (claude(GO), claude(UNMARKED, assistant(*[use()] * 30), user(*[result()] * 30, text(**MARK))))),
    ("DP713", (gpt(user(text())), gpt(user(text(**BREAK)), YES, *[user("More.")] * 21))),
    ("DP714", (at(0, claude(GO)), at(299, claude(UNMARKED, YES, MORE)))),
    ("DP714", (at(0, claude(user(text(**HOUR)), system=[text(LONG, **HOUR)])),
               at(3000, claude(UNMARKED, YES, MORE, system=[text(LONG, **HOUR)])))),
    ("DP715", (at(0, claude(GO)), at(5, claude(user("Look."))), at(5.2, claude(user("List."))))),
    ("DP715", (at(0, claude(GO)), at(0.9, claude(UNMARKED, YES, MORE)))),
    ("DP715", (at(0, claude(GO)), at(0.2, claude(user("Look, and edited."), YES, MORE)))),
    ("DP715", (at(0, claude(GO)), at(0.1, claude(user("Look."), model="claude-haiku-5-5")))),
    ("DP716", (first_told("Be brief."), told("Be brief."))),
    ("DP716", (first_told(f"Be brief.{BOUNDARY}It is 10:22."), told(f"Be brief.{BOUNDARY}It is 10:23."))),
    ("DP716", (first_told("Be brief."), first_told("You draw maps of harbours."))),
    ("DP717", (claude(UNMARKED, YES, MORE), claude(UNMARKED, YES, user(text("No, less.", **MARK))))),
    ("DP717", (claude(GO), claude(GO, YES, MORE), claude(GO, YES, MORE, YES, GO), claude(GO, YES, user("Less.")))),
    ("DP717", (claude(user(text(**MARK), text("behind the mark"))), claude(UNMARKED, YES, MORE))),
    ("DP718", (claude(user(text(**MARK), text(NOW))), claude(UNMARKED, YES, user(text(**MARK), text(NOW))))),
    ("DP718", (claude(user("Go.")), claude(user("Look.")))),
    ("DP718", ({"model": OLD_GPT, "messages": [user(LONG), YES, user("Go.")]},
               {"model": OLD_GPT, "messages": [user(LONG), YES, user("Look.")]})),
]  # fmt: skip


@pytest.mark.parametrize(("code", "recorded", "place", "message"), BROKEN)
def test_a_broken_rule_is_found(code: str, recorded: tuple[Body, ...], place: str, message: str) -> None:
    """Each conversation breaks one rule, in one place, and that is said with the numbers of the requests."""
    assert found(*recorded) == [Finding(code, message, "log.jsonl", place)]


@pytest.mark.parametrize("recorded", [recorded for _, recorded in SOUND], ids=[code for code, _ in SOUND])
def test_a_sound_conversation_raises_nothing(recorded: tuple[Body, ...]) -> None:
    """Each of these looks a little like the one that breaks the rule, and breaks none."""
    assert found(*recorded) == []


def test_every_rule_has_an_example() -> None:
    """No rule is without a conversation that breaks it, and one that does not; codes are in order."""
    listed = [rule.code for rule in RULES]
    assert listed == sorted({code for code, *_ in BROKEN}) == sorted({code for code, _ in SOUND})


def test_each_cause_and_each_turn_has_a_finding() -> None:
    """Two settings and a text that change at once are three; the turn before is in order."""
    system = [text(f"{LONG}\nHurry up, all of you.", **MARK)]
    hurried = claude(UNMARKED, YES, MORE, YES, GO, system=system, speed="fast", tool_choice={"type": "any"})
    findings = found(first_told("Be brief."), told("Be brief."), hurried)
    assert [finding.code for finding in findings] == ["DP706", "DP707", "DP716"]
    assert {finding.message.partition(":")[0] for finding in findings} == {"requests 2 and 3"}


def test_one_request_has_nothing_before_it() -> None:
    """DP7 is about what comes after another."""
    assert found(claude(GO)) == []


def test_without_facts_what_is_seen_is_still_said() -> None:
    """Changes are found without knowing the provider; lifetimes, lookbacks and sizes are not guessed."""
    without = {code for _, recorded, *_ in BROKEN for code in [f.code for f in found(*recorded, known=False)]}
    assert {rule.code for rule in RULES} - without == {"DP713", "DP714", "DP715"}


def test_a_message_shows_no_key_and_no_line_break() -> None:
    """What stands in a place's name comes from the request, and may be anything."""
    evil = {"name": "sk-ant-api03-" + "a1B2" * 20 + "\nrule \u202e", "input_schema": {}}
    (finding,) = found(claude(GO, tools=[TOOL]), claude(UNMARKED, YES, MORE, tools=[TOOL, evil]))
    assert finding.code == "DP701"
    assert "\n" not in finding.message
    assert "\u202e" not in finding.message
    assert "a1B2a1B2" not in finding.message


@pytest.mark.parametrize("to", MODELS)
@examples(3)
@given(data=st.data())
def test_our_own_conversations_raise_nothing(to: Target, data: st.DataObject) -> None:
    """Whatever is said, and wherever it goes, the requests of a session break no rule; only images may come late."""
    model = data.draw(st.sampled_from(MODELS[to]))
    scene = data.draw(st.one_of(scenes(model.kinds), long_scenes(model.kinds)))
    try:
        session = Session(as_prompt(scene))
    except MessageError:
        return
    requests = []
    for turn in scene.turns:
        session.extend(turn)
        request = outcome(partial(session.request, to=to, model=model.name, cache_key="us"))
        if isinstance(request, Request):
            requests.append(request)
    if not requests:
        return
    newest = subjects_of_requests([{"model": model.name, "body": request.body} for request in requests], to)
    for rules in (requests[-1].rules, replace(requests[-1].rules, minimum=0), None):
        assert {finding.code for finding in find(newest, Limits(rules=rules))} <= {"DP707"}


def test_a_session_whose_project_moves_raises_nothing() -> None:
    """What moves is told at the tail, so the requests of ten turns are in order."""
    parts = (Part("base", LONG, Pace.RELEASE, ""), Part("tide", "Low.", Pace.TURN, ""))
    session = Session(Prompt(parts))
    bodies: list[Body] = []
    for number in range(10):
        session.user(f"Question {number}?", Prompt((parts[0], replace(parts[1], text=f"{number} m."))))
        bodies.append(at(60.0 * number, session.request(to="anthropic", model=OPUS).body))
        session.append({"role": "assistant", "content": "Yes."})
    assert found(*bodies) == []


@examples(40)
@given(
    recorded=st.lists(
        st.fixed_dictionaries(
            {"messages": st.lists(st.fixed_dictionaries({"role": st.just("user"), "content": anything()}), max_size=3)},
            optional={
                "system": anything(),
                "tools": anything(),
                "prompt_cache_options": anything(),
                "model": anything(),
            },
        ),
        min_size=2,
        max_size=4,
    ),
    rules=st.sampled_from([("anthropic", OPUS), ("openai", GPT), ("bedrock", SONNET), ("deepseek", "x"), None]),
)
def test_hostile_requests_are_refused_or_judged(recorded: list[Body], rules: tuple[str, str] | None) -> None:
    """Whatever requests are, there is a `MessageError` or a list of findings, each in a single line."""
    try:
        newest = subjects_of_requests([{"body": body, "at": 0} for body in recorded], "x")
    except MessageError:
        return
    limits = Limits(rules=bundled_facts().rules(*rules) if rules else None)
    assert all("\n" not in finding.message for finding in find(newest, limits))
