"""Cases in which plain git runs a program that the repository, or the environment around us, has chosen."""

# ruff: noqa: D103 - a function that sets one kind of trap says it by its name

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from tests.support.hostile.scene import (
    Scene,
    Trap,
    age,
    all_but,
    both,
    case,
    cases,
    change,
    on_a_terminal,
    right,
    running,
)
from tests.support.repositories import ENVIRONMENT, git, make_repository, write

STATUS = ("status", "--short")
SUMMARY = ("diff", "--stat")


# G01 to G04: core.fsmonitor, from every place that configuration comes from.
def fsmonitor(scope: Callable[[Scene], None]) -> Callable[[Scene], Trap]:
    """A trap whose program is named by a setting of the repository."""

    def make(scene: Scene) -> Trap:
        scope(scene)
        return Trap(both(scene.runs(*STATUS), scene.runs(*SUMMARY)), right())

    return make


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def in_config(scene: Scene) -> None:
    scene.set({"core.fsmonitor": scene.evil})


def of_version_2(scene: Scene) -> None:
    scene.set({"core.fsmonitor": scene.evil, "core.fsmonitorHookVersion": 2})


def in_other_letters(scene: Scene) -> None:
    append(scene.repository / ".git/config", f"[CoRe] # why\n\tFSMonitor={scene.evil} ; why\n")


def on_one_line(scene: Scene) -> None:
    append(scene.repository / ".git/config", f"[core] fsmonitor = {scene.evil}\n")


def over_two_lines(scene: Scene) -> None:
    append(scene.repository / ".git/config", f"[core]\n\tfsmonitor = \\\n{scene.evil}\n")


def of_the_work_tree(scene: Scene) -> None:
    shutil.copy(scene.evil.program, scene.repository / "sub/monitor")
    (scene.repository / ".git/info/exclude").write_text("monitor\n")
    scene.set({"core.fsmonitor": "sub/monitor"})


def as_a_shell_command(scene: Scene) -> None:
    scene.set({"core.fsmonitor": f": > '{scene.evil.marker}'; :"})


cases(
    "G01",
    {
        function.__name__: fsmonitor(function)
        for function in (
            in_config,
            of_version_2,
            in_other_letters,
            on_one_line,
            over_two_lines,
            of_the_work_tree,
            as_a_shell_command,
        )
    },
)


@case("G01")
def in_a_linked_work_tree(scene: Scene) -> Trap:
    scene.set({"core.fsmonitor": scene.evil})
    linked = scene.folder / "linked"
    git(scene.repository, "worktree", "add", "--quiet", "-b", "side", str(linked))
    change(linked)
    return Trap(scene.runs(*STATUS, cwd=linked), right(branch="side"), cwd=linked)


@case("G01")
def with_a_split_index(scene: Scene) -> Trap:
    git(scene.repository, "update-index", "--split-index")
    scene.set({"core.fsmonitor": scene.evil})
    return Trap(scene.runs(*STATUS), right())


@case("G01")
def with_a_sparse_index(scene: Scene) -> Trap:
    git(scene.repository, "sparse-checkout", "set", "--cone", "--sparse-index", "sub")
    scene.set({"core.fsmonitor": scene.evil})
    return Trap(scene.runs(*STATUS), right())


@case("G01")
def in_a_repository_of_sha256(scene: Scene) -> Trap:
    folder = make_repository(scene.folder / "sha256", None, "--object-format=sha256")
    change(folder)
    git(folder, "config", "core.fsmonitor", str(scene.evil))
    return Trap(scene.runs(*STATUS, cwd=folder), right(), cwd=folder)


def included(scene: Scene) -> None:
    scene.set({"include.path": scene.evil.config()})


def included_by_a_relative_path(scene: Scene) -> None:
    scene.set({"include.path": os.path.relpath(scene.evil.config(), scene.repository / ".git")})


def included_by_an_included_file(scene: Scene) -> None:
    first = scene.evil.folder / "first"
    first.write_text(f"[include]\n\tpath = {scene.evil.config()}\n")
    scene.set({"include.path": first})


cases(
    "G02",
    {
        function.__name__: fsmonitor(function)
        for function in (included, included_by_a_relative_path, included_by_an_included_file)
    },
)


def in_the_work_tree_config(scene: Scene) -> None:
    scene.set({"extensions.worktreeConfig": "true"})
    git(scene.repository, "config", "--worktree", "core.fsmonitor", str(scene.evil))


cases("G03", {in_the_work_tree_config.__name__: fsmonitor(in_the_work_tree_config)})


@case("G03")
def in_the_config_of_a_linked_work_tree(scene: Scene) -> Trap:
    linked = scene.folder / "linked"
    git(scene.repository, "worktree", "add", "--quiet", "-b", "side", str(linked))
    scene.set({"extensions.worktreeConfig": "true"})
    git(linked, "config", "--worktree", "core.fsmonitor", str(scene.evil))
    change(linked)
    return Trap(scene.runs(*STATUS, cwd=linked), right(branch="side"), cwd=linked)


def included_for_any_folder(scene: Scene) -> None:
    scene.set({"includeIf.gitdir:**.path": scene.evil.config()})


def included_for_a_branch(scene: Scene) -> None:
    scene.set({"includeIf.onbranch:main.path": scene.evil.config()})


def included_for_a_remote(scene: Scene) -> None:
    scene.set({"remote.x.url": "https://example.invalid/"})
    scene.set({"includeIf.hasconfig:remote.*.url:https://**.path": scene.evil.config()})


cases(
    "G04",
    {
        function.__name__: fsmonitor(function)
        for function in (included_for_any_folder, included_for_a_branch, included_for_a_remote)
    },
)


# G05 to G09: content filters, which run for every file that looks changed.
def filtered(scene: Scene, attributes: str, *, driver: str = "evil", kind: str = "clean") -> None:
    """Name a filter in a file of attributes."""
    append(scene.repository / attributes, f"* filter={driver}\n")
    append(scene.repository / ".git/info/exclude", ".gitattributes\n")
    quoted = driver.replace("\\", "\\\\").replace('"', '\\"')
    append(scene.repository / ".git/config", f'[filter "{quoted}"]\n\t{kind} = {scene.evil}\n')


def filter_on(*command: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        filtered(scene, ".git/info/attributes")
        return Trap(scene.runs(*command), right())

    return make


cases(
    "G05",
    {
        "info_attributes_on_status": filter_on(*STATUS),
        "info_attributes_on_diff_stat": filter_on(*SUMMARY),
        "info_attributes_on_diff": filter_on("diff"),
        "info_attributes_on_numstat": filter_on("diff", "--numstat"),
        "info_attributes_with_the_usual_flags": filter_on(
            "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "--no-optional-locks", *STATUS
        ),
    },
)


@case("G05")
def info_attributes_of_a_linked_work_tree(scene: Scene) -> Trap:
    filtered(scene, ".git/info/attributes")
    linked = scene.folder / "linked"
    git(scene.repository, "worktree", "add", "--quiet", "-b", "side", str(linked))
    change(linked)
    return Trap(scene.runs(*STATUS, cwd=linked), right(branch="side"), cwd=linked)


@case("G06")
def tracked_gitattributes(scene: Scene) -> Trap:
    filtered(scene, ".gitattributes")
    git(scene.repository, "add", "--force", ".gitattributes")
    git(scene.repository, "commit", "--quiet", "--message", "attributes", ".gitattributes")
    age(scene.repository, 3)  # the commit has looked at the files: now they have to be looked at again
    return Trap(scene.runs(*STATUS), right(commits=("attributes", "first")))


def gitattributes_at(path: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        filtered(scene, path)
        return Trap(scene.runs(*STATUS), right())

    return make


cases(
    "G06",
    {"untracked_gitattributes": gitattributes_at(".gitattributes"), "nested": gitattributes_at("sub/.gitattributes")},
)


@case("G06")
def attributes_file_elsewhere(scene: Scene) -> Trap:
    filtered(scene, ".git/info/attributes")
    os.replace(scene.repository / ".git/info/attributes", scene.evil.folder / "attributes")
    scene.set({"core.attributesFile": scene.evil.folder / "attributes"})
    return Trap(scene.runs(*STATUS), right())


@case("G06")
def macro_attribute(scene: Scene) -> Trap:
    filtered(scene, ".git/info/attributes")
    (scene.repository / ".gitattributes").write_text("[attr]dark filter=evil\n* dark\n")
    (scene.repository / ".git/info/attributes").unlink()
    return Trap(scene.runs(*STATUS), right())


@case("G07")
def filter_process(scene: Scene) -> Trap:
    filtered(scene, ".git/info/attributes", kind="process")
    return Trap(scene.runs(*STATUS), right())


@case("G07")
def filter_process_by_gitattributes(scene: Scene) -> Trap:
    filtered(scene, ".gitattributes", kind="process")
    return Trap(scene.runs(*SUMMARY), right())


@case("G08")
def required_filter(scene: Scene) -> Trap:
    filtered(scene, ".git/info/attributes")
    scene.set({"filter.evil.required": "true"})
    return Trap(scene.runs(*STATUS), right())


@case("G08")
def required_filter_that_fails(scene: Scene) -> Trap:
    filtered(scene, ".git/info/attributes")
    scene.set({"filter.evil.required": "true", "filter.evil.clean": scene.evil.failing})
    return Trap(scene.runs(*SUMMARY), right())


# A driver may have any name, so no list of settings on the command line can empty them all.
DRIVERS = ("evil=x", "Evil", "a.b.clean", "x]y", 'x"y', "lfs", "#x", "-c")


def driver_named(driver: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        filtered(scene, ".git/info/attributes", driver=driver)
        return Trap(scene.runs("-c", f"filter.{driver}.clean=", *STATUS), right())

    return make


cases("G09", {f"driver_named_{driver}": driver_named(driver) for driver in DRIVERS if "=" in driver})


def any_driver_named(driver: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        filtered(scene, ".gitattributes", driver=driver)
        return Trap(scene.runs(*STATUS), right())

    return make


cases("G09", {f"driver_named_{driver}": any_driver_named(driver) for driver in DRIVERS if "=" not in driver})


# G10 to G13: programs that show differences and signatures.
@case("G10")
def diff_external(scene: Scene) -> Trap:
    scene.set({"diff.external": scene.evil})
    return Trap(scene.runs("diff"), right())


def diff_driver(key: str, attributes: str, **more: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        append(scene.repository / attributes, "* diff=evil\n")
        append(scene.repository / ".git/info/exclude", ".gitattributes\n")
        scene.set({f"diff.evil.{key}": scene.evil} | {f"diff.evil.{name}": value for name, value in more.items()})
        return Trap(scene.runs("diff"), right())

    return make


cases(
    "G11",
    {
        "textconv": diff_driver("textconv", ".git/info/attributes"),
        "textconv_by_gitattributes": diff_driver("textconv", ".gitattributes"),
        "textconv_that_is_kept_in_notes": diff_driver("textconv", ".gitattributes", cachetextconv="true"),
        "command": diff_driver("command", ".git/info/attributes"),
        "command_by_nested_gitattributes": diff_driver("command", "sub/../.gitattributes"),
    },
)


def sign(folder: Path, kind: str) -> None:
    """Put a signature of some kind on the last commit."""
    head, _, message = git(folder, "cat-file", "commit", "HEAD").partition("\n\n")
    begin, end = f"-----BEGIN {kind}-----", f"-----END {kind}-----"
    text = f"{head}\ngpgsig {begin}\n \n AAAA\n {end}\n\n{message}\n".encode()
    git(folder, "reset", "--soft", git(folder, "hash-object", "-t", "commit", "-w", "--stdin", stdin=text))


def signed(kind: str, key: str, **settings: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        sign(scene.repository, kind)
        scene.set({key: scene.evil, "gpg.ssh.allowedSignersFile": scene.evil})
        scene.set({name.replace("__", "."): value for name, value in settings.items()})
        return Trap(scene.runs("log"), right())

    return make


cases(
    "G12",
    {
        "openpgp": signed("PGP SIGNATURE", "gpg.program", log__showSignature="true"),
        "openpgp_by_its_own_name": signed("PGP SIGNATURE", "gpg.openpgp.program", log__showSignature="true"),
        "ssh": signed("SSH SIGNATURE", "gpg.ssh.program", log__showSignature="true"),
        "x509": signed("SIGNED MESSAGE", "gpg.x509.program", log__showSignature="true"),
    },
)
cases(
    "G13",
    {
        "format": signed("PGP SIGNATURE", "gpg.program", format__pretty="%G? %s"),
        "named_format": signed("PGP SIGNATURE", "gpg.program", format__pretty="mine", pretty__mine="format:%GK"),
    },
)


# G14 to G18: objects that are missing, and a remote that promises to have them.
def promised(scene: Scene, url: str, settings: dict[str, object]) -> None:
    """Take the committed a.txt away, and name a remote that has it."""
    scene.set(
        {
            "core.repositoryFormatVersion": 1,
            "extensions.partialClone": "origin",
            "remote.origin.url": url,
            "remote.origin.promisor": "true",
            **settings,
        }
    )
    lose(scene.repository, "HEAD:a.txt")


def lose(folder: Path, name: str) -> None:
    """Take a loose object away."""
    digest = git(folder, "rev-parse", name)
    (folder / ".git/objects" / digest[:2] / digest[2:]).unlink()


@case("G14")
def promisor_by_ssh(scene: Scene) -> Trap:
    promised(scene, "ssh://example.invalid/x", {"core.sshCommand": scene.evil.failing})
    return Trap(scene.runs(*SUMMARY), all_but("unstaged diff"))


@case("G15")
def promisor_by_upload_pack(scene: Scene) -> Trap:
    promised(scene, str(scene.folder / "elsewhere"), {"remote.origin.uploadpack": scene.evil.failing})
    return Trap(scene.runs(*SUMMARY), all_but("unstaged diff"))


@case("G16")
def promisor_by_command(scene: Scene) -> Trap:
    promised(scene, f"ext::{scene.evil.failing} x", {"protocol.ext.allow": "always", "protocol.allow": "always"})
    return Trap(scene.runs(*SUMMARY), all_but("unstaged diff"))


@case("G17")
def promisor_by_proxy(scene: Scene) -> Trap:
    promised(scene, "git://example.invalid/x", {"core.gitProxy": scene.evil.failing})
    return Trap(scene.runs(*SUMMARY), all_but("unstaged diff"))


@case("G17")
def promisor_on_the_network(scene: Scene) -> Trap:
    """Plain git connects to a port of ours: no program runs, but a packet leaves."""
    server = socket.create_server(("127.0.0.1", 0))
    scene.opened.append(server.close)
    promised(scene, f"git://127.0.0.1:{server.getsockname()[1]}/x", {})

    def called(seconds: float) -> bool:
        server.settimeout(seconds)
        try:
            server.accept()[0].close()
        except TimeoutError:
            return False
        return True

    def fires() -> bool:
        with running(["git", *SUMMARY], scene.repository, ENVIRONMENT):
            fired = called(10)
        while called(0.05):  # it calls again, for the next object, before it is ended
            pass
        return fired

    return Trap(fires, all_but("unstaged diff"), held=lambda: not called(0.05))


@case("G17")
def promisor_that_asks_for_a_password(scene: Scene) -> Trap:
    """Plain git asks the credential helper, which is a program of the repository's choice."""

    class Closed(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002 - the name it has
            """Say nothing."""

    asked: list[str] = []
    server = HTTPServer(("127.0.0.1", 0), Closed)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    scene.opened += [server.server_close, server.shutdown]
    url = f"http://127.0.0.1:{server.server_port}/x"
    promised(scene, url, {"credential.helper": scene.evil.failing, "core.askPass": scene.evil.failing})

    def fires() -> bool:
        fired = scene.runs(*SUMMARY)() and bool(asked)
        asked.clear()
        return fired

    return Trap(fires, all_but("unstaged diff"), held=lambda: not asked)


@case("G18")
def promised_commit(scene: Scene) -> Trap:
    """A commit is missing, so that `git log` alone is enough."""
    scene.commit("second")
    promised(scene, "ssh://example.invalid/x", {"core.sshCommand": scene.evil.failing})
    lose(scene.repository, "HEAD^")
    return Trap(scene.runs("log"), all_but("unstaged diff", "commits"), mended=True)


# G19, G20: programs of a submodule, which git starts itself in.
def with_a_part(scene: Scene) -> Path:
    """Give the repository a submodule whose own settings run a program, and return its work tree."""
    source = make_repository(scene.folder / "source")
    git(scene.repository, "submodule", "--quiet", "add", str(source), "part")
    git(scene.repository, "commit", "--quiet", "--message", "part", "part", ".gitmodules")
    part = scene.repository / "part"
    git(part, "config", "core.fsmonitor", str(scene.evil))
    git(part, "config", "filter.evil.clean", str(scene.evil))
    write(scene.repository, {".git/modules/part/info/attributes": "* filter=evil\n"})
    change(part)
    return part


def submodule(command: tuple[str, ...], **settings: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        with_a_part(scene)
        scene.set({name.replace("__", "."): value for name, value in settings.items()})
        return Trap(scene.runs(*command), right(commits=("part", "first")))

    return make


cases(
    "G19",
    {
        "submodule_on_status": submodule(STATUS),
        "submodule_on_diff": submodule(SUMMARY),
        "submodule_that_is_never_ignored": submodule(
            STATUS, submodule__part__ignore="none", diff__ignoreSubmodules="none", status__submoduleSummary="true"
        ),
    },
)


@case("G19")
def inside_the_submodule(scene: Scene) -> Trap:
    part = with_a_part(scene)
    return Trap(scene.runs(*STATUS, cwd=part), right(), cwd=part)


@case("G19")
def repository_inside_that_is_no_submodule(scene: Scene) -> Trap:
    """A folder that the index calls a commit is entered like a submodule, though nothing declares it one."""
    inside = make_repository(scene.repository / "inside")
    git(scene.repository, "-c", "advice.addEmbeddedRepo=false", "add", "inside")
    git(scene.repository, "commit", "--quiet", "--message", "inside")
    git(inside, "config", "core.fsmonitor", str(scene.evil))
    change(inside)
    change(scene.repository)
    return Trap(scene.runs(*STATUS), right(commits=("inside", "first")))


cases(
    "G20",
    {
        "submodule_summary": submodule(STATUS, status__submoduleSummary="true"),
        "submodule_diff": submodule(("diff",), diff__submodule="diff"),
        "submodule_log": submodule(("diff",), diff__submodule="log"),
        "submodule_recursion": submodule(STATUS, submodule__recurse="true"),
    },
)


# G30: hooks that run when an index is written.
def index_hook(command: tuple[str, ...], place: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        hook = scene.evil.write(scene.repository / place / "post-index-change")
        append(scene.repository / ".git/info/exclude", f"{hook.name}\n")
        if place != ".git/hooks":
            scene.set({"core.hooksPath": place})

        def fires() -> bool:
            age(scene.repository, 3)
            return scene.runs(*command)()

        return Trap(fires, right())

    return make


cases(
    "G30",
    {
        "hook_on_status": index_hook(STATUS, ".git/hooks"),
        "hook_on_diff": index_hook(SUMMARY, ".git/hooks"),
        "hook_on_diff_without_optional_locks": index_hook(("--no-optional-locks", *SUMMARY), ".git/hooks"),
        "hook_in_the_work_tree": index_hook(SUMMARY, "sub"),
        "hook_elsewhere": index_hook(SUMMARY, "../evil/hooks"),
    },
)


# G31, G34 to G36: programs that the environment around us names.
def around(variables: Callable[[Scene], dict[str, object]], *command: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        _ = scene.repository  # made before the variables are there
        scene.environment(variables(scene))
        return Trap(scene.runs(*command), right())

    return make


cases(
    "G31",
    {
        "count": around(
            lambda scene: {
                "GIT_CONFIG_COUNT": 1,
                "GIT_CONFIG_KEY_0": "core.fsmonitor",
                "GIT_CONFIG_VALUE_0": scene.evil,
            },
            *STATUS,
        ),
        "parameters": around(lambda scene: {"GIT_CONFIG_PARAMETERS": f"'core.fsmonitor'='{scene.evil}'"}, *STATUS),
        "global": around(lambda scene: {"GIT_CONFIG_GLOBAL": scene.evil.config()}, *STATUS),
        "system": around(lambda scene: {"GIT_CONFIG_SYSTEM": scene.evil.config(), "GIT_CONFIG_NOSYSTEM": "0"}, *STATUS),
        "include_in_global": around(
            lambda scene: {
                "GIT_CONFIG_COUNT": 1,
                "GIT_CONFIG_KEY_0": "include.path",
                "GIT_CONFIG_VALUE_0": scene.evil.config(),
            },
            *STATUS,
        ),
        "template_of_attributes": around(
            lambda scene: {
                "GIT_CONFIG_COUNT": 2,
                "GIT_CONFIG_KEY_0": "core.attributesFile",
                "GIT_CONFIG_VALUE_0": write_text(scene.evil.folder / "attributes", "* filter=evil\n"),
                "GIT_CONFIG_KEY_1": "filter.evil.clean",
                "GIT_CONFIG_VALUE_1": scene.evil,
            },
            *STATUS,
        ),
    },
)


def write_text(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def at_home(name: str) -> Callable[[Scene], Trap]:
    """A trap in the user's own configuration, which is no reason to run a program either."""

    def make(scene: Scene) -> Trap:
        home = scene.folder / "home"
        write(home, {name: f"[core]\n\tfsmonitor = {scene.evil}\n"})
        _ = scene.repository
        scene.environment({"HOME": home})
        scene.patch.delenv("XDG_CONFIG_HOME", raising=False)
        without = {key: value for key, value in ENVIRONMENT.items() if key != "GIT_CONFIG_GLOBAL"}

        def fires() -> bool:
            subprocess.run(["git", *STATUS], cwd=scene.repository, env=without | {"HOME": str(home)}, check=False)
            return scene.evil.ran()

        return Trap(fires, right())

    return make


cases("G31", {"gitconfig_at_home": at_home(".gitconfig"), "xdg_at_home": at_home(".config/git/config")})


@case("G34")
def external_diff_by_environment(scene: Scene) -> Trap:
    _ = scene.repository
    scene.environment({"GIT_EXTERNAL_DIFF": scene.evil})
    return Trap(scene.runs("diff"), right())


def pager(settings: dict[str, str], variables: tuple[str, ...], *command: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        scene.set({key: value.format(evil=scene.evil) for key, value in settings.items()})
        scene.environment(dict.fromkeys(variables, scene.evil) | {"LESSOPEN": f"|{scene.evil} %s"})

        def fires() -> bool:
            on_a_terminal(scene, *command)
            return scene.evil.ran()

        return Trap(fires, right(), terminal=True)

    return make


cases(
    "G34",
    {
        "git_pager": pager({}, ("GIT_PAGER",), "log"),
        "pager": pager({}, ("PAGER",), "log"),
        "core_pager": pager({"core.pager": "{evil}"}, (), "log"),
        "pager_of_status": pager({"pager.status": "{evil}"}, (), "status"),
    },
)


@case("G35")
def git_in_the_repository(scene: Scene) -> Trap:
    """A relative entry of PATH, or an empty one, finds a program of the repository."""
    for name in ("git", "bin/git", "git.exe", "git.bat", "sub/git"):
        scene.evil.write(scene.repository / name)
    append(scene.repository / ".git/info/exclude", "git*\nbin\n")
    path = os.environ["PATH"]
    scene.environment({"PATH": f".:bin::sub:{path}"})
    scene.patch.chdir(scene.repository)

    def fires() -> bool:
        subprocess.run(["git", "--version"], cwd=scene.repository, check=False, stdin=subprocess.DEVNULL)
        scene.variables["PATH"] = path  # the rest of the controls want the real one
        return scene.evil.ran()

    return Trap(fires, right())


def git_in_path(entry: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        repository = scene.repository
        scene.evil.write(repository / "bin/git")
        append(repository / ".git/info/exclude", "bin\n")
        (scene.folder / "link").symlink_to(repository / "bin")
        (scene.folder / "outside").mkdir()
        (scene.folder / "outside/git").symlink_to(repository / "bin/git")
        entry_ = entry.format(repository=repository, folder=scene.folder)
        scene.patch.setenv("PATH", f"{entry_}:{os.environ['PATH']}")

        def fires() -> bool:
            subprocess.run(["git", "--version"], cwd=scene.folder, check=False, stdin=subprocess.DEVNULL)
            return scene.evil.ran()

        return Trap(fires, right())

    return make


cases(
    "G35",
    {
        "absolute_but_in_the_repository": git_in_path("{repository}/bin"),
        "linked_folder": git_in_path("{folder}/link"),
        "linked_program": git_in_path("{folder}/outside"),
        "roundabout": git_in_path("{folder}/outside/../repository/sub/../bin"),
    },
)


def promisor_around(variables: Callable[[Scene], dict[str, object]], url: str) -> Callable[[Scene], Trap]:
    def make(scene: Scene) -> Trap:
        promised(scene, url, {})
        scene.environment(variables(scene))
        return Trap(scene.runs(*SUMMARY), all_but("unstaged diff"))

    return make


cases(
    "G36",
    {
        "ssh_command": promisor_around(
            lambda scene: {"GIT_SSH_COMMAND": scene.evil.failing}, "ssh://example.invalid/x"
        ),
        "ssh": promisor_around(lambda scene: {"GIT_SSH": scene.evil.failing}, "ssh://example.invalid/x"),
        "proxy_command": promisor_around(
            lambda scene: {"GIT_PROXY_COMMAND": scene.evil.failing}, "git://example.invalid/x"
        ),
        "exec_path": promisor_around(
            lambda scene: {"GIT_EXEC_PATH": scene.evil.write(scene.evil.folder / "exec/git-remote-x", "exit 1").parent},
            "x://example.invalid/x",
        ),
    },
)
