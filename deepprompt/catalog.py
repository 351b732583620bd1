"""Prompt parts by family, version and name: the bundled ones, or your own from a folder or an installed package.

The layout is `<family>/<version>/<part>.md`; the name of a part may contain folders. The bytes of a file are the bytes
that are sent. A `MANIFEST` (per line SHA-256, size and path of a file) is checked whenever a file is loaded, so an
altered, half-upgraded or CRLF-converted part is an error, never a prompt. The bundled catalogue always has a manifest;
in your own it is optional. Which parts make a prompt, and in which order, is in presets: `systems.presets`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from functools import cache, cached_property

from deepprompt.errors import AssetError, FileRefusedError, UnknownPartError
from deepprompt.manifest import MANIFEST, check_file, parse_manifest, read_bundled
from deepprompt.sources.files import path_text, read_below

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would take longer than reading all parts
if TYPE_CHECKING:
    from packaging.version import Version

SUFFIX = ".md"

_PART_LIMIT = 1 << 24
_ASK = r"([^@~=!<>\s]+)(?:@(\S+)|\s*([~=!<>].*))?"


class Catalog:
    """A collection of parts by family, version and name. `bundled`, `from_folder` and `from_package` return one.

    Raises `AssetError` if its files were changed or are not laid out as FAMILY/VERSION/PART.md.
    """

    def __init__(self, label: str, read: Callable[[str], bytes], paths: Iterable[str] | None = None) -> None:
        self.label = label
        self._read = read
        self._manifest: dict[str, tuple[str, int]] | None = None
        self.is_bundled = paths is None
        self.is_released = False
        self._paths = sorted(paths or ())
        self._texts: dict[str, str] = {}  # what was read and checked once
        if paths is None or MANIFEST in self._paths:
            self._manifest = parse_manifest(self._decoded(MANIFEST, self._bytes(MANIFEST)), label)
            self._paths = sorted(self._manifest)
            self.is_released = True

    def families(self) -> list[str]:
        """Return the names of all families, sorted."""
        return list(self._families)

    @cached_property
    def _families(self) -> tuple[str, ...]:
        return tuple(sorted({path.split("/")[0] for path in self._paths if path.count("/") >= 2}))

    def versions(self, family: str) -> list[str]:
        """Return the versions of a family, oldest first.

        Raises `UnknownPartError` for an unknown family, and `AssetError` for a folder that is not named by a version.
        """
        found = {path.split("/")[1] for path in self._paths if path.count("/") >= 2 and path.startswith(f"{family}/")}
        if not found:
            none = "none; parts are laid out as FAMILY/VERSION/PART.md"
            raise UnknownPartError(
                f"{self.label} has no family {family!r}; there are: {', '.join(self.families()) or none}"
            )
        try:
            return sorted(sorted(found), key=_version_key)
        except ValueError as error:
            raise AssetError(
                f"{self.label}: {family}: {error}; name the folder as PEP 440 has it, such as 1.0.0"
            ) from None

    def has_folder(self, name: str) -> bool:
        """Whether a file lies in a folder of this name."""
        return any(path.startswith(f"{name}/") for path in self._paths)

    def is_copy_of(self, other: Catalog) -> bool:
        """Whether this catalogue is released with the same files as another."""
        return self._manifest is not None and self._manifest == other._manifest

    def families_with(self, file: str) -> list[str]:
        """Return the names of the families that have a file of this name in some version, sorted."""
        found = [path.split("/") for path in self._paths if path.endswith(f"/{file}")]
        return sorted({names[0] for names in found if len(names) == 3})

    def resolve(self, ask: str, file: str = "") -> tuple[str, str]:
        """Return family and version for `family`, `family@1.0.0` or a specifier such as `family~=1.0`.

        If several versions match, the newest counts; a pre-release only if you ask for it or nothing else matches. With
        `file`, only versions that have such a file count. Raises `UnknownPartError` if no family or version matches.
        """
        if not isinstance(ask, str):
            from deepprompt.arguments import wrong

            raise wrong("Catalog: ask", "FAMILY, FAMILY@VERSION or FAMILY~=VERSION", ask, error=UnknownPartError)
        family, _, exact = ask.partition("@")
        if exact and self._has_version(family, exact, file):  # what most ask for needs no pattern
            return family, exact
        match = re.fullmatch(_ASK, ask.strip())
        if match is None:
            raise UnknownPartError(f"cannot read {ask!r}; write FAMILY, FAMILY@VERSION or FAMILY~=VERSION")
        family, exact, specifier = match.groups()
        if exact and self._has_version(family, exact, file):
            return family, exact
        versions = [version for version in self.versions(family) if not file or self.has(family, version, file)]
        try:
            meeting = _meeting(versions, f"=={exact}" if exact else specifier or "")
        except ValueError:
            raise UnknownPartError(
                f"cannot read {ask!r} as a version of {family}; there are: {', '.join(versions)}"
            ) from None
        if not meeting:
            wanted = f"is {exact}" if exact else f"meets {specifier}"
            raise UnknownPartError(f"no version of {family} {wanted}; there are: {', '.join(versions)}")
        return family, meeting[-1]

    def _has_version(self, family: str, version: str, file: str) -> bool:
        if file:
            return self.has(family, version, file)
        return any(path.startswith(f"{family}/{version}/") for path in self._paths)

    def names(self, family: str, version: str) -> list[str]:
        """Return the names of all parts of a version, sorted."""
        return [name.removesuffix(SUFFIX) for name in self.files(family, version) if name.endswith(SUFFIX)]

    def files(self, family: str, version: str) -> list[str]:
        """Return the names of all files of a version, sorted: its parts, its preset, its data."""
        folder = f"{family}/{version}/"
        return [path.removeprefix(folder) for path in self._paths if path.startswith(folder)]

    def has(self, family: str, version: str, file: str) -> bool:
        """Whether a version has a file."""
        return f"{family}/{version}/{file}" in self._paths

    def file(self, family: str, version: str, name: str) -> str:
        """Return the exact text of any file of a version.

        Raises `UnknownPartError` if there is no such file, and `AssetError` if it was changed or cannot be read.
        """
        path = f"{family}/{version}/{name}"
        if path not in self._texts:
            self._texts[path] = self._decoded(path, self._load(path))
        return self._texts[path]

    def text(self, family: str, version: str, part: str) -> str:
        """Return the exact text of a part.

        Raises `UnknownPartError` if there is no such part, and `AssetError` if it was changed or cannot be read.
        """
        return self.file(family, version, part + SUFFIX)

    def origin(self, family: str, version: str, part: str) -> str:
        """Return the origin of a part of this catalogue."""
        return f"{self.label}:{family}/{version}/{part}{SUFFIX}"

    def _load(self, path: str) -> bytes:
        """Return a file's bytes, checked against the manifest."""
        if path not in self._paths:
            raise UnknownPartError(f"{self.label} has no {path}; {self._nearby(path)}")
        data = self._bytes(path)
        if self._manifest is not None:
            check_file(data, self._manifest[path], f"{self.label}: {path}")
        return data

    def _bytes(self, path: str) -> bytes:
        try:
            return self._read(path)
        except (OSError, FileRefusedError) as error:
            own = "; restore it, or release a new version" if self._manifest is not None else ""
            advice = "; is the installation complete?" if self.is_bundled else own
            raise AssetError(f"{self.label}: {path} cannot be read ({error}){advice}") from None

    def _decoded(self, path: str, data: bytes) -> str:
        try:
            return data.decode()
        except UnicodeDecodeError as error:
            raise AssetError(f"{self.label}: {path}: not UTF-8 at byte {error.start}") from None

    def _nearby(self, path: str) -> str:
        """Return what exists near a missing path, for a message."""
        from deepprompt.text.suggest import did_you_mean

        family, version, name = path.split("/", 2)
        if names := self.files(family, version):
            return did_you_mean(name, names, f"{family}/{version}/ has")
        if family in self.families():
            return f"versions of {family}: {', '.join(self.versions(family))}"
        return f"families: {', '.join(self.families()) or 'none'}"


@cache
def bundled() -> Catalog:
    """Return the catalogue that is part of this package."""
    return Catalog("deepprompt", read_bundled)


def from_folder(folder: str | os.PathLike[str]) -> Catalog:
    """Return the catalogue in a folder laid out like `deepprompt/assets`.

    Raises `AssetError` if there is no such folder. A file that cannot be read raises it when you ask for the file.
    """
    root = path_text(folder, "from_folder", error=AssetError)
    if not os.path.isdir(root):
        raise AssetError(f"no folder of parts at {root!r}")
    paths = []
    for path, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        below = os.path.relpath(path, root).replace(os.sep, "/")
        paths += [name if below == "." else f"{below}/{name}" for name in files]

    def read(path: str) -> bytes:
        contents = read_below(root, path, _PART_LIMIT, lambda _: None)
        if contents.more:
            raise FileRefusedError("refused", f"larger than {_PART_LIMIT} bytes")
        return contents.data

    return Catalog(root, read, paths)


def from_package(package: str, folder: str = "assets") -> Catalog:
    """Return the catalogue in a folder of an installed package.

    Raises `AssetError` if the package is not installed or has no such folder.
    """
    from importlib_resources import files

    from deepprompt.arguments import expect

    expect(package, str, "from_package", "the name of an installed package", AssetError)
    try:
        root = files(package).joinpath(folder)
    except (ModuleNotFoundError, ValueError) as error:
        missing = getattr(error, "name", None)
        if missing and missing != package.partition(".")[0] and missing != package:
            raise AssetError(f"package {package!r} cannot be imported: it needs {missing!r}") from None
        raise AssetError(f"no installed package named {package!r}") from None
    if not root.is_dir():
        raise AssetError(f"package {package!r} has no folder {folder!r} with parts")
    paths = []
    folders = [("", root)]
    while folders:
        name, place = folders.pop()
        for entry in place.iterdir():
            if entry.is_dir():
                folders.append((f"{name}{entry.name}/", entry))
            else:
                paths.append(f"{name}{entry.name}")
    return Catalog(package, lambda path: root.joinpath(*path.split("/")).read_bytes(), paths)


def _version_key(version: str) -> Version:
    from packaging.version import Version

    try:
        return Version(version)
    except ValueError:
        raise ValueError(f"{version!r} is not a version") from None


def _meeting(versions: list[str], specifier: str) -> list[str]:
    """Return the versions that meet a specifier. Pre-releases count only if nothing else meets it."""
    if not specifier:  # by far the most frequent ask; the import below takes as long as a small prompt
        return [version for version in versions if not _version_key(version).is_prerelease] or versions
    from packaging.specifiers import SpecifierSet

    return list(SpecifierSet(specifier).filter(versions))
