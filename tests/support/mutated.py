"""Values as JSON has them, changed by chance: what no type of an SDK describes."""

from __future__ import annotations

import random
from typing import Any

ODD: list[Any] = [
    None,
    "",
    0,
    [],
    {},
    "x",
    True,
    1e9,
    [None],
    {"type": 5},
    -1,
    "\ud800",
    "<notice>",
    [[]],
    {"": {}},
    1.5,
]
NAMES = ["zzz", "type", "cache_control", "text", "id", "role", "parts", "item", "content", "name", "output", "status"]


def mutated(chance: random.Random, value: Any) -> Any:
    """Return a value with a few fields dropped, added, doubled or replaced."""
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if chance.random() > 0.05}
        odd = {key: chance.choice(ODD) if chance.random() < 0.04 else mutated(chance, kept[key]) for key in kept}
        return odd | ({chance.choice(NAMES): chance.choice(ODD)} if chance.random() < 0.08 else {})
    if isinstance(value, list):
        items = [mutated(chance, item) for item in value]
        return [] if chance.random() < 0.05 else items * 2 if chance.random() < 0.03 else items
    return chance.choice(ODD) if chance.random() < 0.03 else value
