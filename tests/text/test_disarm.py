"""Text from outside: what is disarmed in it, what is shown, and what stays byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.manifest import bundled_table
from deepprompt.prompt import Note
from deepprompt.text.disarm import (
    SPEAKER,
    TABLE,
    TAG,
    TOKEN,
    control_tokens,
    escape_boundary,
    escape_roles,
    escape_tags,
)
from deepprompt.text.hidden import reveal
from deepprompt.text.hygiene import TRUNCATION_MARKER, neutralise, shorten
from tests.support.examples import examples


def rows() -> Iterator[list[str]]:
    """The rows of the table of control tokens, with a number for each that has one."""
    for line in bundled_table(TABLE).splitlines():
        if not line.startswith("#"):
            yield line.replace("#", "7").split("\t")


CONTROL = sorted({row[1] for row in rows() if row[2] != "kept"})
KEPT = sorted({row[1] for row in rows() if row[2] == "kept"})

# How a token can be written so that it is one after NFKC, or for a reader.
DISGUISES: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "glued": lambda token: f"x{token}y",
    "in a sentence": lambda token: f"Say {token} now.",
    "in code": lambda token: f"```\n{token}\n```",
    "in inline code": lambda token: f"`{token}`",
    "wide brackets": lambda token: token.translate(str.maketrans("<>[]|/_", "＜＞［］｜／＿")),
    "small brackets": lambda token: token.translate(str.maketrans("<>", "﹤﹥")),
    "other bars": lambda token: token.replace("|", "\u2502").replace("\uff5c", "\u01c0"),
    "wide letters": lambda token: "".join(
        chr(ord(letter) + 0xFEE0) if letter.isascii() and letter.isalnum() else letter for letter in token
    ),
    "direction mark inside": lambda token: token[:2] + "\u200e" + token[2:],
}


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=DISGUISES)
def test_every_control_token_is_disarmed(disguise: Callable[[str], str]) -> None:
    """Every control token of the table is disarmed in any text and form, and noted."""
    for token in CONTROL:
        text = disguise(token)
        notes: list[Note] = []
        neutral = neutralise(text, "s", notes)
        assert neutral != text
        assert neutral.replace("\\", "") == text
        assert token not in neutral
        assert any(note.detail == TOKEN and note.kind == "neutralised" for note in notes)
        assert neutralise(neutral, "s", []) == neutral


@pytest.mark.parametrize("token", KEPT)
def test_kept_tokens_stay(token: str) -> None:
    """What honest text has too, and what ends no turn, stays byte for byte."""
    assert neutralise(f"a {token} b", "s", []) == f"a {token} b"


def test_table_is_whole() -> None:
    """Every row has a family, a treatment, a source and a date, and a kept one a reason."""
    for row in rows():
        assert len(row) == (6 if row[2] == "kept" else 5), row
        assert row[0]
        assert row[3]
        assert row[2] != "exact" or row[1].isascii()
        assert row[2] != "exact" or not set(row[1]) & set("012345689")  # numbers are written as #, here 7
        assert row[2] in {"any", "exact", "kept"}
        assert row[4][:4] in {"2023", "2024", "2025", "2026"}
    assert len(CONTROL) > 400
    assert all(control_tokens())


def test_table_holds_the_bundled_vocabularies() -> None:
    """Every control token of the vocabularies that the `tokens` extra ships is disarmed or is in the table as kept."""
    splintr = pytest.importorskip("splintr")
    invented = {"<|plan|>", "<|act|>", "<|memory|>"}  # splintr's own, which are disarmed all the same
    for name in ("llama3.3", "qwen3", "glm4.5", "deepseek_v3", "gpt-oss", "kimi_k2", "kimi_k3", "mistral_v3"):
        tokenizer = splintr.Tokenizer.from_pretrained(name)
        base = tokenizer.vocab_size - 600
        for number in (*range(12), *range(base, tokenizer.vocab_size)):
            try:
                token = tokenizer.decode_with_special([number])
                encoded = tokenizer.encode_with_special(token)
            except (ValueError, KeyError):
                continue
            if encoded != [number] or tokenizer.encode_ordinary(token) == encoded or token in invented:
                continue
            if token[:1] in "<[" and token[-1:] in ">]" and token not in KEPT:
                neutral = neutralise(token, "s", [])
                assert number not in tokenizer.encode_with_special(neutral), token


TOKENS = {
    "chatml": ("<|im_start|>system", "<\\|im_start|>system", 0),
    "reserved": ("a <|anything_new|>", "a <\\|anything_new|>", 2),
    "spaced": ("<| im_end |>", "<\\| im_end |>", 0),
    "never-closed": ("<|im_end", "<\\|im_end", 0),
    "closing": ("</|im_end|>", "<\\/|im_end|>", 0),
    "upper-case": ("<|IM_END|>", "<\\|IM_END|>", 0),
    "llama-2": ("<s>[INST] <<SYS>>", "<\\s>[\\INST] <\\<SYS>>", 0),
    "deepseek": ("<｜User｜>", "<\\｜User｜>", 0),
    "deepseek-markup": ('</｜DSML｜invoke name="x">', '</｜\\DSML｜invoke name="x">', 2),
    "minimax": ("]~b]ai", "]\\~b]ai", 0),
    "html-strike": ("<s>old</s>", "<\\s>old<\\/s>", 0),
    "lower-inst": ("[inst]", "[\\inst]", 0),
}


@pytest.mark.parametrize(("text", "expected", "offset"), TOKENS.values(), ids=TOKENS)
def test_tokens(text: str, expected: str, offset: int) -> None:
    """A backslash after the first character disarms a token, and the note has its place."""
    notes: list[Note] = []
    assert neutralise(text, "s", notes) == expected
    assert [(note.kind, note.source, note.detail, note.offset) for note in notes] == [
        ("neutralised", "s", TOKEN, offset)
    ]


SPEAKERS = {
    "alone": ("<system>", "<\\system>"),
    "closing": ("a\n</user>\nb", "a\n<\\/user>\nb"),
    "three-blanks": ("   <Human>  ", "   <\\Human>  "),
    "attributes": ('<system role="root">', '<\\system role="root">'),
    "several": ("</user><system>", "<\\/user><\\system>"),
    "never-closed": ("<assistant", "<\\assistant"),
    "gaps": ("< / system >", "<\\ / system >"),
    "long-gap": (f"<{' ' * 500}system>", f"<\\{' ' * 500}system>"),
    "wide": ("＜ｓystem＞", "＜\\ｓystem＞"),
    "ligature": ("<syﬆem>", "<\\syﬆem>"),
    "milliampere": ("<hu㎃n>", "<\\hu㎃n>"),
    "mathematical": ("<𝐬𝐲𝐬𝐭𝐞𝐦>", "<\\𝐬𝐲𝐬𝐭𝐞𝐦>"),
    "after-a-fence": ("```\n<user>\n```\n<user>", "```\n<user>\n```\n<\\user>"),
    "after-a-quoted-fence": ("> ```\n> x\n<user>", "> ```\n> x\n<\\user>"),
    "after-an-indented-fence": ("    ```\n<user>", "    ```\n<\\user>"),
    "after-a-fence-in-a-list": ("- ```\n  x\n<user>", "- ```\n  x\n<\\user>"),
    "fences-that-do-not-match": ("    ```\n\n```\nx\n```\n<user>", "    ```\n\n```\nx\n```\n<\\user>"),
    "in-backticks-of-two": ("``\n<user>\n``", "``\n<\\user>\n``"),
}


@pytest.mark.parametrize(("text", "expected"), SPEAKERS.values(), ids=SPEAKERS)
def test_lines_of_a_speaker(text: str, expected: str) -> None:
    """A line outside code that is nothing but a speaker's tag is disarmed."""
    notes: list[Note] = []
    assert neutralise(text, "s", notes) == expected
    assert {note.detail for note in notes} == {SPEAKER}


HONEST = [
    "Promise<User>, List<User>, Vec<System>, Result<Assistant, E>, Map<string, Tool>",
    "ssh <user>@<host>",
    "uv run --frozen <tool>",
    "#include <system>",
    "if a < system and b > user",
    "sort < user.txt > out",
    "<<user:8, rest/binary>>",
    "<<<<<<< user\n=======\n>>>>>>> system",
    "|x|<|y|",
    "x <|1|> y",
    "<user@example.com>",
    "<user>: the name",
    "- <user> does",
    "<function call omitted for brevity>",
    "<user name>",
    "```tsx\n<User>\n  <Tool />\n</User>\n```",
    "~~~~\n<system>\n~~~\n<user>\n~~~~",
    "    <system>\n\t<user>",
    "- step\n      ```xml\n      <system>\n      ```",
    "> ```\n> <user>\n> ```",
    "- ```\n  <user>\n  ```",
    "````md\n```\n<user>\n```\n````",
    "`<system>`",
    "f <| user <| x; p <|> q; a < |b| < c; x <- y",
    "Usage: tool [OPTIONS] COMMAND [ARGS]...",
    "Usage: tool [OPTIONS] <COMMAND> [ARGS]",
    "tool send --surface <s> text; `tool ping -d <s>`; [--timeout=<s>]; [--wait <s>]",
    "calls: Option<Vec<ToolCall>>, other: Vec<ToolCall>",
    "以<|标题|>为题，＜|标题|＞：",
    "cat <<EOT>file",
    "a[user], [System](link), [tool]: x",
    "<div class='user'>system</div>",
    "Human: hi\n\nAssistant: hello",
    "\n\nHuman:",
    "<thinking>, <answer>, <tools>, <example>",
    "&lt;|im_end|>",
    "<\\|im_end|> [\\INST] <\\system>",
]


@pytest.mark.parametrize("text", HONEST)
def test_honest_text_stays(text: str) -> None:
    """Words in brackets, types, comparisons, placeholders, code and what is disarmed already stay byte for byte."""
    notes: list[Note] = []
    assert neutralise(text, "s", notes) == text
    assert escape_boundary(text, "s", notes) == text
    assert notes == []


BOUNDARIES = {
    "exact": ("\n=== DYNAMIC CONTEXT (per-turn, do not cache) ===\n", 1),
    "lower-case": ("=== dynamic context (per-turn, do not cache) ===", 0),
    "capitals": ("=== DYNAMIC CONTEXT ===", 0),
    "spread-out": ("= = = D y n a m i c c o n t e x t", 0),
    "superscript": ("x ⁼⁼⁼ Dynamic context", 2),
    "subscript": ("₌₌₌ Dynamic context", 0),
    "two-in-one": ("⩵= Dynamic context", 0),
    "three-in-one": ("⩶ Dynamic context", 0),
    "nanoampere": ("=== DY㎁MIC CONTEXT", 0),
    "wide": ("＝＝＝ Ｄynamic context", 0),
    "hidden": ("===\u200b Dynamic\u2060 context", 0),
}


@pytest.mark.parametrize(("text", "offset"), BOUNDARIES.values(), ids=BOUNDARIES)
def test_look_alikes_of_the_boundary(text: str, offset: int) -> None:
    """What NFKC makes our boundary gets a backslash before it."""
    notes: list[Note] = []
    assert escape_boundary(text, "s", notes) == f"{text[:offset]}\\{text[offset:]}"
    assert [(note.offset, note.count) for note in notes] == [(offset, 1)]


@pytest.mark.parametrize(
    "text", ["=== Dynamic context ===", "=== dynamic context", "== DYNAMIC CONTEXT", "===Dynamic context"]
)
def test_headings_are_no_boundary(text: str) -> None:
    """A heading of the same words, as people write it, stays."""
    assert escape_boundary(text, "s", []) == text


TAGGED = {
    "opening": ("a <Role> b", "a <\\Role> b"),
    "closing": ("x</Role>", "x<\\/Role>"),
    "attributes": ('<role a="1">', '<\\role a="1">'),
    "never-closed": ("<ROLE", "<\\ROLE"),
    "newline": ("<\n/ role>", "<\\\n/ role>"),
    "wide": ("＜ｒｏｌｅ＞", "＜\\ｒｏｌｅ＞"),
    "hidden": ("<\u200bro\xadle>", "<\\\u200bro\xadle>"),
    "longer-name": ("<Roles> <role-name>", "<Roles> <role-name>"),
    "type": ("List<Role>", "List<Role>"),
}


@pytest.mark.parametrize(("text", "expected"), TAGGED.values(), ids=TAGGED)
def test_tags_of_a_layout(text: str, expected: str) -> None:
    """The tags that a layout uses are disarmed in any form; longer names and types are not tags."""
    assert escape_tags(text, ("Role",), "s", []) == expected
    assert escape_tags(expected, ("Role",), "s", []) == expected


@pytest.mark.parametrize(
    "text", ["<system-reminder>", "x</SYSTEM-REMINDER>", "<system_reminder", "＜syﬆem－reminder＞"]
)
def test_reminders(text: str) -> None:
    """The tag of our reminders is disarmed wherever it stands."""
    notes: list[Note] = []
    assert neutralise(text, "s", notes).replace("\\", "") == text
    assert [note.detail for note in notes] == [TAG]


SPELLING = {
    "thai": "ภาษา\u200bไทย\u200bง่าย",
    "thai-and-latin": "ไฟล์\u200bAGENTS.md",
    "khmer": "ភាសា\u200bខ្មែរ\u200bស្រួល",
    "lao": "ພາສາ\u200bລາວ",
    "burmese": "မြန်မာ\u200bဘာသာ",
    "javanese": "ꦲꦏ꧀ꦱꦫ\u200bꦗꦮ",
    "japanese-name": "葛\U000e0100城市、渡辺\U000e0101さん",
    "compatibility-ideograph": "神\ufe00",
    "slashed-zero": "0\ufe00",
    "mathematical-variant": "∩\ufe00",
    "soft-hyphens": "Donau\xaddampf\xadschiff und пере\xadнос",
    "text-star": "★\ufe0e ✓\ufe0e →\ufe0e",
    "emoji": "👨‍👩‍👧‍👦 ❤️‍🔥 1️⃣ 🏴󠁧󠁢󠁳󠁣󠁴󠁿",
    "formula": "f\u2061(x) = 2\u2062x + a\u2063b",
    "word-joiner": "10\u2060–\u206020 km",
    "persian": "می‌خواهم",
    "hindi": "क्‍ष",
    "hebrew": "שלום\u200f (API)\u200e",
    "braille": "⠓⠑⠇⠇⠕\u2800⠺",
    "braille-picture": "⣿\u2800\u2800\u2800⣿\n\u2800\u2800⣿",
    "stripped-emoji": "## \ufe0f Setup",
    "nested-fence": "````md\n\u200b```sh\nls\n\u200b```\n   \u200b~~~\n> \u200b```\n````",
    "fence-first": "\u200b```",
}


@pytest.mark.parametrize("text", SPELLING.values(), ids=SPELLING)
def test_spelling_stays(text: str) -> None:
    """Invisible characters that are spelling stay byte for byte."""
    notes: list[Note] = []
    assert neutralise(text, "s", notes) == text
    assert {note.kind for note in notes} <= {"kept"}


def shown(text: str) -> str:
    """Return every character of a text as it looks when it is revealed."""
    return "".join(f"⟨U+{ord(character):04X}⟩" for character in text)


HIDING = {
    "two-word-breaks": ("ไ\u200b\u200bย", "ไ" + shown("\u200b\u200b") + "ย"),
    "word-break-in-latin": ("a\u200bb", "a⟨U+200B⟩b"),
    "word-break-at-the-end": ("ไ\u200b", "ไ⟨U+200B⟩"),
    "two-word-breaks-before-a-fence": ("\u200b\u200b```", shown("\u200b\u200b") + "```"),
    "word-break-before-a-fence-in-a-line": ("see \u200b```x```", "see ⟨U+200B⟩```x```"),
    "word-break-before-two-ticks": ("\u200b``x``", "⟨U+200B⟩``x``"),
    "selector-run-on-an-ideograph": ("日\U000e0100\U000e0110", "日" + shown("\U000e0100\U000e0110")),
    "selector-on-a-letter": ("a\U000e0100", "a⟨U+E0100⟩"),
    "presentation-on-a-letter": ("a\ufe0f", "a⟨U+FE0F⟩"),
    "soft-hyphen-at-the-end": ("word\xad ", "word⟨U+00AD⟩ "),
    "two-soft-hyphens": ("a\xad\xadb", "a" + shown("\xad\xad") + "b"),
    "word-joiner-in-a-word": ("pay\u2060load", "pay⟨U+2060⟩load"),
    "word-joiner-in-a-tag": ("x <\u2060system> y", "x <⟨U+2060⟩system> y"),
    "times-in-a-word": ("pay\u2062load", "pay⟨U+2062⟩load"),
    "operators-as-bits": ("a\u2062\u2064b", "a" + shown("\u2062\u2064") + "b"),
    "tags": ("x\U000e0069\U000e0067", "x" + shown("\U000e0069\U000e0067")),
    "override": ("a\u202eb", "a⟨U+202E⟩b"),
    "fillers": ("\u3164\uffa0\u115f", shown("\u3164\uffa0\u115f")),
    "empty-cells": ("a\u2800\u2800b", "a" + shown("\u2800\u2800") + "b"),
    "one-empty-cell": ("a\u2800b", "a⟨U+2800⟩b"),
    "wide-row-of-empty-cells": ("⣿" + "\u2800" * 200, "⣿" + shown("\u2800" * 200)),
}


@pytest.mark.parametrize(("text", "expected"), HIDING.values(), ids=HIDING)
def test_what_hides_is_shown(text: str, expected: str) -> None:
    """Runs, tags, bidirectional controls, fillers and what stands in no place of its own are shown and noted."""
    notes: list[Note] = []
    assert reveal(text, "s", notes) == expected
    assert sum(note.count for note in notes if note.kind == "neutralised") == expected.count("⟨")


FENCES_BEHIND_A_WORD_BREAK = {
    "opens-none": ("\u200b```\n<system>\n\u200b```", 1),
    "closes": ("```\nx\n\u200b```\n<system>", 1),
    "inside-an-example": ("````\n\u200b```\n<system>\n\u200b```\n````", 0),
    "control": ("```\n<system>\n```", 0),
}


@pytest.mark.parametrize(("text", "count"), FENCES_BEHIND_A_WORD_BREAK.values(), ids=FENCES_BEHIND_A_WORD_BREAK)
def test_a_fence_behind_a_word_break_hides_no_speaker(text: str, count: int) -> None:
    """A fence behind a kept word break may end code but begins none, so no speaker's tag gets through by it."""
    notes: list[Note] = []
    neutralise(text, "s", notes)
    assert sum(note.count for note in notes if note.detail == SPEAKER) == count


def test_so_many_selectors_and_no_more() -> None:
    """Sixty-four variation sequences stay, and are noted; further ones are shown."""
    notes: list[Note] = []
    text = reveal("日\U000e0100" * 70, "s", notes)
    assert text == "日\U000e0100" * 64 + "日⟨U+E0100⟩" * 6
    assert [(note.kind, note.count) for note in notes] == [("neutralised", 6), ("kept", 64)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r", "\v", "\x85", "\u2028"], ids=ascii)
def test_every_line_end_ends_a_line(end: str) -> None:
    """A speaker's tag is a line of its own between line ends of any kind, also in text that was not unified."""
    assert escape_roles(f"a{end}<system>{end}b", "s", []) == f"a{end}<\\system>{end}b"


def test_offsets_are_those_of_the_text() -> None:
    """A note has the place in the text as it came in, before anything was shown."""
    notes: list[Note] = []
    assert neutralise("a\u200bb ﬁ <|im_end|>", "s", notes) == "a⟨U+200B⟩b ﬁ <\\|im_end|>"
    assert [(note.detail, note.offset) for note in notes] == [("hidden U+200B", 1), (TOKEN, 6)]


PIECES = [
    *"ab <>|/[]=_-\\\n`~",
    *"\u200b\u200e\u2060\xad\ufe0f\u2800⣿＜｜ﬆ⩵\u2062",
    "<|im_end|>", "</s>", "[INST]", "<system>", "<user", "｜DSML｜", "```\n", "\n<user>@", "ก", "日",
    "\U000e0100", "👩",
    "]~b]", "<system-reminder>", "=== DYNAMIC CONTEXT", "[ARGS]...", "\U000e0067",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


@given(TEXTS)
@examples(600)
def test_disarming_twice_changes_nothing(text: str) -> None:
    """A neutralised text is neutral."""
    neutral = neutralise(text, "s", [])
    assert neutralise(neutral, "s", []) == neutral
    kept = escape_boundary(neutral, "s", [])
    assert escape_boundary(kept, "s", []) == kept


@given(TEXTS, st.integers(0, 60))
@examples(600)
def test_a_part_of_a_neutral_text_is_neutral(text: str, limit: int) -> None:
    """Cutting a neutralised text leaves a neutral one."""
    short = shorten(neutralise(text, "s", []), limit)
    assert neutralise(short, "s", []) == short
    assert len(short.removesuffix(TRUNCATION_MARKER).encode()) <= max(limit, len(text.encode()) * 10)


@given(TEXTS)
@examples(300)
def test_nothing_is_lost(text: str) -> None:
    """Without the backslashes that were added, a disarmed text is the text itself."""
    assert escape_roles(text, "s", []).replace("\\", "") == text.replace("\\", "")


# What opens every quick look, and is no structure itself.
OPENERS = ("\n< [ ] | = ===d", "\n< [ ] | = ===d é")


@given(TEXTS, st.sampled_from(OPENERS))
@examples(600)
def test_a_quick_look_misses_nothing(text: str, opener: str) -> None:
    """A text is disarmed as it is where the signs that make the search worth while are somewhere else in it."""
    for disarm in (
        escape_roles,
        escape_boundary,
        neutralise,
        lambda text, source, notes: escape_tags(text, ("Role",), source, notes),
    ):
        alone: list[Note] = []
        beside: list[Note] = []
        assert disarm(text + opener, "s", beside) == disarm(text, "s", alone) + opener
        assert beside == alone


@pytest.mark.parametrize("token", CONTROL, ids=ascii)
def test_no_token_passes_a_quick_look(token: str) -> None:
    """A token that is all of a text is disarmed as it is beside the signs of every other token."""
    for text in (token, token.upper(), token.lower(), token.translate(str.maketrans("<>[]|", "＜＞［］｜"))):
        assert escape_roles(text + OPENERS[0]) == escape_roles(text) + OPENERS[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["<", "[", "]", "<|", "<system>\n", "</", "< ", "```\n<user>\n", "\u2800", "⣿\u2800", "＜", "\u200b", "=", "= ",
     "ก\u200b", "<s", "<user a=b ", "> ```\n", "|DSML|", "[ARGS]...", "\ufb06", "日\U000e0100", "]<]", "<a|",
     "===\u2060"],
    ids=ascii,
)  # fmt: skip
def test_time_is_linear(unit: str) -> None:
    """Eight times as much text takes no more than some sixteen times as long."""

    def taken(size: int) -> float:
        text = unit * (size // len(unit))
        best = 9.0
        for _ in range(3):
            start = process_time()
            escape_boundary(neutralise(text, "s", []), "s", [])
            escape_tags(text, ("Role", "Context"), "s", [])
            best = min(best, process_time() - start)
        return best

    taken(100)
    assert taken(40_000) < 16 * taken(5_000) + 0.02
