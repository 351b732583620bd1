"""The perturbation test: every planted instability is found and named, and nothing that is stable is."""

from __future__ import annotations

import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from deepprompt import Pace, Part, Prompt
from deepprompt.checks.perturb import perturb as perturb_module
from deepprompt.checks.perturb.moves import MOVES, starting_point
from deepprompt.checks.perturb.perturb import Stability, perturb
from deepprompt.errors import CallError, SourceError
from deepprompt.sources.function import Function, Scene, _value, call_function
from deepprompt.words import MoveKind
from tests.support import stable, unstable
from tests.support.layout import lay_out
from tests.support.repositories import contents, make_repository

pytestmark = pytest.mark.slow

# What moves each function of the corpus, and where: the place and the line, None where chance has a say.
UNSTABLE: dict[str, tuple[str, str, int | None]] = {
    "minute": ("clock", "text", 2),
    "minute_in_prompt": ("clock", "clock", 2),
    "minute_in_session": ("clock", "clock", 1),
    "set_in_session": ("hash seed", "facts", 1),
    "day_in_body": ("clock", "system[1]", 2),
    "day_in_marked_message": ("clock", "messages[0].content[0]", 1),
    "midnight": ("clock", "text", 1),
    "elapsed": ("clock", "text", 2),
    "local_date": ("clock, time zone", "text", 1),
    "zone": ("time zone", "text", 3),
    "local_moment": ("time zone", "messages[1].content", 1),
    "language": ("locale", "text", 1),
    "formats": ("locale", "text", 1),
    "set_of_two": ("hash seed", "text", 1),
    "tools_of_a_set": ("hash seed", "tools[1] Write", 0),
    "keys_of_a_set": ("hash seed", "tools[1] Edit", 0),
    "frozen_set": ("hash seed", "text", 2),
    "hashed": ("hash seed", "prompt_cache_key", 0),
    "current_folder": ("folder", "base", 2),
    "own_file": ("folder", "text", 1),
    "resolved": ("folder", "text", 1),
    "newest_first": ("folder", "text", 1),
    "untranslated": ("line ends", "text", 2),
    "as_bytes": ("line ends", "text", 3),
    "size": ("line ends", "text", 1),
    "home_by_tilde": ("home", "text", 2),
    "home_by_path": ("home", "text", 1),
    "home_by_environment": ("home", "text", 1),
    "user_by_getpass": ("user", "text", 1),
    "user_by_login": ("user", "text", 1),
    "user_by_database": ("user", "text", 1),
    "user_by_environment": ("user", "messages[0].content", 2),
    "host_by_socket": ("host", "text", 1),
    "host_by_platform": ("host", "text", 1),
    "host_by_uname": ("host", "text", 1),
    "width": ("terminal", "text", 1),
    "wrapped": ("terminal", "text", 1),
    "usage": ("terminal", "text", 4),
    "listed": ("listing", "text", 2),
    "scanned": ("listing", "text", 1),
    "globbed": ("listing", "text", 1),
    "iterated": ("listing", "text", 1),
    "walked": ("listing", "text", 1),
    "counted": ("turn", "text", 2),
    "tools_that_grow": ("turn", "tools[1] Read1", None),
    "permissions": ("umask", "text", 1),
    "temporary": ("temp", "text", 2),
    "new_folder": ("again", "text", 1),
    "random_id": ("again", "text", 2),
    "shuffled": ("again", "text", None),
    "process": ("again", "text", 1),
    "address": ("again", "tools[1] Read", 1),
    "identity": ("again", "text", 1),
    "measured": ("again", "text", 1),
    "up_time": ("again", "text", 1),
    "thread": ("again", "text", 1),
    "token": ("again", "text", 1),
    "set_of_functions": ("again", "text", None),
}
# Which of the moves of a kind it takes, where not all of them do.
SAID = {
    "minute": ["a minute later", "over midnight"],
    "minute_in_session": ["a minute later"],
    "day_in_body": ["a day later", "over midnight"],
    "midnight": ["over midnight"],
    "elapsed": ["a minute later"],
}
# What moves because it may, as information.
MAY = {
    "behind_the_boundary": {"text": "again"},
    "in_a_turn": {"clock": "turn, clock, time zone"},
    "in_a_session": {"facts": "clock, time zone, home, user, host, folder"},
    "after_the_mark": {"system[1]": "clock, time zone", "messages[0].content": "again"},
    "without_marks": {"messages[1].content": "again"},
    "for_gemini": {"contents[0].parts[0]": "turn, clock"},
    "messages": {"messages[1].content": "again"},
    "from_folder_and_home": {"project": "clock, folder"},
}

SKILL = "---\nname: {0}\ndescription: What {0} does.\n---\nHow {0} does it.\n"
FILES = {
    "rules.md": "Test.\nSleep.\n",
    "AGENTS.md": "Run the tests with make test.\n",
    "skills/mend/SKILL.md": SKILL.format("mend"),
    "parts/one.md": "One.\nOne more.\n",
    "parts/two.md": "Two.\n",
    "parts/three.md": "Three.\n",
}
HOME = {"AGENTS.md": "Be brief.\n", "DEEPSEEK.md": "Be kind.\n", "skills/cook/SKILL.md": SKILL.format("cook")}

# What makes the prompts of many functions in one process: a process for each would take minutes.
TOGETHER = """
from deepprompt.sources import stage

def made(module, names):
    return {name: one({"module": module, "file": "", "name": name, "arguments": [], "turn": 1}) for name in names}

def one(order):
    try:
        return {"value": stage._plain(stage._call(order))}
    except Exception as error:
        return {"error": stage._described(error)}
"""


def functions(module: ModuleType) -> list[str]:
    """The functions at the top of a module of the corpus."""
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
    return [name for name in own if name.islower() and name != "tool"]


CORPUS = {
    "unstable": functions(unstable),
    "stable": [*functions(stable), "CONSTANT", "Maker.static", "Maker.of_class"],
}


class Shared:
    """Calls of functions that share their processes: all of a module are called at once in the same surroundings."""

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        self.known: set[str] = set()
        self._values: dict[tuple[str, str, int], Any] = {}
        self._locks: dict[tuple[str, str, int], threading.Lock] = {}
        self._lock = threading.Lock()

    def call(self, function: Function, surroundings: Scene, timeout: float, *, give_up: Callable[[], bool]) -> object:
        """Do what `call_function` does; what is called twice in the same surroundings is two processes here too."""
        where = re.sub(r"deepprompt-\w+", "", repr(surroundings))
        with self._lock:
            self.seen[where] = self.seen.get(where, 0) + 1
            key = (function.module, where, self.seen[where])
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                arguments = (function.module, CORPUS[function.module])
                together = replace(function, module="together", name="made", arguments=arguments)
                self._values[key] = call_function(together, surroundings, timeout, give_up=give_up)
        made = self._values[key][function.name]
        if "error" in made:
            raise CallError(f"{function}: {made['error']}")
        return _value(made["value"])


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project with the corpus, a home and a folder for temporary files, of which none has changed in the end."""
    root = tmp_path_factory.mktemp("corpus")
    own = {path.name: path.read_bytes() for path in (Path(str(stable.__file__)), Path(str(unstable.__file__)))}
    lay_out(root, {f"home/{name}": text for name, text in HOME.items()})
    lay_out(root / "project", {**FILES, **own, "together.py": TOGETHER})
    (root / "temporary").mkdir()
    before = contents(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(root / "home"))
        patch.setenv("TZ", "UTC")
        patch.setattr("deepprompt.checks.perturb.moves._other_locales", lambda _folder: ["C"])  # there may be more
        patch.setattr("tempfile.tempdir", str(root / "temporary"))
        patch.setenv("TMPDIR", str(root / "temporary"))
        time.tzset()
        yield root / "project"
    time.tzset()
    after = contents(root)
    del before["temporary"], after["temporary"]  # but for its time
    assert after == before


@pytest.fixture(scope="module")
def shared() -> Shared:
    """What the functions of the corpus made, for all tests."""
    return Shared()


@pytest.fixture
def perturbed(project: Path, shared: Shared, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Stability]:
    """Perturbs a function of the corpus with all moves, in processes that it shares with the others."""
    monkeypatch.setattr(perturb_module, "call_function", shared.call)
    monkeypatch.setattr("deepprompt.checks.perturb.moves._SEEDS", range(1, 4))  # which is enough for these, and quicker
    shared.seen.clear()

    def run(target: str) -> Stability:
        module = target.partition(":")[0]
        if module in shared.known:  # then nobody needs the copies of the project any more
            monkeypatch.setattr("deepprompt.checks.perturb.moves.copy_project", lambda *_: "")
            monkeypatch.setattr("deepprompt.checks.perturb.moves.use_crlf", lambda *_: None)
        result = perturb(target, folder=str(project))
        shared.known.add(module)
        return result

    return run


def kinds(result: Stability) -> str:
    """The kinds of moves that changed the prefix."""
    return ", ".join(dict.fromkeys(outcome.kind for outcome in result.unstable))


def served(monkeypatch: pytest.MonkeyPatch, *values: object) -> None:
    """Let calls return one value after the other, the last of them again and again."""
    rest = list(values)

    def call(*_: object, **__: object) -> object:
        value = rest.pop(0) if len(rest) > 1 else rest[0]
        if isinstance(value, Exception):
            raise value
        return value

    monkeypatch.setattr(perturb_module, "call_function", call)
    monkeypatch.setattr(perturb_module, "_MOST_AT_ONCE", 1)


def write(folder: Path, code: str) -> str:
    """Write a module into a folder, and return the folder."""
    lay_out(folder, {"prompts.py": code})
    return str(folder)


def all_but(*moved: str) -> list[MoveKind]:
    """What to skip in order to move only some things."""
    return [kind for kind in MOVES if kind not in ("again", *moved)]


@pytest.mark.parametrize("name", UNSTABLE)
def test_what_is_planted_is_found(name: str, perturbed: Callable[[str], Stability]) -> None:
    """Each instability is found by its own move and by no other, in its part and its line."""
    result = perturbed(f"unstable:{name}")
    moved = result.unstable[0].moved
    assert moved is not None, result.report()
    kind, place, line = UNSTABLE[name]
    assert (kinds(result), moved.place) == (kind, place)
    assert line is None or moved.line == line
    assert [outcome.said for outcome in result.unstable] == SAID.get(name) or name not in SAID


@pytest.mark.parametrize("name", CORPUS["stable"])
def test_what_is_stable_passes(name: str, perturbed: Callable[[str], Stability]) -> None:
    """A function whose static prefix stays is not accused; what may move is told."""
    result = perturbed(f"stable:{name}")
    assert result.stable, result.report()
    assert result.unstable == ()
    may = re.findall(r"^  (.*) may change, and changed with: (.*)$", result.report(), re.MULTILINE)
    assert dict(may) == MAY.get(name, dict(may))


def test_the_corpus_is_complete() -> None:
    """Every function of the corpus is looked at, every kind of move has one, and there are enough of both sorts."""
    assert list(UNSTABLE) == CORPUS["unstable"]
    assert {kind for row in UNSTABLE.values() for kind in row[0].split(", ")} == set(MOVES)
    assert min(len(UNSTABLE), len(CORPUS["stable"])) >= 24


ALONE = """
import time, uuid
from deepprompt.prompt import Pace, Part, Prompt

def dated():
    now = time.strftime("%H:%M", time.gmtime())
    slow = Part("clock", f"Be on time.\\nIt is {now}.\\n", Pace.PROJECT, "argument:clock")
    return Prompt((slow, Part("turn", str(uuid.uuid4()), Pace.TURN, "argument:turn")))

def rules():
    return {"system": open("rules.md").read(), "messages": [{"role": "user", "content": time.ctime()}]}
"""


@pytest.mark.usefixtures("project")
def test_alone_in_its_processes(tmp_path: Path) -> None:
    """Without any sharing it is the same: the complete test of one function, and its report."""
    result = perturb("prompts:dated", folder=write(tmp_path, ALONE))
    assert result.report() == (
        "prompts:dated: the static prefix (25 bytes) changed in 2 of 24 surroundings\n"
        "  clock, a minute later: a date or a time changed\n"
        "    where  clock, argument:clock, line 2, byte 22\n"
        '    was    "It is 12:00."\n'
        '    is     "It is 12:01."\n'
        "    also   over midnight\n"
        "  turn may change, and changed with: again"
    )


@pytest.mark.usefixtures("project")
def test_alone_and_stable(tmp_path: Path) -> None:
    """The complete test of a function that stays as it is."""
    lay_out(tmp_path, {"rules.md": "Test.\n"})
    assert perturb("prompts:rules", folder=write(tmp_path, ALONE)).report() == (
        "prompts:rules: the static prefix (6 bytes) is the same in all 24 surroundings\n"
        "  messages[0].content may change, and changed with: clock, time zone"
    )


def test_a_text_without_boundary(tmp_path: Path) -> None:
    """Who returns a mere text is told that all of it counts, and how to say where the prefix ends."""
    folder = write(tmp_path, "import time\ndef make(): return f'Be kind.\\n--\\n{time.time()}'")
    found = perturb("prompts:make", folder=folder, skip=all_but("clock"))
    advice = "all of the text counts, as it has no boundary; --boundary TEXT (boundary=) says what ends the prefix"
    assert found.report().endswith("\n  " + advice)
    result = perturb("prompts:make", folder=folder, boundary="--", skip=all_but("clock"))
    assert (result.stable, result.advice, result.prefix_bytes) == (True, "", 9)
    with pytest.raises(CallError, match=r"prompts:make: the boundary '---' does not stand in what it returned"):
        perturb("prompts:make", folder=folder, boundary="---")


NO_PREFIX = {
    "empty": "",
    "boundary at the start": unstable.BOUNDARY + "now",
    "only messages": unstable.TALK,
    "only settings": {"model": "claude-opus-5-5", "messages": unstable.TALK},
    "only a turn": Prompt((Part("turn", "now", Pace.TURN, ""),)),
}


@pytest.mark.parametrize("value", NO_PREFIX.values(), ids=NO_PREFIX)
def test_nothing_to_move(value: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """What has no static prefix does not pass for stable."""
    served(monkeypatch, value)
    with pytest.raises(CallError, match=r"m:f: what it returned has no static prefix: no text before the boundary, or"):
        perturb("m:f")


NO_PROMPT = {
    "no request": ({"colour": "blue"}, "not a request of any provider: no messages, .*; its fields are colour"),
    "no message": ([7], r"messages\[0\]: expected an object, not int"),
}


@pytest.mark.parametrize("value, why", NO_PROMPT.values(), ids=NO_PROMPT)
def test_no_prompt(value: object, why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What no provider would take is told with the function's name."""
    served(monkeypatch, value)
    with pytest.raises(CallError, match=f"^m:f: what it returned is no prompt: {why}"):
        perturb("m:f")


def test_no_prompt_after_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """What becomes no prompt with a move is that move's finding."""
    served(monkeypatch, "x", "x", [7])
    (found,) = perturb("m:f", skip=all_but("umask")).unstable
    assert (found.kind, found.failed) == (
        "again",
        "what it returned is no prompt: messages[0]: expected an object, not int",
    )


def test_chance_is_not_put_down_to_a_move(monkeypatch: pytest.MonkeyPatch) -> None:
    """What differs only now and then is doubted: if the same call differs too, no move is to blame."""
    served(monkeypatch, "heads", "heads", "heads", "tails", "heads", "heads", "tails")
    result = perturb("m:f", skip=all_but("umask", "terminal"))
    assert kinds(result) == "again"
    assert "  skipped: terminal, umask: it is not the same twice even without a change" in result.report().splitlines()
    served(monkeypatch, "heads", "heads", "tails", "heads")
    assert kinds(perturb("m:f", skip=all_but("umask"))) == "umask"


GROWN = {
    "text": ("Be kind.", "Be kind.\nNow.", "text", 1),
    "tools": ({"tools": [{"name": "a"}]}, {"tools": [{"name": "a"}, {"name": "b"}]}, "tools[1] b", 0),
    "blocks": ({"system": [{"text": "a"}]}, {"system": [{"text": "a"}, {"text": "b"}]}, "system[1]", 0),
}


@pytest.mark.parametrize("old, new, place, line", GROWN.values(), ids=GROWN)
def test_a_prefix_that_grows(old: object, new: object, place: str, line: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache does not mind what is only longer, but the prefix is not the same: that is told as what came."""
    served(monkeypatch, old, old, new, old)
    (found,) = perturb("m:f", skip=all_but("umask")).unstable
    assert found.moved is not None
    assert (found.moved.kind, found.moved.place, found.moved.line) == ("inserted", place, line)
    assert len(found.moved.old) < len(found.moved.new)


def test_it_fails_with_a_move(tmp_path: Path) -> None:
    """A function that cannot do without something is told by what was moved, and where it failed."""
    code = "import os\ndef make():\n    assert os.environ['COLUMNS'] == '80', 'too wide'\n    return 'x'"
    result = perturb("prompts:make", folder=write(tmp_path, code), skip=all_but("terminal", "umask"))
    assert result.report().splitlines()[1] == (
        f"  terminal, to 213 columns: it fails: AssertionError: too wide ({tmp_path}/prompts.py:3)"
    )


def test_it_fails_in_a_copy(tmp_path: Path) -> None:
    """A function that only its own folder will do for is not blamed for line ends as well."""
    code = f"import os\ndef make():\n    assert os.getcwd() == {str(tmp_path)!r}, 'lost'\n    return 'x'"
    result = perturb("prompts:make", folder=write(tmp_path, code), skip=all_but("folder", "line ends"))
    assert kinds(result) == "folder"
    assert "\n  skipped: line ends: it fails even before that: AssertionError: lost (" in result.report()


@pytest.mark.parametrize("moved, calls", [(("folder", "line ends"), 2), (("folder",), 1), (("line ends",), 2)])
def test_calls_in_a_copy(moved: tuple[str, ...], calls: int, tmp_path: Path) -> None:
    """What the move to the copy made is what the copy with other line ends is compared with: it is not made twice."""
    log = tmp_path / "calls"
    code = f"import os\nopen({str(log)!r}, 'a').write(os.getcwd() + '\\n')\n"
    folder = write(tmp_path / "project", f"{code}def make(): return open('rules.md', newline='').read()")
    lay_out(Path(folder), {"rules.md": "Test.\n"})
    result = perturb("prompts:make", folder=folder, skip=all_but(*moved))
    assert kinds(result) == ("line ends" if "line ends" in moved else "")
    assert sum(place != folder for place in log.read_text().splitlines()) == calls


@pytest.mark.parametrize("attributes, found", [("", "line ends"), ("*.md text eol=lf", ""), ("*.md -text", "")])
def test_line_ends_that_git_keeps(attributes: str, found: str, tmp_path: Path) -> None:
    """Where .gitattributes keep a file's line ends, no checkout changes them, and so does not the test."""
    code = "def make(): return open('rules.md', newline='').read()"
    files = {"prompts.py": code, "rules.md": "Test.\n", ".gitattributes": f"{attributes}\n"}
    make_repository(tmp_path / "project", files)
    result = perturb("prompts:make", folder=str(tmp_path / "project"), skip=all_but("line ends"))
    assert kinds(result) == found


def test_a_folder_that_cannot_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A project that is too large is not moved, which is told and no failure."""
    monkeypatch.setattr("deepprompt.sources.checkout._MOST_FILES", 1)
    folder = write(lay_out(tmp_path, {"a": "", "b": ""}), "def make(): return 'x'")
    result = perturb("prompts:make", folder=folder, skip=all_but("folder", "line ends"))
    assert result.report() == (
        "prompts:make: the static prefix (1 bytes) is the same in all 1 surroundings\n"
        "  skipped: folder, line ends: the folder is too large to be copied: more than 1 files or 256 MiB"
    )


def test_wrong_usage(tmp_path: Path) -> None:
    """A move that there is not, the one that cannot be left out, and a folder that there is not."""
    for kind in ("clocks", "again"):
        with pytest.raises(SourceError, match=f"no move '{kind}' to skip; there are: turn, clock, time zone, locale, "):
            perturb("m:f", skip=[kind])  # type: ignore[list-item]
    with pytest.raises(SourceError, match=r"/nowhere: no such folder$"):
        perturb("m:f", folder=f"{tmp_path}/nowhere")


def test_no_key_and_nothing_hidden_in_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a report quotes is cleaned: a key is not shown, and what cannot be seen is."""
    served(monkeypatch, "a", "a", f"a sk-ant-api03-{'x1' * 20}\u202e\x1b[2J", "a")
    report = perturb("m:f", skip=all_but("umask")).report()
    assert "sk-ant-api03-x1x1" not in report
    assert not {"\u202e", "\x1b"} & set(report)


def test_the_day_on_which_it_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """On no day of a year is the next one in another month or week, so that nothing is found on some days only."""
    from datetime import date, timedelta

    class Today(date):
        moved = date(2027, 1, 1)

        @classmethod
        def today(cls) -> date:  # type: ignore[override]
            return cls.moved

    monkeypatch.setattr("deepprompt.checks.perturb.moves.date", Today)
    for days in range(366):
        Today.moved = date(2027, 1, 1) + timedelta(days)
        begin = time.localtime(starting_point(".").clock)
        day = date(*begin[:3])
        assert (begin.tm_hour, begin.tm_min) == (12, 0)
        assert timedelta(0) <= Today.moved - day <= timedelta(3)
        for form in ("%B %Y", "%U", "%W", "%V"):
            assert f"{day + timedelta(1):{form}}" == f"{day:{form}}"


def test_starting_point(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins in the folder, which is also what PWD says."""
    monkeypatch.chdir(tmp_path)
    assert starting_point(".").folder == starting_point(".").environment["PWD"] == os.getcwd()
