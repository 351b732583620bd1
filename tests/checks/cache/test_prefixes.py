"""Requests with numbers for their prefixes: what two of them share, OpenAI's options, and where messages end."""

from __future__ import annotations

import pytest

from deepprompt.checks.cache.prefixes import OPTIONS, Prefixes, read_options, user_message_ends
from deepprompt.checks.segments import read_request
from deepprompt.providers.segments import Segment

ASK = {"role": "user", "content": "Hi"}


def test_equal_prefixes_have_equal_numbers() -> None:
    """Two requests share numbers up to their first difference; another model is another prefix from the start."""
    prefixes = Prefixes(len)
    bodies = [
        {"model": "m", "system": "Be kind.", "messages": [ASK]},
        {"model": "m", "system": "Be kind.", "messages": [{"role": "user", "content": "Ho"}]},
        {"model": "n", "system": "Be kind.", "messages": [ASK]},
    ]
    first, second, third = (prefixes.number_request(n, read_request(body), 0.0) for n, body in enumerate(bodies))
    assert first.prefixes[0] == second.prefixes[0] != third.prefixes[0]
    assert first.prefixes[1] != second.prefixes[1]
    assert (first.ends, first.total, first.up_to(0)) == ([8, 10], 10, 0)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ('{"mode": "explicit", "ttl": "24h"}', {"mode": "explicit", "ttl": "24h"}),
        ("{}", {}),
        ("[1]", {}),
        ('"explicit"', {}),
        ("{", {}),
    ],
)
def test_options(text: str, options: dict[str, str]) -> None:
    """OpenAI's options are read as JSON; anything else counts as none."""
    assert read_options({OPTIONS: text}) == options
    assert read_options({}) == {}


def test_a_group_of_results_is_one_message() -> None:
    """Entries end after a user's message and after the last of several tool results, never after a response."""
    messages = [
        ASK,
        {"role": "assistant", "content": "", "tool_calls": [{"id": "a"}, {"id": "b"}]},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "b", "content": "2"},
    ]
    segments = read_request(messages)
    places = [segments[end].place for end in user_message_ends(segments)]
    assert places == ["messages[0].content", "messages[3]"]


def test_forgetting_keeps_the_starts_of_what_is_wanted() -> None:
    """What is wanted keeps its number, with all before it; the rest is forgotten, and no number is used again."""
    prefixes = Prefixes(len)
    parts = [Segment(f"[{number}]", "text", "user", text) for number, text in enumerate("abc")]
    other = [parts[0], Segment("[1]", "text", "user", "z")]
    first, second = (prefixes.number_request(0, one, 0.0).prefixes for one in (parts, other))
    before = prefixes.size
    kept = prefixes.forget_all_but({first[2]})
    assert set(first) <= kept
    assert second[1] not in kept
    assert 0 < prefixes.size < before
    assert prefixes.number_request(1, parts, 0.0).prefixes == first
    assert prefixes.number_request(2, other, 0.0).prefixes[1] not in {*first, *second}
    assert prefixes.forget_all_but(set()) == set()
    assert prefixes.size == 0
