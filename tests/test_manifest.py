"""The manifest: a table that was altered or is missing is an error, never a table that is used."""

from __future__ import annotations

import pytest

from deepprompt import manifest
from deepprompt.errors import AssetError
from deepprompt.text import disarm, secrets


@pytest.mark.parametrize("path", [disarm.TABLE, secrets.TABLE])
def test_a_table_is_what_was_released(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table is read as it is; with a byte more, with other line ends or unlisted, it is refused by name."""
    original = manifest.read_bundled
    assert manifest.bundled_table(path).encode() == original(path)
    for change, says in ((b"\n", "was altered"), (b"", "line ends converted")):

        def altered(asked: str, change: bytes = change) -> bytes:
            data = original(asked)
            return data if asked != path else data + change if change else data.replace(b"\n", b"\r\n")

        monkeypatch.setattr(manifest, "read_bundled", altered)
        with pytest.raises(AssetError, match=f"{path} (has had its )?{says}"):
            manifest.bundled_table(path)
    with pytest.raises(AssetError, match="cannot be read"):
        manifest.bundled_table("text/none.tsv")
