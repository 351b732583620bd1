"""Turn after turn while somebody commits in the same repository: no commit fails, and nothing piles up.

60 turns, or as many as DEEPPROMPT_LOAD says; the numbers that are stated are those of 1,000.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.repositories import ENVIRONMENT, git, make_repository, processes_with, write

pytestmark = pytest.mark.slow

TURNS = int(os.environ.get("DEEPPROMPT_LOAD", "60"))
WARM = 20  # turns until everything is loaded that will be
GROWTH = 2048  # kilobytes that a process may gain after that: the allocator's own

# Takes turns in a process of its own, and prints what it holds after the first of them and after the last.
READER = """
import json, os, sys, threading, time
from deepprompt import read_git
repository, turns, warm = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
def held():
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 10
    return {
        "kilobytes": resident,
        "descriptors": len(os.listdir("/proc/self/fd")),
        "threads": len(os.listdir("/proc/self/task")),
        "children": len(open("/proc/self/task/%d/children" % os.getpid()).read().split()),
        "folders": len(os.listdir(os.environ["TMPDIR"])),
    }
seconds, notes, wrong, kept = [], [], 0, []
for turn in range(turns + warm):
    begin = time.monotonic()
    snapshot = read_git(repository)
    seconds.append(time.monotonic() - begin)
    notes += [note.detail for note in snapshot.notes]
    wrong += snapshot.active_branch != "main" or len(snapshot.recent_commits) != 3
    if turn >= warm - 1 and (turn - warm + 1) % max(1, turns // 10) == 0:
        kept.append(held())
print(json.dumps({"kept": kept, "notes": notes, "wrong": wrong, "seconds": sorted(seconds)}))
"""

# Commits until it is told to stop, and tells of each commit whether it failed.
COMMITTER = """
n=0
while [ ! -e "$0/stop" ]; do
    n=$((n + 1))
    echo $n > a.txt
    echo $n > sub/b.txt
    if git add a.txt && git commit --quiet --message "number $n" a.txt sub/b.txt
    then echo ok; else echo failed; fi
done
"""


@pytest.mark.parametrize("stale", [False, True], ids=["", "with many files that look changed"])
def test_turns_beside_commits(tmp_path: Path, temporary: Path, capsys: pytest.CaptureFixture[str], stale: bool) -> None:
    """No commit fails, and descriptors, threads, processes, folders and memory stay what they were."""
    repository = make_repository(tmp_path / "repository")
    for number in range(3):
        git(repository, "commit", "--quiet", "--allow-empty", "--message", f"before {number}")
    if stale:  # each of them is something that a git which may write would want to write down
        write(repository, {f"many/{number}": "x\n" for number in range(200)})
        git(repository, "add", "--all")
        git(repository, "commit", "--quiet", "--message", "many")
        for path in (repository / "many").iterdir():
            os.utime(path, (1, 1))
    (tmp_path / "control").mkdir()
    begin = time.monotonic()
    with subprocess.Popen(
        ["/bin/sh", "-c", COMMITTER, tmp_path / "control"],
        cwd=repository,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as committer:
        done = subprocess.run(
            [sys.executable, "-c", READER, repository, str(TURNS), str(WARM)], capture_output=True, text=True
        )
        (tmp_path / "control/stop").touch()
        said = committer.communicate(timeout=30)[0].split("\n")
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    first, *_, last = report["kept"]
    seconds = report["seconds"]

    with capsys.disabled():
        print(
            f"\n{TURNS} turns beside {said.count('ok')} commits in {time.monotonic() - begin:.0f} s: "
            f"{said.count('failed')} failed commits, {len(report['notes'])} notes; a turn took "
            f"{seconds[len(seconds) // 2] * 1000:.0f} ms, at most {seconds[-1] * 1000:.0f} ms\n"
            f"held after turn {WARM}: {first}\nheld after the last: {last}"
        )
    assert said.count("ok") > TURNS // 20, "hardly a commit was made, so this test proves nothing"
    assert [line for line in said if line not in ("ok", "")] == []
    assert (report["notes"], report["wrong"]) == ([], 0)
    grown = [one.pop("kilobytes") for one in report["kept"]]
    assert report["kept"] == [first] * len(report["kept"])
    assert (first["children"], first["folders"], first["threads"]) == (0, 0, 1)
    assert grown[-1] - grown[0] < GROWTH
    assert seconds[-1] < 2.0 + 0.2
    assert processes_with(str(temporary)) == []
    assert git(repository, "fsck", "--strict") == ""
    shutil.rmtree(repository)
