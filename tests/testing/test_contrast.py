"""What a failing snapshot says: the first differing byte, whose it is, and lines in which nothing is invisible."""

from __future__ import annotations

from unicodedata import category

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import InstructionFile, Pace, Part, ProjectContext, Prompt, SystemPromptBuilder
from deepprompt.testing.contrast import first_difference, visible_diff
from deepprompt.testing.readable import store

RULES = "# Rules\n\nBe kind.\n\n## Style\nUse tabs.\n"

# Each is a stored text, a new one, and what is said of the first difference.
FIRST = [
    ("a\nbc\n", "a\nbd\n", "byte 3, line 2, column 2"),
    ("ab", "ab\n", "byte 2, line 1, column 3; the stored one ends here"),
    ("ab\n", "ab", "byte 2, line 1, column 3; the new one ends here"),
    ("", "a", "byte 0, line 1, column 1; the stored one ends here"),
    ("é à", "é á", "byte 4, line 1, column 3; U+00E0 (à) became U+00E1 (á)"),
    ("a", "а", "byte 0, line 1, column 1; U+0061 (a) became U+0430 (а)"),
    ("a b", "a\u00a0b", "byte 1, line 1, column 2; U+0020 became U+00A0"),
    ("a.", "a\u200b.", "byte 1, line 1, column 2; U+002E (.) became U+200B"),
    (RULES, RULES.replace("kind", "brief"), "byte 12, line 3, column 4, below # Rules"),
    (RULES, RULES.replace("tabs", "blanks"), "byte 32, line 6, column 5, below ## Style"),
    (RULES, RULES.replace("Style", "Taste"), "byte 22, line 5, column 4, below ## Taste"),
    ("<role>\nx\n</role>\n", "<role>\ny\n</role>\n", "byte 7, line 2, column 1, below <role>"),
    ("# A\n<r a='1'>\n</r>\nx", "# A\n<r a='1'>\n</r>\ny", "byte 19, line 4, column 1, below # A"),
    ("# A\u202e\nx", "# A\u202e\ny", "byte 7, line 2, column 1, below # A⟨U+202E⟩"),
]

# Each is a stored text, a new one, and the lines of the difference.
SHOWN = [
    ("1\n2\n3\n4\n5\n6\n7\n", "1\n2\n3\nx\n5\n6\n7\n", ["@-2,5 +2,5", " 2", " 3", "-4", "+x", " 5", " 6"]),
    ("a\nb\n", "x\ny\n", ["@-1,2 +1,2", "-a", "+x", "-b", "+y"]),
    ("a\nb\nc\n", "x\n", ["@-1,3 +1,1", "-a", "-b", "-c", "+x"]),
    ("a\n", "a\nb\n", ["@-1,1 +1,2", " a", "+b"]),
    ("", "a\n", ["@-0,0 +1,1", "+a"]),
    ("a\n", "", ["@-1,1 +0,0", "-a"]),
    ("a\n", "a", ["@-1,1 +1,1", "-a", "+a", "\\no newline at the end"]),
    ("a\n", "a  \n", ["@-1,1 +1,1", "-a", "+a⟨U+0020 ×2⟩"]),
    ("a \t\n", "a\n", ["@-1,1 +1,1", "-a⟨U+0020⟩⟨U+0009⟩", "+a"]),
    ("a\n", "a\r\n", ["@-1,1 +1,1", "-a", "+a⟨U+000D⟩"]),
    ("a\tb\n", "a  b\n", ["@-1,1 +1,1", "-a⟨U+0009⟩b", "+a  b"]),
    ("a\tb\n", "a\tc\n", ["@-1,1 +1,1", "-a\tb", "+a\tc"]),
    ("a b\n", "a\u00a0c\n", ["@-1,1 +1,1", "-a b", "+a⟨U+00A0⟩c"]),
    ("x\n", "\u202ey\x1b[31m\u200f\u2028\n", ["@-1,1 +1,1", "-x", "+⟨U+202E⟩y⟨U+001B⟩[31m⟨U+200F⟩⟨U+2028⟩"]),
    ("caf\u00e9\n", "cafe\u0301\n", ["@-1,1 +1,1", "-caf⟨U+00E9⟩", "+cafe⟨U+0301⟩"]),
    ("\u26a0\ufe0f a\n", "\u26a0\ufe0f b\n", ["@-1,1 +1,1", "-\u26a0\ufe0f a", "+\u26a0\ufe0f b"]),
    ("\u26a0 a\n", "\u26a0\ufe0f a\n", ["@-1,1 +1,1", "-⟨U+26A0⟩ a", "+⟨U+26A0⟩⟨U+FE0F⟩ a"]),
]


@pytest.mark.parametrize(("old", "new", "said"), FIRST)
def test_the_first_difference_of_texts(old: str, new: str, said: str) -> None:
    """It is said by byte, line and column, by heading or tag, and by code point where looking does not help."""
    assert first_difference(old.encode(), store(new)) == f"first difference: {said}"


@pytest.mark.parametrize(("old", "new", "lines"), SHOWN)
def test_the_lines_of_a_difference(old: str, new: str, lines: list[str]) -> None:
    """Two lines around each change are shown, and in all of them what cannot be seen, or looks like another thing."""
    assert [sign + text for sign, text in visible_diff(old.encode(), new.encode())] == lines


def test_bytes_that_are_no_text() -> None:
    """Bytes that are not UTF-8 are shown by their numbers."""
    assert first_difference(b"a\xff", store(b"a\xfe")) == (
        "first difference: byte 1, line 1, column 2; byte 0xff became byte 0xfe"
    )
    assert first_difference(b"a\x80", store(b"a\x81")).endswith("column 2; byte 0x80 became byte 0x81")
    assert list(visible_diff(b"\xff\n", b"\xe2\x82\n"))[1:] == [("-", "⟨0xFF⟩"), ("+", "⟨0xE2⟩⟨0x82⟩")]


def test_long_lines_are_cut_around_the_change() -> None:
    """Of a line without end is shown what surrounds the change, and how much is left out."""
    old, new = (f"{'a' * 1000}{mark}{'b' * 2000} \n" for mark in "12")
    _, (_, before), (_, after) = visible_diff(old.encode(), new.encode())
    assert before == f"⟨950 characters⟩{'a' * 50}1{'b' * 149}⟨1,852 characters⟩"
    assert after == before.replace("1b", "2b")


def test_long_differences_are_cut() -> None:
    """Who has more to compare than can be read is told so."""
    old, new = ("".join(f"{mark}{number}\n" for number in range(3000)) for mark in "ab")
    *shown, last = visible_diff(old.encode(), new.encode())
    assert len(shown) == 400
    assert last == ("\\", "the rest is not shown")


PROMPT = Prompt(
    (
        Part("identity", "You are a test.\n", Pace.RELEASE, "asset:base"),
        Part("rules", "\n[AGENTS.md]\nBe kind.\nUse tabs.\n", Pace.PROJECT, "file:AGENTS.md"),
    )
)


def changed(text: str, **more: object) -> Prompt:
    """The prompt with another second part."""
    return Prompt((PROMPT.parts[0], Part("rules", text, Pace.PROJECT, "file:AGENTS.md")), **more)  # type: ignore[arg-type]


def test_the_part_of_a_prompt() -> None:
    """The new prompt's parts say to which of them the first difference belongs, and to which line of its file."""
    where = first_difference(PROMPT.text.encode(), store(changed("\n[AGENTS.md]\nBe kind.\nUse blanks.\n")))
    assert where == "first difference: byte 42, line 5, column 5, in part 'rules' (file:AGENTS.md, line 2)"
    where = first_difference(PROMPT.text.encode(), store(changed("\n[AGENTS.md]\nBe kind.\n")))
    assert where.endswith(
        "line 5, column 1, at the end of part 'rules' (file:AGENTS.md, line 2); the new one ends here"
    )
    assert first_difference(b"x", store(Prompt(()))).endswith(
        "column 1, in a prompt without parts; the new one ends here"
    )


def test_the_part_of_a_prompt_with_tools() -> None:
    """The text of a prompt with tools is one leaf; within it the part is named too."""
    tools = ({"name": "Read"},)
    old = store(Prompt(PROMPT.parts, tools))
    assert first_difference(old, store(changed("\n[AGENTS.md]\nBe kind.\nUse blanks.\n", tools=tools))) == (
        "first difference: byte 79, line 7, column 7, at text, in part 'rules' (file:AGENTS.md, line 2)"
    )
    one, two = (Prompt((Part("a", 'é"\\', Pace.RELEASE, "x"), Part("b", b, Pace.RELEASE, "y")), tools) for b in "12")
    assert first_difference(store(one), store(two)).endswith("at text, in part 'b' (y, line 1)")
    assert first_difference(old, store(Prompt(PROMPT.parts, ({"name": "Rea"},)))).endswith("at tools[0].name")


def test_the_path_in_a_body() -> None:
    """In messages and bodies the first difference is told by its path, and by the line of a longer text."""
    old: list[dict[str, object]] = [{"role": "user", "content": "a\nb\nc\n"}, {"role": "assistant", "x y\u202e": 1}]
    new: list[dict[str, object]] = [{"role": "user", "content": "a\nb\nd\n"}, old[1]]
    stored = store(old)
    assert first_difference(stored, store(new)).endswith("line 5, column 3, at [0].content, line 3 of it")
    assert first_difference(stored, store([old[0], {"role": "assistant", "x y\u202e": 2}])).endswith(
        'at [1]."x y⟨U+202E⟩"'
    )
    assert first_difference(stored, store(old[:1])).endswith("after [0].content; the new one ends here")
    assert first_difference(stored, store([*old, {"a": 1}])).endswith("at [2].a; the stored one ends here")
    assert first_difference(stored, store([])).endswith("line 1, column 2, at the top")


def test_the_sections_of_a_builders_text() -> None:
    """In a text that the builder laid out, the file or the section is known without its parts."""
    builder = SystemPromptBuilder(
        "Base.", [InstructionFile("AGENTS.md", "Be kind.\nUse tabs.\n")], project=ProjectContext(cwd="/work")
    )
    text = builder.build()
    assert first_difference(text.encode(), store(text.replace("tabs", "blanks"))).endswith("in file:AGENTS.md, line 2")
    assert ", in project, line " in first_difference(text.encode(), store(text.replace("/work", "/home")))


@given(st.binary(max_size=30), st.binary(max_size=30))
def test_any_bytes(old: bytes, new: bytes) -> None:
    """Whatever is compared, the byte is the first that differs and what is shown can be printed."""
    said = first_difference(old, store(new))
    offset = int(said.removeprefix("first difference: byte ").partition(",")[0])
    assert old[:offset] == new[:offset]
    assert old == new or old[offset : offset + 1] != new[offset : offset + 1]
    shown = list(visible_diff(old, new))
    assert (old == new) == (not shown)
    for sign, text in (*shown, ("", said)):
        assert not {category(c) for c in f"{sign}{text}" if c != "\t"} & {"Cc", "Cn", "Co", "Cs", "Zl", "Zp"}


@given(st.text(max_size=20), st.text(max_size=20))
def test_what_differs_is_seen_to_differ(old: str, new: str) -> None:
    """No two different texts are shown alike."""
    shown = list(visible_diff(old.encode("utf-8", "ignore"), new.encode("utf-8", "ignore")))
    removed, added = ([text for sign, text in shown if sign == side] for side in "-+")
    assert not shown or removed != added or ("\\", "no newline at the end") in shown


def test_what_is_gone_is_named() -> None:
    """A field that the new value has not got is named, not the one that now stands in its place."""
    mark = {"type": "text", "text": "A", "cache_control": {"type": "ephemeral"}}
    old = store({"system": [mark], "messages": [{"role": "user"}]})
    new = store({"system": [{"type": "text", "text": "A"}], "messages": [{"role": "user"}]})
    assert first_difference(old, new).partition(", column ")[2] == "1, system[0].cache_control.type is gone"
