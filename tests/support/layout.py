"""Files for a test: a folder laid out from a mapping of names to contents."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def lay_out(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root
