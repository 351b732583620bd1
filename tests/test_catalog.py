"""Prompt parts by family, version and name: what is found, what is verified, and what is said when it is not."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path

import pytest

import deepprompt
from deepprompt.catalog import Catalog, bundled, from_folder, from_package
from deepprompt.errors import AssetError, UnknownPartError
from deepprompt.manifest import MANIFEST, manifest_text, parse_manifest
from tests.support.layout import lay_out

PACKAGE = Path(deepprompt.__file__).parent
ASSETS = PACKAGE / "assets"
IDENTITY = "base/1.1.0/identity.md"
DIGEST = "0" * 64

CRLF_HINT = "has had its line ends converted to CRLF; check it out with `-text` in .gitattributes, or reinstall"

POSIX_ONLY = {"fcntl", "grp", "pwd", "resource", "syslog", "termios", "tty", "pty", "posix", "crypt", "nis", "spwd"}


def versions_folder(root: Path, *versions: str, family: str = "base") -> Path:
    """Write a family in several versions, each with one part that says which it is."""
    return lay_out(root, {f"{family}/{version}/one.md": f"{family} {version}" for version in versions})


def texts(catalog: Catalog, ask: str = "base") -> dict[str, str]:
    """Return the text of every file of a version."""
    family, version = catalog.resolve(ask)
    return {name: catalog.file(family, version, name) for name in catalog.files(family, version)}


def clean_environment(**changes: str) -> dict[str, str]:
    """Return the environment for a fresh process that does not measure its coverage, which imports a lot."""
    return {**{name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}, **changes}


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the bundled assets, with their manifest, but for the family that has most of the files."""
    return Path(shutil.copytree(ASSETS, tmp_path / "assets", ignore=shutil.ignore_patterns("claude_code")))


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield a folder that packages can be imported from."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    before = set(sys.modules)
    yield folder
    for name in set(sys.modules) - before:
        if name.startswith("parts_of_"):
            del sys.modules[name]


class TestBundled:
    """The catalogue that is part of the package."""

    def test_families(self) -> None:
        """The bundled catalogue has the families of all systems."""
        families = "agents base batch claude_code coder deepseek prices profiles providers request session slots strict"
        families += " tagged telemetry text tiers"
        assert bundled().families() == families.split()
        assert bundled().versions("claude_code") == ["2.1.37", "2.1.37.post1", "2.1.37.post2"]
        assert bundled().versions("base") == ["1.0.0", "1.1.0"]

    def test_is_read_once(self) -> None:
        """The bundled catalogue is one object for the whole process."""
        assert bundled() is bundled()

    def test_manifest_lists_every_file(self) -> None:
        """The manifest is that of the files on disk, sorted, with none missing and none too many."""
        files = {
            path.relative_to(ASSETS).as_posix(): path.read_bytes()
            for path in ASSETS.rglob("*")
            if path.is_file() and path.name != MANIFEST
        }
        assert (ASSETS / MANIFEST).read_bytes().decode() == manifest_text(files)

    def test_from_a_zip_file(self, tmp_path: Path) -> None:
        """The package works when it is imported from a zip file, its assets verified as ever."""
        archive = tmp_path / "deepprompt.zip"
        with zipfile.ZipFile(archive, "w") as file:
            for path in sorted(PACKAGE.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    file.write(path, path.relative_to(PACKAGE.parent).as_posix())
        script = (
            "import deepprompt, hashlib; print(deepprompt.__file__); "
            "print(hashlib.sha256(deepprompt.BASE_PROMPT_V1.encode()).hexdigest())"
        )
        ran = subprocess.run(
            [sys.executable, "-c", script],
            env=clean_environment(PYTHONPATH=str(archive)),
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        digest = sha256(deepprompt.BASE_PROMPT_V1.encode()).hexdigest()
        assert ran.stdout.splitlines() == [os.path.join(archive, "deepprompt", "__init__.py"), digest], ran.stderr

    def test_damaged_zip_file(self, tmp_path: Path) -> None:
        """A part that is missing from a zip file is an asset error, as it is in a folder."""
        archive = tmp_path / "deepprompt.zip"
        with zipfile.ZipFile(archive, "w") as file:
            for path in sorted(PACKAGE.rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts and path.name != "identity.md":
                    file.write(path, path.relative_to(PACKAGE.parent).as_posix())
        ran = subprocess.run(
            [sys.executable, "-m", "deepprompt", "build", "--no-project"],
            env=clean_environment(PYTHONPATH=str(archive)),
            cwd=tmp_path,
            capture_output=True,
            text=True,
        )
        assert (ran.returncode, ran.stdout) == (1, "")
        assert ran.stderr.startswith(f"deepprompt: deepprompt: {IDENTITY} cannot be read (")
        assert ran.stderr.endswith("); is the installation complete?\n")


class TestVerified:
    """A manifest is checked over bytes whenever a part is loaded."""

    def test_untouched(self, copy: Path) -> None:
        """A faithful copy of the bundled parts has their texts."""
        assert texts(from_folder(copy)) == texts(bundled())

    @pytest.mark.parametrize(
        "damage",
        [
            pytest.param(lambda data: bytes([data[0] ^ 1]) + data[1:], id="first bit flipped"),
            pytest.param(lambda data: data[:-1] + bytes([data[-1] ^ 0x80]), id="last bit flipped"),
            pytest.param(lambda data: data[:-1], id="cut by a byte"),
            pytest.param(lambda data: data + b"\n", id="a newline added"),
            pytest.param(lambda data: b"\xef\xbb\xbf" + data, id="a BOM added"),
            pytest.param(lambda _: b"", id="emptied"),
            pytest.param(lambda data: data.replace(b"\n", b"\r\n", 1)[:-1], id="same size, one CRLF"),
        ],
    )
    def test_altered(self, copy: Path, damage: Callable[[bytes], bytes]) -> None:
        """An altered part is an error that gives both digests and says what to do."""
        path = copy / IDENTITY
        data = path.read_bytes()
        path.write_bytes(damage(data))
        with pytest.raises(AssetError) as caught:
            texts(from_folder(copy))
        found, right = sha256(damage(data)).hexdigest(), sha256(data).hexdigest()
        assert str(caught.value) == (
            f"{copy}: {IDENTITY} was altered: its SHA-256 is {found}, MANIFEST says {right}; "
            "restore it, or release a new version"
        )

    @pytest.mark.parametrize("name", [IDENTITY, "base/1.1.0/preset.toml"])
    def test_line_ends_converted(self, copy: Path, name: str) -> None:
        """A part or preset whose line ends became CRLF is an error that says so."""
        path = copy / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        with pytest.raises(AssetError) as caught:
            texts(from_folder(copy))
        assert str(caught.value) == f"{copy}: {name} {CRLF_HINT}"

    def test_everything_converted(self, copy: Path) -> None:
        """A checkout that converted all line ends, those of the manifest too, is an error that says so."""
        for path in copy.rglob("*"):
            if path.is_file():
                path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
        with pytest.raises(AssetError, match="CRLF"):
            texts(from_folder(copy))

    def test_removed(self, copy: Path) -> None:
        """A part that the manifest lists and the folder lacks is an error, not a shorter prompt."""
        (copy / IDENTITY).unlink()
        with pytest.raises(AssetError) as caught:
            texts(from_folder(copy))
        assert str(caught.value) == (
            f"{copy}: {IDENTITY} cannot be read (there is no such file); restore it, or release a new version"
        )

    def test_replaced_by_a_folder(self, copy: Path) -> None:
        """A folder in the place of a part is an error."""
        (copy / IDENTITY).unlink()
        (copy / IDENTITY).mkdir()
        with pytest.raises(AssetError, match=r"identity\.md cannot be read \(not a regular file\)"):
            texts(from_folder(copy))

    def test_not_in_the_manifest(self, copy: Path) -> None:
        """A file that the manifest does not list is not a part, even if it is there."""
        (copy / "base/1.0.0/extra.md").write_text("extra")
        with pytest.raises(UnknownPartError) as caught:
            from_folder(copy).text("base", "1.0.0", "extra")
        assert str(caught.value) == (
            f"{copy} has no base/1.0.0/extra.md; "
            "base/1.0.0/ has: identity.md, preset.toml, skills_help.md, style.md, tools.md"
        )

    def test_checked_when_it_is_read(self, copy: Path) -> None:
        """A part that is altered after the catalogue was made, but before it is first read, is found out."""
        catalog = from_folder(copy)
        (copy / IDENTITY).write_text("Obey me.")
        with pytest.raises(AssetError, match="was altered"):
            catalog.text("base", "1.1.0", "identity")


class TestManifest:
    """One line a file: SHA-256, size, path."""

    def test_both_ways(self) -> None:
        """A manifest is written sorted by path and read back, blanks in paths included."""
        text = manifest_text({"b/1/x y.md": b"two", "a/1/x.md": b""})
        assert text == (f"{sha256(b'').hexdigest()} 0 a/1/x.md\n{sha256(b'two').hexdigest()} 3 b/1/x y.md\n")
        assert parse_manifest(text, "here") == {
            "a/1/x.md": (sha256(b"").hexdigest(), 0),
            "b/1/x y.md": (sha256(b"two").hexdigest(), 3),
        }

    def test_blank_lines(self) -> None:
        """Empty lines in a manifest mean nothing."""
        assert parse_manifest(f"\n{DIGEST} 1 a\n\n", "here") == {"a": (DIGEST, 1)}

    @pytest.mark.parametrize(
        "line",
        [
            pytest.param("nonsense", id="one column"),
            pytest.param(f"{DIGEST} 12", id="no path"),
            pytest.param(f"{DIGEST[1:]} 12 a/1/x.md", id="digest too short"),
            pytest.param(f"{'A' * 64} 12 a/1/x.md", id="capital digest"),
            pytest.param(f"{DIGEST}\t12\ta/1/x.md", id="tabs"),
            pytest.param(f"{DIGEST} -1 a/1/x.md", id="negative size"),
            pytest.param(f"{DIGEST} 1.5 a/1/x.md", id="size not whole"),
            pytest.param(f"{DIGEST}  12 a/1/x.md", id="two blanks"),
            pytest.param(f"{DIGEST} {'9' * 5000} a/1/x.md", id="size out of all bounds"),
            pytest.param("<<<<<<< HEAD", id="merge conflict"),
        ],
    )
    def test_malformed(self, tmp_path: Path, line: str) -> None:
        """A malformed line is an error that names its number and says what a line is."""
        lay_out(tmp_path, {MANIFEST: f"{DIGEST} 1 a/1/x.md\n{line}\n"})
        with pytest.raises(AssetError) as caught:
            from_folder(tmp_path)
        assert str(caught.value) == f"{tmp_path}: MANIFEST:2: a line is SHA256 SIZE PATH"

    def test_not_utf8(self, tmp_path: Path) -> None:
        """A manifest that is not UTF-8 is an asset error that names it."""
        lay_out(tmp_path, {MANIFEST: b"\xff\xfe\x00"})
        with pytest.raises(AssetError, match="MANIFEST"):
            from_folder(tmp_path)

    def test_link_out(self, tmp_path: Path) -> None:
        """A manifest that is a link out of the folder is an asset error that names it."""
        lay_out(tmp_path, {"outside": "", "parts/base/1.0/one.md": "1"})
        (tmp_path / "parts" / MANIFEST).symlink_to(tmp_path / "outside")
        with pytest.raises(AssetError, match="MANIFEST"):
            from_folder(tmp_path / "parts")

    def test_bundled_manifest_missing(self, tmp_path: Path) -> None:
        """A bundled catalogue without its manifest is an asset error, for callers that catch our errors."""
        shutil.copytree(PACKAGE, tmp_path / "deepprompt", ignore=shutil.ignore_patterns("__pycache__"))
        (tmp_path / "deepprompt" / "assets" / MANIFEST).unlink()
        script = (
            "import deepprompt\n"
            "try: deepprompt.SystemPromptBuilder()\n"
            "except deepprompt.errors.AssetError as error: print(error)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", script], env=clean_environment(), cwd=tmp_path, capture_output=True, text=True
        )
        assert "MANIFEST" in ran.stdout, ran.stderr


class TestResolve:
    """Which version is meant."""

    SEVERAL = ("0.9", "1.0.0", "1.2", "1.9", "1.10", "2.0")

    @pytest.fixture
    def several(self, tmp_path: Path) -> Catalog:
        """Return a catalogue with several versions of one family."""
        return from_folder(versions_folder(tmp_path, *self.SEVERAL))

    def test_order(self, several: Catalog) -> None:
        """Versions are sorted as versions, so that 1.10 comes after 1.9."""
        assert several.versions("base") == ["0.9", "1.0.0", "1.2", "1.9", "1.10", "2.0"]

    @pytest.mark.parametrize(
        ("ask", "version"),
        [
            ("base", "2.0"),
            (" base ", "2.0"),
            ("base@1.0.0", "1.0.0"),
            ("base@1.0", "1.0.0"),
            ("base@1", "1.0.0"),
            ("base@v1.2.0", "1.2"),
            ("base@1.*", "1.10"),
            ("base~=1.0", "1.10"),
            ("base ~= 1.0", "1.10"),
            ("base~=1.0.0", "1.0.0"),
            ("base>=1,<1.9", "1.2"),
            ("base<1", "0.9"),
            ("base>1.10", "2.0"),
            ("base==1.9", "1.9"),
            ("base===1.9", "1.9"),
            ("base!=2.0", "1.10"),
        ],
    )
    def test_found(self, several: Catalog, ask: str, version: str) -> None:
        """A family alone is its newest version, `@` an exact one, a specifier the newest that meets it."""
        assert several.resolve(ask) == ("base", version)
        assert texts(several, ask) == {"one.md": f"base {version}"}

    @pytest.mark.parametrize(
        ("ask", "said"),
        [("base@3", "is 3"), ("base@1.0.1", "is 1.0.1"), ("base~=3.0", "meets ~=3.0"), ("base>2,<3", "meets >2,<3")],
    )
    def test_no_such_version(self, several: Catalog, ask: str, said: str) -> None:
        """A version that there is not is an error that lists those there are, oldest first."""
        with pytest.raises(UnknownPartError) as caught:
            several.resolve(ask)
        assert str(caught.value) == f"no version of base {said}; there are: 0.9, 1.0.0, 1.2, 1.9, 1.10, 2.0"

    @pytest.mark.parametrize("ask", ["base@latest", "base@", "base~=1", "base>=", "base>=x", "base@>=1.0", "base=1.0"])
    def test_unreadable_version(self, several: Catalog, ask: str) -> None:
        """What is not a version or specifier is an error that repeats it."""
        with pytest.raises(UnknownPartError, match=r"^cannot read '") as caught:
            several.resolve(ask)
        assert f"cannot read {ask!r}" in str(caught.value)

    @pytest.mark.parametrize("ask", ["base@latest", "base~=1", "base=1.0"])
    def test_unreadable_version_lists(self, several: Catalog, ask: str) -> None:
        """What is not a version or specifier is an error that lists the versions there are."""
        with pytest.raises(UnknownPartError, match=r"there are: 0\.9, 1\.0\.0, 1\.2, 1\.9, 1\.10, 2\.0"):
            several.resolve(ask)

    @pytest.mark.parametrize("ask", ["", " ", "@1.0", "~=1.0", "base 1.0", "base@1.0 x"])
    def test_unreadable(self, several: Catalog, ask: str) -> None:
        """What does not begin with a family is an error that says how to ask."""
        with pytest.raises(UnknownPartError) as caught:
            several.resolve(ask)
        assert str(caught.value) == f"cannot read {ask!r}; write FAMILY, FAMILY@VERSION or FAMILY~=VERSION"

    @pytest.mark.parametrize("ask", ["nobody", "nobody@1.0", "nobody~=1.0", "Base"])
    def test_no_such_family(self, several: Catalog, ask: str, tmp_path: Path) -> None:
        """A family that there is not is an error that lists those there are."""
        with pytest.raises(UnknownPartError) as caught:
            several.resolve(ask)
        family = ask.partition("@")[0].partition("~")[0]
        assert str(caught.value) == f"{tmp_path} has no family {family!r}; there are: base"

    def test_no_family_at_all(self, tmp_path: Path) -> None:
        """In a folder without families the error says how one is laid out."""
        with pytest.raises(UnknownPartError) as caught:
            from_folder(tmp_path).versions("base")
        assert str(caught.value) == (
            f"{tmp_path} has no family 'base'; there are: none; parts are laid out as FAMILY/VERSION/PART.md"
        )

    def test_every_listed_family_can_be_asked_for(self, tmp_path: Path) -> None:
        """Whatever `families` lists can be resolved by its name."""
        for family in ("x.y", "4o"):
            versions_folder(tmp_path, "1.0", family=family)
        catalog = from_folder(tmp_path)
        for family in catalog.families():
            assert catalog.resolve(f"{family}@1.0") == (family, "1.0")

    def test_pre_releases_in_order(self, tmp_path: Path) -> None:
        """Pre-releases come before their release, and are had by their exact version."""
        catalog = from_folder(versions_folder(tmp_path, "1.0", "1.0rc1", "1.0a2", "1.0.dev1", "1.0.post1"))
        assert catalog.versions("base") == ["1.0.dev1", "1.0a2", "1.0rc1", "1.0", "1.0.post1"]
        assert catalog.resolve("base@1.0rc1") == ("base", "1.0rc1")
        assert catalog.resolve("base@1.0-rc.1") == ("base", "1.0rc1")
        assert catalog.resolve("base==1.0a2") == ("base", "1.0a2")

    @pytest.mark.parametrize("ask", ["base", "base~=1.0", "base>=1.0"])
    def test_pre_releases_must_be_asked_for(self, tmp_path: Path, ask: str) -> None:
        """As with `packaging`, the newest version is a release where there is one that meets what was asked."""
        catalog = from_folder(versions_folder(tmp_path, "1.0", "1.1rc1"))
        assert catalog.resolve(ask) == ("base", "1.0")

    @pytest.mark.parametrize("ask", ["base", "base>=0.1"])
    def test_only_pre_releases(self, tmp_path: Path, ask: str) -> None:
        """Where there are only pre-releases, the newest of them is meant."""
        assert from_folder(versions_folder(tmp_path, "1.0a1", "1.0b1")).resolve(ask) == ("base", "1.0b1")

    @pytest.mark.parametrize("versions", [("latest", "1.0"), ("latest",), ("1.0", "1.0 copy")])
    def test_invalid_version_folder(self, tmp_path: Path, versions: tuple[str, ...]) -> None:
        """A folder that is not named by a version is an error that names it, alone or among others."""
        catalog = from_folder(versions_folder(tmp_path, *versions))
        with pytest.raises(AssetError) as caught:
            catalog.versions("base")
        bad = versions[-1] if "1.0" in versions[0] else versions[0]
        assert f"{bad!r} is not a version; name the folder as PEP 440 has it, such as 1.0.0" in str(caught.value)

    def test_invalid_version_folder_says_where(self, tmp_path: Path) -> None:
        """The error about a folder that is not named by a version says in which catalogue and family it is."""
        catalog = from_folder(versions_folder(tmp_path, "latest", "1.0"))
        with pytest.raises(AssetError) as caught:
            catalog.versions("base")
        assert str(tmp_path) in str(caught.value)
        assert "base" in str(caught.value).replace(str(tmp_path), "")

    @pytest.mark.slow
    def test_two_spellings_of_one_version(self, tmp_path: Path) -> None:
        """Versions that are equal but spelled in two ways are told apart in the same way in every process."""
        versions_folder(tmp_path, "1.0", "1.0.0", "1.0.0.0", "1")
        script = (
            "import sys; from deepprompt import DeepPromptError, from_folder\n"
            "try: print(from_folder(sys.argv[1]).versions('base'))\n"
            "except DeepPromptError as error: print(error)"
        )
        command = [sys.executable, "-c", script, str(tmp_path)]
        said = {
            subprocess.run(command, env=clean_environment(PYTHONHASHSEED=seed), capture_output=True).stdout
            for seed in "123456"
        }
        assert len(said) == 1


class TestText:
    """The exact text of a part."""

    @pytest.mark.parametrize("text", ["", "\n", "no newline", "two\n\n", "tab\t nbsp\xa0 é 漢 🎉\n"])
    def test_exact(self, tmp_path: Path, text: str) -> None:
        """The bytes of the file are the text, with nothing trimmed or added."""
        lay_out(tmp_path, {"f/1/one.md": text})
        assert from_folder(tmp_path).text("f", "1", "one") == text

    def test_not_utf8(self, tmp_path: Path) -> None:
        """A part that is not UTF-8 is an error that names the file and the byte."""
        lay_out(tmp_path, {"f/1/one.md": b"caf\xe9"})
        with pytest.raises(AssetError) as caught:
            from_folder(tmp_path).text("f", "1", "one")
        assert str(caught.value) == f"{tmp_path}: f/1/one.md: not UTF-8 at byte 3"

    def test_unknown_part(self) -> None:
        """A part that there is not is an error that lists those of its version."""
        with pytest.raises(UnknownPartError) as caught:
            bundled().text("base", "1.0.0", "nope")
        assert str(caught.value) == (
            "deepprompt has no base/1.0.0/nope.md; "
            "base/1.0.0/ has: identity.md, preset.toml, skills_help.md, style.md, tools.md"
        )

    def test_unknown_family(self) -> None:
        """A part of a family that there is not is an error that lists the families."""
        with pytest.raises(UnknownPartError) as caught:
            bundled().text("nobody", "1.0.0", "one")
        families = ", ".join(bundled().families())
        assert str(caught.value) == f"deepprompt has no nobody/1.0.0/one.md; families: {families}"

    def test_no_families(self, tmp_path: Path) -> None:
        """In an empty folder the error about a part says that there are no families."""
        with pytest.raises(UnknownPartError) as caught:
            from_folder(tmp_path).text("base", "1.0.0", "one")
        assert str(caught.value) == f"{tmp_path} has no base/1.0.0/one.md; families: none"

    def test_unknown_version(self) -> None:
        """A part of a version that there is not is an error that lists the versions of the family."""
        with pytest.raises(UnknownPartError, match=r"base/9\.9/identity\.md.*1\.0\.0"):
            bundled().text("base", "9.9", "identity")


class TestFolder:
    """Other people's parts in a folder."""

    def test_without_a_manifest(self, tmp_path: Path) -> None:
        """A folder needs no manifest; its parts have the folder as their origin."""
        versions_folder(tmp_path, "1.0", family="mine")
        catalog = from_folder(tmp_path)
        assert catalog.families() == ["mine"]
        assert texts(catalog, "mine") == {"one.md": "mine 1.0"}
        assert catalog.origin("mine", "1.0", "one") == f"{tmp_path}:mine/1.0/one.md"

    def test_path_or_text(self, tmp_path: Path) -> None:
        """A folder may be given as a path or as text."""
        versions_folder(tmp_path, "1.0")
        assert from_folder(str(tmp_path)).families() == from_folder(tmp_path).families() == ["base"]

    def test_other_files_are_no_families(self, tmp_path: Path) -> None:
        """Files at other depths, and hidden folders such as .git, are not families."""
        versions_folder(tmp_path, "1.0")
        lay_out(tmp_path, {"README.md": "", "docs/page.md": "", ".git/refs/heads": "x"})
        assert from_folder(tmp_path).families() == ["base"]

    @pytest.mark.parametrize("name", ["nowhere", "a-file", ""])
    def test_no_folder(self, tmp_path: Path, name: str) -> None:
        """A folder that is not there, or is no folder, is an error that names it."""
        (tmp_path / "a-file").write_text("")
        path = os.path.join(tmp_path, name) if name else ""
        with pytest.raises(AssetError) as caught:
            from_folder(path)
        assert str(caught.value) == f"no folder of parts at {path!r}"

    @pytest.mark.parametrize("target", ["../../../outside.md", "/etc/hostname"])
    def test_link_out(self, tmp_path: Path, target: str) -> None:
        """A part that is a link out of the folder is refused."""
        lay_out(tmp_path, {"outside.md": "secret"})
        parts = versions_folder(tmp_path / "parts", "1.0")
        (parts / "base/1.0/one.md").unlink()
        (parts / "base/1.0/one.md").symlink_to(target)
        with pytest.raises(AssetError) as caught:
            texts(from_folder(parts))
        assert str(caught.value) == f"{parts}: base/1.0/one.md cannot be read (leads out of its root)"

    def test_link_within(self, tmp_path: Path) -> None:
        """A part that is a link to another part of the folder is read."""
        versions_folder(tmp_path, "1.0", "2.0")
        (tmp_path / "base/2.0/one.md").unlink()
        (tmp_path / "base/2.0/one.md").symlink_to("../1.0/one.md")
        assert from_folder(tmp_path).text("base", "2.0", "one") == "base 1.0"

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no FIFOs here")
    def test_no_regular_file(self, tmp_path: Path) -> None:
        """A FIFO in the place of a part is refused at once, without waiting for a writer."""
        versions_folder(tmp_path, "1.0")
        (tmp_path / "base/1.0/one.md").unlink()
        os.mkfifo(tmp_path / "base/1.0/one.md")
        with pytest.raises(AssetError, match="not a regular file"):
            texts(from_folder(tmp_path))

    def test_too_large(self, tmp_path: Path) -> None:
        """A part beyond the limit of what is read is an error, never a part cut short."""
        versions_folder(tmp_path, "1.0")
        os.truncate(tmp_path / "base/1.0/one.md", (1 << 24) + 1)
        with pytest.raises(AssetError, match=r"base/1\.0/one\.md"):
            from_folder(tmp_path).text("base", "1.0", "one")


class TestPackage:
    """Other people's parts in an installed package."""

    def test_our_own(self) -> None:
        """Our own package, read as other people's are, has the bundled texts."""
        assert texts(from_package("deepprompt")) == texts(bundled())

    def test_without_a_manifest(self, site: Path) -> None:
        """A package needs no manifest; its parts have the package as their origin."""
        lay_out(site, {"parts_of_a/__init__.py": "", "parts_of_a/assets/README": "no family"})
        versions_folder(site / "parts_of_a" / "assets", "1.0", "1.1", family="mine")
        catalog = from_package("parts_of_a")
        assert (catalog.families(), catalog.versions("mine")) == (["mine"], ["1.0", "1.1"])
        assert texts(catalog, "mine@1.0") == {"one.md": "mine 1.0"}
        assert catalog.origin("mine", "1.0", "one") == "parts_of_a:mine/1.0/one.md"

    def test_other_folder(self, site: Path) -> None:
        """The parts may be in another folder of the package."""
        lay_out(site, {"parts_of_b/__init__.py": ""})
        versions_folder(site / "parts_of_b" / "wording", "1.0")
        assert texts(from_package("parts_of_b", "wording")) == {"one.md": "base 1.0"}

    def test_with_a_manifest(self, site: Path) -> None:
        """A package with a manifest is verified against it."""
        lay_out(site, {"parts_of_c/__init__.py": ""})
        shutil.copytree(ASSETS, site / "parts_of_c" / "assets")
        assert "identity.md" in texts(from_package("parts_of_c"))
        (site / "parts_of_c" / "assets" / IDENTITY).write_text("altered")
        with pytest.raises(AssetError, match=r"^parts_of_c: base/1\.1\.0/identity\.md was altered: "):
            texts(from_package("parts_of_c"))

    def test_removed(self, site: Path) -> None:
        """A part that the manifest of a package lists and the package lacks is an error."""
        lay_out(site, {"parts_of_d/__init__.py": ""})
        shutil.copytree(ASSETS, site / "parts_of_d" / "assets")
        (site / "parts_of_d" / "assets" / IDENTITY).unlink()
        with pytest.raises(
            AssetError, match=r"^parts_of_d: base/1\.1\.0/identity\.md cannot be read \(.*\); restore it, or"
        ):
            texts(from_package("parts_of_d"))

    def test_in_a_zip_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A package in a zip file on the path is read like any other."""
        with zipfile.ZipFile(tmp_path / "parts.zip", "w") as file:
            file.writestr("parts_of_zip/__init__.py", "")
            file.writestr("parts_of_zip/assets/base/1.0/one.md", "from a zip")
        monkeypatch.syspath_prepend(str(tmp_path / "parts.zip"))
        assert texts(from_package("parts_of_zip")) == {"one.md": "from a zip"}

    @pytest.mark.parametrize("name", ["parts_of_nobody", "parts_of_nobody.sub"])
    def test_not_installed(self, name: str) -> None:
        """A package that is not installed is an error that names it."""
        with pytest.raises(AssetError) as caught:
            from_package(name)
        assert str(caught.value) == f"no installed package named {name!r}"

    def test_empty_name(self) -> None:
        """An empty name is the same error."""
        with pytest.raises(AssetError, match="no installed package named ''"):
            from_package("")

    def test_no_folder(self, site: Path) -> None:
        """A package without such a folder is an error that names both."""
        lay_out(site, {"parts_of_e/__init__.py": ""})
        with pytest.raises(AssetError) as caught:
            from_package("parts_of_e")
        assert str(caught.value) == "package 'parts_of_e' has no folder 'assets' with parts"

    def test_needs_another_package(self, site: Path) -> None:
        """A package that is installed but lacks a dependency is not reported as missing: the dependency is."""
        lay_out(site, {"parts_of_f/__init__.py": "import parts_of_elsewhere\n"})
        with pytest.raises((AssetError, ModuleNotFoundError), match="parts_of_elsewhere"):
            from_package("parts_of_f")


class TestImports:
    """What a process pays for."""

    def test_nothing_before_it_is_needed(self, tmp_path: Path) -> None:
        """Building a prompt imports no dependency of ours and no JSON."""
        script = (
            "import sys; before = set(sys.modules)\n"
            "from deepprompt import SystemPromptBuilder; SystemPromptBuilder().build()\n"
            "print(*sorted(name.partition('.')[0] for name in set(sys.modules) - before))"
        )
        ran = subprocess.run(
            [sys.executable, "-c", script], env=clean_environment(), cwd=tmp_path, capture_output=True, text=True
        )
        imported = set(ran.stdout.split())
        assert "deepprompt" in imported, ran.stderr
        assert not imported & {"packaging", "importlib_resources", "yaml", "json"}

    def test_nothing_posix_only(self) -> None:
        """No module imports at its top what only POSIX systems have."""
        wrong = [
            f"{path}: {name}"
            for path in sorted(PACKAGE.rglob("*.py"))
            for name in set(_top_imports(ast.parse(path.read_bytes()))) & POSIX_ONLY
        ]
        assert wrong == []


def _top_imports(node: ast.AST) -> Iterator[str]:
    """Yield the packages that are imported outside of functions."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield (child.module or "").partition(".")[0]
        elif not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield from _top_imports(child)


class TestFiles:
    """Files of a version by name: parts in folders, and anything else."""

    @pytest.fixture
    def catalog(self, tmp_path: Path) -> Catalog:
        """Return a catalogue with a part in a folder, and files that are no parts."""
        return from_folder(
            lay_out(
                tmp_path,
                {
                    "f/1.0/one.md": "One.\n",
                    "f/1.0/deep/er/two.md": "Two.\r\n",
                    "f/1.0/deep/two.json": "{}",
                    "f/1.0/other.toml": "a = 1",
                    "f/1.0/md": "no part",
                    "f/1.0.1/three.md": "Three.\n",
                },
            )
        )

    def test_names(self, catalog: Catalog) -> None:
        """The names of a version's parts are paths without the suffix, sorted, and no other file is a part."""
        assert catalog.names("f", "1.0") == ["deep/er/two", "one"]
        assert catalog.names("f", "1.0.1") == ["three"]

    @pytest.mark.parametrize(("family", "version"), [("f", "2.0"), ("g", "1.0"), ("", "")])
    def test_no_names(self, family: str, version: str, catalog: Catalog) -> None:
        """A version that there is not has no parts."""
        assert catalog.names(family, version) == []

    @pytest.mark.parametrize(
        ("file", "there"),
        [("one.md", True), ("deep/er/two.md", True), ("other.toml", True), ("one", False), ("deep", False)],
    )
    def test_has(self, file: str, there: bool, catalog: Catalog) -> None:
        """A version has its files by their whole names, and folders are none."""
        assert catalog.has("f", "1.0", file) is there

    def test_text_in_a_folder(self, catalog: Catalog) -> None:
        """A part in a folder is asked for by its path, and its origin has that."""
        assert catalog.text("f", "1.0", "deep/er/two").splitlines() == ["Two."]
        assert catalog.origin("f", "1.0", "deep/er/two") == f"{catalog.label}:f/1.0/deep/er/two.md"

    def test_file(self, catalog: Catalog) -> None:
        """Any file of a version can be had, whatever its suffix."""
        assert catalog.file("f", "1.0", "deep/two.json") == "{}"

    def test_no_file(self, catalog: Catalog) -> None:
        """A file that there is not is an error that says what there is."""
        with pytest.raises(UnknownPartError) as caught:
            catalog.file("f", "1.0.1", "three.json")
        assert str(caught.value) == f"{catalog.label} has no f/1.0.1/three.json; f/1.0.1/ has: three.md"

    def test_not_utf8(self, tmp_path: Path) -> None:
        """A file that is not UTF-8 is refused, with the place."""
        with pytest.raises(AssetError) as caught:
            from_folder(lay_out(tmp_path, {"f/1.0/a.json": b"{\xff}"})).file("f", "1.0", "a.json")
        assert str(caught.value) == f"{tmp_path}: f/1.0/a.json: not UTF-8 at byte 1"

    def test_nearest_of_many(self) -> None:
        """In a folder of many files the error lists the nearest ones only."""
        with pytest.raises(UnknownPartError) as caught:
            bundled().text("claude_code", "2.1.37", "tools/bash")
        message = "deepprompt has no claude_code/2.1.37/tools/bash.md; did you mean tools/Bash.md"
        assert str(caught.value).startswith(message)
        assert len(str(caught.value)) < 200
