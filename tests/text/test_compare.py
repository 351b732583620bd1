"""How two texts differ: the kind of a change, its line, and the value of JSON that it is in."""

from __future__ import annotations

import json

import pytest

from deepprompt.text.compare import TextChange, classify
from deepprompt.words import BlameKind

# What is put at the end of a text, and what that is then called.
CHANGED: dict[str, BlameKind] = {
    "2026-11-14 -> 2026-11-15": "clock",
    "2026-11-14T09:00:00Z -> 2026-11-14T09:00:01.5+01:00": "clock",
    "20261114T090000Z -> 20261114T090001Z": "clock",
    "at 9:05 AM -> at 12:10 pm": "clock",
    "Tuesday, March 4, 2031 -> Wednesday, March 5, 2031": "clock",
    "4 Mar 2031 -> 5 Mar 2031": "clock",
    "04.03.2031 -> 05.03.2031": "clock",
    "2031/03/04 -> 2031/03/05": "clock",
    "stamp 1794700800123 -> stamp 1794700801456": "clock",
    "on 2026-11-14 with 3 files -> on 2026-11-15 with 4 new files": "clock",
    "toolu_01A09q90qw90lq917835lq9 -> toolu_01B09q90qw90lq917835lq8": "random id",
    "run 5f3a9c1e -> run 77aa01bc": "random id",
    "order 1234567890123456 -> order 1234567890123457": "random id",
    "key sk9Xb2Lq7Rz0Pw4TnVu1Ye -> key Qa7Zx3Nc8Lm2Ko5JiHu6Gt": "random id",
    "session-9f8e7d6c5b -> session-1a2b3c4d5e": "random id",
    "in ~/work/a -> in ~/work/b": "path",
    "in C:\\Users\\ann\\x -> in C:\\Users\\bob\\x": "path",
    "see src/a.py -> see src/b.py": "path",
    "in ./a -> in ./b": "path",
    "by and/or for -> by and/nor for": "edit",
    "1/2 -> 1/3": "number",
    "x5a -> x5b": "edit",
    "port 8080 -> port 8081": "number",
    "version 1.2.3 -> version 1.10.0": "number",
    "{'b', 'a', 'c'} -> {'c', 'b', 'a'}": "order",
    "one, two and three -> three, one and two": "order",
    "a, b -> a b": "edit",
    "caf\\u00e9 -> café": "escapes",
    "\\ud83c\\udf89 party -> 🎉 party": "escapes",
    'say \\"hi\\" -> say "hi"': "escapes",
    "Straße -> STRASSE": "case",
    "a\u00a0b -> a b": "white space",
    "[12 lines omitted] -> all of the twelve lines as they were": "truncation",
    "is truncated -> is complete": "edit",
    "plain -> other": "edit",
}


@pytest.mark.parametrize("change", CHANGED)
def test_the_kind_of_a_change(change: str) -> None:
    """Each of these is told by what it looks like, wherever it stands and whatever stands around it."""
    old, new = change.split(" -> ")
    lead = "One line before.\nAnd "
    assert classify(lead + old + ".\nEnd.\n", lead + new + ".\nEnd.\n") == TextChange(CHANGED[change], line=2)


@pytest.mark.parametrize("change", CHANGED)
def test_the_first_line_decides(change: str) -> None:
    """What else was changed further on does not hide what the cache was lost to."""
    old, new = change.split(" -> ")
    before, after = f"It {old}\nThen this stays.\nThat.\n", f"It {new}\nThen this is gone, all of it!\nThat.\n"
    if CHANGED[change] != "truncation":  # which is one of all the text
        assert classify(before, after).kind == CHANGED[change]


class TestTruncation:
    """What counts as cut off, and what as removed or edited."""

    LONG = "It was a long day, and it went on for longer than that.\n"

    @pytest.mark.parametrize(
        ("old", "new", "kind"),
        [
            (LONG, LONG[:20], "truncation"),
            (LONG, "It", "truncation"),
            (LONG, LONG[:-8] + "\n", "edit"),
            (LONG[:20], LONG, "edit"),
            (LONG * 2, LONG, "removed"),
            (LONG, LONG * 2, "inserted"),
            (LONG, LONG[:20] + "\n... [truncated]", "truncation"),
            (LONG[:20] + "\n... [truncated]", LONG, "truncation"),
            (LONG + "a" * 900, LONG + "a" * 9 + "… " + "a" * 9, "truncation"),
            ("One.\n" + LONG, "Two.\nThree.\n" + LONG + "... [truncated]\n", "edit"),
            ("The whole of a result.", "[Old tool result content cleared]", "truncation"),
            ("The whole of it.", "The whole of it was cleared (all of it, and nothing omitted) by us.", "edit"),
        ],
    )
    def test_kind(self, old: str, new: str, kind: str) -> None:
        """A mark in place of more text, or an end in the middle of a line, is a cut; whole lines are removed."""
        assert classify(old, new).kind == kind


class TestJson:
    """Changes in values of JSON are told by the value."""

    @pytest.mark.parametrize(
        ("old", "new", "kind", "path"),
        [
            ('{"a": 1}', '{"a": 2}', "number", "a"),
            ('{"a": 1}', '{"a": 1.0}', "number", "a"),
            ('{"a": 1}', '{"a": true}', "edit", "a"),
            ('{"a": NaN}', '{"a": null}', "edit", "a"),
            ('{"a": null, "b": [1, {"c": "x y"}]}', '{"a": null, "b": [1, {"c": "x z"}]}', "edit", "b[1].c"),
            ('{"a": {"x": 1, "y": 2}}', '{"a": {"y": 2, "x": 1}}', "key order", "a"),
            ('[{"x": 1, "y": 2}]', '[{"y": 2, "x": 1}]', "key order", "[0]"),
            ('[{"x": 1}, {"y": 2}]', '[{"y": 2}, {"x": 1}]', "order", "[0]"),
            ("[[1, 2], [3, 4]]", "[[1, 2], [4, 3]]", "order", "[1][0]"),
            ("[1, 2]", "[1, 2, 3]", "edit", ""),
            ('{"a": 1}', '{"a": 1, "b": 2}', "inserted", "b"),
            ('{"a": 1}', '{"b": 1}', "edit", ""),
            ('{"a": "2026-11-14"}', '{"a": "2026-11-15"}', "clock", "a"),
            ('{"a": "one\\ntwo\\r\\nthree"}', '{"a": "one\\ntwo\\nthree"}', "line ends", "a"),
            ('{"a":1}', '{"a": 1}', "white space", ""),
            ('{"a": 1', '{"a": 2', "number", ""),
            ("[" * 100_000, "[" * 100_001, "edit", ""),
            ('{"a": ' + "1" * 5000 + "}", '{"a": ' + "1" * 5001 + "}", "random id", ""),
        ],
    )
    def test_kind(self, old: str, new: str, kind: str, path: str) -> None:
        """The first value that differs decides, and the path to it is told; what is not JSON is text."""
        change = classify(old, new)
        assert (change.kind, change.path) == (kind, path)

    def test_the_line_of_a_value(self) -> None:
        """A text has lines, in JSON too; what is no text has none."""
        old, new = [json.dumps({"a": {"b": f"One.\nTwo {word}."}}) for word in ("this", "that")]
        assert classify(old, new) == TextChange("edit", "a.b", 2)
        assert classify('{"a": 1}', '{"a": 2}').line == 0
