"""Cases in which plain git looks, lists or writes somewhere else than in the repository that one stands in."""

# ruff: noqa: D103 - a function that sets one kind of trap says it by its name

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from deepprompt.sources.git.snapshot import GitSnapshot
from tests.support.hostile.programs import STATUS, SUMMARY, append
from tests.support.hostile.scene import (
    DIFF,
    Scene,
    Trap,
    age,
    both,
    case,
    cases,
    no_repository,
    right,
    state,
    unavailable,
)
from tests.support.repositories import commit, git, make_repository, write

NOBODY = 65534


# G21, G22: repositories that lie where one does not expect them.
def embedded(scene: Scene) -> Path:
    """Commit a bare repository as ordinary files, clone it all, and return the folder of the bare one."""
    vendor = scene.repository / "docs/vendor"
    write(
        vendor,
        {
            "HEAD": "ref: refs/heads/main\n",
            "config": f"[core]\n\trepositoryformatversion = 0\n\tworktree = .\n\tfsmonitor = {scene.evil}\n",
            "objects/keep": "",
            "refs/keep": "",
        },
    )
    commit(scene.repository, "vendor")
    git(scene.folder, "clone", "--quiet", "repository", "clone")
    write(scene.folder / "clone", {"a.txt": "one\n3\n"})
    return scene.folder / "clone/docs/vendor"


@case("G21")
def bare_repository_as_root(scene: Scene) -> Trap:
    vendor = embedded(scene)
    return Trap(scene.runs(*STATUS, cwd=vendor), no_repository, cwd=vendor, root=vendor)


@case("G21")
def bare_repository_in_a_clone(scene: Scene) -> Trap:
    vendor = embedded(scene)
    says = right(status=" M ../../a.txt\n", commits=("vendor", "first"))
    return Trap(scene.runs(*STATUS, cwd=vendor), says, cwd=vendor)


def project_in(scene: Scene) -> Path:
    """A folder in a repository that runs a program."""
    scene.set({"core.fsmonitor": scene.evil})
    write(scene.repository, {"project/README": ""})
    append(scene.repository / ".git/info/exclude", "project\n")
    return scene.repository / "project"


@case("G22")
def repository_above_the_root(scene: Scene) -> Trap:
    project = project_in(scene)
    return Trap(scene.runs(*STATUS, cwd=project), no_repository, cwd=project, root=project)


@case("G22")
def repository_above_the_root_through_a_link(scene: Scene) -> Trap:
    project = project_in(scene)
    (scene.folder / "link").symlink_to(project)
    return Trap(scene.runs(*STATUS, cwd=project), no_repository, cwd=scene.folder / "link", root=project)


@case("G22")
def repository_above_without_a_root(scene: Scene) -> Trap:
    project = project_in(scene)
    return Trap(scene.runs(*STATUS, cwd=project), right(status=" M ../a.txt\n"), cwd=project)


@case("G22")
def root_that_is_elsewhere(scene: Scene) -> Trap:
    project = project_in(scene)
    return Trap(
        scene.runs(*STATUS, cwd=project), unavailable("does not lie in the root"), project, root=scene.evil.folder
    )


# G23, G24: whose it is. Plain git asks too, but not when it is told where its folder is, nor under sudo.
def explicit(scene: Scene, folder: Path) -> Callable[[], bool]:
    return scene.runs(f"--git-dir={folder}/.git", f"--work-tree={folder}", *STATUS)


@case("G23")
def of_another_user_by_a_seam(scene: Scene) -> Trap:
    scene.set({"core.fsmonitor": scene.evil})
    euid = os.geteuid()
    fires = scene.runs(*STATUS)

    def fires_then_switches() -> bool:
        fired = fires()
        scene.patch.setattr(os, "geteuid", lambda: euid + 1)
        return fired

    return Trap(fires_then_switches, unavailable("belongs to another user"), seam=True)


def given_away(*paths: str, below: str = ".", link: bool = False) -> Callable[[Scene], Trap]:
    """Give some folders of a scene to another user."""

    def make(scene: Scene) -> Trap:
        if os.geteuid() != 0:
            pytest.skip("only root can give files away")
        scene.set({"core.fsmonitor": scene.evil})
        if link:
            git(scene.repository, "worktree", "add", "--quiet", "-b", "side", str(scene.folder / "linked"))
        for path in paths:
            os.chown(scene.folder / path, NOBODY, NOBODY)
        cwd = scene.folder / ("linked" if link else "repository") / below
        control = scene.runs(*STATUS, cwd=cwd, env={"SUDO_UID": str(NOBODY)}) if below == "." else None
        if paths != ("repository", "repository/.git") or control is None:
            control = explicit(scene, scene.repository)
        return Trap(control, unavailable("belongs to another user"), cwd=cwd)

    return make


cases(
    "G23",
    {
        "work_tree_of_another_user": given_away("repository"),
        "git_folder_of_another_user": given_away("repository/.git"),
        "both_of_another_user_under_sudo": given_away("repository", "repository/.git"),
        "linked_work_tree_of_another_user": given_away("linked", link=True),
        "common_folder_of_another_user": given_away("repository/.git", link=True),
        "git_folder_of_a_link_of_another_user": given_away("repository/.git/worktrees/linked", link=True),
    },
)
cases(
    "G24",
    {
        "shared_folder_above": given_away("repository", "repository/.git", below="sub"),
        "only_its_git_folder_is_anothers": given_away("repository/.git", below="sub"),
    },
)


# G25 to G27: other repositories and folders, which are nobody's business.
def private_repository(scene: Scene) -> Path:
    private = make_repository(scene.folder / "private")
    commit(private, "the secret plan", {"id_rsa": "secret\n"})
    return private


def redirect(
    make_redirect: Callable[[Path, Path], None], says: Callable[[GitSnapshot], None]
) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        private = private_repository(scene)
        folder = scene.folder / "folder"
        folder.mkdir()
        make_redirect(folder, private)
        control = scene.shows("the secret plan", "log", cwd=folder)
        return Trap(control, says, cwd=folder, secrets=("the secret plan", "id_rsa"))

    return make


def git_file(folder: Path, private: Path) -> None:
    (folder / ".git").write_text(f"gitdir: {private}/.git\n")


def relative_git_file(folder: Path, _private: Path) -> None:
    (folder / ".git").write_text("gitdir: ../private/.git\n")


def git_file_to_anothers_work_tree(folder: Path, private: Path) -> None:
    git(private, "worktree", "add", "--quiet", "-b", "side", str(folder.parent / "linked"))
    (folder / ".git").write_text(f"gitdir: {private}/.git/worktrees/linked\n")


def git_file_to_anothers_submodule(folder: Path, private: Path) -> None:
    main = make_repository(folder.parent / "main")
    git(main, "submodule", "--quiet", "add", str(private), "part")
    (folder / ".git").write_text(f"gitdir: {main}/.git/modules/part\n")


def git_file_through_a_link(folder: Path, private: Path) -> None:
    (folder / "door").symlink_to(private / ".git")
    (folder / ".git").write_text("gitdir: door\n")


def link_in_place_of_the_git_folder(folder: Path, private: Path) -> None:
    (folder / ".git").symlink_to(private / ".git")


def common_dir(folder: Path, private: Path) -> None:
    write(folder, {".git/HEAD": "ref: refs/heads/main\n", ".git/commondir": f"{private}/.git\n"})


def fake_work_tree(folder: Path, private: Path) -> None:
    """A git directory that names this folder in turn, and another's as what it has in common."""
    write(folder, {"fake/HEAD": "ref: refs/heads/main\n", "fake/commondir": f"{private}/.git\n"})
    write(folder, {"fake/gitdir": f"{folder}/.git\n", ".git": f"gitdir: {folder}/fake\n"})


def fake_work_tree_in_a_linked_folder(folder: Path, private: Path) -> None:
    """The same, with `../..` as the way to it, which a link leads elsewhere."""
    write(private, {".git/worktrees/x/HEAD": "ref: refs/heads/main\n", ".git/worktrees/x/commondir": "../..\n"})
    write(private, {".git/worktrees/x/gitdir": f"{private}/.git\n"})
    (folder / "fake").symlink_to(private / ".git/worktrees")
    (folder / ".git").write_text("gitdir: fake/x\n")


def linked_objects_and_refs(folder: Path, private: Path) -> None:
    write(folder, {".git/HEAD": "ref: refs/heads/main\n"})
    (folder / ".git/objects").symlink_to(private / ".git/objects")
    (folder / ".git/refs").symlink_to(private / ".git/refs")


def linked_head(folder: Path, private: Path) -> None:
    git(folder, "init", "--quiet")
    write(folder, {".git/objects/info/alternates": f"{private}/.git/objects\n"})
    (folder / ".git/refs/heads").rmdir()
    (folder / ".git/refs/heads").symlink_to(private / ".git/refs/heads")
    (folder / ".git/HEAD").write_text("ref: refs/heads/main\n")


def head_below_the_refs(folder: Path, private: Path) -> None:
    """A ref is a path, and this one climbs out of the folder of refs."""
    git(folder, "init", "--quiet")
    (folder / ".git/objects/info/alternates").write_text(f"{private}/.git/objects\n")
    (folder / ".git/refs/heads/door").symlink_to(private / ".git/refs/heads")
    (folder / ".git/HEAD").write_text("ref: refs/heads/door/main\n")


cases(
    "G25",
    {
        function.__name__: redirect(function, unavailable())
        for function in (
            git_file,
            relative_git_file,
            git_file_to_anothers_work_tree,
            git_file_to_anothers_submodule,
            git_file_through_a_link,
            link_in_place_of_the_git_folder,
        )
    },
)


def quiet(snapshot: GitSnapshot) -> None:
    """Nothing is told but what lies in the folder itself."""
    assert snapshot.recent_commits == ()


cases(
    "G26",
    {
        "common_dir": redirect(common_dir, quiet),
        **{
            function.__name__: redirect(function, unavailable())
            for function in (
                fake_work_tree,
                fake_work_tree_in_a_linked_folder,
                linked_objects_and_refs,
                linked_head,
                head_below_the_refs,
            )
        },
    },
)


@case("G27")
def work_tree_elsewhere(scene: Scene) -> Trap:
    write(scene.folder, {"private/id_rsa": "secret\n"})
    scene.set({"core.worktree": scene.folder / "private"})
    return Trap(scene.shows("id_rsa", *STATUS), right(), secrets=("id_rsa",))


@case("G27")
def submodule_whose_work_tree_is_elsewhere(scene: Scene) -> Trap:
    write(scene.folder, {"private/id_rsa": "secret\n"})
    source = make_repository(scene.folder / "source")
    git(scene.repository, "submodule", "--quiet", "add", str(source), "part")
    part = scene.repository / "part"
    git(part, "config", "core.worktree", str(scene.folder / "private"))
    return Trap(scene.shows("id_rsa", *STATUS, cwd=part), unavailable("does not belong"), cwd=part, secrets=("id_rsa",))


def index_of(names: list[bytes], blob: str, version: int = 2) -> bytes:
    """An index with files of any name, which git reads without a second look."""
    entries = b""
    for name in names:
        entry = struct.pack(">10I", 0, 0, 0, 0, 0, 0, 0o100644, 0, 0, 0) + bytes.fromhex(blob)
        entry += struct.pack(">H", len(name))
        if version == 4:
            entries += entry + b"\0" + name + b"\0"  # nothing in common with the name before
        else:
            entry += name
            entries += entry + b"\0" * (8 - len(entry) % 8)
    data = b"DIRC" + struct.pack(">II", version, len(names)) + entries
    return data + hashlib.sha1(data).digest()


def file_outside(name: str, version: int = 2) -> Callable[[Scene], Trap]:
    """An index that names a file outside: git says whether it is there and how many lines it has."""

    def make(scene: Scene) -> Trap:
        write(scene.folder, {"private/id_rsa": "1\n2\n3\n"})
        blob = git(scene.repository, "rev-parse", "HEAD:a.txt")
        path = name.format(folder=scene.folder).encode()
        (scene.repository / ".git/index").write_bytes(index_of([path], blob, version))
        control = both(scene.shows("id_rsa", *STATUS), scene.shows("+", *SUMMARY))
        return Trap(control, unavailable("names a file outside the work tree"), secrets=("id_rsa",))

    return make


cases(
    "G27",
    {
        "index_names_an_absolute_path": file_outside("{folder}/private/id_rsa"),
        "index_names_a_file_above": file_outside("../private/id_rsa"),
        "index_names_a_file_above_by_a_detour": file_outside("sub/../../private/id_rsa"),
        "index_of_version_4_names_a_file_above": file_outside("../private/id_rsa", version=4),
    },
)


@case("G27")
def index_names_a_file_behind_a_link(scene: Scene) -> Trap:
    """A folder of the work tree that became a link to another: what is behind it is not looked at."""
    scene.commit("door", {"door/id_rsa": "secret\n"})
    (scene.repository / "door/id_rsa").rename(scene.folder / "id_rsa")
    (scene.repository / "door").rmdir()
    (scene.repository / "door").symlink_to(scene.folder)
    write(scene.folder, {"id_rsa": "1\n2\n3\n4\n"})
    status = " M a.txt\n D door/id_rsa\n?? door\n"
    diff = f"{DIFF.splitlines()[0].replace('a.txt', 'a.txt      ')}\n door/id_rsa | 1 -\n"
    diff += " 2 files changed, 1 insertion(+), 2 deletions(-)"
    return Trap(scene.shows(" D door/id_rsa", *STATUS), right(status, diff, commits=("door", "first")))


# G28, G29: writing.
@case("G28")
def stale_index(scene: Scene) -> Trap:
    """Every file looks changed; a hundred turns later nothing has been written."""
    return Trap(both(scene.writes(*STATUS), restaled(scene, "diff", "--stat")), right(), turns=100)


def restaled(scene: Scene, *command: str) -> Callable[[], bool]:
    def fires() -> bool:
        age(scene.repository, 3)
        return scene.writes(*command)()

    return fires


@case("G28")
def without_optional_locks_the_diff_writes(scene: Scene) -> Trap:
    return Trap(scene.writes("--no-optional-locks", *SUMMARY), right())


@case("G28")
def text_conversion_kept_in_notes(scene: Scene) -> Trap:
    """Plain git keeps the result of a text conversion as an object and a ref of the repository."""
    write(scene.repository, {".git/info/attributes": "* diff=text\n"})
    scene.set({"diff.text.textconv": "cat <", "diff.text.cachetextconv": "true"})
    return Trap(scene.writes("diff"), right())


@case("G28")
def untracked_cache(scene: Scene) -> Trap:
    scene.set({"core.untrackedCache": "true", "feature.manyFiles": "true"})
    git(scene.repository, "update-index", "--force-untracked-cache")
    age(scene.repository, 3)
    return Trap(scene.writes(*STATUS), right())


@case("G28")
def sparse_index_that_must_be_filled(scene: Scene) -> Trap:
    """Where git has to fill in a folder that a sparse index leaves out, it touches the trees that it finds it in.

    No setting of git 2.39 keeps it from that, and it writes no byte: only the times of those objects change.
    """
    folder = make_repository(scene.folder / "sparse", {"a.txt": "one\ntwo\n", "sub/b": "", "out/c": "1\n"})
    git(folder, "sparse-checkout", "set", "--cone", "--sparse-index", "sub")
    write(folder, {"a.txt": "one\n2\n", "out/c": "1\n"})

    def fires() -> bool:
        before = state(folder)
        git(folder, "--no-optional-locks", *STATUS)
        return state(folder) != before

    return Trap(fires, right(), cwd=folder, touched=lambda path: path.startswith("sparse/.git/objects/"))


@case("G29")
def index_that_is_a_link(scene: Scene) -> Trap:
    index = scene.repository / ".git/index"
    victim = scene.folder / "victim"
    index.rename(victim)
    index.symlink_to(victim)

    def fires() -> bool:
        before = victim.stat()
        git(scene.repository, *STATUS)
        after = victim.stat()
        return (before.st_ino, before.st_mtime_ns) != (after.st_ino, after.st_mtime_ns)

    return Trap(fires, unavailable("/.git/index: "))


@case("G29")
def objects_that_are_a_link(scene: Scene) -> Trap:
    objects = scene.repository / ".git/objects"
    objects.rename(scene.folder / "objects")
    objects.symlink_to(scene.folder / "objects")
    control = scene.shows("first", "log")
    return Trap(control, unavailable("is a link"))


# G32, G33: what the environment around us says.
def redirected(*names: str) -> Callable[[Scene], Trap]:
    """Variables that make plain git show another repository."""

    def make(scene: Scene) -> Trap:
        private = private_repository(scene)
        write(private, {"id_rsa": "other\n"})
        values = {
            "GIT_DIR": private / ".git",
            "GIT_WORK_TREE": private,
            "GIT_COMMON_DIR": private / ".git",
            "GIT_INDEX_FILE": private / ".git/index",
            "GIT_OBJECT_DIRECTORY": private / ".git/objects",
        }
        _ = scene.repository
        scene.environment({name: values[name] for name in names})
        control = scene.shows("id_rsa", *STATUS)
        return Trap(control, right(), secrets=("id_rsa", "the secret plan"))

    return make


cases(
    "G32",
    {
        "git_dir": redirected("GIT_DIR", "GIT_WORK_TREE"),
        "work_tree": redirected("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"),
        "common_dir": redirected("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"),
        "index_and_objects": redirected("GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"),
    },
)


def traced(*names: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        _ = scene.repository
        trace = scene.folder / "trace"
        scene.environment(dict.fromkeys(names, trace))

        def fires() -> bool:
            git(scene.repository, *STATUS, env=scene.variables)
            fired = trace.exists()
            trace.unlink(missing_ok=True)
            return fired

        return Trap(fires, right(), held=lambda: not trace.exists())

    return make


cases(
    "G33",
    {
        name.lower(): traced(name)
        for name in ("GIT_TRACE", "GIT_TRACE2", "GIT_TRACE2_EVENT", "GIT_TRACE2_PERF", "GIT_TRACE_SETUP")
    },
)


@case("G33")
def trace_by_configuration(scene: Scene) -> Trap:
    _ = scene.repository
    trace = scene.folder / "trace"
    config = scene.folder / "config"
    config.write_text(f"[trace2]\n\teventTarget = {trace}\n")
    scene.environment({"GIT_CONFIG_GLOBAL": config})

    def fires() -> bool:
        git(scene.repository, *STATUS, env=scene.variables)
        fired = trace.exists()
        trace.unlink(missing_ok=True)
        return fired

    return Trap(fires, right(), held=lambda: not trace.exists())


# G37: a history that is not the one of the commits.
@case("G37")
def replaced_commit(scene: Scene) -> Trap:
    tree = git(scene.repository, "rev-parse", "HEAD^{tree}")
    spoof = git(scene.repository, "commit-tree", tree, "-m", "spoof")
    git(scene.repository, "replace", "HEAD", spoof)
    return Trap(scene.shows("spoof", "log"), right())


@case("G37")
def grafted_commit(scene: Scene) -> Trap:
    tree, head = git(scene.repository, "rev-parse", "HEAD^{tree}", "HEAD").split()
    spoof = git(scene.repository, "commit-tree", tree, "-m", "spoof")
    write(scene.repository, {".git/info/grafts": f"{head} {spoof}\n"})
    return Trap(scene.shows("spoof", "log"), right())


@case("G37")
def objects_borrowed_elsewhere(scene: Scene) -> Trap:
    """Alternates are how `git clone --shared` works. They are not read, and a note says so."""
    private = private_repository(scene)
    write(scene.repository, {".git/objects/info/alternates": f"{private}/.git/objects\n"})
    control = scene.shows("the secret plan", "log", git(private, "rev-parse", "HEAD"))

    def says(snapshot: GitSnapshot) -> None:
        assert [note.kind for note in snapshot.notes] == ["refused"]
        right()(replace(snapshot, notes=()))

    return Trap(control, says, secrets=("the secret plan",))


# G48, G50: repositories that mean no harm.
@case("G48")
def lock_that_was_left(scene: Scene) -> Trap:
    (scene.repository / ".git/index.lock").touch()
    return Trap(scene.fails("add", "a.txt"), right())


@case("G50")
def large_files(scene: Scene) -> Trap:
    """A file that a filter keeps elsewhere is stored as a pointer: unread, it is unchanged; looked into, it is not.

    That is the one difference to plain git, which would run the filter.
    """
    folder = make_repository(scene.folder / "large", {".gitattributes": "*.bin filter=lfs -text\n", "a.txt": "one\n"})
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n"
    clean = scene.evil.write(scene.folder / "lfs", f"cat > /dev/null; printf '{pointer}'".replace("\n", "\\n"))
    git(folder, "config", "filter.lfs.clean", str(clean))
    git(folder, "config", "filter.lfs.required", "true")
    commit(folder, "large", {"x.bin": "\0\0\0\0"})
    write(folder, {"a.txt": "two\n"})

    def says(snapshot: GitSnapshot) -> None:
        assert snapshot.status.startswith(" M a.txt\n")
        assert snapshot.status in (" M a.txt\n", " M a.txt\n M x.bin\n")
        assert (snapshot.active_branch, snapshot.notes) == ("main", ())

    def fires() -> bool:
        age(folder, 3)
        return scene.runs(*STATUS, cwd=folder)()

    return Trap(fires, says, cwd=folder)


@case("G50")
def other_line_ends(scene: Scene) -> Trap:
    """Conversion of line ends runs nothing, and is honoured."""
    scene.set({"core.autocrlf": "true"})
    write(scene.repository, {"a.txt": "one\r\n2\r\n", "sub/b.txt": "three\r\n"})
    return Trap(scene.shows(DIFF, *SUMMARY), right(status=" M a.txt\n M sub/b.txt\n"))
