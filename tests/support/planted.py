"""Planted causes of a cache miss, each made through the doors that production uses: a corpus, no tests.

Each is two requests and what is to be said of them. What does not look planted is left to production: files are read
from a disk, orders come out of two processes that hash texts differently, bodies are written for real providers.
"""

from __future__ import annotations

import dataclasses
import json
import os
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deepprompt import (
    AgentConfig,
    Pace,
    Part,
    ProjectContext,
    Prompt,
    PromptAssembler,
    PromptAssemblyConfig,
    SystemPromptBuilder,
    Tier,
    TieredContext,
    assemble_messages,
    build_request,
    compose_messages,
    compose_system_prompt,
    compose_tagged_prompt,
    load_instruction_files,
    load_skills,
)
from deepprompt.words import Target
from tests.support.layout import lay_out

Body = dict[str, Any]

MODELS = {
    "anthropic": "claude-opus-5-5",
    "bedrock": "us.anthropic.claude-opus-5-5",
    "deepseek": "deepseek-v4-pro",
    "gemini": "gemini-3.8-flash",
    "litellm": "anthropic/claude-opus-5-5",
    "openai": "gpt-5.6-sol",
    "openai-responses": "gpt-5.6-sol",
}
RULES = [f"Rule {number}: keep the build green." for number in range(1, 61)]
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SKILL = "---\nname: {0}\ndescription: What {0} does.\n---\nHow {0} does it.\n"
TALK: list[Body] = [
    {"role": "user", "content": "Which tests fail?"},
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "Bash", "arguments": '{"command": "make café"}'}}
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "\n".join(f"test_{n} passed" for n in range(40))},
    {"role": "assistant", "content": "None of them."},
    {"role": "user", "content": "Then look at the log of the build, please."},
]


@dataclass(frozen=True)
class Plant:
    """Two requests of which the later has one planted change, and what is to be said of it."""

    old: Any
    new: Any
    kind: str
    place: str
    source: str
    line: int = 0
    changing: bool = False
    exact: bool = True
    """Whether the offset is that of the first byte that differs; else it is that of the block, before it."""


PLANTS: dict[str, Callable[[Path], Plant]] = {}


def plant(function: Callable[[Path], Plant]) -> Callable[[Path], Plant]:
    """Put a planted change into the corpus."""
    PLANTS[function.__name__.strip("_")] = function
    return function


def built(folder: Path, rules: Sequence[str] = RULES, base: str = "", **project: str) -> Prompt:
    """Return the prompt for a folder with an AGENTS.md, as the builder makes it."""
    lay_out(folder, {"AGENTS.md": "\n".join(rules) + "\n"})
    context = ProjectContext(cwd="/work", current_date="2026-11-14", os_name="linux", **project)  # type: ignore[arg-type]
    return SystemPromptBuilder(base, load_instruction_files(folder), project=context).compose()


def dated(prompt: Prompt, date: str) -> Prompt:
    """Return a prompt of another day."""
    parts = [dataclasses.replace(part, text=part.text.replace("2026-11-14", date)) for part in prompt.parts]
    return dataclasses.replace(prompt, parts=tuple(parts))


def tooled(**changes: str) -> Prompt:
    """Return a prompt with tools, some of them with new descriptions."""
    prompt = compose_system_prompt(PromptAssemblyConfig(cwd="/work", enabled_tools=["Bash", "Glob", "Grep", "Read"]))
    tools = [{**tool, "description": changes.get(str(tool["name"]), tool["description"])} for tool in prompt.tools]
    return dataclasses.replace(prompt, tools=tuple(tools))


def body(
    prompt: Any, messages: Sequence[Mapping[str, object]] = TALK, to: Target = "anthropic", **options: Any
) -> Body:
    """Return what a provider is sent."""
    return build_request(prompt, messages, to=to, model=MODELS[to], **options).body


def talk(*changes: tuple[int, Any]) -> list[Body]:
    """Return the conversation with other contents."""
    messages = [dict(message) for message in TALK]
    for number, content in changes:
        messages[number]["content"] = content
    return messages


def said(messages: Sequence[Mapping[str, object]], to: Target = "anthropic") -> Body:
    """Return a request with a short prompt and a tool, so that only the conversation matters."""
    tools = [{"name": "Bash", "description": "Runs a command.", "input_schema": {"type": "object", "properties": {}}}]
    return body("You are an agent.", messages, to, tools=tools)


@plant
def _midnight(folder: Path) -> Plant:
    old = built(folder)
    return Plant(old, dated(old, "2026-11-15"), "clock", "project", "project", 3, changing=True)


@plant
def _midnight_in_the_text(folder: Path) -> Plant:
    old = built(folder)
    return Plant(old.text, dated(old, "2026-11-15").text, "clock", "text", "project", 3, changing=True)


@plant
def _midnight_in_a_request(folder: Path) -> Plant:
    old = built(folder)
    place = "messages[0].content[2]"
    new = body(dated(old, "2026-11-15"), to="openai")
    return Plant(body(old, to="openai"), new, "clock", place, "project", 3, changing=True)


@plant
def _time_of_a_tagged_prompt(_: Path) -> Plant:
    old, new = [
        compose_tagged_prompt(
            AgentConfig(identity="You are Ada."), "web", "/work", [], now=datetime(2031, 3, day, 15, 6, tzinfo=UTC)
        )
        for day in (4, 5)
    ]
    return Plant(old, new, "clock", "context", "argument:context", 1, changing=True)


@plant
def _time_in_a_tool(_: Path) -> Plant:
    described = "Reads a file.\nPaths are absolute.\nAs of 2026-11-14T23:59:58Z."
    old, new = tooled(Read=described), tooled(Read=described.replace("14T23:59:58", "15T00:00:02"))
    return Plant(body(old), body(new), "clock", "tools[3] Read", "tool Read: description", 3)


@plant
def _epoch_in_a_message(_: Path) -> Plant:
    old, new = [said(talk((0, f"Now is {now}.\nWhich tests fail?"))) for now in (1794700800, 1794700805)]
    return Plant(old, new, "clock", "messages[0].content[0]", "messages[0]", 1)


@plant
def _session_id(_: Path) -> Plant:
    base = "You are an agent.\nThis is session {}.\nBe brief."
    ids = "7d444840-9dc0-11d1-b245-5ffdce74fad2", "7d444840-9dc0-11d1-b245-5ffdce74fad3"
    old, new = [SystemPromptBuilder(base.format(one)).compose() for one in ids]
    return Plant(old, new, "random id", "base", "argument:static_base", 2)


@plant
def _commit_hash(_: Path) -> Plant:
    old, new = [said(talk((0, f"At {hash_}: which tests fail?"))) for hash_ in ("d06c3f6", "3976a19")]
    return Plant(old, new, "random id", "messages[0].content[0]", "messages[0]", 1)


@plant
def _object_address(_: Path) -> Plant:
    old, new = [said(talk((2, f"<Runner at {at}>"))) for at in ("0x7f3a5c0de2b0", "0x7f1b9c0de110")]
    return Plant(old, new, "random id", "messages[2].content[0]", "messages[2]", 1)


def seeded(code: str, seed: int) -> str:
    """Return what a fresh process prints that hashes texts in its own way."""
    environment = {**os.environ, "PYTHONHASHSEED": str(seed)}
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    ).stdout


def two_orders(code: str) -> tuple[str, str]:
    """Return what the first two processes print that differ."""
    first = seeded(code, 1)
    return first, next(other for seed in range(2, 12) if (other := seeded(code, seed)) != first)


@plant
def _set_order(_: Path) -> Plant:
    code = (
        "from deepprompt import SystemPromptBuilder\n"
        "names = {'bash', 'glob', 'grep', 'read', 'edit', 'write', 'fetch', 'ask'}\n"
        "base = 'You are an agent.\\nYour tools: ' + ', '.join(names) + '.\\nBe brief.'\n"
        "print(SystemPromptBuilder(base).build(), end='')"
    )
    return Plant(*two_orders(code), "order", "text", "text", 2)


@plant
def _set_order_in_a_tool(_: Path) -> Plant:
    code = (
        "import json\nfrom deepprompt import build_request\n"
        "names = list({'alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta', 'eta'})\n"
        "schema = {'type': 'object', 'properties': {'name': {'type': 'string', 'enum': names}}}\n"
        "print(json.dumps(build_request('Be brief.', [{'role': 'user', 'content': 'Hi.'}], to='openai',\n"
        "  model='gpt-5.6-sol', tools=[{'name': 'Pick', 'input_schema': schema}]).body))"
    )
    old, new = map(json.loads, two_orders(code))
    path = "function.parameters.properties.name.enum"
    number = shared_elements(*[request["tools"][0]["function"]["parameters"]["properties"]["name"]["enum"]
                               for request in (old, new)])  # fmt: skip
    return Plant(old, new, "order", "tools[0] Pick", f"tool Pick: {path}[{number}]")


def shared_elements(old: Sequence[object], new: Sequence[object]) -> int:
    """Return with how many equal elements two lists begin."""
    return next(number for number, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1])


@plant
def _schema_key_order(_: Path) -> Plant:
    old = body(tooled())
    new = json.loads(json.dumps(old))
    schema = new["tools"][0]["input_schema"]
    schema["properties"] = dict(reversed(schema["properties"].items()))
    return Plant(old, new, "key order", "tools[0] Bash", "tool Bash: input_schema.properties")


@plant
def _argument_key_order(_: Path) -> Plant:
    return Plant(*calls('{"a": 1, "b": [2]}', '{"b": [2], "a": 1}'), "key order", *CALL)


@plant
def _argument_blanks(_: Path) -> Plant:
    return Plant(*calls('{"a": 1, "b": [2]}', '{"a":1,"b":[2]}'), "white space", *CALL)


@plant
def _argument_escapes(_: Path) -> Plant:
    return Plant(*calls('{"q": "café"}', '{"q": "caf\\u00e9"}'), "escapes", *CALL)


@plant
def _argument_number(_: Path) -> Plant:
    place, source = CALL
    return Plant(*calls('{"a": {"b": 1}}', '{"a": {"b": 2}}'), "number", place, f"{source}.a.b")


CALL = "messages[2].tool_calls[0]", "messages[2]: function.arguments"


def calls(old: str, new: str) -> tuple[Body, Body]:
    """Return two requests whose only tool call has other arguments."""
    bodies = []
    for arguments in (old, new):
        messages = talk()
        messages[1]["tool_calls"] = [
            {"id": "call_1", "type": "function", "function": {"name": "Bash", "arguments": arguments}}
        ]
        bodies.append(said(messages, "deepseek"))
    return bodies[0], bodies[1]


BASE = "You are an agent.\nYou work in a café.\nBe brief.\n"


def based(old: str, new: str, kind: str, line: int) -> Plant:
    """Return two built prompts with another base."""
    before, after = [SystemPromptBuilder(base).compose() for base in (old, new)]
    return Plant(before, after, kind, "base", "argument:static_base", line)


@plant
def _windows_line_ends(_: Path) -> Plant:
    return based(BASE, BASE.replace("\n", "\r\n"), "line ends", 1)


@plant
def _one_windows_line_end_and_an_edit(_: Path) -> Plant:
    return based(BASE, BASE.replace("café.\n", "café.\r\n").replace("brief", "short"), "line ends", 2)


@plant
def _byte_order_mark(_: Path) -> Plant:
    return based(BASE, "\ufeff" + BASE, "byte order mark", 1)


@plant
def _trailing_blank(_: Path) -> Plant:
    return based(BASE, BASE.replace("café.", "café. "), "trailing blanks", 2)


@plant
def _trailing_newline(folder: Path) -> Plant:
    old, new = built(folder), built(folder, [*RULES, ""])
    source = f"file:{folder}/AGENTS.md"
    return Plant(old, new, "trailing blanks", f"instructions {folder}/AGENTS.md", source, 61)


@plant
def _tabs_for_blanks(_: Path) -> Plant:
    return based(BASE, BASE.replace("work in", "work\tin"), "white space", 2)


@plant
def _decomposed(folder: Path) -> Plant:
    rules = [*RULES[:8], "Write café with an accent.", *RULES[8:]]
    old, new = built(folder, rules), built(folder, [unicodedata.normalize("NFD", rule) for rule in rules])
    source = f"file:{folder}/AGENTS.md"
    return Plant(old, new, "Unicode form", f"instructions {folder}/AGENTS.md", source, 9)


@plant
def _entities(_: Path) -> Plant:
    return based("Use <b> & <i>.\n", "Use &lt;b&gt; &amp; &lt;i&gt;.\n", "escapes", 1)


@plant
def _capitals(_: Path) -> Plant:
    return based(BASE, BASE.replace("brief", "BRIEF"), "case", 3)


@plant
def _counter(_: Path) -> Plant:
    return based(BASE + "Turn 9 of many.", BASE + "Turn 10 of many.", "number", 4)


@plant
def _home_folder(_: Path) -> Plant:
    text = BASE + "Notes are in /home/{}/notes.md, by and/or for them."
    return based(text.format("ann"), text.format("bob"), "path", 4)


@plant
def _moved_cwd(_: Path) -> Plant:
    old, new = [SystemPromptBuilder(project=ProjectContext(cwd=cwd)).compose() for cwd in ("/srv/a b", "/opt/c d e")]
    return Plant(old, new, "path", "project", "project", 2, changing=True)


@plant
def _moved_project(folder: Path) -> Plant:
    old, new = built(lay_out(folder / "old", {})), built(lay_out(folder / "new", {}))
    return Plant(old, new, "path", f"instructions {folder}/new/AGENTS.md", f"file:{folder}/new/AGENTS.md", 0)


@plant
def _edited_file(folder: Path) -> Plant:
    old, new = built(folder), built(folder, edited(37))
    return Plant(old, new, "edit", f"instructions {folder}/AGENTS.md", f"file:{folder}/AGENTS.md", 37)


def edited(line: int) -> list[str]:
    """Return the rules with one of them rewritten."""
    return [*RULES[: line - 1], "Never touch the build.", *RULES[line:]]


@plant
def _edited_file_among_headings(folder: Path) -> Plant:
    rules = ["# Rules", "", "[tool.ruff]", "", "## Skills of the team", "", "[x]", *RULES]
    old = built(folder, rules).text
    new = built(folder, [*rules[:20], "Never.", *rules[21:]]).text
    return Plant(old, new, "edit", "text", f"file:{folder}/AGENTS.md", 21)


@plant
def _line_added_to_a_file(folder: Path) -> Plant:
    old, new = built(folder), built(folder, [*RULES[:11], "Ask first.", *RULES[11:]])
    return Plant(old, new, "inserted", f"instructions {folder}/AGENTS.md", f"file:{folder}/AGENTS.md", 12)


@plant
def _lines_gone_from_a_file(folder: Path) -> Plant:
    old, new = built(folder), built(folder, [*RULES[:20], *RULES[25:]])
    return Plant(old, new, "removed", f"instructions {folder}/AGENTS.md", f"file:{folder}/AGENTS.md", 21)


@plant
def _lines_moved_in_a_file(folder: Path) -> Plant:
    old, new = built(folder), built(folder, [*RULES[:5], *RULES[30:], *RULES[5:30]])
    return Plant(old, new, "order", f"instructions {folder}/AGENTS.md", f"file:{folder}/AGENTS.md", 6)


@plant
def _file_over_the_limit(folder: Path) -> Plant:
    long = [f"{rule} And mind the neighbours, all of them." for rule in RULES]
    old, new = built(folder, long[:50]), built(folder, long)
    assert "... [truncated]" in new.text
    assert "... [truncated]" not in old.text
    return Plant(old, new, "truncation", f"instructions {folder}/AGENTS.md", f"file:{folder}/AGENTS.md", 51)


@plant
def _file_cut_short(folder: Path) -> Plant:
    old, new = built(folder), built(folder, [*RULES[:40], "Rule 41: ke"])
    return Plant(old, new, "truncation", f"instructions {folder}/AGENTS.md", f"file:{folder}/AGENTS.md", 41)


@plant
def _file_added(folder: Path) -> Plant:
    old = built(folder)
    lay_out(folder, {"DEEPSEEK.md": "Be kind.\n"})
    new = built(folder)
    return Plant(old, new, "inserted", f"instructions {folder}/DEEPSEEK.md", f"file:{folder}/DEEPSEEK.md", 0)


@plant
def _appended_file(_: Path) -> Plant:
    own = [Part("append", text, Pace.PROJECT, "file:own.md") for text in ("\nOne.\nTwo.\n", "\nOne.\n2.\n")]
    old, new = [SystemPromptBuilder(BASE, append=[part]).compose() for part in own]
    return Plant(old, new, "edit", "append", "file:own.md", 3)


@plant
def _edited_include(folder: Path) -> Plant:
    files = {"task.txt": "One.\n$$NOTES\nTwo.\nThree.\n$$NOTES\n", "notes.md": "Note.\n"}
    old = PromptAssembler(str(lay_out(folder, files))).assemble("task", {"NOTES": "notes.md"}).prompt
    lay_out(folder, {"task.txt": files["task.txt"].replace("Three", "Trois")})
    new = PromptAssembler(str(folder)).assemble("task", {"NOTES": "notes.md"}).prompt
    return Plant(old, new, "edit", new.parts[2].name, "file:task.txt", 4)


@plant
def _skill_added(folder: Path) -> Plant:
    lay_out(folder, {f"skills/{name}/SKILL.md": SKILL.format(name) for name in ("alpha", "gamma")})
    old = SystemPromptBuilder(skill_directory=load_skills(folder).index_text()).compose()
    lay_out(folder, {"skills/beta/SKILL.md": SKILL.format("beta")})
    new = SystemPromptBuilder(skill_directory=load_skills(folder).index_text()).compose()
    heading = new.text.partition("## Skills")[2].partition("beta |")[0].count("\n") + 1
    return Plant(old, new, "inserted", "skills", "skills", heading)


@plant
def _first_skill(folder: Path) -> Plant:
    lay_out(folder, {"skills/alpha/SKILL.md": SKILL.format("alpha")})
    index = load_skills(folder).index_text()
    return Plant(
        SystemPromptBuilder(BASE).compose(),
        SystemPromptBuilder(BASE, skill_directory=index).compose(),
        "inserted",
        "skills",
        "skills",
    )


@plant
def _last_skill_gone_in_the_text(folder: Path) -> Plant:
    lay_out(folder, {f"skills/{name}/SKILL.md": SKILL.format(name) for name in ("alpha", "beta")})
    lines = load_skills(folder).index_text()
    old, new = [
        SystemPromptBuilder(BASE, skill_directory=text).build() for text in (lines, lines.replace("beta", "zeta"))
    ]
    line = new.partition("## Skills")[2].partition("zeta |")[0].count("\n") + 1
    return Plant(old, new, "edit", "text", "skills", line)


@plant
def _part_order(_: Path) -> Plant:
    config = PromptAssemblyConfig(cwd="/work", enabled_tools=["Read"])
    old, new = compose_system_prompt(config), compose_system_prompt(config, "catalog")
    number = next(number for number, pair in enumerate(zip(old.parts, new.parts, strict=True)) if pair[0] != pair[1])
    moved = new.parts[number]
    return Plant(old, new, "order", moved.name, moved.origin)


@plant
def _environment_of_a_preset(_: Path) -> Plant:
    old, new = [compose_system_prompt(PromptAssemblyConfig(cwd=cwd, os="linux")) for cwd in ("/a/one", "/b/two")]
    source = "deepprompt:claude_code/2.1.37/environment.md"
    return Plant(old, new, "path", "environment", source, 3)


@plant
def _git_status(folder: Path) -> Plant:
    old, new = built(folder, git_status=" M a.py\n"), built(folder, git_status=" M a.py\n?? b.py\n")
    return Plant(old, new, "inserted", "git status", "project", 3, changing=True)


@plant
def _git_status_in_a_request(folder: Path) -> Plant:
    old, new = [body(built(folder, git_status=status), to="gemini") for status in (" M a.py\n", "?? b.py\n")]
    return Plant(old, new, "edit", "systemInstruction.parts[0]", "git status", 2, changing=True)


@plant
def _tool_order(_: Path) -> Plant:
    old = tooled()
    new = dataclasses.replace(old, tools=tuple(reversed(old.tools)))
    return Plant(old, new, "tool order", "tools[0] Read", "tool Read")


@plant
def _tool_added(_: Path) -> Plant:
    few, more = [compose_system_prompt(PromptAssemblyConfig(cwd="/work", enabled_tools=names))
                 for names in (["Bash", "Read"], ["Bash", "Grep", "Read"])]  # fmt: skip
    return Plant(
        body(few, to="bedrock"), body(more, to="bedrock"), "tool added", "toolConfig.tools[1] Grep", "tool Grep"
    )


@plant
def _first_tool(_: Path) -> Plant:
    old = body("Be brief.", TALK[:1], "openai-responses")
    new = body("Be brief.", TALK[:1], "openai-responses", tools=[{"name": "Read"}])
    return Plant(old, new, "tool added", "tools[0] Read", "tool Read", exact=False)


@plant
def _tool_removed(_: Path) -> Plant:
    few, more = [compose_system_prompt(PromptAssemblyConfig(cwd="/work", enabled_tools=names))
                 for names in (["Bash", "Read"], ["Bash", "Grep", "Read"])]  # fmt: skip
    place = "tools[0].functionDeclarations[1] Grep"
    return Plant(body(more, to="gemini"), body(few, to="gemini"), "tool removed", place, "tool Grep")


@plant
def _last_tool_removed(_: Path) -> Plant:
    old = body("Be brief.", TALK[:1], "openai", tools=[{"name": "Read"}])
    return Plant(old, body("Be brief.", TALK[:1], "openai"), "tool removed", "tools[0] Read", "tool Read", exact=False)


@plant
def _tool_changed(_: Path) -> Plant:
    old, new = [body(tooled(Grep=text), to="openai") for text in ("Finds lines.\nFast.", "Finds lines.\nQuick.")]
    return Plant(old, new, "tool changed", "tools[2] Grep", "tool Grep: function.description", 2)


@plant
def _tool_renamed(_: Path) -> Plant:
    old, new = [body("Be brief.", TALK[:1], tools=[{"name": name}]) for name in ("Find", "Search")]
    return Plant(old, new, "tool changed", "tools[0] Search", "tool Search: name", 1)


@plant
def _other_model(_: Path) -> Plant:
    old = said(TALK)
    return Plant(old, old | {"model": "claude-sonnet-5-5"}, "setting", "model", "model")


@plant
def _thinking_turned_on(_: Path) -> Plant:
    old = said(TALK)
    new = old | {"thinking": {"type": "enabled", "budget_tokens": 2048}}
    return Plant(old, new, "setting", "thinking", "thinking")


@plant
def _other_effort(_: Path) -> Plant:
    old = said(TALK) | {"output_config": {"effort": "high"}}
    return Plant(old, old | {"output_config": {"effort": "low"}}, "setting", "output_config", "output_config")


@plant
def _other_reasoning_effort(_: Path) -> Plant:
    old = said(TALK, "openai-responses") | {"reasoning": {"effort": "high", "summary": "auto"}}
    new = old | {"reasoning": {"effort": "low"}}
    return Plant(old, new, "setting", "reasoning.effort", "reasoning.effort")


@plant
def _other_service_tier(_: Path) -> Plant:
    old = said(TALK, "openai") | {"service_tier": "flex"}
    return Plant(old, old | {"service_tier": "default"}, "setting", "service_tier", "service_tier")


@plant
def _key_of_each_request(_: Path) -> Plant:
    old, new = [body("Be brief.", TALK[:1], "openai", cache_key=key) for key in ("request-1", "request-2")]
    return Plant(old, new, "setting", "prompt_cache_key", "prompt_cache_key")


@plant
def _edited_message(_: Path) -> Plant:
    old, new = said(TALK), said(talk((0, "Which checks fail?")))
    return Plant(old, new, "edit", "messages[0].content[0]", "messages[0]", 1)


@plant
def _edited_answer_in_a_tiered_array(_: Path) -> Plant:
    tiers = {"L1": Tier(files={"a.py": "x = 1\n"}), "L2": Tier(files={"b.py": "y = 1\n"})}
    old = TieredContext("Be brief.", tiers=tiers, user_prompt="Go.")
    new = dataclasses.replace(old, tiers=tiers | {"L1": Tier(files={"a.py": "x = not_one\n"})})
    place = "messages[1].content"
    return Plant(assemble_messages(old), assemble_messages(new), "edit", place, "messages[1]", 7)


@plant
def _tier_turned_over(_: Path) -> Plant:
    tiers = {"L1": Tier(files={"a.py": "x = 1\n"}), "L2": Tier(files={"b.py": "y = 1\n"})}
    old = TieredContext("Be brief.", tiers=tiers, user_prompt="Go.")
    new = dataclasses.replace(old, tiers={"L2": tiers["L2"]})
    return Plant(compose_messages(old), compose_messages(new), "removed", "messages[0].content", "messages[0]")


@plant
def _result_cut(_: Path) -> Plant:
    old, new = said(TALK), said(talk((2, str(TALK[2]["content"])[:205])))
    return Plant(old, new, "truncation", "messages[2].content[0]", "messages[2]", 15)


@plant
def _result_cut_between_lines(_: Path) -> Plant:
    old, new = said(TALK, "openai"), said(talk((2, "\n".join(str(TALK[2]["content"]).split("\n")[:9]))), "openai")
    return Plant(old, new, "truncation", "messages[3]", "messages[3]", 9)


@plant
def _result_with_its_middle_left_out(_: Path) -> Plant:
    lines = str(TALK[2]["content"]).split("\n")
    shorter = "\n".join([*lines[:5], "[30 lines omitted]", *lines[-5:]])
    old, new = said(TALK, "bedrock"), said(talk((2, shorter)), "bedrock")
    return Plant(old, new, "truncation", "messages[2].content[0]", "messages[2]", 6)


@plant
def _thinking_dropped(_: Path) -> Plant:
    thought = {"type": "thinking", "thinking": "They all pass.", "signature": "c2ln"}
    answer: list[Body] = [thought, {"type": "text", "text": "None of them."}]
    old, new = said(talk((3, answer))), said(TALK)
    return Plant(old, new, "removed", "messages[3].content[0]", "messages[3]", exact=False)


@plant
def _reasoning_dropped(_: Path) -> Plant:
    thought = talk()
    thought[3]["reasoning_content"] = "They all pass."
    old, new = said(thought, "deepseek"), said(TALK, "deepseek")
    return Plant(old, new, "removed", "messages[4].reasoning_content", "messages[4]", exact=False)


SEEN = [
    {"type": "text", "text": "Look."},
    {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
]


@plant
def _image_removed(_: Path) -> Plant:
    old, new = said(talk((0, SEEN)), "openai"), said(talk((0, SEEN[:1])), "openai")
    return Plant(old, new, "removed", "messages[1].content[1]", "messages[1]", exact=False)


@plant
def _only_image_removed(_: Path) -> Plant:
    old, new = said(talk((3, "Fine."), (0, SEEN))), said(talk((3, "Fine."), (0, SEEN[:1])))
    return Plant(old, new, "images", "messages[0].content[1]", "messages[0]", exact=False)


@plant
def _first_image_appended(_: Path) -> Plant:
    old = said(TALK)
    new = said([*TALK, {"role": "assistant", "content": "Show me."}, {"role": "user", "content": SEEN}])
    return Plant(old, new, "images", "messages[6].content[1]", "messages[6]", exact=False)


@plant
def _message_inserted(_: Path) -> Plant:
    note = [{"role": "user", "content": "By the way: mind the log."}, {"role": "assistant", "content": "I do."}]
    old, new = said(TALK, "litellm"), said([*TALK[:1], *reversed(note), *TALK[1:]], "litellm")
    return Plant(old, new, "inserted", "messages[2].content", "messages[2]")


@plant
def _message_extended(_: Path) -> Plant:
    old, new = said(TALK), said(talk((4, f"{TALK[4]['content']} And be quick.")))
    return Plant(old, new, "extended", "messages[4].content[0]", "messages[4]", 1)


@plant
def _messages_gone(_: Path) -> Plant:
    old, new = said(TALK, "openai-responses"), said([*TALK[:1], *TALK[3:]], "openai-responses")
    return Plant(old, new, "removed", "input[2].content", "input[2]", exact=False)


@plant
def _end_of_the_conversation_gone(_: Path) -> Plant:
    return Plant(said(TALK), said(TALK[:3]), "removed", "messages[3].content[0]", "messages[3]")


@plant
def _compacted(_: Path) -> Plant:
    old, new = said(TALK), said([{"role": "user", "content": "All tests pass, so far."}, *TALK[3:]])
    return Plant(old, new, "compaction", "messages[0].content[0]", "messages[0]")


@plant
def _messages_swapped(_: Path) -> Plant:
    old = [{"role": "user", "content": text} for text in ("First.", "Second.", "Third.")]
    return Plant(said(old), said([old[1], old[0], old[2]]), "order", "messages[0].content[0]", "messages[0]")


@plant
def _other_speaker(_: Path) -> Plant:
    messages = [{"role": role, "content": "Ship it."} for role in ("user", "assistant", "user")]
    new = [messages[0], {"role": "system", "content": "Ship it."}, {"role": "user", "content": "Now."}]
    return Plant(messages[:2], new[:2], "role", "messages[1].content", "messages[1]", exact=False)


@plant
def _answer_as_the_users(_: Path) -> Plant:
    old = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Ship it."}, TALK[0]]
    return Plant(
        old, [old[0], old[1] | {"role": "user"}, TALK[0]], "role", "messages[1].content", "messages[1]", exact=False
    )


@plant
def _blocks_joined(_: Path) -> Plant:
    two = [{"type": "text", "text": "One. "}, {"type": "text", "text": "Two."}]
    old, new = said(talk((0, two))), said(talk((0, "One. Two.")))
    return Plant(old, new, "blocks", "messages[0].content[0]", "messages[0]", exact=False)


@plant
def _other_choice_of_tools(_: Path) -> Plant:
    old = said(TALK)
    return Plant(old, old | {"tool_choice": {"type": "any"}}, "setting", "tool_choice", "tool_choice", exact=False)


@plant
def another_conversation(_: Path) -> Plant:
    """A side request, with a system prompt of its own and without tools."""
    old = said(TALK)
    new = {"model": old["model"], "system": "Write a title of at most five words.", "messages": [TALK[0]]}
    return Plant(old, new, "conversation", "tools[0] Bash", "tool Bash", 0)
