"""Write deepprompt/assets/MANIFEST, that of the inspector, and the compiled presets.

It refuses to change a line of a released version. Run it after adding a version: `python scripts/write_manifest.py`. A
version is released once the file in the last commit lists it; while writing a new one, before it is committed, run it
as often as you like.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from pprint import pformat

from deepprompt.manifest import MANIFEST, manifest_text, parse_manifest

PACKAGE = Path(__file__).resolve().parent.parent / "deepprompt"
ASSETS = PACKAGE / "assets"
INSPECTOR = PACKAGE / "inspector"
PRESETS = PACKAGE / "systems" / "bundled_presets.py"
_HEAD = '''"""The bundled presets as their files have them, compiled so that a first prompt parses no TOML."""

from __future__ import annotations

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import Any

PRESETS: dict[str, dict[str, Any]] = '''


def compiled() -> str:
    """Return the module of compiled presets."""
    files = sorted(ASSETS.rglob("preset.toml"))
    presets = {file.parent.relative_to(ASSETS).as_posix(): tomllib.loads(file.read_text("utf-8")) for file in files}
    source = _HEAD + pformat(presets, width=116, sort_dicts=False) + "\n"
    ruff = Path(sys.executable).with_name("ruff")
    done = subprocess.run([ruff, "format", "-"], input=source, capture_output=True, text=True, check=True, cwd=PACKAGE)
    return done.stdout


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
    PRESETS.write_text(compiled(), encoding="utf-8", newline="\n")
    page = {path.name: path.read_bytes() for path in INSPECTOR.iterdir() if path.suffix in (".html", ".css", ".js")}
    (INSPECTOR / MANIFEST).write_text(manifest_text(page), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
