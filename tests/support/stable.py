"""A corpus, no tests: functions that make a prompt whose static prefix is the same wherever and whenever it is made.

They are run by `test_perturb` as files of a small project, which has `rules.md`, `AGENTS.md`, a skill and the folder
`parts`; there are instructions and a skill in the home as well.
"""

from __future__ import annotations

import asyncio
import copy
import getpass
import hashlib
import io
import json
import logging
import os
import pickle
import random
import re
import socket
import string
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
import uuid
import zoneinfo
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, date, datetime, timedelta
from datetime import time as time_of_day
from email.utils import formatdate, parsedate_to_datetime
from enum import Enum
from functools import lru_cache
from pathlib import Path
from typing import Any

from deepprompt import (
    Pace,
    Part,
    Prompt,
    SystemPromptBuilder,
    build_request,
    discover_project_context,
    load_instruction_files,
    load_skills,
)

BOUNDARY = "\n=== DYNAMIC CONTEXT (per-turn, do not cache) ===\n"
MARK = {"type": "ephemeral"}
CONSTANT = "You are Ada.\n"


def plain() -> str:
    """Nothing but a text."""
    return "You are Ada.\n\nBe kind.\n"


def sorted_set() -> str:
    """A set in an order of its own."""
    return ", ".join(sorted({"Read", "Write", "Bash"}))


def membership() -> str:
    """A set that is only asked."""
    allowed = frozenset(("read", "write", "run"))
    return "\n".join(word for word in ("run", "read", "fly", "write") if word in allowed)


def sorted_listing() -> str:
    """A folder in the order of its names."""
    return ", ".join(sorted(os.listdir("parts")))


def sorted_walk() -> str:
    """All files below a folder, sorted, with paths from there on."""
    return "\n".join(sorted(path.relative_to("parts").as_posix() for path in Path("parts").rglob("*.md")))


def relative_file() -> str:
    """A file of the project, with any line ends."""
    return "# Rules\n" + Path("rules.md").read_text("utf-8")


def beside_itself() -> str:
    """A file beside the module, whatever the folder."""
    return (Path(__file__).parent / "rules.md").read_text("utf-8")


def unified() -> bytes:
    """A file's bytes with line ends of one kind."""
    return Path("rules.md").read_bytes().replace(b"\r\n", b"\n")


def hashed_content() -> str:
    """The hash of a text, which is no secret of the process."""
    return hashlib.sha256(Path("rules.md").read_text("utf-8").encode()).hexdigest()


def folder_from_itself() -> str:
    """The working folder as seen from there."""
    return f"You work in {os.path.relpath(os.getcwd(), '.')}.\n"


def home_as_tilde() -> str:
    """A path at home, written for everybody."""
    return os.path.expanduser("~/notes.md").replace(os.path.expanduser("~"), "~", 1)


def behind_the_boundary() -> str:
    """Everything that moves, behind the boundary."""
    moving = [
        os.getcwd(),
        str(Path.home()),
        getpass.getuser(),
        socket.gethostname(),
        str(datetime.now()),
        tempfile.gettempdir(),
    ]
    return CONSTANT + BOUNDARY + "\n".join([*moving, *os.listdir("parts"), str(uuid.uuid4())])


def in_a_turn() -> Prompt:
    """The time in the part that changes with every turn."""
    return Prompt(
        (
            Part("identity", CONSTANT, Pace.RELEASE, "argument:identity"),
            Part("clock", f"It is {time.ctime()}.\n", Pace.TURN, "argument:clock"),
        )
    )


def in_a_session() -> Prompt:
    """The day, the folder and the machine in the part that changes with these, and a part behind it that stays."""
    facts = f"{date.today()} {os.getcwd()} {getpass.getuser()}@{socket.gethostname()} {Path.home()} {time.tzname[0]}\n"
    return Prompt(
        (
            Part("identity", CONSTANT, Pace.RELEASE, "argument:identity"),
            Part("facts", facts, Pace.SESSION, "argument:facts"),
            Part("rules", "Be kind.\n", Pace.SESSION, "argument:rules"),
        )
    )


def after_the_mark() -> dict[str, Any]:
    """The date in a message behind the last mark."""
    system = [{"type": "text", "text": CONSTANT, "cache_control": MARK}, {"type": "text", "text": str(date.today())}]
    talk = [{"role": "user", "content": f"It is {datetime.now()}, {uuid.uuid4()}."}]
    return {"model": "claude-opus-5-5", "max_tokens": 9, "system": system, "messages": talk}


def without_marks() -> dict[str, Any]:
    """A request for OpenAI with sorted tools, and a user's message that is another one each time."""
    tools = [{"type": "function", "function": {"name": name}} for name in sorted({"Write", "Read", "Bash"})]
    talk = [{"role": "developer", "content": CONSTANT}, {"role": "user", "content": str(uuid.uuid4())}]
    return {"model": "gpt-5.6-sol", "tools": tools, "messages": talk}


def for_gemini() -> dict[str, Any]:
    """A request for Gemini whose contents move."""
    contents = [{"role": "user", "parts": [{"text": str(time.time_ns())}]}]
    return {"systemInstruction": {"parts": [{"text": CONSTANT}]}, "contents": contents}


def messages() -> list[dict[str, Any]]:
    """A message array whose system message stays."""
    return [{"role": "system", "content": CONSTANT}, {"role": "user", "content": f"Process {os.getpid()}"}]


def written_for_a_provider() -> Any:
    """A request that our own writer made of our own builder's prompt."""
    project = discover_project_context(os.getcwd())
    prompt = SystemPromptBuilder(static_base=CONSTANT, project=project).compose()
    return build_request(prompt, [{"role": "user", "content": "Hi"}], to="anthropic", model="claude-opus-5-5")


def from_folder_and_home() -> SystemPromptBuilder:
    """Instruction files and skills of the folder and of the home, in a builder that knows the day."""
    cwd, home = os.getcwd(), Path.home()
    return SystemPromptBuilder(
        static_base=CONSTANT,
        instructions=load_instruction_files(cwd, home, portable=True),
        skill_directory=load_skills(cwd, home).index_text(),
        project=discover_project_context(cwd),
    )


async def gathered() -> str:
    """What several coroutines give, in the order in which they were asked."""

    async def one(number: int) -> str:
        await asyncio.sleep(0.001 * (3 - number))
        return f"Rule {number}."

    return "\n".join(await asyncio.gather(*map(one, range(3))))


def threaded() -> str:
    """What several threads give, in the order in which they were asked; each looks at the clock."""
    with ThreadPoolExecutor(4) as pool:
        return "\n".join(pool.map(lambda number: f"Rule {number}, after {time.time() > 0}", range(20)))


def left_behind() -> str:
    """A thread that goes on when the function has returned."""
    threading.Thread(target=time.sleep, args=(300,)).start()
    return CONSTANT


class Stamp(datetime):
    """A moment of one's own kind."""


def kinds_of_dates() -> str:
    """What code asks of dates: what they are, and that they survive being copied and stored."""
    now, today, own = datetime.now(), date.today(), Stamp.now(UTC)
    values: list[Any] = [now, today, own, now.date(), now.time(), datetime.max, now - timedelta(1), time_of_day(1)]
    assert [type(value) for value in (now, today, own, now.date(), own.date())] == [datetime, date, Stamp, date, date]
    assert not isinstance(now, Stamp) and isinstance(own, datetime) and isinstance(now, date)
    assert not isinstance(today, datetime) and issubclass(Stamp, date)
    for value in values:
        assert pickle.loads(pickle.dumps(value)) == copy.deepcopy(value) == value
    assert now.date() == today == date.fromtimestamp(time.time()) == datetime.today().date()
    assert abs((datetime.now(UTC) - own).total_seconds()) < 1 and abs(datetime.now().timestamp() - time.time()) < 1
    return ", ".join(type(value).__name__ for value in values)


def parsed_dates() -> str:
    """Moments that are given, read and written in many ways."""
    moment = datetime.strptime("2024-02-29 12:30 +0100", "%Y-%m-%d %H:%M %z")
    berlin = moment.astimezone(zoneinfo.ZoneInfo("Europe/Berlin"))
    mailed = parsedate_to_datetime(formatdate(moment.timestamp()))
    struct = time.strptime("2024-02-29", "%Y-%m-%d")
    return "\n".join([berlin.isoformat(), mailed.isoformat(), time.strftime("%j", struct), time.asctime(struct)])


def logged() -> str:
    """A log with times in it, which are no part of the prompt."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(logging.Formatter("%(asctime)s %(process)d %(message)s"))
    logger = logging.Logger("prompts")
    logger.addHandler(handler)
    logger.warning("made")
    return CONSTANT if re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} \d+ made\n", stream.getvalue()) else "no log"


@dataclass(frozen=True)
class Rule:
    """A value of the project's own."""

    text: str
    since: date = date(2024, 1, 1)


class Mood(Enum):
    """How to be."""

    KIND = "kind"
    BRIEF = "brief"


def values() -> str:
    """Dataclasses and enums."""
    rules = [Rule("Test."), replace(Rule("Sleep."), since=date.fromisoformat("2024-05-06"))]
    return json.dumps([asdict(rule) for rule in rules], default=str) + repr(list(Mood)) + repr(rules[0])


def printed() -> str:
    """A function that prints."""
    print("making", "the", "prompt")
    print("on both", file=sys.stderr)
    os.write(1, b"raw\n")
    return CONSTANT


def waited() -> str:
    """Waiting until a deadline: asleep, busy, and for an event that does not come."""
    begin = time.time()
    while time.time() < begin + 0.05:
        time.sleep(0.01)
    while time.time() < begin + 1:
        pass
    deadline = time.time() + 0.01
    while time.time() < deadline:
        threading.Event().wait(0.001)
    return CONSTANT


def timed() -> str:
    """A time limit that is kept and not told."""
    deadline = time.monotonic() + 60
    return CONSTANT if time.monotonic() < deadline else "too late"


def seeded() -> str:
    """Chance that is always the same."""
    chance = random.Random(7)
    return "".join(chance.choice(string.ascii_letters) for _ in range(20)) + str(uuid.uuid5(uuid.NAMESPACE_URL, "ada"))


def fixed_width() -> str:
    """A text wrapped at a width of its own."""
    return textwrap.fill("Keep the build green, and say what you did. " * 5, 60)


def scratch() -> str:
    """A temporary file that is used and not told."""
    with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as file:
        file.write(CONSTANT)
        file.seek(0)
        return file.read()


def program() -> str:
    """What another program says."""
    done = subprocess.run([sys.executable, "-S", "-c", "print('Be kind.')"], capture_output=True, text=True, check=True)
    return done.stdout


@lru_cache
def cached() -> str:
    """A function that remembers."""
    return CONSTANT


def found_host() -> str:
    """A machine that knows itself under its name, and a user too."""
    import pwd

    known = pwd.getpwnam(getpass.getuser()).pw_uid == os.getuid()
    try:
        return f"{bool(socket.gethostbyname(socket.gethostname()))}, {known}"
    except OSError:
        return f"unknown, {known}"


class Maker:
    """A class with functions in it."""

    @staticmethod
    def static() -> str:
        """A function in a class."""
        return CONSTANT

    @classmethod
    def of_class(cls) -> str:
        """A function of a class."""
        return cls.__name__
