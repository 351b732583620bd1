"""Real git repositories for the tests, the same on every machine; what plain git says of them; what was left behind."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

# The environment of plain git: no configuration but the repository's own.
ENVIRONMENT = {
    "PATH": os.environ["PATH"],
    "HOME": os.devnull,
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_AUTHOR_DATE": "2024-01-02T03:04:05Z",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": "2024-01-02T03:04:05Z",
}


def git(
    folder: Path, *arguments: str | bytes, stdin: bytes = b"", env: Mapping[str, str] | None = None, check: bool = True
) -> str:
    """Run plain git in a folder and return what it prints, without the last newline."""
    done = subprocess.run(
        ["git", "-c", "protocol.file.allow=always", "-c", "maintenance.auto=false", *arguments],
        cwd=folder,
        env=ENVIRONMENT | dict(env or {}),
        input=stdin,
        capture_output=True,
        check=False,
        timeout=10,
    )
    if check and done.returncode:
        raise AssertionError(f"git {arguments} ended with {done.returncode}: {done.stderr!r}")
    return os.fsdecode(done.stdout).removesuffix("\n")


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write text files, making the folders they are in; the text is written as it is."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())


def commit(folder: Path, subject: str, files: Mapping[str, str] | None = None) -> str:
    """Commit everything in a work tree, and return the hash."""
    _commit(folder, subject, files or {})
    return git(folder, "rev-parse", "HEAD")


def _commit(folder: Path, subject: str, files: Mapping[str, str]) -> None:
    write(folder, files)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", subject)


def make_repository(folder: Path, files: Mapping[str, str] | None = None, *options: str) -> Path:
    """Make a repository on branch main with one commit, `first`, of some files."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main", *options)
    _commit(folder, "first", {"a.txt": "one\ntwo\n", "sub/b.txt": "three\n"} if files is None else files)
    return folder


def make_stale(folder: Path) -> None:
    """Give every file another time than the index knows: they look changed until git has looked into them."""
    for name in git(folder, "ls-files", "-z").split("\0"):
        if name and (folder / name).is_file():
            os.utime(folder / name, (1, 1))


def contents(folder: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Return inode, time, size and bytes of everything below a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        data = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path.relative_to(folder))] = (status.st_ino, status.st_mtime_ns, status.st_size, data)
    return found


def plain_status(folder: Path) -> str:
    """Return what plain git calls the status."""
    status = git(folder, "-c", "core.quotePath=false", "--no-optional-locks", "status", "--short")
    return status + "\n" if status else ""


def plain_diff(folder: Path) -> str:
    """Return the summaries of plain git, unstaged then staged, in the form that the specification gives them."""
    command = ("-c", "core.quotePath=false", "diff", "--stat=80")
    texts = [git(folder, *command, *more).rstrip("\n") for more in ([], ["--cached"])]
    return "\n".join(text for text in texts if text)


def plain_commits(folder: Path) -> tuple[str, ...]:
    """Return the last three commits as plain git shows them."""
    return tuple(git(folder, "log", "-3", "--format=%h %s").splitlines())


def processes_with(word: str) -> list[int]:
    """Return the numbers of living processes, but our own, with a word in their environment or arguments."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            known = (folder / "environ").read_bytes() + (folder / "cmdline").read_bytes()
        except OSError:  # it is gone, or not ours
            continue
        if word.encode() in known and int(folder.name) != os.getpid():
            found.append(int(folder.name))
    return found
