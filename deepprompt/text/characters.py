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

# Letters of the scripts that are written without blanks between words, where U+200B marks a word's end:
# Line_Break SA (Thai, Lao, Khmer, Burmese ...), AK, AP, AS, VI and VF (Balinese, Javanese ...) of Unicode 18.0.
UNSPACED = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81\u0e82\u0e84\u0e86-\u0e8a\u0e8c-\u0ea3\u0ea5\u0ea7-\u0ebd\u0ec0-\u0ec4\u0ec6"
    "\u0ec8-\u0ece\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u109a-\u109f\u1780-\u17d3\u17d7\u17dc\u17dd\u1950-\u196d"
    "\u1970-\u1974\u1980-\u19ab\u19b0-\u19c9\u19de\u19df\u1a20-\u1a5e\u1a60-\u1a7c\u1aa0-\u1aad\u1b05-\u1b33"
    "\u1b44-\u1b4c\u1b50-\u1b59\u1bc0-\u1be5\u1bf2\u1bf3\ua984-\ua9b2\ua9c0\ua9d0-\ua9d9\ua9e0-\ua9ef\ua9fa-\ua9fe"
    "\uaa00-\uaa28\uaa50-\uaa59\uaa60-\uaac2\uaadb-\uaadf\U00011003-\U00011037\U00011046\U00011066-\U0001106f"
    "\U00011071\U00011072\U00011075\U00011305-\U0001130c\U0001130f\U00011310\U00011313-\U00011328"
    "\U0001132a-\U00011330\U00011332\U00011333\U00011335-\U00011339\U0001134d\U00011350\U0001135e-\U00011361"
    "\U00011380-\U00011389\U0001138b\U0001138e\U00011390-\U000113b5\U000113d0\U000113d1\U00011700-\U0001171a"
    "\U0001171d-\U0001172b\U0001173a\U0001173b\U0001173f-\U00011746\U00011900-\U00011906\U00011909"
    "\U0001190c-\U00011913\U00011915\U00011916\U00011918-\U0001192f\U0001193e\U0001193f\U00011941"
    "\U00011950-\U00011959\U00011ee0-\U00011ef1\U00011f02\U00011f04-\U00011f10\U00011f12-\U00011f33\U00011f42"
    "\U00011f50-\U00011f59\U00016100-\U0001611d\U00016130-\U00016139"
)

# Ideographs, which variation sequences choose a form of (Unified_Ideograph of Unicode 18.0, small gaps closed).
IDEOGRAPHS = "\u3400-\u4dbf\u4e00-\u9fff\ufa0e-\ufa29\U00020000-\U0002a6df\U0002a700-\U0002ee5d\U00030000-\U00033479"

# Other characters with standardized variation sequences (StandardizedVariants.txt of Unicode 17.0: U+FE00, U+FE01).
VARIED = (
    "\x30\u1000\u1002\u1004\u1010\u1011\u1015\u1019\u101a\u101c\u101d\u1022\u1031\u1075\u1078\u107a\u1080\u2018"
    "\u2019\u201c\u201d\u210b\u2110\u2112\u211b\u212c\u2130\u2131\u2133\u2205\u2229\u222a\u2268\u2269\u2272\u2273"
    "\u228a\u228b\u2293-\u2295\u2297\u229c\u22da\u22db\u2a3c\u2a3d\u2a9d\u2a9e\u2aac\u2aad\u2acb\u2acc\u3001\u3002"
    "\ua856\ua85c\ua85e-\ua860\ua868\uaa60-\uaa66\uaa6b\uaa6c\uaa6f\uaa7a\uff01\uff0c\uff0e\uff10\uff1a\uff1b\uff1f"
    "\U00010ac5\U00010ac6\U00010ad6\U00010ad7\U00010ae1\U00013000-\U0001345f\U0001d49c\U0001d49e\U0001d49f"
    "\U0001d4a2\U0001d4a5\U0001d4a6\U0001d4a9-\U0001d4ac\U0001d4ae-\U0001d4b5"
)

# Pictures that may be followed by a presentation selector (U+FE0E, U+FE0F): Extended_Pictographic of Unicode 18.0 and
# the whole blocks of arrows, symbols and enclosed letters, since fonts draw those as pictures too.
PICTURES = (
    "\xa9\xae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u2460-\u24ff\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff\u3030"
    "\u303d\u3200-\u32ff\U0001f004\U0001f02c-\U0001f02f\U0001f094-\U0001f09f\U0001f0af\U0001f0b0\U0001f0c0\U0001f0cf"
    "\U0001f0d0\U0001f0f6-\U0001f1ff\U0001f201-\U0001f20f\U0001f21a\U0001f22f\U0001f232-\U0001f23a\U0001f23c-\U0001f23f"
    "\U0001f249-\U0001f25f\U0001f266-\U0001f321\U0001f324-\U0001f393\U0001f396\U0001f397\U0001f399-\U0001f39b"
    "\U0001f39e-\U0001f3f0\U0001f3f3-\U0001f3f5\U0001f3f7-\U0001f4fd\U0001f4ff-\U0001f53d\U0001f549-\U0001f54e"
    "\U0001f550-\U0001f567\U0001f56f\U0001f570\U0001f573-\U0001f57a\U0001f587\U0001f58a-\U0001f58d\U0001f590"
    "\U0001f595\U0001f596\U0001f5a4\U0001f5a5\U0001f5a8\U0001f5b1\U0001f5b2\U0001f5bc\U0001f5c2-\U0001f5c4"
    "\U0001f5d1-\U0001f5d3\U0001f5dc-\U0001f5de\U0001f5e1\U0001f5e3\U0001f5e8\U0001f5ef\U0001f5f3"
    "\U0001f5fa-\U0001f64f\U0001f680-\U0001f6c5\U0001f6cb-\U0001f6d2\U0001f6d5-\U0001f6e5\U0001f6e9"
    "\U0001f6eb-\U0001f6f0\U0001f6f3-\U0001f6ff\U0001f7dc-\U0001f7f0\U0001f80c-\U0001f80f\U0001f848-\U0001f84f"
    "\U0001f85a-\U0001f85f\U0001f888-\U0001f88f\U0001f8ae\U0001f8af\U0001f8bc-\U0001f8bf\U0001f8c2-\U0001f8cf"
    "\U0001f8d9-\U0001f8ff\U0001f90c-\U0001f93a\U0001f93c-\U0001f945\U0001f947-\U0001f9ff\U0001fa58-\U0001fa5f"
    "\U0001fa6e-\U0001faff\U0001fc00-\U0001fffd"
)

# The ASCII ones among the hidden. Most text has no others, and a pattern of these compiles ten times as fast: a process
# that builds one prompt would spend most of its time on compiling the full patterns.
ASCII_HIDDEN = "\x00-\x08\x0b-\x1f\x7f"
