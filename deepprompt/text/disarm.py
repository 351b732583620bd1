r"""Text from outside: disarm what a model could take for structure.

Every function is deterministic, idempotent and takes time in proportion to its input. Nothing here knows a layout: the
tags of a layout are passed to `escape_tags` where its text is joined.

A disarmed text has a backslash after the first character of what was found (`<\|im_end|>`, `[\INST]`, `<\system>`).
That is how code escapes a tag inside a string (`<\/script>`), it is the same for every kind of bracket, no tokenizer
finds the token any more, and taking one character out gives back what the author wrote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from itertools import pairwise

from deepprompt.manifest import bundled_table
from deepprompt.prompt import Note
from deepprompt.text.plain import Plain

TABLE = "text/2026.11.18.1/control_tokens.tsv"

TOKEN = "control token of a model's vocabulary"
SPEAKER = "speaker's tag on a line of its own"
TAG = "look-alike of a tag"

_LONGEST_OPTION = 48


def _written(text: str, plain: Plain, starts: Iterable[int]) -> str:
    """Write a backslash after each of these characters of the plain text."""
    ends = [0, *sorted({plain.place(start) + 1 for start in starts}), len(text)]
    return "\\".join([text[start:end] for start, end in pairwise(ends)])


@cache
def control_tokens() -> tuple[frozenset[str], frozenset[str]]:
    """Return the spellings that are disarmed in any case of their letters, and those as they are spelled only.

    Digits are written `0`, letters as NFKC writes them.
    """
    spellings: dict[str, list[str]] = {"any": [], "exact": [], "kept": []}
    # As Plain writes the bars and blanks of DeepSeek's; for so few characters it would take longer.
    table = bundled_table(TABLE).replace("\uff5c", "|").replace("\u2581", "_")
    for line in table.splitlines():
        if not line.startswith("#"):
            _, spelling, treatment, _ = line.split("\t", 3)
            spellings[treatment].append(spelling)
    # All at once: one by one would take twice as long as reading the table.
    any_case = _numberless("\n".join(spellings["any"]).replace("#", "0")).lower()
    exact = "\n".join(spellings["exact"]).replace("#", "0")
    return frozenset(any_case.split("\n")), frozenset(exact.split("\n"))


@cache
def _number() -> re.Pattern[str]:
    return re.compile("[0-9]{1,64}+")


def _numberless(token: str) -> str:
    return _number().sub("0", token)


@cache
def _shape() -> re.Pattern[str]:
    # What a token can look like; which of these are tokens the table says. Only its first character is taken, so that
    # no token hides in the end of another. Bounded and possessive, so the time is linear. A bar may stand on both
    # sides of a name or on one; between bars there may be blanks.
    name = r"[\w:.\-]"
    return re.compile(
        rf"<(?=(role>[a-z]{{5,9}}+</role>|[ \t]*+/?[ \t]*+{name}{{1,48}}+\|?+[ \t]*+>"
        r"|[ \t]*+/?[ \t]*+\|[ \t]*+/?[^\s<>|]{1,64}+[ \t]*+\|?+[ \t]*+>?"
        rf"|\[{name}{{1,48}}+\]>"
        r"|</?SYS>>))"
        r"|\[(?=(/?[\w@=]{1,32}+\]|\|[a-z]{4,9}+\|\]|e~\[))"
        r"|\](?=(<\][a-z][a-z ]{0,23}+\[>\[|[!~][\w!~]{1,3}+[\[\]]))",
        re.IGNORECASE,
    )


@cache
def _barred() -> re.Pattern[str]:
    # No vocabulary has a name without one ASCII letter: `<|标题|>` is a placeholder.
    return re.compile(r"</?\|/?(?=[^|]*[A-Za-z])[^|]+\|>")


@cache
def _unclosed() -> re.Pattern[str]:
    return re.compile(r"<\|[a-z]+_[a-z_]+", re.IGNORECASE)


def _is_control(found: str) -> bool:
    """Whether what looks like a control token is one."""
    any_case, exact = control_tokens()
    if found[0] != "<" or "|" not in found:
        token = _numberless(found)
        # With blanks, or a slash of its own, only a name that no code has is a token: `a < s > b` is a comparison.
        known = token.lower() if "_" not in token else re.sub(r"(?<=<)[ \t/]+|[ \t]+", "", token.lower())
        return token.lower() in any_case or known in any_case or token in exact
    if _barred().fullmatch(found):
        return True
    # With blanks, or without its end, a known name is a token: `a < |b|` and `f <| g` are code.
    token = _numberless(re.sub(r"[ \t/]+", "", found)).lower()
    if token.endswith("|"):
        token += ">"
    elif _unclosed().fullmatch(found):
        token += "|>"
    return token in any_case


def _token_starts(look: str) -> list[int]:
    """Return where the control tokens of a plain text begin."""
    starts = []
    if "<" in look or "[" in look or "]" in look:
        for match in _shape().finditer(look):
            token = match[0] + match[match.lastindex or 0]
            if _is_control(token) and not _is_usage(token, look, match.start()):
                starts.append(match.start())
    if "|DSML|" in look:  # DeepSeek's, which stands inside tags
        starts += [match.start() for match in re.finditer(r"\|(?=DSML\|)", look)]
    return starts


@cache
def _before_a_value(token: str) -> re.Pattern[str]:
    arguments = r"(?:OPTIONS|FLAGS|COMMAND|SUBCOMMAND|PROGRAM|SCRIPT|FILE|NAME|TARGET)[\]>]? $"
    option = r"(?<!\S)[`(\[]?--?[A-Za-z][\w-]*+[ =]$"
    return re.compile(arguments if token == "[ARGS]" else option)


def _is_usage(token: str, look: str, start: int) -> bool:
    """Whether a token is how code and commands are written.

    `Vec<ToolCall>`, `[OPTIONS] [ARGS]`, `[ARGS]...`, `--seconds <s>`, `<<EOT>file`.
    """
    if token[:1] == "<" and token[1:2].isupper() and token.upper() != token:
        return look[start - 1 : start].isalnum() and token not in control_tokens()[1]
    if token == "<EOT>":
        return look[start - 1 : start] == "<"
    if token not in ("[ARGS]", "<s>"):
        return False
    if token == "[ARGS]" and look.startswith("...", start + len(token)):
        return True
    return _before_a_value(token).search(look, max(start - _LONGEST_OPTION, 0), start) is not None


_ROLES = "system|developer|assistant|user|tool|function|human"


@cache
def _speaker_line() -> re.Pattern[str]:
    # A line of nothing but tags that name a speaker; three blanks may stand before it, as Markdown has it for what is
    # no code. The last tag need not be closed.
    value = r"""(?:"[^"<>\n]{0,200}+"|'[^'<>\n]{0,200}+'|[^\s"'<>=]{1,200}+)"""
    attributes = rf"(?>(?:[ \t]{{1,8}}+[\w:.-]{{1,40}}+[ \t]?=[ \t]?{value}){{0,8}})"
    tag = rf"<[ \t]*+/?[ \t]*+(?:{_ROLES})(?![\w.@:-]){attributes}[ \t]*+/?"
    return re.compile(rf"^ {{0,3}}{tag}(?:>[ \t]*+(?>(?:{tag}>[ \t]*+)*))?$", re.IGNORECASE | re.MULTILINE)


_QUOTED = 1 << 30


@cache
def _fence() -> re.Pattern[str]:
    return re.compile(r"^([ \t>]*+)((?:(?:[-*+]|[0-9]{1,9}[.)])[ \t]++)?)(`{3,}+(?!.*`)|~{3,}+)(.*)$", re.MULTILINE)


def _fenced(plain: Plain) -> list[tuple[int, int, int]]:
    """Return where fenced code begins and ends, and how far its lines are indented at least, as Markdown has it.

    A fence that nothing closes holds the rest of the text, but in a list, a quotation or an indented place only as
    long as that lasts. A fence behind a hidden character is none for Markdown, and looks like one: it may close code,
    and opens none.
    """
    text = plain.text
    spans: list[tuple[int, int, int]] = []
    start, mark, least = -1, "", 0
    for match in _fence().finditer(text):
        before, item, fence, after = match.groups()
        indent = _QUOTED if ">" in before else len((before + item).expandtabs(4))
        if start >= 0 and (indent < least or (indent == _QUOTED) != (least == _QUOTED)):
            spans.append((start, match.start(), least))
            start = -1
        if start < 0:
            if plain.is_behind_hidden(match.start(3)):
                continue
            start, mark = match.start(), fence
            least = indent if item or indent == _QUOTED else max(indent - 3, 0)
        elif fence[0] == mark[0] and len(fence) >= len(mark) and not item and not after.strip():
            spans.append((start, match.end(), least))
            start = -1
    return [*spans, (start, len(text) + 1, least)] if start >= 0 else spans


def _speaker_starts(plain: Plain) -> list[int]:
    """Return where the tags begin of each line outside code that is nothing but tags that name a speaker."""
    look = plain.text
    if not any(f"\n{blanks}<" in look or look.startswith(f"{blanks}<") for blanks in ("", " ", "  ", "   ")):
        return []  # as nearly every text: the pattern takes longer to compile than this to find out
    from bisect import bisect_right

    lines = [match.span() for match in _speaker_line().finditer(look)]
    code = _fenced(plain)
    begins = [begin for begin, _, _ in code]
    starts = []
    for line, end in lines:
        first = look.index("<", line)
        span = bisect_right(begins, line) - 1
        if span < 0 or line >= code[span][1] or first - line < code[span][2]:
            starts += [first + place for place, sign in enumerate(look[first:end]) if sign == "<"]
    return starts


@cache
def _tags(names: tuple[str, ...]) -> re.Pattern[str]:
    gap, end = r"[ \t\n]*+", r"(?![\w-])"
    # Behind a word, an opening tag may be a type (`List<Role>`) or a comparison (`n < task`), unless it has a hyphen or
    # attributes, or a bracket that closes a gap.
    a_type, compared = r"[ ]?[>,.?|&;:)\[\]<]", r"(?![ \t]*+/?>|[ \t]++[\w-]{1,40}+=)"
    spelled = {name: r"[ \t]*+".join(map(re.escape, name)).replace(r"\-", "[-_]") for name in names}
    tag = "|".join(spelled.values())
    glued = "|".join(f"{spelling}(?![\\w-]{'' if '-' in name else '|' + a_type})" for name, spelling in spelled.items())
    return re.compile(
        rf"(?P<code>[\w)\]][ \t]++<[ \t]++(?:{tag}){end}{compared})"
        rf"|(?<!\w)<(?={gap}(?:{tag}){end})"
        rf"|<(?={gap}(?:{glued}))"
        rf"|<(?=(?>(?:{gap}/){{1,3}}){gap}(?:{tag}){end})",
        re.IGNORECASE,
    )


def _tag_starts(look: str, names: tuple[str, ...]) -> list[int]:
    """Return where the tags of these names begin in a plain text."""
    return [match.start() for match in _tags(names).finditer(look) if match["code"] is None]


REMINDER = ("system-reminder",)


def escape_tags(text: str, names: tuple[str, ...], source: str = "", notes: list[Note] | None = None) -> str:
    """Put a backslash into each tag of these names, whatever case, form and gaps it is written in.

    No closing bracket is needed. A name counts as a whole. A type (`List<Role>`) or a comparison (`n < task`) is no
    tag.
    """
    if "<" not in text and text.isascii():  # no other character stands for it
        return text
    notes = [] if notes is None else notes
    plain = Plain(text)
    if "<" not in plain.text:
        return text
    starts = _tag_starts(plain.text, names)
    if not starts:
        return text
    notes.append(Note("neutralised", source, TAG, plain.place(starts[0]), len(starts)))
    return _written(text, plain, starts)


@cache
def _boundary() -> re.Pattern[str]:
    words = r"[ \t]*+".join
    return re.compile(
        rf"(?<!\\)(?P<boundary>(?:=[ \t]*+){{3}}{words('DYNAMICCONTEXT')})"
        rf"(?P<rest>[ \t]*+\(?[ \t]*+(?:{words('PERTURN')}|{words('PER-TURN')}|{words('DONOTCACHE')}))?",
        re.IGNORECASE,
    )


@cache
def _heading() -> re.Pattern[str]:
    return re.compile(r"=== ?[Dd]ynamic [Cc]ontext")


def escape_boundary(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    r"""Write `\` before each look-alike of the dynamic context boundary; a plain heading of those words is none."""
    if text.count("=") < 3 and text.isascii():
        return text
    notes = [] if notes is None else notes
    plain = Plain(text)
    if "=" not in plain.text:
        return text
    tight = plain.text.replace(" ", "").replace("\t", "")  # every look-alike begins so, without its gaps
    if "===D" not in tight and "===d" not in tight:
        return text
    starts = []
    for match in _boundary().finditer(plain.text):
        start = plain.place(match.start())
        end = plain.place(match.end("boundary") - 1) + 1
        # A heading, as people write it: that, and nothing of the rest.
        if match["rest"] is not None or not _heading().fullmatch(text, start, end):
            starts.append(start)
    if not starts:
        return text
    ends = [0, *starts, len(text)]
    notes.append(Note("neutralised", source, "look-alike of the dynamic context boundary", starts[0], len(starts)))
    return "\\".join(text[start:end] for start, end in pairwise(ends))


def may_forge(text: str) -> bool:
    """Whether a text of printable ASCII has what a token, a tag or a boundary needs. Most names and paths have not."""
    if "<" in text or "[" in text or "]" in text or ("=" in text and text.count("=") >= 3):
        return True
    return "D" in text and "|DSML|" in text  # one character is found in a tenth of the time


def escape_roles(text: str, source: str = "", notes: list[Note] | None = None) -> str:
    """Disarm as `neutralise` does, but leave what is hidden: for text that was made visible before."""
    if "<" not in text and "[" not in text and "]" not in text and "|" not in text and text.isascii():
        return text
    notes = [] if notes is None else notes
    plain = Plain(text)
    look = plain.text
    found = {TOKEN: _token_starts(look)}
    if "<" in look:
        found[SPEAKER] = _speaker_starts(plain)
        found[TAG] = _tag_starts(look, REMINDER) if "reminder" in look.lower() else []
    everything: list[int] = []
    for detail, starts in found.items():
        if starts:
            everything += starts
            places = sorted({plain.place(start) for start in starts})
            notes.append(Note("neutralised", source, detail, places[0], len(places)))
    return _written(text, plain, everything) if everything else text
