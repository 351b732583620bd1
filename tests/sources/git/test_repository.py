"""Repositories that mean harm: nothing of theirs runs, nothing waits, nothing private is told, nothing is left."""

# ruff: noqa: D103 - a function that makes one kind of trap says it by its name

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from deepprompt import read_git
from deepprompt.errors import SourceError
from deepprompt.sources import private
from deepprompt.sources.git import repository as repository_module
from deepprompt.sources.git import run as run_module
from deepprompt.sources.git.repository import (
    Repository,
    _make_private_folder,
    _settings,
    find_repository,
    private_git_dir,
    read_state,
)
from deepprompt.sources.git.snapshot import GitSnapshot
from tests.support.repositories import (
    ENVIRONMENT,
    commit,
    contents,
    git,
    make_repository,
    make_stale,
    plain_commits,
    plain_status,
    write,
)

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


pytestmark = pytest.mark.usefixtures("temporary")


def reason(snapshot: GitSnapshot) -> str:
    """Return why there is no git context; an empty snapshot must say so in one note."""
    assert snapshot == GitSnapshot(state="unreadable")
    [note] = snapshot.notes
    assert (note.kind, note.source) == ("skipped", "git")
    return note.detail.removeprefix("no git context: ")


class Evil:
    """A program that leaves a marker when it runs, then does what a filter does."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self.marker = folder / "marker"
        self.program = folder / "program"
        self.program.write_text(f"#!/bin/sh\n: > '{self.marker}'\nexec cat\n")
        self.program.chmod(0o755)
        self.failing = folder / "failing"
        self.failing.write_text(f"#!/bin/sh\n: > '{self.marker}'\nexit 1\n")
        self.failing.chmod(0o755)

    def __str__(self) -> str:
        return str(self.program)

    def ran(self) -> bool:
        """Whether the program has run since it was last asked."""
        ran = self.marker.exists()
        self.marker.unlink(missing_ok=True)
        return ran


@pytest.fixture
def evil(tmp_path: Path) -> Evil:
    """A program that nobody should run."""
    return Evil(tmp_path / "evil")


# Each makes a repository run a program of its choice, and returns the git command that does.
def fsmonitor(folder: Path, evil: Evil) -> str:
    git(folder, "config", "core.fsmonitor", str(evil))
    return "status"


def fsmonitor_by_include(folder: Path, evil: Evil) -> str:
    write(evil.folder, {"config": f"[core]\n\tfsmonitor = {evil}\n"})
    git(folder, "config", "include.path", str(evil.folder / "config"))
    return "status"


def fsmonitor_by_conditional_include(folder: Path, evil: Evil) -> str:
    write(evil.folder, {"config": f"[core]\n\tfsmonitor = {evil}\n"})
    git(folder, "config", "includeIf.gitdir:**.path", str(evil.folder / "config"))
    return "status"


def fsmonitor_by_work_tree_config(folder: Path, evil: Evil) -> str:
    git(folder, "config", "extensions.worktreeConfig", "true")
    git(folder, "config", "--worktree", "core.fsmonitor", str(evil))
    return "status"


def clean_filter_by_gitattributes(folder: Path, evil: Evil) -> str:
    commit(folder, "attributes", {".gitattributes": "* filter=evil\n"})
    git(folder, "config", "filter.evil.clean", str(evil))
    return "status"


def clean_filter_by_untracked_gitattributes_below(folder: Path, evil: Evil) -> str:
    write(folder, {"sub/.gitattributes": "* filter=evil\n"})
    git(folder, "config", "filter.evil.clean", str(evil))
    return "status"


def clean_filter_by_info_attributes(folder: Path, evil: Evil) -> str:
    write(folder, {".git/info/attributes": "* filter=evil\n"})
    git(folder, "config", "filter.evil.clean", str(evil))
    return "status"


def clean_filter_on_diff(folder: Path, evil: Evil) -> str:
    clean_filter_by_info_attributes(folder, evil)
    return "diff --stat"


def clean_filter_with_an_equals_sign(folder: Path, evil: Evil) -> str:
    write(folder, {".git/info/attributes": "* filter=evil=x\n"})
    git(folder, "config", "filter.evil=x.clean", str(evil))
    return "status"


def required_filter(folder: Path, evil: Evil) -> str:
    git(folder, "config", "filter.evil.required", "true")
    return clean_filter_by_info_attributes(folder, evil)


def filter_process(folder: Path, evil: Evil) -> str:
    write(folder, {".git/info/attributes": "* filter=evil\n"})
    git(folder, "config", "filter.evil.process", str(evil))
    return "status"


def diff_external(folder: Path, evil: Evil) -> str:
    git(folder, "config", "diff.external", str(evil))
    return "diff"


def diff_command(folder: Path, evil: Evil) -> str:
    write(folder, {".git/info/attributes": "* diff=evil\n"})
    git(folder, "config", "diff.evil.command", str(evil))
    return "diff"


def textconv(folder: Path, evil: Evil) -> str:
    write(folder, {".git/info/attributes": "* diff=evil\n"})
    git(folder, "config", "diff.evil.textconv", str(evil))
    return "diff"


def index_hook(folder: Path, evil: Evil) -> str:
    (folder / ".git/hooks").mkdir(exist_ok=True)
    shutil.copy(evil.program, folder / ".git/hooks/post-index-change")
    return "status"


def index_hook_elsewhere(folder: Path, evil: Evil) -> str:
    shutil.copy(evil.program, evil.folder / "post-index-change")
    git(folder, "config", "core.hooksPath", str(evil.folder))
    return "diff --stat"


def sign(folder: Path, kind: str) -> None:
    """Put a signature of some kind on the last commit."""
    head, _, message = git(folder, "cat-file", "commit", "HEAD").partition("\n\n")
    signature = f"gpgsig -----BEGIN {kind} SIGNATURE-----\n \n AAAA\n -----END {kind} SIGNATURE-----"
    text = f"{head}\n{signature}\n\n{message}\n".encode()
    git(folder, "reset", "--soft", git(folder, "hash-object", "-t", "commit", "-w", "--stdin", stdin=text))


def signature(folder: Path, evil: Evil) -> str:
    sign(folder, "PGP")
    git(folder, "config", "log.showSignature", "true")
    git(folder, "config", "gpg.program", str(evil))
    return "log"


def signature_by_format(folder: Path, evil: Evil) -> str:
    sign(folder, "PGP")
    git(folder, "config", "format.pretty", "%G? %s")
    git(folder, "config", "gpg.program", str(evil))
    return "log"


def signature_by_ssh(folder: Path, evil: Evil) -> str:
    sign(folder, "SSH")
    git(folder, "config", "log.showSignature", "true")
    git(folder, "config", "gpg.ssh.program", str(evil))
    git(folder, "config", "gpg.ssh.allowedSignersFile", str(evil))
    return "log"


def lazy_fetch(folder: Path, evil: Evil) -> str:
    for key, value in {
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.url": "ssh://example.invalid/x",
        "remote.origin.promisor": "true",
        "core.sshCommand": str(evil.failing),
    }.items():
        git(folder, "config", key, value)
    blob = git(folder, "rev-parse", "HEAD:a.txt")
    (folder / ".git/objects" / blob[:2] / blob[2:]).unlink()
    return "diff --stat"


def submodule_of_evil(folder: Path, evil: Evil) -> str:
    part = make_repository(evil.folder / "part")
    git(folder, "submodule", "--quiet", "add", str(part), "part")
    git(folder, "commit", "--quiet", "--message", "part")
    write(folder, {"a.txt": "one\n2\n", ".git/modules/part/info/attributes": "* filter=evil\n"})
    git(folder / "part", "config", "core.fsmonitor", str(evil))
    git(folder / "part", "config", "filter.evil.clean", str(evil))
    make_stale(folder / "part")
    return "status"


TRAPS = [
    fsmonitor,
    fsmonitor_by_include,
    fsmonitor_by_conditional_include,
    fsmonitor_by_work_tree_config,
    clean_filter_by_gitattributes,
    clean_filter_by_untracked_gitattributes_below,
    clean_filter_by_info_attributes,
    clean_filter_on_diff,
    clean_filter_with_an_equals_sign,
    required_filter,
    filter_process,
    diff_external,
    diff_command,
    textconv,
    index_hook,
    index_hook_elsewhere,
    signature,
    signature_by_format,
    signature_by_ssh,
    lazy_fetch,
    submodule_of_evil,
]


@pytest.mark.slow
@pytest.mark.parametrize("flags", [True, False], ids=["", "without flags"])
@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.__name__)
def test_nothing_of_theirs_runs(
    repository: Path, evil: Evil, monkeypatch: pytest.MonkeyPatch, trap: Callable[[Path, Evil], str], flags: bool
) -> None:
    """A program that plain git runs for this repository is not run by ours, and what we say is still right."""
    command = trap(repository, evil)
    write(repository, {"a.txt": "one\n2\n"})
    make_stale(repository)
    evil.ran()
    git(repository, *command.split(), check=False)
    assert evil.ran(), "plain git does not run it, so this test proves nothing"
    make_stale(repository)
    evil.ran()
    if not flags:
        monkeypatch.setattr(run_module, "_GIT", ())

    snapshot = read_git(repository)
    read_git(repository / "sub")

    assert not evil.ran()
    assert snapshot.active_branch == "main"
    assert snapshot.status.startswith(" M a.txt\n")
    assert len(snapshot.recent_commits) == int(git(repository, "rev-list", "--count", "HEAD"))
    missing = ["no unstaged diff: git failed or was not done in time"] if trap is lazy_fetch else []
    assert [note.detail for note in snapshot.notes] == missing


def variables_by_count(evil: Evil) -> dict[str, str]:
    return {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.fsmonitor", "GIT_CONFIG_VALUE_0": str(evil)}


def variables_by_parameters(evil: Evil) -> dict[str, str]:
    return {"GIT_CONFIG_PARAMETERS": f"'core.fsmonitor'='{evil}'"}


def variables_by_global(evil: Evil) -> dict[str, str]:
    write(evil.folder, {"config": f"[core]\n\tfsmonitor = {evil}\n"})
    return {"GIT_CONFIG_GLOBAL": str(evil.folder / "config")}


def variables_by_system(evil: Evil) -> dict[str, str]:
    write(evil.folder, {"config": f"[core]\n\tfsmonitor = {evil}\n"})
    return {"GIT_CONFIG_SYSTEM": str(evil.folder / "config"), "GIT_CONFIG_NOSYSTEM": "0"}


def variables_by_external_diff(evil: Evil) -> dict[str, str]:
    return {"GIT_EXTERNAL_DIFF": str(evil)}


@pytest.mark.parametrize(
    "variables",
    [
        variables_by_count,
        variables_by_parameters,
        variables_by_global,
        variables_by_system,
        variables_by_external_diff,
    ],
    ids=lambda variables: variables.__name__,
)
def test_environment_runs_nothing(
    repository: Path, evil: Evil, monkeypatch: pytest.MonkeyPatch, variables: Callable[[Evil], dict[str, str]]
) -> None:
    """A program that plain git runs for the environment around it is not run by ours."""
    values = variables(evil)
    write(repository, {"a.txt": "one\n2\n"})
    git(repository, "diff", env=values, check=False)
    assert evil.ran(), "plain git does not run it, so this test proves nothing"
    for name, value in values.items():
        monkeypatch.setenv(name, value)

    assert read_git(repository).status == " M a.txt\n"
    assert not evil.ran()


def test_work_tree_elsewhere_is_not_listed(repository: Path, tmp_path: Path) -> None:
    """A core.worktree that names another folder does not make us list it."""
    write(tmp_path, {"private/id_rsa": "secret\n"})
    git(repository, "config", "core.worktree", str(tmp_path / "private"))
    assert "id_rsa" in plain_status(repository)

    assert read_git(repository).status == ""


def private_repository(folder: Path) -> Path:
    """A repository that another folder would like to show."""
    private = make_repository(folder / "private")
    commit(private, "the secret", {"secret.txt": ""})
    return private


def git_file(folder: Path, private: Path) -> None:
    (folder / ".git").write_text(f"gitdir: {private}/.git\n")


def git_file_to_a_fake_work_tree(folder: Path, private: Path) -> None:
    write(folder, {"fake/HEAD": "ref: refs/heads/main\n", "fake/commondir": f"{private}/.git\n"})
    write(folder, {"fake/gitdir": f"{folder}/.git\n", ".git": f"gitdir: {folder}/fake\n"})


def git_file_to_anothers_work_tree(folder: Path, private: Path) -> None:
    git(private, "worktree", "add", "--quiet", "-b", "side", str(folder.parent / "linked"))
    (folder / ".git").write_text(f"gitdir: {private}/.git/worktrees/linked\n")


def git_file_to_anothers_submodule(folder: Path, private: Path) -> None:
    main = make_repository(folder.parent / "main")
    git(main, "submodule", "--quiet", "add", str(private), "part")
    (folder / ".git").write_text(f"gitdir: {main}/.git/modules/part\n")


def common_dir_elsewhere(folder: Path, private: Path) -> None:
    write(folder, {".git/HEAD": "ref: refs/heads/main\n", ".git/commondir": f"{private}/.git\n"})


def link_to_the_git_folder(folder: Path, private: Path) -> None:
    (folder / ".git").symlink_to(private / ".git")


@pytest.mark.parametrize(
    "redirect",
    [
        git_file,
        git_file_to_a_fake_work_tree,
        git_file_to_anothers_work_tree,
        git_file_to_anothers_submodule,
        common_dir_elsewhere,
        link_to_the_git_folder,
    ],
    ids=lambda redirect: redirect.__name__,
)
def test_another_repository_is_not_told(tmp_path: Path, redirect: Callable[[Path, Path], None]) -> None:
    """A folder that points at a repository it does not belong to gets nothing of it, though plain git shows it."""
    private = private_repository(tmp_path)
    folder = tmp_path / "folder"
    folder.mkdir()
    redirect(folder, private)
    assert "the secret" in git(folder, "log", check=False)

    snapshot = read_git(folder)

    assert not snapshot.recent_commits
    assert "secret" not in snapshot.status + snapshot.diff


GIT_FILES = {
    "": "the .git file does not say where its git directory is",
    "gitdir:": "the .git file does not say where its git directory is",
    "garbage\n": "the .git file does not say where its git directory is",
    "gitdir: nowhere\n": "the .git file names a git directory that does not belong to this folder",
    "gitdir: \n": "the .git file names a git directory that does not belong to this folder",
    "gitdir: ../private/.git\n": "the .git file names a git directory that does not belong to this folder",
}


@pytest.mark.parametrize(("text", "message"), GIT_FILES.items())
def test_git_file_that_is_refused(tmp_path: Path, text: str, message: str) -> None:
    """A .git file is followed only to a git directory that names this work tree in turn."""
    private_repository(tmp_path)
    write(tmp_path, {"folder/.git": text})

    assert reason(read_git(tmp_path / "folder")) == message


LINKS = [
    ".git",
    ".git/objects",
    ".git/objects/pack",
    ".git/objects/info",
    ".git/HEAD",
    ".git/index",
    ".git/refs",
    ".git/refs/heads",
    ".git/refs/heads/main",
]


@pytest.mark.slow
@pytest.mark.parametrize("inside", [False, True], ids=["leading out", "staying inside"])
@pytest.mark.parametrize("path", LINKS)
def test_links_are_refused(repository: Path, tmp_path: Path, path: str, inside: bool) -> None:
    """A link is nothing that git makes in its folder, so it is a trap; what it leads to is not touched."""
    place = repository / path
    target = (place.parent if inside else tmp_path) / "moved"
    make_stale(repository)
    place.rename(target)
    place.symlink_to(target)
    before = contents(target) if target.is_dir() else target.read_bytes()

    assert reason(read_git(repository))
    assert (contents(target) if target.is_dir() else target.read_bytes()) == before


def test_packed_refs_link_is_refused(repository: Path, tmp_path: Path) -> None:
    """Packed refs are read from a file, never through a link."""
    git(repository, "pack-refs", "--all")
    (repository / ".git/packed-refs").rename(tmp_path / "packed")
    (repository / ".git/packed-refs").symlink_to(tmp_path / "packed")

    assert reason(read_git(repository))


NOTHING, SOME, ALL = "nothing", "some", "all"

# Where a named pipe stands, and how much can still be said.
PIPES = {
    ".git/index": NOTHING,
    ".git/HEAD": NOTHING,
    ".git/packed-refs": NOTHING,
    ".git/refs/heads/main": NOTHING,
    ".git/objects/info/alternates": NOTHING,
    ".gitignore": NOTHING,
    ".gitattributes": NOTHING,
    "sub/.gitignore": SOME,
    "sub/.gitattributes": SOME,
    ".git/objects/info/commit-graph": SOME,
    ".git/objects/pack/multi-pack-index": SOME,
    "the commit": SOME,
    "a link to a pipe": SOME,
    ".git/config": NOTHING,
    ".git/config.worktree": NOTHING,
    ".git/commondir": ALL,
    ".git/shallow": NOTHING,
    ".git/info/exclude": NOTHING,
    ".git/info/attributes": ALL,
    ".git/hooks": ALL,
    ".mailmap": ALL,
    ".gitmodules": ALL,
}


@pytest.mark.slow
@pytest.mark.parametrize(("name", "said"), PIPES.items())
def test_pipes_keep_nobody_waiting(repository: Path, tmp_path: Path, name: str, said: str) -> None:
    """A named pipe, wherever git might open it, is refused at once or ends at the deadline."""
    place = repository / name
    if name == "the commit":
        head = git(repository, "rev-parse", "HEAD")
        place = repository / ".git/objects" / head[:2] / head[2:]
    if name == ".git/packed-refs":
        git(repository, "pack-refs", "--all")
    write(repository, {"sub/b.txt": "changed\n"})
    place.parent.mkdir(exist_ok=True)
    if place.is_dir():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    if name == "a link to a pipe":
        os.mkfifo(tmp_path / "pipe")
        (repository / ".git/objects/info/alternates").symlink_to(tmp_path / "pipe")
    else:
        os.mkfifo(place)
    begin = time.monotonic()

    snapshot = read_git(repository, timeout=0.3)

    assert time.monotonic() - begin < 1.0
    if said == NOTHING:
        assert reason(snapshot)
    if said == ALL:
        assert (snapshot.status.splitlines()[0], snapshot.notes) == (" M sub/b.txt", ())
        assert len(snapshot.recent_commits) == 1
    assert snapshot.active_branch == ("" if said == NOTHING else "main")


@pytest.mark.parametrize("name", [".git/index", ".git/HEAD", ".git/packed-refs", ".git/refs/heads/main"])
def test_note_says_which_file(repository: Path, name: str) -> None:
    """When one file keeps us from reading a repository, the note says which."""
    git(repository, "pack-refs", "--all")
    (repository / name).unlink(missing_ok=True)
    os.mkfifo(repository / name)

    assert name.removeprefix(".git/") in reason(read_git(repository))


def test_git_that_is_a_pipe(tmp_path: Path) -> None:
    """A .git that is neither a folder nor a file is refused."""
    folder = tmp_path / "folder"
    folder.mkdir()
    os.mkfifo(folder / ".git")

    assert reason(read_git(folder)) == ".git is neither a folder nor a file"


@as_root
@pytest.mark.parametrize("path", [".", ".git"])
def test_repository_of_another_user(repository: Path, path: str) -> None:
    """A work tree or git directory that belongs to another user is not read."""
    os.chown(repository / path, 65534, 65534)

    assert reason(read_git(repository)).endswith(f"{(repository / path).resolve()} belongs to another user")
    assert reason(read_git(repository / "sub"))


@as_root
@pytest.mark.parametrize("path", ["linked", "main/.git", "main/.git/worktrees/linked"])
def test_linked_work_tree_of_another_user(tmp_path: Path, path: str) -> None:
    """Of a linked work tree, each of the three folders has to be ours."""
    main = make_repository(tmp_path / "main")
    git(main, "worktree", "add", "--quiet", "../linked")
    os.chown(tmp_path / path, 65534, 65534)

    assert reason(read_git(tmp_path / "linked")) == f"{tmp_path / path} belongs to another user"


HEADS = {
    b"": "HEAD is not one that git writes",
    b"\n": "HEAD is not one that git writes",
    b"garbage\n": "HEAD is not one that git writes",
    b"ref: main\n": "HEAD is not one that git writes",
    b"ref: refs/heads/a\nb\n": "HEAD is not one that git writes",
    b"ref: refs/heads/a\0b\n": "HEAD is not one that git writes",
    b"ref: refs/heads/\x1b[31m\n": "HEAD is not one that git writes",
    b"ref: refs/heads/a b\n": "HEAD is not one that git writes",
    b"ref: refs/../../../private/.git/refs/heads/main\n": "HEAD is not one that git writes",
    b"ref: refs/heads/main\x7f\n": "HEAD is not one that git writes",
    b"ref: /etc/passwd\n": "HEAD is not one that git writes",
    b"0123456789\n": "HEAD is not one that git writes",
    b"A" * 40: "HEAD is not one that git writes",
    b"ref: refs/heads/.invalid\n": "its refs are stored as reftable, which is not supported",
    b"ref: refs/heads/loop\n": "HEAD is a chain of symbolic refs",
}


@pytest.mark.parametrize(("head", "message"), HEADS.items())
def test_head_that_is_refused(repository: Path, head: bytes, message: str) -> None:
    """A HEAD that git would not write is refused, and the note says so."""
    write(repository, {".git/refs/heads/loop": "ref: refs/heads/loop\n"})
    (repository / ".git/HEAD").write_bytes(head)

    assert reason(read_git(repository)) == message


@pytest.mark.parametrize("length", [10_000, 1_000_000])
def test_head_that_is_too_long(repository: Path, length: int) -> None:
    """A HEAD that is too long to be read is refused, not taken for its beginning."""
    begin = "ref: refs/heads/"
    kept = "x" * 200 + "/" + "x" * 200 + "/" + "x" * 200 + "/" + "x" * 200 + "/" + "x" * (1024 - len(begin) - 804)
    git(repository, "update-ref", f"refs/heads/{kept}", "HEAD")
    (repository / ".git/HEAD").write_text(begin + kept + "y" * length + "\n")

    assert reason(read_git(repository))


@pytest.mark.parametrize("end", ["\n", ""])
def test_head_without_newline(repository: Path, end: str) -> None:
    """The last newline of a ref may be missing."""
    head = git(repository, "rev-parse", "HEAD")
    (repository / ".git/HEAD").write_text(f"ref: refs/heads/main{end}")
    (repository / ".git/refs/heads/main").write_text(f"{head}{end}")
    found = find_repository(str(repository))
    assert found is not None
    assert (found.branch, found.commit) == ("main", head)

    (repository / ".git/HEAD").write_text(f"{head}{end}")
    found = find_repository(str(repository))
    assert found is not None
    assert (found.branch, found.commit) == ("", head)


def test_git_folder_that_is_empty(tmp_path: Path) -> None:
    """A .git folder without a HEAD is no repository, and the note says so."""
    (tmp_path / "folder/.git").mkdir(parents=True)

    assert reason(read_git(tmp_path / "folder"))


def test_where_the_parts_are(tmp_path: Path) -> None:
    """A repository is found from below, a linked work tree and a submodule by their .git file."""
    part = make_repository(tmp_path / "part")
    main = make_repository(tmp_path / "main")
    git(main, "submodule", "--quiet", "add", str(part), "libs/part")
    git(main, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "linked"))
    head, dot_git = git(main, "rev-parse", "HEAD"), str(main / ".git")

    assert find_repository(str(main / "sub")) == Repository(str(main), dot_git, dot_git, "main", head)
    assert find_repository(str(tmp_path / "linked/sub")) == Repository(
        str(tmp_path / "linked"), f"{dot_git}/worktrees/linked", dot_git, "side", head
    )
    assert find_repository(str(main / "libs/part")) == Repository(
        str(main / "libs/part"), f"{dot_git}/modules/libs/part", f"{dot_git}/modules/libs/part", "main", head
    )
    assert find_repository(str(tmp_path)) is None


@pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="needs a file system mounted below the root")
def test_search_stays_on_the_file_system() -> None:
    """A repository above the mount that cwd is on is not looked for."""
    assert find_repository("/proc/self") is None


CONFIGS = {
    "[core]\n\tfilemode = false\n": {"core.filemode": "false"},
    "[core]\n\tfilemode\n": {"core.filemode": "true"},
    "[CORE]\nFileMode=FALSE": {"core.filemode": "FALSE"},
    '[core]\n\tworktree = "../a b" # why\n': {"core.worktree": "../a b"},
    "[core]\n\teol = lf ; why\n": {"core.eol": "lf"},
    "# [core]\n; x\n\n": {},
    "stray = 1\n": {},
    '[core "sub"]\n\tfilemode = false\n': {'core "sub".filemode': "false"},
    "[include]\n\tpath = /etc/passwd\n": {"include.path": "/etc/passwd"},
    "[core]\n\teol = lf\n\teol = crlf\n": {"core.eol": "crlf"},
}


@pytest.mark.parametrize(("text", "settings"), CONFIGS.items())
def test_read_config(tmp_path: Path, text: str, settings: dict[str, str]) -> None:
    """A config file is lines of text: nothing is included, nothing is asked of git."""
    write(tmp_path, {"git/config": text})

    folder = str(tmp_path / "git")
    assert {key: value for key, value in _settings(folder, folder).items() if key[-1] != "."} == settings


def test_read_config_that_cannot_be_read(tmp_path: Path) -> None:
    """A config that is missing has no settings; one that is no file is an error."""
    assert _settings(str(tmp_path), str(tmp_path)) == {}
    os.mkfifo(tmp_path / "config")
    with pytest.raises(SourceError, match=r"/config: not a regular file$"):
        _settings(str(tmp_path), str(tmp_path))


def found(folder: Path) -> Repository:
    """Return the repository of a folder."""
    repository = find_repository(str(folder))
    assert repository is not None
    return repository


def test_private_folder(repository: Path, temporary: Path) -> None:
    """The private folder is ours alone, has a config of ours and copies of the little that is safe, and goes away."""
    git(repository, "config", "core.autocrlf", "input")
    git(repository, "config", "core.fsmonitor", "/evil")
    git(repository, "config", "core.eol", "\nfsmonitor=/evil")
    write(repository, {".git/info/exclude": "*.log\n", ".git/info/attributes": "* filter=evil\n"})
    state = read_state(found(repository))
    assert state.index is not None

    with private_git_dir(found(repository), state) as folder:
        assert os.listdir(temporary) == [os.path.basename(folder)]
        assert os.path.basename(folder).startswith("deepprompt-")
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
        assert os.stat(f"{folder}/index").st_mtime_ns == state.index.status.st_mtime_ns
        assert sorted(path for path in contents(Path(folder))) == [
            "HEAD",
            "config",
            "index",
            "info",
            "info/exclude",
            "objects",
            "refs",
        ]
        assert Path(folder, "config").read_text() == (
            "[core]\n\tbare = false\n\tfsmonitor = false\n\thooksPath = /dev/null\n\tuntrackedCache = false\n"
            "\tquotePath = false\n\trepositoryFormatVersion = 0\n"
            "[core]\n\tfilemode = true\n[core]\n\tautocrlf = input\n"
        )
    assert os.listdir(temporary) == []


def test_private_folder_is_removed_after_an_error(repository: Path, temporary: Path) -> None:
    """The private folder goes away with whatever git has put there."""
    with pytest.raises(ZeroDivisionError), private_git_dir(found(repository), read_state(found(repository))) as folder:
        write(Path(folder), {"deep/er/file": ""})
        os.symlink("/", f"{folder}/deep/link")
        raise ZeroDivisionError
    assert os.listdir(temporary) == []


@pytest.mark.parametrize("place", ["{repository}", "{repository}/sub", "{link}", "relative", "", "/proc", "{missing}"])
def test_private_folder_is_never_in_the_work_tree(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Where TMPDIR is in the work tree, relative or no folder to write to, another place is taken."""
    (tmp_path / "link").symlink_to(repository / "sub")
    (tmp_path / "second").mkdir()
    place = place.format(repository=repository, link=tmp_path / "link", missing=tmp_path / "missing")
    monkeypatch.setenv("TMPDIR", place)
    monkeypatch.setenv("TEMP", str(tmp_path / "second"))
    monkeypatch.chdir(tmp_path)
    before = contents(repository)

    with private_git_dir(found(repository), read_state(found(repository))) as folder:
        assert os.path.dirname(folder) == str(tmp_path / "second")
    assert read_git(repository).status == ""
    assert contents(repository) == before


def test_no_place_for_the_private_folder() -> None:
    """When every place is in the work tree, that is an error that says what to do."""
    with pytest.raises(SourceError, match=r"^no folder for temporary files outside the repository; set TMPDIR$"):
        _make_private_folder(outside="/")


def test_index_that_is_too_large(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that is too large is refused."""
    monkeypatch.setattr(repository_module, "_MOST_INDEX", 10)

    assert reason(read_git(repository)) == f"{repository}/.git/index: larger than 10 bytes"


def test_index_that_claims_to_be_huge_is_not_read(repository: Path) -> None:
    """An index that is too large is refused by its size, before half a gigabyte of it is in memory."""
    os.truncate(repository / ".git/index", 1 << 34)
    script = (
        "import resource, sys; from deepprompt import read_git\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "notes = read_git(sys.argv[1]).notes\n"
        "print(notes[0].detail, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 65536)"
    )
    done = subprocess.run([sys.executable, "-c", script, repository], capture_output=True, text=True, check=True)

    assert done.stdout == f"no git context: {repository}/.git/index: larger than 536870912 bytes True\n"


def test_split_index_without_its_half(repository: Path) -> None:
    """When the larger half of a split index is gone, git fails, and the notes say so."""
    git(repository, "update-index", "--split-index")
    for path in (repository / ".git").glob("sharedindex.*"):
        path.unlink()

    snapshot = read_git(repository)

    assert (snapshot.status, snapshot.recent_commits) == ("", plain_commits(repository))
    assert "no status: git failed or was not done in time" in [note.detail for note in snapshot.notes]


# Ends a call of read_git at a line, for every other line that it comes to, each in a process of its own; prints where
# something is left. The other lines are the other signal's. A line that it comes to often is tried twice: the first
# time, and the last.
AT_EVERY_LINE = """
import os, shutil, signal, sys
from deepprompt.sources.git import snapshot as git
places = tuple(f"sources/git/{name}.py" for name in ("snapshot", "run", "objects", "repository", "process"))
repository, temporary, number, first = sys.argv[1], os.environ["TMPDIR"], int(sys.argv[2]), int(sys.argv[3])
def attempt(last, seen):
    count = 0
    def local(frame, event, argument):
        nonlocal count
        if event == "line":
            count += 1
            seen(f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}".encode())
            if count == last:
                sys.settrace(None)
                os.write(writer, frame.f_code.co_name.encode())
                signal.raise_signal(number)
        return local
    sys.settrace(lambda frame, *_: local if frame.f_code.co_filename.endswith(places) else None)
    try:
        git.read_git(repository)
    except KeyboardInterrupt:
        os._exit(1)
    except BaseException:
        os._exit(2)
    os._exit(0)
def forked(last, seen=lambda line: None):
    global writer
    reader, writer = os.pipe()
    child = os.fork() or attempt(last, seen)
    os.close(writer)
    with open(reader) as file:
        said = file.read()
    return said, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
lines = forked(0, lambda line: os.write(writer, line + b"\\n"))[0].splitlines()
backwards = {line: len(lines) - count for count, line in enumerate(reversed(lines))}
wanted = sorted({*backwards.values(), *({line: count for count, line in reversed([*enumerate(lines, 1)])}).values()})
ends, left, tried = set(), set(), 0
for last in wanted[first::2]:
    place, end = forked(last)
    if place:
        ends.add(end)
        tried += 1
    for name in os.listdir(temporary):
        left.add(place)
        shutil.rmtree(os.path.join(temporary, name))
assert tried > 100, tried
print(sorted(ends), sorted(left))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("number", "end", "first"), [(2, 1, 0), (15, -15, 1)], ids=["SIGINT", "SIGTERM"])
def test_signal_at_any_line_leaves_nothing(
    repository: Path, temporary: Path, number: int, end: int, first: int
) -> None:
    """Whenever a signal comes, the private folder is removed, and the end is the one that the signal means."""
    done = subprocess.run(
        [sys.executable, "-c", AT_EVERY_LINE, repository, str(number), str(first)],
        env=ENVIRONMENT | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout == f"[{end}] []\n"


EXCLUDES = {
    b"": False,
    b"\n\n": False,
    b"# *.log\n": False,
    b" # x\n": True,
    b"*.log": True,
    b"#\n!a\n": True,
    b"\r\n": True,
}


@pytest.mark.parametrize(("text", "kept"), EXCLUDES.items())
def test_excludes_without_a_pattern_are_left_out(repository: Path, text: bytes, kept: bool) -> None:
    """An exclude file with nothing but comments, as `git init` leaves it, means the same as none."""
    (repository / ".git/info/exclude").write_bytes(text)
    state = read_state(found(repository))

    assert [name for name, _ in state.files] == ["HEAD"] + ["info/exclude"] * kept
    with private_git_dir(found(repository), state) as folder:
        assert os.path.isdir(f"{folder}/info") == kept


def without_a_place(monkeypatch: pytest.MonkeyPatch, memory: Path) -> None:
    """Name no place for temporary files, and another folder for the one in memory."""
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(private, "_MEMORY", str(memory))


def test_private_folder_lies_in_memory(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no place is named it is the one in memory; it is ours alone, and nothing is left there."""
    (tmp_path / "memory").mkdir()
    without_a_place(monkeypatch, tmp_path / "memory")

    with private_git_dir(found(repository), read_state(found(repository))) as folder:
        assert os.path.dirname(folder) == str(tmp_path / "memory")
        assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert os.listdir(tmp_path / "memory") == []


@pytest.mark.parametrize("memory", ["missing", "full"])
def test_memory_that_has_no_room(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: str
) -> None:
    """Where there is no such place, or hardly room in it, the private folder lies where it always did."""
    (tmp_path / "full").mkdir()
    without_a_place(monkeypatch, tmp_path / memory)
    if memory == "full":
        monkeypatch.setattr(private, "_SPARE", 1 << 60)

    with private_git_dir(found(repository), read_state(found(repository))) as folder:
        assert os.path.dirname(folder) == os.path.realpath("/tmp")
    assert read_git(repository).status == ""
