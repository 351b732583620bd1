"""Texts of every kind, on which exact counts are held against those of the reference tokenizers.

The counts in `tests/data/token_counts.json` were made by `scripts/write_token_counts.py`;
a text that changes needs them made again.
"""

from __future__ import annotations

import random

from deepprompt import BASE_PROMPT_V1

_PROSE = (
    "It's a truth that isn't universally acknowledged: she'd rather they'll've gone.\n\n"
    "“Où est-ce, déjà ?” – naïve façade, Zürich, smörgåsbord; Ωμέγα, Москва, Đà Nẵng.\n"
)
_CODE = (
    "def f(x: int) -> dict[str, int]:\n    # TODO(me): 0x1F + 1_000_000 / 3.14159e-10\n"
    '    return {f"{x!r}": x // 2, "a": x**2}\n\n\tif (a && b || !c) { i++; }\r\n'
    "SELECT * FROM t WHERE id IN (1, 22, 333, 4444);\n</div>\n//////////\n/usr/lib/x86_64-linux-gnu\n"
)

TEXTS: dict[str, str] = {
    "empty": "",
    "letter": "a",
    "prose": _PROSE,
    "code": _CODE,
    "cjk": "漢字仮名交じり文です。中文没有空格，标点符号也不同！한국어 문장입니다.\n１２３４５６ ｆｕｌｌ\n",
    "emoji": "🎉👨‍👩‍👧‍👦🏴󠁧󠁢󠁳󠁣󠁴󠁿❤️1️⃣ 🇩🇪🤷🏽‍♀️",
    "right to left": "שלום עולם، مرحبا بالعالم ۱۲۳ فارسی می‌خواهم\n",
    "indic": "नमस्ते दुनिया। தமிழ் ไทยไม่มีช่องว่าง\n",
    "white space": " \t\n\n  \n\t\t\r\n\r\r\n   \u00a0\u3000\u2003 x  \n \n  y",
    "blanks": " " * 333 + "\n" * 77 + "\t" * 55 + " \n" * 44,
    "special tokens": "<|endoftext|><|im_start|>system\n<|fim_prefix|>"
    " <think>x</think> <｜User｜>hi<｜end▁of▁sentence｜>",
    "hidden": "a\u200bb\u202ec\ufeffd\u2028e\x00f\x1b[0m\U000e0041",
    "numbers": "1 12 123 1234 12345 1234567890123456789 3.14 1e10 ٣٤٥ ²³ ⅷ",
    "one word": "indivisib" + "le" * 300,
    "no cut": "漢字" * 2000,
    "letters": "aA" * 3000 + "z" * 3000,
    "slashes": ";\n/a\n//b\n.\n/\n/c\nd",
    "prompt": BASE_PROMPT_V1,
    "long": (BASE_PROMPT_V1 + _PROSE + _CODE) * 20,
}

_ATOMS = (
    "\n", "\n\n", " ", "  ", "\t", "a", "B", "foo", "Don't", "'s", "'LL", "1", "1234", "/", "//", ";", "{", "}", "漢字",
    "かな", "é", "e\u0301", "🎉", "<|endoftext|>", "<think>", "\r\n", "\r", "\u00a0", "\u3000", ".", "...", "ß", "Ω",
    "ا", "\u200b", "#", "x=1", "ab cd",
)  # fmt: skip


def _mixtures(count: int) -> dict[str, str]:
    chosen = random.Random(11)
    return {f"mixture {number}": "".join(chosen.choices(_ATOMS, k=chosen.randint(2, 60))) for number in range(count)}


TEXTS |= _mixtures(150)
