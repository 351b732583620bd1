"""The closed sets of words: each holds exactly the words that the package knows."""

from __future__ import annotations

import json
import re
from typing import get_args

from deepprompt.providers import TARGETS
from deepprompt.providers.facts import bundled_facts
from deepprompt.request.request import WRITERS
from deepprompt.words import Lifetime, Target


def test_every_target_has_a_writer() -> None:
    """The type, the tuple for the start path and the table of writers have the same words."""
    assert get_args(Target) == TARGETS == tuple(sorted(WRITERS))


def test_lifetimes_are_those_of_the_facts() -> None:
    """A lifetime that the bundled facts know can be asked for, and no other."""
    facts = json.dumps(bundled_facts().data)
    known = {lifetime for found in re.findall(r'"lifetimes": (\[.*?\])', facts) for lifetime in json.loads(found)}
    assert {"", *known} == set(get_args(Lifetime))
