"""Prompts of the seeds' functions as they were before they were composed from presets, by their digests.

`tests/data/recorded_prompts.txt` was written with the code of that time: a line for each number of an input.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable

import pytest

from deepprompt import Prompt, compose_system_prompt
from deepprompt.prompt import write_part
from tests.support.paths import TESTS
from tests.support.seeded import Seeded

KINDS: dict[str, Callable[[Seeded], Prompt]] = {
    "algorithm": lambda seeded: compose_system_prompt(seeded.config()),
    "catalog": lambda seeded: compose_system_prompt(seeded.config(), "catalog"),
    "environment_last": lambda seeded: compose_system_prompt(seeded.config(), environment_last=True),
    "builder": lambda seeded: seeded.builder().compose(),
}
RECORDED = [line.split() for line in (TESTS / "data/recorded_prompts.txt").read_text("utf-8").splitlines()]


def digest(prompt: Prompt) -> str:
    """Return a digest of the parts, with their names, paces and origins, and of the tools."""
    rows = [write_part(part) for part in prompt.parts]
    text = json.dumps([rows, list(prompt.tools)], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


@pytest.mark.parametrize("kind", KINDS)
def test_the_prompt_is_the_recorded_one(kind: str) -> None:
    """Laws 1 and 2: every part has the bytes, the name, the pace and the origin that it had before."""
    numbers = [(int(number), sha) for recorded, number, sha in RECORDED if recorded == kind]
    assert len(numbers) == 400
    assert [number for number, sha in numbers if digest(KINDS[kind](Seeded(number))) != sha] == []
