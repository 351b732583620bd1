"""Overrides: your own wording for some parts, each written against a bundled text that may have changed since.

A folder of overrides is laid out like the catalogue. Next to its parts, `overrides.table` has one line per part:
its name and the SHA-256 of the bundled text that it was written against.
"""

from __future__ import annotations

from deepprompt.arguments import expect
from deepprompt.catalog import SUFFIX, Catalog
from deepprompt.errors import UnknownPartError
from deepprompt.prompt import Note, sha256_hex
from deepprompt.text.hygiene import unify_line_ends
from deepprompt.text.suggest import did_you_mean

TABLE = "overrides.table"


class Overrides:
    """Parts that replace bundled ones."""

    def __init__(self, catalog: Catalog, own: Catalog) -> None:
        expect(own, Catalog, "overrides", "a catalogue, as from_folder('own') returns")
        self.catalog = catalog
        self.own = own

    def find(self, family: str, version: str, part: str, notes: list[Note]) -> tuple[str, str] | None:
        """Return the overriding text and its origin. A note says if the bundled text has changed since."""
        own_version = self.version_of(family, version, part)
        if own_version is None:
            return None
        origin = self.own.origin(family, own_version, part)
        written_against = self.recorded(family, own_version, part)
        if written_against is None:
            notes.append(Note("kept", origin, f"an override; {TABLE} does not say what it was written against"))
        elif written_against != sha256_hex(self.catalog.text(family, version, part)):
            see = f"deepprompt diff {family}/{part} --parts {self.own.label}"
            detail = f"an override of a text that has changed since; see '{see}'"
            notes.append(Note("kept", origin, detail))
        # A user's files may be checked out on Windows; the prefix must be the same.
        return unify_line_ends(self.own.text(family, own_version, part).removeprefix("\ufeff")), origin

    def refuse_unknown(self, family: str, version: str) -> None:
        """Raise if a part is overridden that does not exist: the override would silently change nothing."""
        known = self.catalog.names(family, version)
        own_versions = self.own.versions(family) if family in self.own.families() else []
        faults = [
            f"{self.own.origin(family, own_version, name)} overrides nothing: {family}/{version} has no part {name!r}; "
            f"{did_you_mean(name, known)}"
            for own_version in own_versions
            for name in self.own.names(family, own_version)
            if name not in known and self.version_of(family, version, name) == own_version
        ]
        if faults:
            raise UnknownPartError("; ".join(faults))

    def version_of(self, family: str, version: str, part: str) -> str | None:
        """Return the newest version that overrides a part, up to the wanted version."""
        if family not in self.own.families():
            return None
        having = [own for own in self.own.versions(family) if self.own.has(family, own, part + SUFFIX)]
        if version in having:
            return version
        from packaging.version import Version

        return next((own for own in reversed(having) if Version(own) <= Version(version)), None)

    def recorded(self, family: str, version: str, part: str) -> str | None:
        """Return the hash of the bundled text that an override was written against, if it is recorded."""
        if not self.own.has(family, version, TABLE):
            return None
        lines = self.own.lines(family, version, TABLE)
        return next((columns[1] for _, columns in reversed(lines) if columns[0] == part and len(columns) == 2), None)
