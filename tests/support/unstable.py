"""A corpus, no tests: functions that make a prompt, each with one planted instability in its static prefix.

They are run by `test_perturb` as files of a small project, which has `rules.md` and the folder `parts`.
"""

from __future__ import annotations

import argparse
import getpass
import glob
import json
import locale
import os
import platform
import pwd
import random
import secrets
import shutil
import socket
import stat
import tempfile
import textwrap
import threading
import time
import uuid
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from deepprompt import Pace, Part, Prompt, SystemPromptBuilder

BOUNDARY = "\n=== DYNAMIC CONTEXT (per-turn, do not cache) ===\n"
MARK = {"type": "ephemeral"}
TALK = [{"role": "user", "content": "Hi"}]
LONG = "Keep the build green, run the tests before every commit, and say what you did and why in a few words."


def tool(name: str, **more: Any) -> dict[str, Any]:
    """A tool as Anthropic takes it."""
    return {"name": name, "description": f"What {name} does.", "input_schema": {"type": "object"}, **more}


def minute() -> str:
    """The time to the minute."""
    return f"You are Ada.\nIt is {datetime.now(UTC):%H:%M}.\n"


def minute_in_prompt() -> Prompt:
    """The time to the minute, in the second part of a `Prompt`."""
    now = time.strftime("%H:%M", time.gmtime())
    return Prompt(
        (
            Part("identity", "You are Ada.\n", Pace.RELEASE, "argument:identity"),
            Part("clock", f"\nBe on time.\nIt is {now}.\n", Pace.PROJECT, "argument:clock"),
            Part("turn", f"{uuid.uuid4()}", Pace.TURN, "argument:turn"),
        )
    )


def minute_in_session() -> Prompt:
    """The time to the minute, in a part that may change with the day."""
    return Prompt((Part("clock", f"It is {datetime.now(UTC):%H:%M}.\n", Pace.SESSION, "argument:clock"),))


def set_in_session() -> Prompt:
    """A set in a part that may change with the machine and the folder."""
    return Prompt((Part("facts", f"Tools: {frozenset(('Read', 'Write', 'Bash'))}\n", Pace.SESSION, "argument:facts"),))


def day_in_body() -> dict[str, Any]:
    """The day, in the second block of a system prompt for Anthropic."""
    blocks = [
        {"type": "text", "text": "You are Ada.\n"},
        {"type": "text", "text": f"Be kind.\nToday is {datetime.utcnow():%A}.\n", "cache_control": MARK},
    ]
    return {"model": "claude-opus-5-5", "max_tokens": 9, "system": blocks, "messages": TALK}


def day_in_marked_message() -> dict[str, Any]:
    """The day, in a message that is marked to be kept."""
    day = time.strftime("%Y-%m-%d", time.gmtime())
    told = {"type": "text", "text": f"<context>{day}</context>", "cache_control": MARK}
    messages = [{"role": "user", "content": [told, {"type": "text", "text": "Hi"}]}]
    return {"model": "claude-opus-5-5", "max_tokens": 9, "system": "You are Ada.", "messages": messages}


def midnight() -> str:
    """A greeting that only the night changes."""
    return "Good night.\n" if time.gmtime().tm_hour < 6 else "Good day.\n"


def elapsed() -> str:
    """How long something took."""
    begin = time.time()
    return f"You are Ada.\nLoaded in {time.time() - begin:.2f} s.\n"


def local_date() -> str:
    """The date, which is another one in another zone."""
    return f"Today is {date.today()}.\n"


def zone() -> str:
    """The name of the zone."""
    return f"You are Ada.\n\nTime zone: {time.strftime('%Z', (2024, 1, 1, 0, 0, 0, 0, 1, 0))}\n"


def local_moment() -> list[dict[str, Any]]:
    """A moment that is always the same, told in local time, in a message array."""
    said = f"Released {datetime.fromtimestamp(0).isoformat()}."
    return [{"role": "system", "content": "You are Ada."}, {"role": "system", "content": said}, *TALK]


def language() -> str:
    """The language of the user's environment."""
    return f"Answer in {os.environ.get('LANG', 'any language')}.\n"


def formats() -> str:
    """The locale that is in force."""
    return f"Formats: {locale.setlocale(locale.LC_ALL, '')}\n"


def set_of_two() -> str:
    """Two texts in the order of their hashes."""
    return "Tools: " + ", ".join({"Read", "Write"}) + "\n"


def tools_of_a_set() -> dict[str, Any]:
    """Tools in the order of a set."""
    tools = [tool(name) for name in dict.fromkeys({"Bash", "Glob", "Grep", "Read", "Write"})]
    return {"model": "gpt-5.6-sol", "tools": tools, "messages": [{"role": "system", "content": "You are Ada."}, *TALK]}


def keys_of_a_set() -> dict[str, Any]:
    """A tool whose parameters were put into their order by a set."""
    properties = {name: {"type": "string"} for name in {"path", "old", "new", "all", "line"}}
    schema = {"type": "object", "properties": properties}
    tools = [tool("Bash"), {"name": "Edit", "input_schema": schema, "cache_control": MARK}]
    return {"model": "claude-opus-5-5", "max_tokens": 9, "tools": tools, "messages": TALK}


def frozen_set() -> bytes:
    """A frozenset as Python prints it."""
    return f"You are Ada.\nYou may: {frozenset(('read', 'write', 'run'))}\n".encode()


def hashed() -> dict[str, Any]:
    """A cache key made of a hash."""
    key = f"session-{hash('Ada')}"
    return {"model": "gpt-5.6-sol", "prompt_cache_key": key, "instructions": "You are Ada.", "input": "Hi"}


def current_folder() -> SystemPromptBuilder:
    """The working folder in the base of a builder."""
    return SystemPromptBuilder(static_base=f"You are Ada.\nYou work in {os.getcwd()}.")


def own_file() -> str:
    """The path of the module."""
    return f"# {Path(__file__).parent}\n"


def resolved() -> str:
    """A resolved path."""
    return f"See {Path('rules.md').resolve()}.\n"


def newest_first() -> str:
    """When a file was written, which a checkout does not know."""
    return f"rules.md, as of {os.stat('rules.md').st_mtime_ns}\n"


def untranslated() -> str:
    """A file with its line ends as they are."""
    with open("rules.md", encoding="utf-8", newline="") as file:
        return "# Rules\n" + file.read()


async def as_bytes() -> str:
    """A file's bytes, from a coroutine."""
    return "# Rules\n\n" + Path("parts/one.md").read_bytes().decode()


def size() -> str:
    """A file's size."""
    return f"rules.md has {os.path.getsize('rules.md')} bytes.\n"


def home_by_tilde() -> str:
    """The home as `~` gives it."""
    return f"You are Ada.\nYour notes: {os.path.expanduser('~/notes.md')}\n"


def home_by_path() -> str:
    """The home as pathlib gives it."""
    return f"Home: {Path.home()}\n"


def home_by_environment() -> str:
    """The home as the environment gives it."""
    return f"Home: {os.environ['HOME']}\n"


def user_by_getpass() -> str:
    """The user's name."""
    return f"You work for {getpass.getuser()}.\n"


def user_by_login() -> str:
    """Who logged in, if anybody."""
    try:
        return f"You work for {os.getlogin()}.\n"
    except OSError:
        return "You work for nobody.\n"


def user_by_database() -> str:
    """The name that the system has for the user."""
    return f"You work for {pwd.getpwuid(os.getuid()).pw_name}.\n"


def user_by_environment() -> list[dict[str, Any]]:
    """The name that the environment has, in a message of a developer."""
    return [{"role": "developer", "content": f"Be kind.\nYou work for {os.environ.get('USER', 'nobody')}.\n"}, *TALK]


def host_by_socket() -> str:
    """The machine's name."""
    return f"Host: {socket.gethostname()}\n"


def host_by_platform() -> str:
    """The machine's name, from platform."""
    return f"Host: {platform.node()}\n"


def host_by_uname() -> str:
    """The machine's name, from the system."""
    return f"Host: {os.uname().nodename}\n"


def width() -> str:
    """The terminal's width."""
    return f"Wrap at {shutil.get_terminal_size().columns}.\n"


def wrapped() -> str:
    """A text that is wrapped at the terminal's width."""
    return "\n".join(textwrap.wrap(LONG, int(os.environ["COLUMNS"]))) + "\n"


def usage() -> str:
    """The help of a command, which argparse wraps."""
    parser = argparse.ArgumentParser("ada", description=LONG)
    return f"# Usage\n{parser.format_help()}"


def listed() -> str:
    """The files of a folder as they come."""
    return "Parts:\n" + "\n".join(os.listdir("parts")) + "\n"


def scanned() -> str:
    """The entries of a folder as they come."""
    with os.scandir("parts") as entries:
        return ", ".join(entry.name for entry in entries)


def globbed() -> str:
    """The files that a pattern finds, as they come."""
    return ", ".join(glob.glob("parts/*.md"))


def iterated() -> str:
    """The files of a folder, from pathlib."""
    return ", ".join(path.name for path in Path("parts").iterdir())


def walked() -> str:
    """All files below a folder."""
    return ", ".join(name for _, _, names in os.walk("parts") for name in names)


_calls = 0
_tools: list[dict[str, Any]] = []


def counted() -> str:
    """How often it was called."""
    global _calls
    _calls += 1
    return f"You are Ada.\nThis is answer {_calls}.\n"


def tools_that_grow() -> dict[str, Any]:
    """A list of tools that every call adds to."""
    _tools.append(tool(f"Read{len(_tools)}"))
    return {"model": "m", "tools": list(_tools), "system": "You are Ada.", "messages": TALK}


def permissions() -> str:
    """The permissions that a new file gets."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "new")
        path.touch()
        return f"New files: {stat.filemode(path.stat().st_mode)}\n"


def temporary() -> str:
    """The folder for temporary files."""
    return f"You are Ada.\nScratch: {tempfile.gettempdir()}/ada\n"


def new_folder() -> str:
    """A new temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        return f"Scratch: {folder}\n"


def random_id() -> str:
    """An id of the session."""
    return f"You are Ada.\nSession: {uuid.uuid4()}\n{BOUNDARY}{uuid.uuid4()}"


def shuffled() -> str:
    """Examples in a random order."""
    examples = [f"Example {number}." for number in range(20)]
    random.shuffle(examples)
    return "\n".join(examples)


def process() -> str:
    """The number of the process."""
    return f"Process: {os.getpid()}\n"


def address() -> dict[str, Any]:
    """The address of an object, in a tool's description."""
    tools = [tool("Bash"), tool("Read", description=f"Reads with {object()!r}.")]
    return {"model": "claude-opus-5-5", "max_tokens": 9, "tools": tools, "messages": TALK}


def identity() -> str:
    """The identity of an object."""
    return f"Agent {id(BOUNDARY)}\n"


def measured() -> str:
    """A clock that only measures."""
    return f"Started at {time.perf_counter()}\n"


def up_time() -> str:
    """How long the machine has been up."""
    return f"Up for {time.monotonic()} s\n"


def thread() -> str:
    """The thread's number."""
    return f"Thread {threading.get_ident()}\n"


def token() -> str:
    """A random delimiter."""
    return json.dumps({"delimiter": secrets.token_hex(8)})


def set_of_functions() -> str:
    """Functions in the order of their addresses."""
    chosen = {minute, midnight, zone, size, width, process, thread, token}
    return "\n".join(function.__name__ for function in chosen)
