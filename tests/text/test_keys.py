"""Keys in names: every kind of the table is redacted, glued, split or in a path, and names without keys stay."""

from __future__ import annotations

import re
from itertools import pairwise
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.manifest import bundled_table
from deepprompt.prompt import Note, sha256_hex
from deepprompt.text.plain import Plain
from deepprompt.text.secrets import ROW, SIGNS, TABLE, find_secrets, redact
from tests.support.examples import examples
from tests.support.keys import FORMATS as KEYS
from tests.support.keys import HEX, drawn
from tests.support.rows import shortest_row

ROWS = [line.split("\t") for line in bundled_table(TABLE).splitlines() if not line.startswith("#")]

# Each kind, its words (one of them ends in a blank), and its pattern.
KINDS = [
    (
        kind,
        [words] if words.endswith(" ") else words.split(" "),
        re.compile(key if place == "any" else f"(?<![A-Za-z0-9]){key}"),
    )
    for kind, place, words, key, _ in ROWS
]

PLACES = {
    "alone": "{}",
    "branch": "feature/{}",
    "subject": "Rotate {} before Friday",
    "after a letter": "x{}",
    "after a digit": "9{}",
    "after a sign": "_{}",
}


@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES)
@pytest.mark.parametrize(("name", "key"), KEYS.items(), ids=KEYS)
def test_every_kind_is_redacted(name: str, key: str, place: str) -> None:
    """A key is redacted wherever it stands in a name, also glued to a letter or digit."""
    notes: list[Note] = []
    shown = redact(place.format(key), "s", notes)
    assert f"[redacted: {name.split(',')[0]}]" in shown
    assert drawn(12)[4:] not in shown
    assert drawn(12, HEX)[4:] not in shown
    assert [note.kind for note in notes] == ["redacted"]
    assert key[8:20] not in notes[0].detail


@pytest.mark.parametrize("hidden", ["\u200b", "\u2060", "\xad", "\U000e0041", "\u200e", "\x00"], ids=ascii)
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_a_split_key_is_redacted(key: str, hidden: str) -> None:
    """Hidden characters inside a key do not keep it: it goes with them, and its digest is the key's own."""
    split = key[:3] + hidden + key[3:9] + hidden + key[9 : len(key) // 2] + hidden + key[len(key) // 2 :]
    notes: list[Note] = []
    shown = redact(f"a {split} b", "s", notes)
    assert drawn(12)[4:] not in shown
    plain: list[Note] = []
    redact(f"a {key} b", "s", plain)
    assert [note.detail for note in notes] == [note.detail for note in plain]


def test_wide_letters_are_no_disguise() -> None:
    """Full-width forms of a key are the key."""
    key = KEYS["GitHub token"]
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in key)
    assert redact(wide, "s", []) == "[redacted: GitHub token]"


def test_note_has_place_and_digest() -> None:
    """A note has the place of the key in the text as it came in, and the start of its SHA-256."""
    key = KEYS["Groq key"]
    notes: list[Note] = []
    redact(f"a\u200b {key}", "s", notes)
    assert notes == [Note("redacted", "s", f"Groq key, SHA-256 {sha256_hex(key)[:12]}", 3)]


HONEST = [
    "feature/task-1234567890abcdef1234567890abcdef",
    "risk-assessment-for-everything-we-do-in-2024",
    "550e8400-e29b-41d4-a716-446655440000",
    "9f3a7c21e8b04d569f3a7c21e8b04d569f3a7c21",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha512-" + drawn(86) + "==",
    "ssh://git@github.com/owner/name.git",
    "https://user@host/path",
    "disk-live-migration-of-virtual-machines-2",
    "src/SKILLS/ACCOUNT/ACCESS.md",
    "dependabot/npm_and_yarn/typescript-eslint/parser-8.46.3",
    "renovate/docker.io-library-postgres-17.x",
    "claude/issue-1234-20251101-0930",
    "codex/add-tests-for-hvs-and-shpat-prefixes",
    "npm_config_registry",
    "hf_transfer_enabled_by_default",
    "eyJ-is-how-a-token-begins",
    "release/v1.0-rc1",
    "tests/fixtures/AIza.txt",
    "-----BEGIN CERTIFICATE-----",
]


@pytest.mark.parametrize("text", HONEST)
def test_names_without_keys_stay(text: str) -> None:
    """Branches, hashes, identifiers, paths and integrity values are no keys."""
    notes: list[Note] = []
    assert redact(text, "s", notes) == text
    assert notes == []


def test_table_is_whole() -> None:
    """Every row has a kind, a place, words, a pattern that compiles, and a source."""
    for kind, place, words, pattern, source in ROWS:
        assert kind
        assert source
        assert place in {"any", "start"}
        assert words
        re.compile(pattern)
    kinds = {row[0] for row in ROWS}
    assert {name.split(",")[0] for name in KEYS} <= kinds


def test_keys_do_not_overlap() -> None:
    """Of two kinds that match at one place the longest counts, and what follows is found too."""
    text = KEYS["GitHub token"] + " " + KEYS["password in an address"] + " " + KEYS["JSON web token"]
    found = find_secrets(text)
    assert [kind for kind, _, _, _ in found] == ["GitHub token", "password in an address", "JSON web token"]
    assert all(first[2] <= second[1] for first, second in pairwise(found))


def searched(text: str) -> list[tuple[str, int, int, str]]:
    """Return the keys of a text as `find_secrets` does, by searching all of it for the words of every kind."""
    plain = Plain(text)
    patterns = [(kind, pattern) for kind, words, pattern in KINDS if any(word in plain.text for word in words)]
    found = [(m.start(), -m.end(), kind, m[0]) for kind, pattern in patterns for m in pattern.finditer(plain.text)]
    keys: list[tuple[str, int, int, str]] = []
    end = 0
    for start, negative, kind, value in sorted(found):
        if start >= end:
            end = -negative
            keys.append((kind, plain.place(start), plain.place(end - 1) + 1, value))
    return keys


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[2][:12]}")
def test_a_quick_look_misses_no_key(row: list[str]) -> None:
    """Every key has a row of so many characters, or its kind has a sign: else it would not be looked for."""
    assert shortest_row(row[3]) >= ROW or any(sign in row[2] for sign in SIGNS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[2][:12]}")
def test_searching_for_words_first_finds_the_same(row: list[str]) -> None:
    """Whatever fits a pattern is found as it would be without rows and signs, also beside other text."""
    around = st.sampled_from(["", " ", "/", "a", "_", "-", "\u200b", "=", "日", "'", "."])

    @examples(12)
    @given(st.from_regex(row[3]), around, around)
    def check(text: str, before: str, after: str) -> None:
        assert find_secrets(before + text + after) == searched(before + text + after)

    check()


PIECES = [
    *{word for row in ROWS for word in row[2].split(" ")},
    *"ab1 _-/:@.=~\n\x00\u200bａ",
    *("a" * ROW, "A1" * ROW, "0" * 40, "a" * (ROW - 1), "://", "@h", "\ud800", "PRIVATE KEY-----"),
]


@examples(400)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_texts_of_words_are_searched_as_all_others(text: str) -> None:
    """In a text made of the words of the table the same is found as without rows and signs."""
    assert find_secrets(text) == searched(text)


def test_a_surrogate_in_a_key_is_no_fault() -> None:
    """A key with a lone surrogate is redacted like any other, with the digest of its replacement."""
    notes: list[Note] = []
    assert redact("x://a:b\ud800c@h", "s", notes) == "x://[redacted: password in an address]@h"
    assert notes[0].detail.endswith(sha256_hex("a:b\ufffdc")[:12])


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["sk-", "sk-a", "eyJ", "eyJa.", "://", "://a:", "AKIA", "-----BEGIN PRIVATE KEY-----", "1//0", "==", "A", "a1",
     "SG.a", "xox", "Q~", "JQQJ99", "SK0", ":AA", "9", "\u200b", "/", "cf_token=", "?sig=", "Proc-Type: "],
    ids=ascii,
)  # fmt: skip
def test_time_is_linear(unit: str) -> None:
    """Eight times as much text takes no more than some sixteen times as long."""

    def taken(size: int) -> float:
        text = "://sk-eyJ==Q~JQQJ99SK:AA-----BEGIN " + unit * (size // len(unit))
        best = 9.0
        for _ in range(3):
            start = process_time()
            redact(text, "s", [])
            best = min(best, process_time() - start)
        return best

    taken(100)
    assert taken(80_000) < 16 * taken(10_000) + 0.02
