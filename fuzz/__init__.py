"""The properties of `tests/support/hostile/properties.py` under atheris: `python -m fuzz.fuzz_text -runs=20000`.

Optional: `pip install -e '.[fuzz,test]'`. Options are libFuzzer's. What is found is kept in
`tests/hostile/test_properties.py`, where it runs with every other test.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def fuzz(*names: str) -> None:
    """Let atheris look for input that breaks one of these properties; the first byte says which one is tried."""
    atheris: Any = importlib.import_module("atheris")
    sys.path.insert(0, str(ROOT))
    with atheris.instrument_imports(include=["deepprompt"]):
        properties: Any = importlib.import_module("tests.support.hostile.properties")
    checks: list[Callable[[bytes], None]] = [getattr(properties, name) for name in names]

    def check(data: bytes) -> None:
        if data:
            checks[data[0] % len(checks)](data[1:])

    with tempfile.TemporaryDirectory() as seeds:
        for number, piece in enumerate(properties.PIECES):
            for first in range(len(checks)):
                Path(seeds, f"{number}-{first}").write_bytes(bytes([first]) + piece)
        given = any(not argument.startswith("-") for argument in sys.argv[1:])
        atheris.Setup(sys.argv if given else [*sys.argv, seeds], check)
        atheris.Fuzz()
