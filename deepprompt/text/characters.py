"""Pinned data about characters that a reader cannot see, for Unicode 18.0.

Pinned, because `unicodedata` differs between Python versions and the same file must give the same bytes under
all of them. Each constant is the inside of a regular expression's character class.
"""

from __future__ import annotations

# Control characters but tab and newline, soft hyphen, joiners, fillers, bidirectional controls, line and
# paragraph separators, invisible operators, variation selectors, annotation and format controls, tags.
HIDDEN = (
    "\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f"
    "\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)

# Emoji that may be followed by a presentation selector (U+FE0E text, U+FE0F emoji); the keycap bases
# (digits, # and *) are legal only before U+20E3 and are handled apart.
EMOJI = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2194-\u2199\u21a9\u21aa\u231a\u231b\u2328\u23cf\u23e9-\u23f3"
    "\u23f8-\u23fa\u24c2\u25aa\u25ab\u25b6\u25c0\u25fb-\u25fe\u2600-\u2604\u260e\u2611\u2614\u2615\u2618"
    "\u261d\u2620\u2622\u2623\u2626\u262a\u262e\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f\u2660"
    "\u2663\u2665\u2666\u2668\u267b\u267e\u267f\u2692-\u2697\u2699\u269b\u269c\u26a0\u26a1\u26a7\u26aa"
    "\u26ab\u26b0\u26b1\u26bd\u26be\u26c4\u26c5\u26c8\u26ce\u26cf\u26d1\u26d3\u26d4\u26e9\u26ea"
    "\u26f0-\u26f5\u26f7-\u26fa\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712\u2714\u2716\u271d\u2721\u2728"
    "\u2733\u2734\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763\u2764\u2795-\u2797\u27a1\u27b0\u27bf"
    "\u2934\u2935\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55\u3030\u303d\u3297\u3299\U0001f004\U0001f0cf"
    "\U0001f170\U0001f171\U0001f17e\U0001f17f\U0001f18e\U0001f191-\U0001f19a\U0001f1e6-\U0001f1ff"
    "\U0001f201\U0001f202\U0001f21a\U0001f22f\U0001f232-\U0001f23a\U0001f250\U0001f251"
    "\U0001f300-\U0001f321\U0001f324-\U0001f393\U0001f396\U0001f397\U0001f399-\U0001f39b"
    "\U0001f39e-\U0001f3f0\U0001f3f3-\U0001f3f5\U0001f3f7-\U0001f4fd\U0001f4ff-\U0001f53d"
    "\U0001f549-\U0001f54e\U0001f550-\U0001f567\U0001f56f\U0001f570\U0001f573-\U0001f57a\U0001f587"
    "\U0001f58a-\U0001f58d\U0001f590\U0001f595\U0001f596\U0001f5a4\U0001f5a5\U0001f5a8\U0001f5b1"
    "\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4\U0001f5d1-\U0001f5d3\U0001f5dc-\U0001f5de\U0001f5e1"
    "\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3\U0001f5fa-\U0001f64f\U0001f680-\U0001f6c5"
    "\U0001f6cb-\U0001f6d2\U0001f6d5-\U0001f6d9\U0001f6dc-\U0001f6e5\U0001f6e9\U0001f6eb\U0001f6ec"
    "\U0001f6f0\U0001f6f3-\U0001f6fc\U0001f7e0-\U0001f7eb\U0001f7f0\U0001f90c-\U0001f93a"
    "\U0001f93c-\U0001f945\U0001f947-\U0001f9ff\U0001fa70-\U0001fa7c\U0001fa80-\U0001fac6\U0001fac8"
    "\U0001facc-\U0001fadd\U0001fadf-\U0001faeb\U0001faef-\U0001fafa"
)

# The blocks of the scripts whose ordinary spelling uses the zero-width joiner and non-joiner.
JOINING = (
    "\u0600-\u061b\u061d-\u08ff\u0900-\u0dff\u0f00-\u0fff\u1000-\u109f\u1780-\u17b3\u17b6-\u17ff"
    "\u1800-\u180a\u1810-\u18af\u1a20-\u1aaf\u1b00-\u1bff\ua800-\ua87f\ua880-\ua8ff\ua930-\ua9ff"
    "\uaa60-\uaa7f\uaae0-\uaaff\uabc0-\uabff\ufb50-\ufdff\ufe70-\ufefc\U00010a00-\U00010fff"
    "\U00011000-\U00011fff\U0001e900-\U0001e95f"
)

# Letters after which Mongolian's own free variation selectors and vowel separator are ordinary spelling.
MONGOLIAN = "\u1820-\u18aa"

# The three flags that Unicode registers as tag sequences: England, Scotland, Wales.
TAG_FLAGS = tuple(
    "\U0001f3f4" + "".join(chr(0xE0000 + ord(letter)) for letter in region) + "\U000e007f"
    for region in ("gbeng", "gbsct", "gbwls")
)

# The alphabets that NFKC maps to Latin, by their first letters: full width, circled, squared, outlined, mathematical.
# Then the other forms of single letters, and of the signs in tags, tokens and the boundary.
ALPHABETS = (0xFF21, 0xFF41, 0x24B6, 0x24D0, 0x1F130, 0x1CCD6, *range(0x1D400, 0x1D6A4, 26))
LETTER_FORMS = {
    "<": "\uff1c\ufe64",
    "/": "\uff0f",
    "|": "\uff5c\u2502\u01c0",
    "=": "\uff1d\ufe66",
    "-": "\uff0d\ufe63",
    "_": "\uff3f\ufe33\ufe34\ufe4d\ufe4e\ufe4f",
    "a": "\xaa\u1d2c\u1d43\u2090",
    "b": "\u1d2e\u1d47\u212c",
    "c": "\u1d9c\u2102\u212d\u216d\u217d\ua7f2\U0001f12b",
    "d": "\u1d30\u1d48\u2145\u2146\u216e\u217e",
    "e": "\u1d31\u1d49\u2091\u212f\u2130\u2147",
    "f": "\u1da0\u2131\ua7f3",
    "g": "\u1d33\u1d4d\u210a",
    "h": "\u02b0\u1d34\u2095\u210b\u210c\u210d\u210e",
    "i": "\u1d35\u1d62\u2071\u2110\u2111\u2139\u2148\u2160\u2170",
    "j": "\u02b2\u1d36\u2149\u2c7c",
    "k": "\u1d37\u1d4f\u2096\u212a",
    "l": "\u02e1\u1d38\u2097\u2112\u2113\u216c\u217c",
    "m": "\u1d39\u1d50\u2098\u2133\u216f\u217f",
    "n": "\u1d3a\u207f\u2099\u2115",
    "o": "\xba\u1d3c\u1d52\u2092\u2134",
    "p": "\u1d3e\u1d56\u209a\u2119",
    "q": "\u211a\ua7f4\U000107a5",
    "r": "\u02b3\u1d3f\u1d63\u211b\u211c\u211d\U0001f12c",
    "s": "\u017f\u02e2\u209b",
    "t": "\u1d40\u1d57\u209c",
    "u": "\u1d41\u1d58\u1d64",
    "v": "\u1d5b\u1d65\u2164\u2174\u2c7d",
    "w": "\u02b7\u1d42",
    "x": "\u02e3\u2093\u2169\u2179",
    "y": "\u02b8",
    "z": "\u1dbb\u2124\u2128",
}

# White space as defined by Go's unicode.IsSpace. Python's str.strip() also removes U+001C to U+001F.
BLANK = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)

# The ASCII ones among them. Most text has no others, and a pattern of these compiles ten times as fast: a process
# that builds one prompt would spend most of its time on compiling the full patterns.
ASCII_HIDDEN = "\x00-\x08\x0b-\x1f\x7f"
ASCII_BLANK = "\t\n\v\f\r "
