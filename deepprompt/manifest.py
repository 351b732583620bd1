"""The manifest of a collection of files, one line for each: SHA-256, size and path.

A file that does not match its line is an error, never a text that is used. The tables of `text/` are read here, since
the catalogue stands above it.
"""

from __future__ import annotations

import os

from deepprompt.errors import AssetError

TYPE_CHECKING = False  # as type checkers know it; importing `typing` would take longer than reading all parts
if TYPE_CHECKING:
    from hashlib import sha256
else:
    # As `random` has it: hashlib loads OpenSSL, which takes longer than hashing all that a prompt is made of.
    try:
        from _sha2 import sha256  # Python 3.12 and later
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

MANIFEST = "MANIFEST"

_HEX = "0123456789abcdef"
_CONVERTED = "has had its line ends converted to CRLF; check it out with `-text` in .gitattributes, or reinstall"


def parse_manifest(text: str, label: str) -> dict[str, tuple[str, int]]:
    """Return a mapping of paths to digests and sizes, from the lines of a manifest."""
    if "\r" in text:
        raise AssetError(f"{label}: {MANIFEST} {_CONVERTED}")
    entries = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line:
            continue
        digest, _, rest = line.partition(" ")
        size, _, path = rest.partition(" ")
        # Not a pattern: compiling one takes longer than reading all lines.
        if len(digest) != 64 or digest.strip(_HEX) or not _is_size(size) or not path:
            raise AssetError(f"{label}: {MANIFEST}:{number}: a line is SHA256 SIZE PATH")
        entries[path] = (digest, int(size))
    return entries


def _is_size(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= 18


def manifest_text(files: dict[str, bytes]) -> str:
    """Return the manifest of some files, sorted by path."""
    return "".join(f"{sha256(data).hexdigest()} {len(data)} {path}\n" for path, data in sorted(files.items()))


def check_file(data: bytes, entry: tuple[str, int], place: str) -> None:
    """Raise `AssetError` if a file is not the one that the manifest lists."""
    digest, size = entry
    if len(data) != size or sha256(data).hexdigest() != digest:
        raise AssetError(f"{place} {_damage(data, digest)}")


def _damage(data: bytes, digest: str) -> str:
    """Return what has probably happened to a file that does not match its manifest."""
    if sha256(data.replace(b"\r\n", b"\n")).hexdigest() == digest:
        return _CONVERTED
    found = sha256(data).hexdigest()
    return f"was altered: its SHA-256 is {found}, {MANIFEST} says {digest}; restore it, or release a new version"


def read_bundled(path: str) -> bytes:
    """Return the bytes of a file in `deepprompt/assets`, unchecked."""
    import deepprompt

    # The loader that found the package reads its data too, from a folder or from a zip, without an import.
    loader = deepprompt.__spec__.loader
    assets = os.path.join(os.path.dirname(deepprompt.__file__), "assets")
    data: bytes = loader.get_data(os.path.join(assets, *path.split("/")))  # type: ignore[union-attr]
    return data


def bundled_table(path: str) -> str:
    """Return a table of `deepprompt/assets`, checked against the manifest."""
    place = f"deepprompt: {path}"
    try:
        # Of the manifest only this line (or lines that were converted): all would take as long as the table.
        lines = read_bundled(MANIFEST).decode().split("\n")
        own = "\n".join([line if line.endswith((f" {path}", "\r")) else "" for line in lines])
        listed = parse_manifest(own, "deepprompt")
        data = read_bundled(path)
        check_file(data, listed[path], place)
        return data.decode()
    except (OSError, KeyError, UnicodeDecodeError) as error:
        raise AssetError(f"{place} cannot be read ({error}); is the installation complete?") from None
