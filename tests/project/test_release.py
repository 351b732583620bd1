"""What is released: built twice it has the same bytes, installed it has every asset, and its types hold from outside.

Everything is built in a copy below a temporary folder. It needs the extra `dev`, and without it skips; with
DEEPPROMPT_NEED_RELEASE=1 that is a failure. The documents and workflows that say how it is made are held here too.
"""

from __future__ import annotations

import base64
import csv
import importlib.util
import io
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email import message_from_string
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml

import deepprompt
from deepprompt.catalog import bundled
from deepprompt.commands import COMMANDS
from deepprompt.manifest import MANIFEST, parse_manifest
from tests.support.paths import ROOT

NEEDED = os.environ.get("DEEPPROMPT_NEED_RELEASE") == "1"
VERSION = deepprompt.__version__
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CHANGELOG = (ROOT / "CHANGELOG.md").read_text("utf-8")
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
TYPED = ROOT / "tests" / "data" / "typed"
WORKFLOWS = ROOT / ".github" / "workflows"

ONE_PLACE = {"TZ": "UTC", "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1"}
ANOTHER = {"TZ": "Pacific/Kiritimati", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "2"}


def unavailable(reason: str) -> NoReturn:
    """Skip, or fail where nothing may be skipped."""
    if NEEDED:
        pytest.fail(f"DEEPPROMPT_NEED_RELEASE=1, and this {reason}")
    pytest.skip(reason)


def need(*modules: str) -> None:
    """Go on only where these can be imported."""
    missing = [name for name in modules if importlib.util.find_spec(name) is None]
    # A folder `build` beside the tests can be imported too, but is not the program.
    if "build" not in missing and "build" in modules and importlib.util.find_spec("build.__main__") is None:
        missing.append("build")
    if missing:
        unavailable(f"needs {', '.join(missing)}: pip install 'deepprompt[dev]'")


def run(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None, umask: int = -1) -> str:
    """Run a program that has to end well, with next to nothing in its environment, and return what it prints."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), **(env or {})},
        umask=umask,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


def build(source: Path, out: Path, what: str, env: Mapping[str, str], umask: int) -> dict[str, bytes]:
    """Build a wheel or an sdist, and return it by its name."""
    out.mkdir()
    options = ["--no-isolation", f"--{what}", "--outdir"]
    run(sys.executable, "-P", "-m", "build", *options, out, source, cwd=out.parent, env=env, umask=umask)
    return {path.name: path.read_bytes() for path in out.iterdir()}


@dataclass(frozen=True)
class Released:
    """What was built of a copy of the work tree, where that copy is, and a folder to work in."""

    checkout: Path
    files: tuple[str, ...]
    """All that the checkout has, by name."""
    work: Path
    wheel_name: str
    wheel: bytes
    sdist_name: str
    sdist: bytes

    @cached_property
    def record(self) -> dict[str, tuple[str, str]]:
        """Digest and size of each file in the wheel, as its RECORD has them."""
        with zipfile.ZipFile(io.BytesIO(self.wheel)) as archive:
            rows = csv.reader(io.StringIO(archive.read(f"{self.info}/RECORD").decode()))
        return {name: (digest, size) for name, digest, size in rows}

    @property
    def info(self) -> str:
        """The folder of the wheel's metadata."""
        return f"deepprompt-{VERSION}.dist-info"

    def metadata(self, name: str) -> str:
        """Return a file of the wheel's metadata."""
        with zipfile.ZipFile(io.BytesIO(self.wheel)) as archive:
            return archive.read(f"{self.info}/{name}").decode()


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Released:
    """The wheel and the sdist of the work tree as it stands: what git knows or would take, and nothing it ignores."""
    need("build", "hatchling")
    if not (ROOT / ".git").exists():
        unavailable("is not a checkout: a release is built from one")
    work = tmp_path_factory.mktemp("release")
    checkout = work / "checkout"
    listed = run("git", "ls-files", "-coz", "--exclude-standard", cwd=ROOT).split("\0")
    files = sorted({name for name in listed if (ROOT / name).is_file()})
    for name in files:
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, checkout / name)
    ((wheel_name, wheel),) = build(checkout, work / "wheel", "wheel", ONE_PLACE, 0o022).items()
    ((sdist_name, sdist),) = build(checkout, work / "sdist", "sdist", ONE_PLACE, 0o022).items()
    return Released(checkout, tuple(files), work, wheel_name, wheel, sdist_name, sdist)


@pytest.mark.slow
class TestReproducible:
    """The same sources give the same bytes, wherever and whenever they are built."""

    def test_in_another_place(self, released: Released) -> None:
        """Path, file times, order and rights of files, umask, time zone, locale and hash seed change nothing."""
        elsewhere = released.work / "a folder with another name"
        for name in reversed(released.files):
            source, target = released.checkout / name, elsewhere / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
            target.chmod(0o700 if source.stat().st_mode & stat.S_IXUSR else 0o600)
            os.utime(target, (1_000_000_000, 1_000_000_000))
        wheel = build(elsewhere, released.work / "wheel elsewhere", "wheel", ANOTHER, 0o077)
        sdist = build(elsewhere, released.work / "sdist elsewhere", "sdist", ANOTHER, 0o077)
        assert wheel == {released.wheel_name: released.wheel}
        assert sdist == {released.sdist_name: released.sdist}

    def test_from_the_sdist(self, released: Released) -> None:
        """Who builds the wheel from the sdist gets the one that is released."""
        with tarfile.open(fileobj=io.BytesIO(released.sdist)) as archive:
            archive.extractall(released.work / "unpacked", filter="data")
        (source,) = (released.work / "unpacked").iterdir()
        wheel = build(source, released.work / "wheel of sdist", "wheel", ANOTHER, 0o077)
        assert wheel == {released.wheel_name: released.wheel}


@pytest.mark.slow
class TestContents:
    """What is in the wheel and in the sdist."""

    def test_the_wheel_has_the_package_and_nothing_else(self, released: Released) -> None:
        """Every file of the package, the metadata and the licence; no test, no documentation, no bytecode."""
        package = {name for name in released.files if name.startswith("deepprompt/")}
        assert {"deepprompt/py.typed", "deepprompt/inspector/page.html", f"deepprompt/assets/{MANIFEST}"} <= package
        metadata = ["METADATA", "WHEEL", "entry_points.txt", "licenses/LICENSE", "RECORD"]
        with zipfile.ZipFile(io.BytesIO(released.wheel)) as archive:
            assert sorted(archive.namelist()) == sorted([*package, *(f"{released.info}/{name}" for name in metadata)])

    def test_the_record_agrees_with_the_manifest(self, released: Released) -> None:
        """Two lists of the assets' digests, made by two programs, say the same."""
        manifest = (released.checkout / "deepprompt/assets" / MANIFEST).read_text("utf-8")
        ours = {
            f"deepprompt/assets/{path}": (digest, str(size))
            for path, (digest, size) in parse_manifest(manifest, "checkout").items()
        }
        theirs = {
            name: (base64.urlsafe_b64decode(digest.removeprefix("sha256=") + "=").hex(), size)
            for name, (digest, size) in released.record.items()
            if name.startswith("deepprompt/assets/") and not name.endswith(f"/{MANIFEST}")
        }
        assert len(ours) > 100
        assert theirs == ours

    def test_entry_points(self, released: Released) -> None:
        """The wheel brings the script and the pytest plugin."""
        assert released.metadata("entry_points.txt").split("\n\n") == [
            "[console_scripts]\ndeepprompt = deepprompt.cli:main",
            "[pytest11]\ndeepprompt = deepprompt.testing\n",
        ]

    def test_the_metadata_is_complete(self, released: Released) -> None:
        """An index can show what it is, for whom, by whom and under which license, and has no address to show."""
        metadata = message_from_string(released.metadata("METADATA"))
        assert (metadata["Author"], metadata["License-Expression"]) == ("The deepprompt authors", "MIT")
        assert "(c) 2026 The deepprompt authors" in (ROOT / "LICENSE").read_text("utf-8")
        assert metadata["Summary"] == PYPROJECT["project"]["description"]
        assert metadata["Description-Content-Type"] == "text/markdown"
        assert metadata.get_payload() == (ROOT / "README.md").read_text("utf-8")
        kinds = {text.partition(" :: ")[0] for text in metadata.get_all("Classifier", [])}
        assert kinds >= {"Development Status", "Environment", "Framework", "Intended Audience", "Topic", "Typing"}
        # The repository has no public address yet. A private one would be shown for ever.
        assert metadata.get_all("Project-URL", []) == []

    def test_the_sdist_is_the_checkout(self, released: Released) -> None:
        """Who has the sdist has all that the tests need: every file that git has, and the metadata."""
        with tarfile.open(fileobj=io.BytesIO(released.sdist)) as archive:
            names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
        assert names == {*released.files, "PKG-INFO"}


@dataclass(frozen=True)
class Installed:
    """An environment of its own, with the wheel in it."""

    venv: Path
    packages: Path
    files: tuple[str, ...]
    """What the installation put among the packages."""

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.venv / "bin" / "python"


@pytest.fixture(scope="module")
def installed(released: Released) -> Installed:
    """The wheel, installed by pip. What it depends on, and pytest, are lent by the environment of the tests."""
    need("pip")
    venv = released.work / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=released.work)
    (packages,) = venv.glob("lib/python*/site-packages")
    pip = [sys.executable, "-m", "pip", "--python", str(venv / "bin" / "python"), "install"]
    options = ["--no-index", "--no-deps", "--no-compile", "--quiet"]
    run(*pip, *options, released.work / "wheel" / released.wheel_name, cwd=released.work)
    files = sorted(path.relative_to(packages).as_posix() for path in packages.rglob("*") if path.is_file())
    # A path and no more: what else is installed there by a .pth file, such as this checkout, is not lent.
    lent = {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    (packages / "lent.pth").write_text("".join(f"{path}\n" for path in sorted(lent)), "utf-8")
    return Installed(venv, packages, tuple(files))


@pytest.mark.slow
class TestInstalled:
    """The wheel in an environment of its own, away from the checkout."""

    def test_nothing_is_lost_on_the_way(self, released: Released, installed: Installed) -> None:
        """Every file of the package is there byte for byte, and beside it only metadata."""
        package = [name for name in released.files if name.startswith("deepprompt/")]
        for name in package:
            assert (installed.packages / name).read_bytes() == (released.checkout / name).read_bytes(), name
        rest = sorted(set(installed.files) - set(package))
        assert rest
        assert all(name.startswith(f"{released.info}/") for name in rest), rest

    def test_it_is_what_is_imported(self, released: Released, installed: Installed) -> None:
        """The environment's Python finds the installed package, not the checkout, and its script says the version."""
        code = "import deepprompt; print(deepprompt.__file__)"
        assert run(installed.python, "-c", code, cwd=released.work) == f"{installed.packages}/deepprompt/__init__.py\n"
        assert run(installed.venv / "bin" / "deepprompt", "--version", cwd=released.work) == f"deepprompt {VERSION}\n"

    def test_it_builds_a_prompt(self, installed: Installed, tmp_path: Path) -> None:
        """The script prints the prompt of a project: bundled wording, its instructions, what git says of it."""
        run("git", "init", "--quiet", cwd=tmp_path)
        (tmp_path / "AGENTS.md").write_text("Run the tests with make test.\n")
        lines = run(installed.venv / "bin" / "deepprompt", "build", "--home=", cwd=tmp_path).splitlines()
        assert {"# Identity", "Run the tests with make test.", "?? AGENTS.md"} <= set(lines)

    @pytest.mark.parametrize("damage", ["altered", "removed"])
    def test_a_damaged_installation(self, released: Released, installed: Installed, damage: str) -> None:
        """An asset that was altered or removed after the installation is an error with its name, never a prompt."""
        asset = installed.packages / "deepprompt/assets/base/1.0.0/style.md"
        whole = asset.read_bytes()
        code = (
            "import deepprompt\n"
            "try: print(deepprompt.SystemPromptBuilder().build())\n"
            "except deepprompt.errors.AssetError as error: print('refused:', error)"
        )
        try:
            asset.unlink() if damage == "removed" else asset.write_bytes(whole.replace(b"a", b"b", 1))
            said = run(installed.python, "-c", code, cwd=released.work)
        finally:
            asset.write_bytes(whole)
        assert said.startswith("refused: deepprompt: base/1.0.0/style.md ")
        assert ("was altered" in said) == (damage == "altered")


@pytest.fixture(scope="module")
def outside(released: Released) -> Path:
    """A project that uses the package, in a folder that has nothing to do with the checkout."""
    return Path(shutil.copytree(TYPED, released.work / "outside"))


def type_check(installed: Installed, project: Path, *names: str) -> tuple[int, list[str]]:
    """Run mypy on files of a project by the installed package; return its exit code and its errors."""
    need("mypy")
    done = subprocess.run(
        [
            *(sys.executable, "-P", "-m", "mypy", "--strict", "--config-file=", "--no-error-summary"),
            *("--python-executable", str(installed.python), "--cache-dir", str(installed.venv / "mypy"), *names),
        ],
        cwd=project,
        env={"PATH": os.environ["PATH"], "HOME": str(project)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr == ""
    return done.returncode, [line for line in done.stdout.splitlines() if ": note: " not in line]


@pytest.mark.slow
class TestTyped:
    """The types as another project sees them, which has the wheel and not the checkout."""

    def test_a_project_that_is_right(self, installed: Installed, outside: Path) -> None:
        """Builder, sessions, requests, presets, templates, tiers, guards and fixtures pass the strictest check."""
        names = sorted(path.name for path in outside.glob("*.py") if path.name != "mistakes.py")
        assert len(names) == 4
        assert type_check(installed, outside, *names) == (0, [])

    def test_a_project_that_is_wrong(self, installed: Installed, outside: Path) -> None:
        """Each mistake is found where it stands, a misspelt name of the package too, and nothing else is."""
        lines = enumerate((outside / "mistakes.py").read_text("utf-8").splitlines(), 1)
        expected = [(number, code) for number, line in lines for code in re.findall(r"# error: ([\w-]+)$", line)]
        code, errors = type_check(installed, outside, "mistakes.py")
        found = [re.fullmatch(r"mistakes\.py:(\d+): error: .* \[([\w-]+)\]", error) for error in errors]
        assert code == 1
        assert [(int(match[1]), match[2]) if match else match for match in found] == expected, "\n".join(errors)
        assert len(expected) >= 20

    def test_by_the_installed_marker(self, installed: Installed, outside: Path) -> None:
        """What was checked is the installation: without its py.typed there are no types."""
        marker = installed.packages / "deepprompt/py.typed"
        marker.unlink()
        try:
            code, errors = type_check(installed, outside, "guards.py")
        finally:
            marker.touch()
        assert code == 1
        assert "module is installed, but missing library stubs or py.typed marker  [import-untyped]" in "\n".join(
            errors
        )

    @pytest.mark.parametrize(
        ("program", "printed"),
        [
            ("agent.py", "cold start: nothing was sent before (nowhere)\nclaude-opus-5-5 openai\n"),
            (
                "layouts.py",
                "2 identity 10\nRead this.\nThe context.\nbase 1.1.0: identity, style, tools, verify []\n",
            ),
            ("guards.py", "['DP101'] text, line 2: the text was edited\nTrue 0.0\n"),
        ],
        ids=["agent", "layouts", "guards"],
    )
    def test_its_programs_run(self, installed: Installed, outside: Path, program: str, printed: str) -> None:
        """What passes the type check runs, too."""
        assert run(installed.python, program, cwd=outside) == printed

    def test_its_tests_run(self, installed: Installed, outside: Path) -> None:
        """The plugin is found by the wheel's entry point, and its fixtures do what they are for."""
        tests = ["-m", "pytest", "-p", "no:cacheprovider", "-q", "checked_by_pytest.py"]
        update = ["-k", "test_prompt", "--snapshot-update"]
        assert "2 snapshots generated" in run(installed.python, *tests, *update, cwd=outside)
        assert "2 passed" in run(installed.python, *tests, cwd=outside)


class TestVersion:
    """One version, in one place, and a changelog that knows it."""

    @pytest.mark.slow
    def test_everything_says_the_same(self, released: Released) -> None:
        """The names of the files, the metadata and the package agree."""
        assert released.wheel_name == f"deepprompt-{VERSION}-py3-none-any.whl"
        assert released.sdist_name == f"deepprompt-{VERSION}.tar.gz"
        assert message_from_string(released.metadata("METADATA"))["Version"] == VERSION

    def test_one_place(self) -> None:
        """No file of the package and no setting repeats the version: both are made from `__version__`."""
        assert "version" not in PYPROJECT["project"]
        assert PYPROJECT["tool"]["hatch"]["version"] == {"path": "deepprompt/__init__.py"}
        said = re.compile(rf"(?:version|deepprompt)[\W_]+{re.escape(VERSION)}\b", re.IGNORECASE)
        package = Path(deepprompt.__file__).parent
        files = [*package.rglob("*.py"), *package.rglob("*.js"), *package.rglob("*.html"), ROOT / "pyproject.toml"]
        repeated = [path for path in files if said.search(path.read_text("utf-8"))]
        assert repeated == [package / "__init__.py"]

    def test_the_newest_heading(self) -> None:
        """The changelog begins with this version; each heading has a date, the first may be unreleased yet."""
        headings = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
        dates = [re.fullmatch(r"(\S+) \((\d{4}-\d{2}-\d{2}|unreleased)\)", heading) for heading in headings]
        assert all(dates)
        versions = [(match[1], match[2]) for match in dates if match]
        assert versions[0][0] == VERSION
        assert "unreleased" not in [date for _, date in versions[1:]]

    def test_each_release_says_what_became_of_the_prompts(self) -> None:
        """Every release has a heading Prompts, and the newest version of every family stands under one."""
        releases = re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]
        told = [re.findall(r"^### Prompts\n(.*?)(?=^#|\Z)", text, re.MULTILINE | re.DOTALL) for text in releases]
        assert all(len(found) == 1 for found in told)
        prompts = "".join(text for found in told for text in found)
        newest = [(family, bundled().versions(family)[-1]) for family in bundled().families()]
        missing = [f"{family} {version}" for family, version in newest if f"`{family}` {version}" not in prompts]
        assert missing == []


def words(text: str) -> list[str]:
    """What stands in backticks, outside of blocks of code."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`]+)`", prose)


def exists(path: str) -> bool:
    """Whether the repository has a file or folder; a component in capitals that it does not have stands for any."""
    pattern = re.sub(r"(?<![\w.])[A-Z]{4,}(?![\w])", "*", path.rstrip("/"))
    return (ROOT / path).exists() or any(ROOT.glob(pattern))


class TestContributing:
    """CONTRIBUTING.md names what there is."""

    def test_what_it_names(self) -> None:
        """A command is one of ours or a module, a path is there, an extra is one, a name stands in the code."""
        assert [word for word in sorted(set(words(CONTRIBUTING))) if not self.is_there(word)] == []

    def is_there(self, word: str) -> bool:
        """Whether there is what a word of the page names."""
        name, *rest = word.split()
        if name == "deepprompt":
            return rest[0] in COMMANDS
        if name == "python":
            return exists(rest[1] if rest[0] == "-m" else rest[0])
        if name in ("git", "pytest", "source", "zensical"):
            return bool(rest)
        if "/" in name or re.search(r"\.\w+$", name):
            return exists(name)
        if name in PYPROJECT["project"]["optional-dependencies"]:
            return not rest
        sources = [*ROOT.glob("deepprompt/**/*.py"), *ROOT.glob("tests/**/*.py"), ROOT / ".ci" / "run"]
        wanted = f"def {name.partition('(')[0]}(" if "(" in name else word
        return any(wanted in path.read_text("utf-8") for path in sources if path != Path(__file__))

    def test_its_links(self) -> None:
        """A link leads to a file of the repository."""
        links = re.findall(r"\]\(([^)#]+)", CONTRIBUTING)
        assert links
        assert [link for link in links if not (ROOT / link).is_file()] == []

    def test_its_commands(self) -> None:
        """What it says to install is there to be installed, and the command for the tests is the README's."""
        (block,) = re.findall(r"^```sh\n(.*?)^```$", CONTRIBUTING, re.MULTILINE | re.DOTALL)
        (extras,) = re.findall(r"pip install -e '\.\[([\w,]+)\]'", block)
        assert set(extras.split(",")) <= set(PYPROJECT["project"]["optional-dependencies"])
        assert block.splitlines()[-1] == ".venv/bin/python -m pytest"
        assert ".venv/bin/python -m pytest" in (ROOT / "README.md").read_text("utf-8")

    def test_it_stays_short(self) -> None:
        """It is read in five minutes."""
        assert CONTRIBUTING.count("\n") <= 90


def workflow(name: str) -> dict[str, Any]:
    """A workflow of ours. YAML takes its key `on` for true."""
    loaded: dict[str, Any] = yaml.safe_load((WORKFLOWS / name).read_text("utf-8"))
    return loaded


def steps(name: str) -> list[dict[str, Any]]:
    """All steps of a workflow."""
    return [step for job in workflow(name)["jobs"].values() for step in job["steps"]]


OURS = sorted(path.name for path in WORKFLOWS.glob("*.yml"))


class TestWorkflows:
    """What runs at a code host, as far as that can be seen from here."""

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "path", [*WORKFLOWS.glob("*.yml"), *ROOT.glob("examples/*/.github/workflows/*.yml")], ids=lambda path: path.name
    )
    def test_valid(self, path: Path, tmp_path: Path) -> None:
        """A workflow is one by the schema of workflows."""
        need("check_jsonschema")
        schema = "vendor.github-workflows"
        run(sys.executable, "-P", "-m", "check_jsonschema", "--builtin-schema", schema, path, cwd=tmp_path)

    def test_ci_runs_what_ci_is(self) -> None:
        """The main job runs .ci/run itself, with the oldest Python that is supported."""
        everything = workflow("ci.yml")["jobs"]["everything"]["steps"]
        assert [step["run"] for step in everything if "run" in step] == ["bash .ci/run"]
        (python,) = [step["with"]["python-version"] for step in everything if "python-version" in step.get("with", {})]
        assert PYPROJECT["project"]["requires-python"] == f">={python}"

    def test_ci_runs_every_python(self) -> None:
        """The matrix has the versions that the metadata names, and runs the README's command for the tests."""
        classifiers = PYPROJECT["project"]["classifiers"]
        named = {match[1] for text in classifiers if (match := re.fullmatch(r".* :: Python :: (3\.\d+)", text))}
        tests = workflow("ci.yml")["jobs"]["tests"]
        assert named
        assert named == set(tests["strategy"]["matrix"]["python"])
        assert "grep -E 'python -m pytest$' README.md" in tests["steps"][-1]["run"]
        assert re.search("python -m pytest$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)

    @pytest.mark.parametrize("name", OURS)
    def test_least_rights(self, name: str) -> None:
        """No workflow uses a secret, leaves the token in the checkout, or has a right that no step of its needs."""
        own = workflow(name)
        assert "secrets." not in (WORKFLOWS / name).read_text("utf-8")
        assert own["permissions"] in ({}, {"contents": "read"})
        rights = {
            job: {right for right, kind in content.get("permissions", {}).items() if kind == "write"}
            for job, content in own["jobs"].items()
        }
        allowed = {"publish": {"id-token"}, "deploy": {"id-token", "pages"}}
        assert {job: found for job, found in rights.items() if found} == {
            job: allowed[job] for job in rights if job in allowed
        }
        for step in steps(name):
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+(/[\w-]+)?@(v\d+|release/v1)", step["uses"])
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"] == {"persist-credentials": False}

    def test_what_they_install(self) -> None:
        """Every extra that a workflow installs is one of ours."""
        texts = [(WORKFLOWS / name).read_text("utf-8") for name in OURS]
        extras = {
            extra for text in texts for found in re.findall(r"'\.\[([\w,]+)\]'", text) for extra in found.split(",")
        }
        assert extras == {"test", "dev", "docs"}
        assert extras <= set(PYPROJECT["project"]["optional-dependencies"])

    def test_only_what_was_tested_is_published(self) -> None:
        """Publishing waits for the build, takes its files, and happens in an environment that the index can trust."""
        publish = workflow("release.yml")["jobs"]["publish"]
        assert (publish["needs"], publish["environment"]) == ("build", "pypi")
        assert [step["uses"].partition("@")[0] for step in publish["steps"]] == [
            "actions/download-artifact",
            "pypa/gh-action-pypi-publish",
        ]
        tested = next(step for step in steps("release.yml") if "test_release.py" in step.get("run", ""))
        assert tested["env"] == {"DEEPPROMPT_NEED_RELEASE": "1"}

    @pytest.mark.parametrize(
        ("tag", "heading", "said"),
        [
            ("v1.2.3", "## 1.2.3 (2026-11-20)", ""),
            ("v1.2.4", "## 1.2.3 (2026-11-20)", "the tag is v1.2.4, but deepprompt/__init__.py has the version 1.2.3"),
            ("1.2.3", "## 1.2.3 (2026-11-20)", "the tag is 1.2.3, but deepprompt/__init__.py has the version 1.2.3"),
            ("v1.2.3", "## 1.2.3 (unreleased)", "CHANGELOG.md begins with '## 1.2.3 (unreleased)', not with "),
            ("v1.2.3", "## 1.2.3", "CHANGELOG.md begins with '## 1.2.3', not with '## 1.2.3 (YYYY-MM-DD)'"),
            ("v1.2.3", "## 1.2.4 (2026-11-20)", "CHANGELOG.md begins with '## 1.2.4 (2026-11-20)', not with "),
            ("v1.2.3", "## 1x2.3 (2026-11-20)", "CHANGELOG.md begins with '## 1x2.3 (2026-11-20)', not with "),
        ],
    )
    def test_the_tag_is_the_version(self, tmp_path: Path, tag: str, heading: str, said: str) -> None:
        """A tag is released only if it is the version, and the changelog begins with that and a date."""
        (script,) = [step["run"] for step in steps("release.yml") if "CHANGELOG.md" in step.get("run", "")]
        (tmp_path / "deepprompt").mkdir()
        (tmp_path / "deepprompt/__init__.py").write_text('"""Ours."""\n\n__version__ = "1.2.3"\n')
        (tmp_path / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n\n## 1.2.2 (2026-10-01)\n")
        environment = {"PATH": os.environ["PATH"], "GITHUB_REF_NAME": tag}
        command = ["bash", "-e", "-c", script]
        done = subprocess.run(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        assert done.returncode == (1 if said else 0)
        assert done.stdout.startswith(f"::error::{said}" if said else "")
        assert done.stdout.count("\n") == (1 if said else 0)

    @pytest.mark.slow
    def test_the_two_builds(self, released: Released, tmp_path: Path) -> None:
        """The step that builds twice and compares runs, and what it builds is what was built here."""
        (script,) = [step["run"] for step in steps("release.yml") if "-m build" in step.get("run", "")]
        checkout = tmp_path / "checkout"
        shutil.copytree(released.checkout, checkout)
        identity = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
        identity |= {
            f"GIT_{who}_{what}": "ada@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        run("bash", "-ec", "git init -q && git add -A && git commit -qm all", cwd=checkout, env=identity)
        (checkout / ".venv").symlink_to(sys.prefix)
        environment = {"RUNNER_TEMP": str(tmp_path), "GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
        run("bash", "-e", "-o", "pipefail", "-c", script, cwd=checkout, env=environment)
        built = {path.name: path.read_bytes() for path in (tmp_path / "dist-one").iterdir()}
        assert built == {released.wheel_name: released.wheel, released.sdist_name: released.sdist}
        assert len((tmp_path / "summary").read_text().splitlines()) == 2
