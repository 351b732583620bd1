"""Write deepprompt/assets/MANIFEST and that of the inspector. Refuses to change a line of a released version.

Run it after adding a version: `python scripts/write_manifest.py`. A version is released once the file in the
last commit lists it; while writing a new one, before it is committed, run it as often as you like.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from deepprompt.manifest import MANIFEST, manifest_text, parse_manifest

PACKAGE = Path(__file__).resolve().parent.parent / "deepprompt"
ASSETS = PACKAGE / "assets"
INSPECTOR = PACKAGE / "inspector"


def main() -> int:
    """Write the manifest, or say which released parts were changed."""
    files = {
        path.relative_to(ASSETS).as_posix(): path.read_bytes()
        for path in ASSETS.rglob("*")
        if path.is_file() and path.name != MANIFEST
    }
    text = manifest_text(files)
    released = subprocess.run(
        ["git", "show", f"HEAD:deepprompt/assets/{MANIFEST}"], cwd=ASSETS, capture_output=True, text=True
    )
    old = parse_manifest(released.stdout, "HEAD") if released.returncode == 0 else {}
    new = parse_manifest(text, "work tree")
    changed = sorted(path for path, entry in old.items() if new.get(path) != entry)
    if changed:
        print("released parts never change; put new wording into a new version folder:", *changed, sep="\n  ")
        return 1
    (ASSETS / MANIFEST).write_text(text, encoding="utf-8", newline="\n")
    page = {path.name: path.read_bytes() for path in INSPECTOR.iterdir() if path.suffix in (".html", ".css", ".js")}
    (INSPECTOR / MANIFEST).write_text(manifest_text(page), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
