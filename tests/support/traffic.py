"""Traffic of agents' shapes, made up here: conversations whose requests break at places that are known.

Each maker yields the bodies of one run, and what broke before each: "" for nothing, "new" for another conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from typing import Any

Body = dict[str, Any]
Made = Iterator[tuple[Body, str, str]]
"""A body, the kind of break before it and its place."""

LONG = "\n".join(f"Guideline {number}: prefer small steps, and say what you did." for number in range(120))
MARK = {"cache_control": {"type": "ephemeral"}}


def rules(indent: str) -> str:
    """Return a system prompt that ends with a project's rules."""
    return f"You help with code.\n{LONG}\n# Rules\nRun the tests.\nUse {indent}.\n"


def tools(*names: str) -> list[Body]:
    """Return tools as Anthropic takes them."""
    return [
        {"name": name, "description": f"To {name} things. " * 20, "input_schema": {"type": "object"}} for name in names
    ]


def turns(run: str, count: int) -> list[list[Body]]:
    """Return the messages of each request: a task, then a call and its result a turn."""
    talk: list[Body] = [{"role": "user", "content": "Look around."}]
    found = [deepcopy(talk)]
    for number in range(count):
        call = {"type": "tool_use", "id": f"c{number}", "name": "look", "input": {"at": number}}
        talk.append({"role": "assistant", "content": [{"type": "text", "text": f"Step {number}."}, call]})
        result = {"type": "tool_result", "tool_use_id": f"c{number}", "content": f"{run} saw {number}: " + "x" * 300}
        talk.append({"role": "user", "content": [result]})
        found.append(deepcopy(talk))
    return found


def marked(talk: list[Body]) -> list[Body]:
    """Return messages with a mark on the last one, as agents move it from turn to turn."""
    talk = deepcopy(talk)
    content = talk[-1]["content"]
    if isinstance(content, str):
        talk[-1]["content"] = [{"type": "text", "text": content, **MARK}]
    else:
        content[-1] |= MARK
    return talk


def messages_agent(run: str) -> Made:
    """An agent on Anthropic's API: first a title, then a conversation in which the rules file changes."""
    title = {"model": "claude-opus-5-5", "system": "Write a title of five words.\nNo quotes.\nNo dot.\nEnglish.\n",
             "messages": [{"role": "user", "content": '"Look around."'}], "max_tokens": 20}  # fmt: skip
    yield title, "new", ""
    for number, talk in enumerate(turns(run, 5)):
        system = [{"type": "text", "text": rules("tabs" if number < 3 else "spaces"), **MARK}]
        body = {"model": "claude-opus-5-5", "system": system, "tools": tools("look", "edit"), "messages": marked(talk)}
        yield body, ("new", "", "", "edit", "", "")[number], "system[0]" if number == 3 else ""


def thinking_agent(run: str) -> Made:
    """An agent whose setting for thinking goes away after the first request."""
    for number, talk in enumerate(turns(f"thinking {run}", 3)):
        body: Body = {"model": "claude-opus-4-7", "system": [{"type": "text", "text": rules("tabs"), **MARK}],
                      "tools": tools("look"), "messages": marked(talk)}  # fmt: skip
        if number == 0:
            body["thinking"] = {"type": "adaptive"}
        yield body, ("new", "setting", "", "")[number], "thinking" if number == 1 else ""


def chat_agent(run: str) -> Made:
    """An agent on Chat Completions, with a clock in its system prompt that only moves between conversations."""
    for number, talk in enumerate(turns(f"chat {run}", 4)):
        system = {"role": "system", "content": f"Now: 2026-11-17T10:00:00.{sum(map(ord, run)) % 1000:03d}\n{LONG}"}
        plain = [{"role": one["role"], "content": str(one["content"])} for one in talk]
        yield {"model": "kimi-k2", "messages": [system, *plain]}, "new" if number == 0 else "", ""


def contents_agent(run: str) -> Made:
    """An agent on Gemini's API that drops signatures on resuming, and doubles a tool's answer later."""
    talk: list[Body] = [{"role": "user", "parts": [{"text": f"Context of {run}.\n{LONG}"}, {"text": "Look around."}]}]
    for number in range(5):
        kind, place = ("new" if number == 0 else ""), ""
        if number == 2:
            for one in talk:
                one["parts"][0].pop("thoughtSignature", None)
            kind, place = "removed", "contents[1].parts[0]"
        if number == 4:
            talk[4]["parts"].append(deepcopy(talk[4]["parts"][0]))
            kind, place = "inserted", "contents[4].parts[1]"
        yield {"contents": deepcopy(talk), "systemInstruction": {"parts": [{"text": LONG}]}}, kind, place
        call = {"functionCall": {"name": "look", "args": {"at": number}}, "thoughtSignature": "s"}
        answer = {"functionResponse": {"name": "look", "response": {"output": f"{run} {number} " + "y" * 200}}}
        talk += [{"role": "model", "parts": [call]}, {"role": "user", "parts": [answer]}]


def items_agent(run: str) -> Made:
    """An agent on the Responses API whose tools are an item, and change their order once."""
    given = [{"type": "function", "name": name, "description": f"To {name}. " * 30, "parameters": {}} for name in "ab"]
    talk: list[Body] = [{"type": "message", "id": f"m-{run}", "role": "user",
                         "content": [{"type": "input_text", "text": LONG}]}]  # fmt: skip
    for number in range(4):
        listed = given if number < 2 else given[::-1]
        first = {"type": "additional_tools", "id": f"t{number}", "role": "developer", "tools": listed}
        body = {"model": "gpt-5.6-sol", "input": deepcopy([first, *talk]),
                "client_metadata": {"session_id": f"s-{run}", "turn_id": str(number)}}  # fmt: skip
        yield body, ("new", "", "tool order", "")[number], "input[0].tools[0] b" if number == 2 else ""
        talk += [
            {"type": "function_call", "call_id": f"{run}{number}", "name": "a", "arguments": "{}"},
            {"type": "function_call_output", "call_id": f"{run}{number}", "output": f"{run} {number} " + "z" * 200},
        ]


def editor_agent(run: str) -> Made:
    """An agent that puts examples into its messages, inserts its history before the files, and moves a reminder."""
    examples: list[Body] = []
    for number in range(3):
        examples += _pair(f"Example {number}.", f"Ok {number}.")
    files = _pair(f"The files: {LONG}", "I see them.")
    reminder = f"\n\n# Reminder\n{LONG[:2000]}"
    history: list[Body] = []
    for number in range(3):
        newest = {"role": "user", "content": f"{run}: do task {number}.{reminder}"}
        head = {"role": "system", "content": f"You edit files.\n{LONG}\n{run}"}
        body = {"model": "gpt-5.4", "messages": [head, *examples, *history, *files, newest]}
        place = ("", "messages[7].content", "messages[9].content")[number]
        yield deepcopy(body), "inserted" if number else "new", place
        asked = [
            {"role": "system", "content": "Write one commit message.\nShort.\nNow.\nGo."},
            {"role": "user", "content": f"diff of {run} {number}"},
        ]
        yield {"model": "gpt-5.4", "messages": asked}, "new", ""
        history += _pair(f"{run}: do task {number}.", f"{run} did {number}.")


def _pair(asked: str, said: str) -> list[Body]:
    return [{"role": "user", "content": asked}, {"role": "assistant", "content": said}]


AGENTS: dict[str, Callable[[str], Made]] = {
    "messages": messages_agent,
    "thinking": thinking_agent,
    "chat": chat_agent,
    "contents": contents_agent,
    "items": items_agent,
    "editor": editor_agent,
}


def made(runs: int = 2) -> list[tuple[dict[str, Any], str, str]]:
    """Return the records of some runs of every agent, with the break before each: run after run, a second apart."""
    found = []
    at = 1_794_900_000.0
    for run in range(runs):
        for name, agent in AGENTS.items():
            for number, (body, kind, place) in enumerate(agent(f"run{run}")):
                at += 1
                record = {"id": f"{name}-{run}-{number}", "at": at, "agent": name, "body": body}
                found.append((record, kind, place))
    return found
