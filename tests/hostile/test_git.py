"""The corpus of hostile repositories: plain git falls into each trap, and what we do with it does not.

Every case is held to the same: no program runs, no file changes, the answer comes by the deadline, is right or says in
a note what is missing, and has nothing in it that means something else to a reader than to git.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deepprompt import DYNAMIC_CONTEXT_BOUNDARY, read_git
from deepprompt.sources.git import run as run_module
from deepprompt.sources.git import snapshot as git_module
from deepprompt.sources.git.snapshot import DIFF_LIMIT, MOST_REASON, MOST_SUBJECT, STATUS_LIMIT, GitSnapshot
from deepprompt.text.hygiene import TRUNCATION_MARKER
from tests.support.hostile import places, processes, programs, waits, words
from tests.support.hostile.scene import CASES, MACHINE, OVER, Entry, Scene, Tally, Trap, build, peak_memory, state
from tests.support.repositories import make_repository

pytestmark = pytest.mark.slow

assert [places, programs, waits, words]  # they enter their cases

TALLY = Tally()
FIRST = {name.partition("-")[0]: name for name in reversed(CASES)}  # the first case of each number

# What must not be in a text that a repository had a hand in; told apart from the product's own tables.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u200b\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\U000e0000-\U000e0fff]"
)
SPEAKER = re.compile(
    r"[<\uff1c]\s*[/\uff0f]?\s*[|\uff5c]\w"
    r"|^ {0,3}[<\uff1c]\s*[/\uff0f]?\s*(?:system|user|assistant|tool|developer|function)\s*[>\uff1e]?\s*$",
    re.IGNORECASE | re.MULTILINE,
)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository that scenes start from, made once."""
    return make_repository(tmp_path_factory.mktemp("template") / "repository")


@pytest.fixture
def scene(tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    """An empty scene."""
    scene = Scene(tmp_path / "scene", template, monkeypatch)
    yield scene
    scene.close()


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize("name", CASES)
def test_trap(scene: Scene, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plain git falls into the trap; we do not, and what we say is right or says what is missing."""
    trap = CASES[name](scene)
    if not trap.fires():
        unproven = "plain git does not fall into it, so this test proves nothing"
        pytest.skip(unproven) if trap.mended else pytest.fail(unproven)
    scene.reset()
    before = state(scene.folder)
    cwd = trap.cwd or scene.repository
    git_module._known.cache_clear()

    with trap.during():
        said = [snapshot(name, trap, cwd) for _ in range(trap.turns)]
    if trap.alone:
        with monkeypatch.context() as patch:
            patch.setattr(run_module, "_GIT", ())
            git_module._known.cache_clear()
            said.append(snapshot(name, trap, cwd))
    if name in FIRST.values() and not trap.seam and trap.steady:
        check_build(build(scene, trap, cwd), said[0], trap)
    if trap.memory:
        TALLY.memory[name] = peak_memory(cwd, trap.timeout)
        assert max(TALLY.memory[name]) < trap.memory

    assert not scene.evil.ran()
    assert changes(before, state(scene.folder), trap) == []
    assert trap.held()
    for one in said:
        check_text(one, trap)
        trap.says(one)
    if trap.steady:
        assert said == [said[0]] * len(said)


def snapshot(name: str, trap: Trap, cwd: Path) -> GitSnapshot:
    """Read a repository, and hold it to the deadline."""
    begin = time.monotonic()
    result = read_git(cwd, timeout=trap.timeout, root=trap.root)
    took = time.monotonic() - begin
    TALLY.seconds[name] = max(took, TALLY.seconds.get(name, 0.0))
    TALLY.over[name] = TALLY.seconds[name] - trap.timeout
    assert took < trap.timeout + OVER + MACHINE
    return result


def changes(before: dict[str, Entry], after: dict[str, Entry], trap: Trap) -> list[str]:
    """Return the paths that are not what they were."""
    found = [path for path in {**before, **after} if before.get(path) != after.get(path) and not trap.changing(path)]
    return [path for path in found if not trap.touched(path) or timeless(before, path) != timeless(after, path)]


def timeless(entries: dict[str, Entry], path: str) -> Entry | None:
    """Return what is at a path but for its times."""
    return entries[path]._replace(times=(0, 0)) if path in entries else None


def check_text(snapshot: GitSnapshot, trap: Trap) -> None:
    """Hold what is said to what any prompt and any log may show."""
    assert len(snapshot.status.encode()) <= STATUS_LIMIT + len(TRUNCATION_MARKER)
    assert len(snapshot.diff.encode()) <= DIFF_LIMIT + len(TRUNCATION_MARKER)
    assert all(len(line) <= MOST_SUBJECT for line in snapshot.recent_commits)
    one_line = [snapshot.active_branch, *snapshot.recent_commits, *map(str, snapshot.notes)]
    assert all(len(text.splitlines()) <= 1 for text in one_line)
    assert all(len(note.detail) <= MOST_REASON for note in snapshot.notes)
    for text in (snapshot.status, snapshot.diff, *one_line):
        text.encode()  # to any sink
        check_words(text, trap)


def check_words(text: str, trap: Trap) -> None:
    """Hold a text to have nothing hidden, no speaker and no secret in it."""
    assert INVISIBLE.search(text) is None
    assert SPEAKER.search(text) is None
    assert not [secret for secret in trap.secrets if secret in text]


def check_build(report: dict[str, object], said: GitSnapshot, trap: Trap) -> None:
    """Hold the command line to the same words: those of the snapshot, one boundary, no secret in text or notes."""
    text = str(report["text"])
    assert text.count(DYNAMIC_CONTEXT_BOUNDARY) == 1
    suffix = text.partition(DYNAMIC_CONTEXT_BOUNDARY)[2]
    check_words(suffix, trap)
    assert said.status in suffix.replace("\\===", "===")
    assert said.active_branch in suffix.replace("\\===", "===")
    notes = report["notes"]
    assert isinstance(notes, list)
    assert {note.detail for note in said.notes if trap.timeout == 2.0} <= {note["detail"] for note in notes}
    check_words(str([note["detail"] for note in notes]), trap)


def test_corpus_is_complete() -> None:
    """There is a case for every number of the corpus; most have several."""
    numbers = {name.partition("-")[0] for name in (*CASES, *processes.CASES)}

    assert numbers == {f"G{number:02}" for number in range(1, 51)} | {f"P{number:02}" for number in range(1, 7)}


def test_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    """The numbers that are stated about the corpus: they are printed when all of it has run."""
    if len(TALLY.seconds) < len(CASES):
        pytest.skip("not all cases have run, or not all could")
    slowest = max(TALLY.seconds, key=lambda name: TALLY.seconds[name])
    latest = max(TALLY.over, key=lambda name: TALLY.over[name])
    largest = max(TALLY.memory, key=lambda name: max(TALLY.memory[name]))

    with capsys.disabled():
        print(
            f"\n{len(CASES)} hostile repositories tried and held (plain git fell into each); programs executed: 0; "
            f"bytes written: 0\nslowest snapshot: {TALLY.seconds[slowest]:.2f} s ({slowest}); "
            f"latest after its deadline: {TALLY.over[latest]:+.3f} s ({latest})\n"
            f"most memory: {TALLY.memory[largest]} MB, ours and one git's ({largest})"
        )
    assert TALLY.over[latest] < OVER + MACHINE
