"""Write deepprompt/__init__.pyi from the table of public names in deepprompt/__init__.py.

Run it after you add, move or remove a public name: `python scripts/write_stub.py`. A test checks that the stub is up to
date.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import deepprompt

STUB = Path(deepprompt.__file__).with_name("__init__.pyi")

_OPENING = '''\
"""The public names for type checkers and editors. Written by scripts/write_stub.py; edit __init__.py instead."""

from typing import Final

'''
_CLOSING = """
__version__: Final[str]
__all__: Final[list[str]]
_NAMES: Final[dict[str, tuple[str, ...]]]
_MODULES: Final[dict[str, str]]
"""


def main() -> int:
    """Write the stub."""
    STUB.write_text(stub(deepprompt._NAMES), encoding="utf-8", newline="\n")
    return 0


def stub(names: Mapping[str, Sequence[str]]) -> str:
    """Return the text of the stub for public names by module."""
    imports = [
        f"from deepprompt.{module} import {name} as {name}\n" for module in sorted(names) for name in names[module]
    ]
    return _OPENING + "".join(imports) + _CLOSING


if __name__ == "__main__":
    sys.exit(main())
