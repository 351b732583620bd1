"""The values: parts, paces, prompts and the notes about them."""

from __future__ import annotations

import dataclasses
import hashlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.errors import DeepPromptError, PaceError
from deepprompt.prompt import BOUNDARY_PART, Note, Pace, Part, Prompt, read_part, sha256_hex, write_part
from tests.support.examples import examples

R, P, S, T = Pace

NOTES = {
    "plain": (Note("skipped", "a.md", "it is empty"), "skipped: a.md: it is empty"),
    "place": (Note("replaced", "a.md", "bytes", 0), "replaced: a.md at 0: bytes"),
    "times": (Note("kept", "a.md", "marks", None, 2), "kept: a.md: marks (2 times)"),
    "place-and-times": (
        Note("neutralised", "a.md", "hidden U+200B", 7, 3),
        "neutralised: a.md at 7: hidden U+200B (3 times)",
    ),
}

# The paces of the parts a, b, c …, and static prefix and dynamic suffix; `|` is the boundary.
SPLITS = {
    "no-parts": ("", "", ""),
    "only-slow": ("RPS", "abc", ""),
    "turn-last": ("RPT", "ab", "c"),
    "two-turns": ("RTT", "a", "bc"),
    "only-turns": ("TT", "", "ab"),
    "boundary": ("RP|T", "ab", "d"),
    "boundary-last": ("RP|", "ab", ""),
    "boundary-first": ("|T", "", "b"),
    "two-boundaries": ("R|T|T", "a", "c|e"),
}

# The paces in order, and what a prefix cache makes of them.
EFFECTIVE = {"": "", "RPST": "RPST", "RTPS": "RTTT", "SRPT": "SSST", "TR": "TT"}

# The paces in order, and each part that is faster than a later one, with the slowest later one.
TOO_EARLY = {
    "TR": ["ab"],
    "RTP": ["bc"],
    "TSP": ["ac", "bc"],
    "TSPS": ["ac", "bc"],
    "PTRS": ["ac", "bc"],
    "TRTS": ["ab", "cd"],
    "TRR": ["ab"],
}


def prompt(paces: str, *, fixed_order: bool = False) -> Prompt:
    """Make a prompt of parts a, b, c … with those paces; `|` is the boundary."""
    letters = {"R": R, "P": P, "S": S, "T": T}
    parts = [
        Part(BOUNDARY_PART, "|", T, "test") if letter == "|" else Part(name, name, letters[letter], "test")
        for name, letter in zip("abcdefgh", paces, strict=False)
    ]
    return Prompt(tuple(parts), fixed_order=fixed_order)


@pytest.mark.parametrize(("note", "text"), NOTES.values(), ids=NOTES)
def test_a_note_reads_as_one_line(note: Note, text: str) -> None:
    """A note says its kind, source, place and detail, and how often only if more than once."""
    assert str(note) == text


def test_paces_are_ordered_slow_to_fast() -> None:
    """There are four paces, and a slower one is smaller."""
    assert R < P < S < T
    assert [pace.name for pace in Pace] == ["RELEASE", "PROJECT", "SESSION", "TURN"]


def test_the_text_is_the_parts_with_nothing_between() -> None:
    """A part carries its own separators."""
    assert Prompt((Part("a", "x\n", R, "o"), Part("b", "", P, "o"), Part("c", " y", P, "o"))).text == "x\n y"


@pytest.mark.parametrize(("paces", "prefix", "suffix"), SPLITS.values(), ids=SPLITS)
def test_a_prompt_is_cut_at_the_boundary_or_at_the_first_turn(paces: str, prefix: str, suffix: str) -> None:
    """The static prefix ends before the boundary, or else before the first part that changes every turn."""
    made = prompt(paces, fixed_order="|T|" in paces)
    assert (made.static_prefix, made.dynamic_suffix) == (prefix, suffix)
    assert "".join(part.text for part in made.static_parts) == prefix


def test_hashes_are_those_of_the_utf8_bytes() -> None:
    """Both hashes are SHA-256 in hex, of the whole text and of the static prefix."""
    made = Prompt((Part("a", "é", R, "o"), Part("b", "🐘", T, "o")))
    assert made.sha256 == hashlib.sha256("é🐘".encode()).hexdigest()
    assert made.prefix_sha256 == hashlib.sha256("é".encode()).hexdigest() == sha256_hex("é")


@pytest.mark.parametrize(("paces", "effective"), EFFECTIVE.items())
def test_the_effective_pace_is_the_fastest_so_far(paces: str, effective: str) -> None:
    """A part changes for a prefix cache as often as anything before it."""
    made = prompt(paces, fixed_order=True)
    assert "".join(pace.name[0] for pace in made.effective_paces) == effective


@pytest.mark.parametrize(("paces", "pairs"), TOO_EARLY.items())
def test_a_fast_part_before_a_slow_one_is_an_error(paces: str, pairs: list[str]) -> None:
    """The error names the first such part, what it stands before, and what to do."""
    fast, slow = (prompt(paces, fixed_order=True).parts["abcdefgh".index(name)] for name in pairs[0])
    with pytest.raises(PaceError) as caught:
        prompt(paces)
    assert isinstance(caught.value, DeepPromptError)
    assert str(caught.value) == (
        f"part {fast.name!r} (pace {fast.pace.name}) comes before part {slow.name!r} (pace {slow.pace.name}); "
        f"put slow parts first, or every change to {fast.name!r} breaks the cache of {slow.name!r}"
    )


@pytest.mark.parametrize(("paces", "pairs"), TOO_EARLY.items())
def test_a_fixed_order_stands_and_the_notes_say_what_it_costs(paces: str, pairs: list[str]) -> None:
    """Where a specification fixes the order, each part that is too fast for its place has a note."""
    made = prompt(paces, fixed_order=True)
    by_name = {part.name: part for part in made.parts}
    assert [str(note) for note in made.notes] == [
        f"pace: {fast}: {by_name[fast].pace.name} text here makes {slow!r} ({by_name[slow].pace.name}) change as often"
        for fast, slow in map(tuple, pairs)
    ]


def test_a_copy_does_not_repeat_its_notes() -> None:
    """A prompt made from another one keeps its notes, once, after those it was given."""
    note = Note("cut", "a.md", "long")
    made = Prompt((Part("a", "a", T, "o"), Part("b", "b", R, "o")), notes=(note,), fixed_order=True)
    assert [kept.kind for kept in made.notes] == ["cut", "pace"]
    assert dataclasses.replace(made, tools=({"name": "t"},)).notes == made.notes


def test_any_iterables_make_a_prompt() -> None:
    """Lists and generators become tuples, so that a prompt never changes."""
    part, note = Part("a", "a", R, "o"), Note("cut", "a", "b")
    made = Prompt([part], [{"name": "t"}], [note])  # type: ignore[arg-type]
    assert made == Prompt((part,), ({"name": "t"},), (note,))
    assert (made.parts, made.tools, made.notes) == ((part,), ({"name": "t"},), (note,))
    assert Prompt(part for part in [part]).text == "a"  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "value", [Part("a", "a", R, "o"), Note("cut", "b", "c"), Prompt(())], ids=["part", "note", "prompt"]
)
def test_values_are_frozen(value: object) -> None:
    """No value can be changed once it is made."""
    field = dataclasses.fields(value)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(value, field, "new")


def test_equality_does_not_depend_on_what_was_asked_before() -> None:
    """A prompt whose text was computed equals one whose text was not."""
    made = prompt("RPT")
    assert made.text
    assert made.sha256
    assert made == prompt("RPT")


@examples(200)
@given(paces=st.text(st.sampled_from("RPST"), max_size=8))
def test_prefix_and_suffix_make_the_text(paces: str) -> None:
    """Without a boundary the two halves are the whole, and the effective paces never slow down."""
    made = prompt(paces, fixed_order=True)
    assert made.static_prefix + made.dynamic_suffix == made.text
    assert list(made.effective_paces) == sorted(made.effective_paces)
    assert bool(made.notes) == ([*paces] != sorted(paces, key="RPST".index))


@examples(200)
@given(before=st.text("RP", max_size=3), after=st.integers(0, 3))
def test_around_a_boundary_the_halves_make_the_text(before: str, after: int) -> None:
    """The boundary belongs to neither half."""
    made = prompt("".join(sorted(before, reverse=True)) + "|" + "T" * after)
    assert made.static_prefix + "|" + made.dynamic_suffix == made.text


def test_digests_are_by_origin() -> None:
    """Each origin has one SHA-256, of what its parts say together, in the order of the prompt."""
    made = Prompt(
        (
            Part("a", "one", R, "deepprompt"),
            Part("b", "two", P, "file:/AGENTS.md"),
            Part("c", "three", P, "deepprompt"),
            Part("d", "", T, "project"),
        )
    )
    assert list(made.digests.items()) == [
        ("deepprompt", sha256_hex("onethree")),
        ("file:/AGENTS.md", sha256_hex("two")),
        ("project", hashlib.sha256().hexdigest()),
    ]
    assert Prompt(()).digests == {}


def test_a_digest_changes_with_its_source_alone() -> None:
    """A host can tell which source changed, and ask again; where a part stands, or what it is called, is no change."""
    parts = (Part("a", "one", R, "x"), Part("b", "two", P, "y"), Part("c", "three", P, "z"))
    before = Prompt(parts).digests
    after = Prompt((parts[0], dataclasses.replace(parts[1], text="two!"), parts[2])).digests
    assert {origin for origin in before if before[origin] != after[origin]} == {"y"}
    assert Prompt((parts[0], parts[2], dataclasses.replace(parts[1], name="renamed"))).digests == before


@examples(50)
@given(st.lists(st.tuples(st.sampled_from("xyz"), st.text(max_size=5)), max_size=8))
def test_digests_hold_all_of_the_text(parts: list[tuple[str, str]]) -> None:
    """Every part counts for its origin and for no other, however often an origin comes back."""
    made = Prompt(tuple(Part("p", text, R, origin) for origin, text in parts))
    origins = dict.fromkeys(origin for origin, _ in parts)
    texts = {origin: "".join(text for other, text in parts if other == origin) for origin in origins}
    assert made.digests == {origin: sha256_hex(text) for origin, text in texts.items()}
    assert list(made.digests) == list(origins)


class TestRows:
    """A part as JSON stores it."""

    def test_a_part_is_read_as_it_was_written(self) -> None:
        """What is written is plain JSON, and reading it gives the same part."""
        part = Part("base", "text\n", Pace.SESSION, "file:a.md")
        assert write_part(part) == ["base", "text\n", 2, "file:a.md"]
        assert read_part(json.loads(json.dumps(write_part(part)))) == part

    @pytest.mark.parametrize(
        "row",
        [
            None, "abcd", {}, [], ["a", "b", 0], ["a", "b", 0, "c", "d"], [1, "b", 0, "c"], ["a", None, 0, "c"],
            ["a", "b", 0, 1], ["a", "b", 4, "c"], ["a", "b", -1, "c"], ["a", "b", "release", "c"], ["a", "b", [], "c"],
        ],
    )  # fmt: skip
    def test_anything_else_is_refused(self, row: object) -> None:
        """A row of another shape, or with a pace that there is not, is refused."""
        with pytest.raises(ValueError, match=r"expected \[name, text, pace, origin\]"):
            read_part(row)
