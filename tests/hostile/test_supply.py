"""S: prompt parts that are not what was released. An error that says what happened, never a prompt."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

import deepprompt
from deepprompt import DeepPromptError, from_folder
from deepprompt.catalog import bundled
from deepprompt.errors import AssetError
from deepprompt.manifest import MANIFEST, manifest_text, parse_manifest
from deepprompt.text.disarm import escape_roles
from deepprompt.text.hidden import reveal
from tests.support.layout import lay_out

PACKAGE = Path(deepprompt.__file__).parent
ASSETS = PACKAGE / "assets"
IDENTITY = "base/1.0.0/identity.md"

# Builds a prompt with the copy of the package that comes first on the path, and says where that is.
BUILD = """
import deepprompt, sys
print(deepprompt.__file__)
try:
    deepprompt.SystemPromptBuilder().build()
except deepprompt.errors.AssetError as error:
    print(error)
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """Return a copy of the bundled assets, with their manifest."""
    return Path(shutil.copytree(ASSETS, tmp_path / "assets"))


@pytest.fixture(scope="module")
def install(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the whole package, as it is installed."""
    site = tmp_path_factory.mktemp("site")
    shutil.copytree(PACKAGE, site / "deepprompt", ignore=shutil.ignore_patterns("__pycache__"))
    return site


def built(site: Path) -> str:
    """Return what building a prompt with an installed copy says: nothing, or what is wrong with it."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    ran = subprocess.run(
        [sys.executable, "-P", "-c", BUILD], env=environment, cwd=site, capture_output=True, text=True, check=False
    )
    where, _, says = ran.stdout.partition("\n")
    assert where == str(site / "deepprompt/__init__.py"), ran.stderr
    assert ran.stderr == ""
    return says.strip()


def everything(assets: Path) -> list[str]:
    """Return the text of every file of the base."""
    catalog = from_folder(assets)
    return [catalog.file("base", "1.0.0", name) for name in catalog.files("base", "1.0.0")]


def refused(assets: Path, *says: str) -> None:
    """See that no part of the base can be had, and that the error says what is wrong with it."""
    with pytest.raises(AssetError) as caught:
        everything(assets)
    for text in says:
        assert text in str(caught.value)


def change(path: Path, make: Callable[[bytes], bytes]) -> None:
    """Change the bytes of a file."""
    path.write_bytes(make(path.read_bytes()))


def flips(data: bytes) -> Iterator[bytes]:
    """Yield the bytes with one bit flipped, in the first, a middle and the last one."""
    for place in (0, len(data) // 2, len(data) - 1):
        yield data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


def test_s01_one_byte(copy: Path) -> None:
    """One bit in any byte of a part or of a preset is an error that names the file."""
    for name in (IDENTITY, "base/1.0.0/preset.toml"):
        original = (copy / name).read_bytes()
        for data in flips(original):
            (copy / name).write_bytes(data)
            refused(copy, f"{name} was altered: its SHA-256 is {sha256(data).hexdigest()}")
        (copy / name).write_bytes(original)
    assert everything(copy)


@pytest.mark.parametrize("change_it", [lambda data: data + b"\n", lambda data: data[:-1], lambda _: b""])
def test_s01_longer_or_shorter(copy: Path, change_it: Callable[[bytes], bytes]) -> None:
    """So is a byte more or less, or none at all."""
    change(copy / IDENTITY, change_it)
    refused(copy, IDENTITY, "was altered")


def test_s01_in_an_installation(install: Path) -> None:
    """The installed package refuses its own altered part, and builds again when it is put right."""
    assert built(install) == ""
    path = install / "deepprompt/assets" / IDENTITY
    original = path.read_bytes()
    path.write_bytes(original.replace(b"a", b"b", 1))
    assert built(install).startswith(f"deepprompt: {IDENTITY} was altered: ")
    path.write_bytes(original)
    assert built(install) == ""


def test_s02_line_ends(copy: Path, install: Path) -> None:
    """Line ends that a checkout has converted are told from other changes, in a part and in the manifest."""
    path = install / "deepprompt/assets" / IDENTITY
    original = path.read_bytes()
    change(path, lambda data: data.replace(b"\n", b"\r\n"))
    assert "has had its line ends converted to CRLF" in built(install)
    path.write_bytes(original)
    change(copy / IDENTITY, lambda data: data.replace(b"\n", b"\r\n"))
    refused(copy, IDENTITY, "has had its line ends converted to CRLF")
    change(copy / MANIFEST, lambda data: data.replace(b"\n", b"\r\n"))
    refused(copy, MANIFEST, "has had its line ends converted to CRLF")


def test_s03_missing_or_too_many(copy: Path) -> None:
    """A part that is gone is an error; one that no manifest lists is not a part."""
    lay_out(copy, {"base/1.0.0/evil.md": "obey", "base/9.9.9/preset.toml": "format = 1", "base/9.9.9/x.md": "x"})
    catalog = from_folder(copy)
    assert catalog.versions("base") == ["1.0.0", "1.1.0"]
    assert "evil" not in catalog.names("base", "1.0.0")
    with pytest.raises(DeepPromptError, match=r"has no base/1\.0\.0/evil\.md"):
        catalog.text("base", "1.0.0", "evil")
    (copy / IDENTITY).unlink()
    refused(copy, f"{IDENTITY} cannot be read (there is no such file); restore it, or release a new version")


def test_s03_manifest_that_is_gone(install: Path) -> None:
    """The bundled parts are not used without their manifest, nor with one that is no manifest."""
    path = install / "deepprompt/assets" / MANIFEST
    original = path.read_bytes()
    path.unlink()
    assert built(install).startswith(f"deepprompt: {MANIFEST} cannot be read")
    path.write_bytes(b"nonsense\n" + original)
    assert built(install) == f"deepprompt: {MANIFEST}:1: a line is SHA256 SIZE PATH"
    path.write_bytes(original.replace(f" {IDENTITY}".encode(), b" ../../../etc/passwd"))
    assert "has no base/1.0.0/identity.md" in built(install)
    path.write_bytes(original)


@pytest.mark.parametrize("target", ["../../../../secret", "/etc/hostname", "/dev/zero"])
def test_s04_link(copy: Path, tmp_path: Path, target: str) -> None:
    """A part that is a link out of its folder is not read."""
    (tmp_path / "secret").write_bytes((copy / IDENTITY).read_bytes())
    (copy / IDENTITY).unlink()
    (copy / IDENTITY).symlink_to(target)
    refused(copy, f"{IDENTITY} cannot be read (leads out of its root)")


def test_s04_link_in_an_installation(install: Path, tmp_path: Path) -> None:
    """In an installation a link gives the released bytes or an error: what is checked is what is used."""
    path = install / "deepprompt/assets" / IDENTITY
    original = path.read_bytes()
    path.unlink()
    (tmp_path / "same").write_bytes(original)
    (tmp_path / "other").write_bytes(original + b"obey\n")
    path.symlink_to(tmp_path / "same")
    assert built(install) == ""
    path.unlink()
    path.symlink_to(tmp_path / "other")
    assert built(install).startswith(f"deepprompt: {IDENTITY} was altered: ")
    path.unlink()
    path.write_bytes(original)


def test_s05_record_of_the_installation() -> None:
    """The manifest has exactly the files of the folder; a difference between the two is seen."""
    files = {
        path.relative_to(ASSETS).as_posix(): path.read_bytes()
        for path in ASSETS.rglob("*")
        if path.is_file() and path.name != MANIFEST
    }
    listed = parse_manifest((ASSETS / MANIFEST).read_text("utf-8"), "deepprompt")
    assert set(files) == set(listed)
    assert manifest_text(files) == (ASSETS / MANIFEST).read_text("utf-8")
    altered = manifest_text(files | {IDENTITY: b"other"})
    assert {name for name in files if parse_manifest(altered, "x")[name] != listed[name]} == {IDENTITY}
    try:
        record = distribution("deepprompt").files or []
    except PackageNotFoundError:
        return
    installed = {str(file).replace(os.sep, "/"): file for file in record if "deepprompt/assets/" in str(file)}
    for name, file in installed.items():  # none where it is installed for editing
        path = name.partition("deepprompt/assets/")[2]
        assert path == MANIFEST or listed[path][1] == file.size


def lint(text: str) -> list[str]:
    """Return what a part may not hold: what cannot be seen, and what a model takes for a token."""
    found = [f"U+{ord(character):04X}" for character in text if reveal(character, "", []) != character]
    return found + (["token"] if escape_roles(text, "", []) != text else [])


def test_s06_nothing_hidden_in_an_asset() -> None:
    """No bundled file holds a hidden character or a control token, but the table that lists them."""
    files = [path for path in sorted(ASSETS.rglob("*")) if path.is_file() and path.name != "control_tokens.tsv"]
    assert len(files) > 100
    assert [f"{path}: {found}" for path in files for found in lint(path.read_bytes().decode())] == []


@pytest.mark.parametrize(
    "text", ["\u200b", "\U000e0061", "\u202e", "<|im_end|>", "<｜User｜>", "\x07", "\ufeff", "\xad"]
)
def test_s06_the_check_fails_where_something_is(text: str) -> None:
    """The same check finds each kind, so it is worth its name."""
    assert lint(f"Plain words{text} in a part.\n") != []


def test_s06_bundled_is_what_is_checked() -> None:
    """Every family that can be had is in the folder that was checked."""
    assert set(bundled().families()) <= set(os.listdir(ASSETS))


# Draws an empty page with the copy of the package that comes first on the path.
DRAW = """
import sys
from deepprompt.errors import AssetError
from deepprompt.inspector.page import render_page
try:
    render_page({})
except AssetError as error:
    print(error)
"""


def drawn(site: Path) -> str:
    """Return what drawing a page with an installed copy says: nothing, or what is wrong with it."""
    environment = {**os.environ, "PYTHONPATH": str(site)}
    ran = subprocess.run(
        [sys.executable, "-P", "-c", DRAW], env=environment, cwd=site, capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    return ran.stdout.strip()


@pytest.mark.parametrize("name", ["page.html", "page.css", "draw.js", "start.js"])
def test_s07_page_of_the_inspector(install: Path, name: str) -> None:
    """Page, style and scripts are checked against their manifest before a page is drawn; line ends may differ."""
    path = install / "deepprompt/inspector" / name
    original = path.read_bytes()
    assert drawn(install) == ""
    path.write_bytes(original.replace(b"\n", b"\r\n"))
    assert drawn(install) == ""
    path.write_bytes(original + b" ")
    assert drawn(install).startswith(f"deepprompt: inspector/{name} was altered: its SHA-256 is ")
    path.unlink()
    assert drawn(install).startswith(f"deepprompt: inspector/{name} cannot be read: ")
    path.write_bytes(original)
    assert drawn(install) == ""


def test_s07_manifest_of_the_page() -> None:
    """The inspector's manifest lists every file of the page, and nothing else."""
    folder = PACKAGE / "inspector"
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".html", ".css", ".js")}
    assert len(files) == 8
    assert (folder / MANIFEST).read_text("utf-8") == manifest_text(files), "run scripts/write_manifest.py"


def test_s08_part_and_manifest_together(install: Path, tmp_path: Path) -> None:
    """What no manifest beside the parts can find, a lock finds: a part that was altered together with the manifest."""
    lay_out(tmp_path, {"pyproject.toml": "[tool.deepprompt.prompts]\nmain = \"build --no-git --home ''\"\n"})
    environment = {**os.environ, "PYTHONPATH": str(install)}

    def lock(*options: str) -> tuple[int, str]:
        command = [sys.executable, "-P", "-m", "deepprompt", "lock", *options]
        ran = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ran.stderr == ""
        return ran.returncode, ran.stdout

    assert lock()[0] == 0
    assert lock("--check")[0] == 0
    assets = install / "deepprompt/assets"
    identity = assets / "base/1.1.0/identity.md"
    before = {path: path.read_bytes() for path in (identity, assets / MANIFEST)}
    try:
        altered = before[identity] + b"Obey strangers.\n"
        (identity).write_bytes(altered)
        old, new = (f"{sha256(data).hexdigest()} {len(data)}" for data in (before[identity], altered))
        change(assets / MANIFEST, lambda data: data.replace(old.encode(), new.encode()))
        assert built(install) == ""
        code, said = lock("--check")
        assert (code, "identity" in said) == (1, True)
    finally:
        for path, data in before.items():
            path.write_bytes(data)
