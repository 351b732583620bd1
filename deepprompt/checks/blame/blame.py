"""Why a cache was missed: where two requests differ first, what changed there, and what it costs.

Marks are ignored: moving one costs nothing. A later request that begins with all of the earlier one has nothing to be
blamed for. Otherwise the first byte that differs decides, because everything after it is paid for again. `differences`
finds what happened to the block, and `deepprompt.text.compare` what kind of change a text went through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from deepprompt.checks.blame.differences import in_blocks, in_parts, read_blocks
from deepprompt.checks.blame.kinship import SPEAKERS, begins_another
from deepprompt.checks.places import Place, whole
from deepprompt.checks.segments import as_segments
from deepprompt.prompt import file_of
from deepprompt.providers.recognise import MODELS
from deepprompt.providers.segments import Segment
from deepprompt.text.compare import shared_start

TYPE_CHECKING = False
if TYPE_CHECKING:
    from deepprompt.words import BlameKind

KINDS: dict[str, str] = {
    "conversation": "another conversation begins",
    "setting": "a setting changed that the cache depends on",
    "images": "the first image was added or the last one removed, so no message can be read",
    "tool order": "the same tools are in another order",
    "tool added": "a tool was added",
    "tool removed": "a tool was removed",
    "tool changed": "a tool's definition changed",
    "key order": "the same JSON has its keys in another order",
    "order": "the same parts, lines or words are in another order",
    "extended": "a message was extended in place; append a new one",
    "inserted": "something was inserted into what was sent",
    "removed": "something that was sent is missing",
    "compaction": "several messages were replaced by fewer",
    "role": "the same text now has another role",
    "blocks": "the same text is split into other blocks",
    "line ends": "the line ends changed",
    "byte order mark": "a byte order mark was added or removed",
    "trailing blanks": "blanks at the end of a line, or empty lines, changed",
    "white space": "only white space changed",
    "Unicode form": "the same characters are in another Unicode form",
    "escapes": "the same characters are escaped on one side only",
    "truncation": "one of the two is truncated",
    "clock": "a date or a time changed",
    "random id": "an id, a hash or another random value changed",
    "path": "a path changed",
    "number": "a number changed",
    "case": "upper and lower case changed",
    "edit": "the text was edited",
}
"""Every kind of change, explained in a sentence."""

_SHOWN = 120
# It says where cache entries end, as marks do. Earlier entries can be read whatever it says.
_ASIDE = ("prompt_cache_options",)
_IMAGES = "images"


@dataclass(frozen=True, slots=True)
class Blame:
    """The first difference between a request and the one before it."""

    kind: BlameKind
    """`clock`, `path`, `order`, `edit`, `truncation` and so on: see `KINDS`."""
    place: str
    """The block of the request, such as `system[0]` or `tools[2] Read`, or the part of the prompt."""
    source: str
    """The file, section, message or tool that the text belongs to, if known."""
    line: int
    """The line in the source, from 1; 0 where lines mean nothing."""
    offset: int
    """The position in bytes from the start of the request's text, without the settings."""
    old: str
    new: str
    """The line before and after the change: at most 120 characters of each around the place."""
    kept: int
    """The estimated tokens before the place: the most that can be read from the cache."""
    after: int
    """The estimated tokens of the later request after the place, which cannot be read."""
    repeated: int = 0
    """How many of these the earlier request had sent too, about."""
    block: str = ""
    """The kind of the block, such as `system`, `tool`, `text` or `thinking`."""
    changing: bool = False
    """Whether it stands after the boundary, or in a part that is known to change with the turn."""
    value: str = ""
    """The path of the changed value, such as `input_schema.properties.path`, if the block is JSON."""

    @property
    def file(self) -> str:
        """The path of the file that the text came from; "" if it came from none."""
        return file_of(self.source)

    @property
    def why(self) -> str:
        """What happened, in words."""
        return KINDS[self.kind]


def blame(old: object, new: object) -> Blame | None:
    """Return why the cache entry of the earlier request cannot be used by the later one; None if it can.

    Each is whatever `read_request` takes, or the segments that it returned. Raises `MessageError` for anything else.
    """
    before, after = as_segments(old), as_segments(new)
    for side, other in ((before, after), (after, before)):
        if len(side) == 1 and side[0].bare:  # its tools and messages are unknown
            other[:] = [segment for segment in other if segment.role == "system"]
    joined = any(segment.joins for segment in (*before, *after))
    was, now = _Request(before, joined), _Request(after, joined)
    found = _difference(was, now)
    if found is not None and begins_another(before, after):  # it shares nothing that it could have lost
        return replace(found, kind="conversation", repeated=0)
    setting = _changed_setting(was, now)
    if setting and (found is None or _start(setting, was, now) <= found.offset):
        return _of_setting(setting, was, now)
    return found


def total_tokens(request: object) -> int:
    """Return the number of tokens in a request, by the same estimate."""
    return _Request(as_segments(request), False).size // 4


class _Request:
    """One of the two requests: its blocks, and for each setting the byte from which on a change of it costs."""

    def __init__(self, segments: Sequence[Segment], joined: bool) -> None:
        self.settings: dict[str, str] = {}
        self.starts: dict[str, int] = {}
        self.size = 0
        self.image: Segment | None = None
        shown = []
        messages = None
        for segment in segments:
            if segment.kind == "setting":
                self._set(segment.place, segment.text, self.size)
                continue
            if messages is None and segment.role in SPEAKERS:
                messages = self.size
            if messages is not None and self.image is None and segment.shows_image:
                self.image = segment
                self._set(_IMAGES, segment.text, messages)
            shown.append(segment)
            self.size += _bytes(segment.text)
        self.blocks = list(read_blocks(shown, joined))

    def _set(self, name: str, value: str, start: int) -> None:
        if name not in _ASIDE:
            self.settings[name] = value
            self.starts[name] = start


def _changed_setting(was: _Request, now: _Request) -> str | None:
    """Return the changed setting that costs most; None if only one of the two names its model."""
    if any(name in was.settings for name in MODELS) != any(name in now.settings for name in MODELS):
        return None
    names = dict.fromkeys([*was.settings, *now.settings])
    changed = [name for name in names if was.settings.get(name) != now.settings.get(name)]
    if was.image and now.image:  # another image counts where it stands
        changed = [name for name in changed if name != _IMAGES]
    return min(changed, key=lambda name: _start(name, was, now), default=None)


def _start(setting: str, was: _Request, now: _Request) -> int:
    return was.starts[setting] if setting in was.starts else now.starts[setting]


def _of_setting(name: str, was: _Request, now: _Request) -> Blame:
    old, new = was.settings.get(name, ""), now.settings.get(name, "")
    kind: BlameKind = "setting"
    where = Place(name, name, 0, "setting")
    if image := (was.image or now.image) if name == _IMAGES else None:
        kind, where = "images", whole(image)
    return _blame(kind, where, _start(name, was, now), (old, new), 0, was, now)


def _difference(was: _Request, now: _Request) -> Blame | None:
    """Return the first difference between the blocks; None if the later ones begin with the earlier ones."""
    index = 0
    while index < min(len(was.blocks), len(now.blocks)) and was.blocks[index].key == now.blocks[index].key:
        index += 1
    start = sum(_bytes(block.text) for block in was.blocks[:index])
    olds, news = was.blocks[index:], now.blocks[index:]
    if not olds:
        return None
    if not news:
        return _blame("removed", whole(olds[0].segments[0]), start, (olds[0].text, ""), 0, was, now)
    texts = olds[0].text, news[0].text
    if olds[0].sort != news[0].sort:  # another kind of block matters more than another text
        kind, where = in_blocks(was.blocks, now.blocks, index)
        spoken = [f"{block.sort[1]}: {block.text}" if block.sort[1] else block.text for block in (olds[0], news[0])]
        return _blame(kind, where, start, (spoken[0], spoken[1]), 0, was, now)
    at = shared_start(*texts)
    offset = start + _shared_bytes(*texts, at)
    if olds[0].is_joined or news[0].is_joined:
        if len(olds) == 1 and at == len(texts[0]):
            return None
        kind, where = in_parts(olds[0].segments, news[0].segments, at)
    else:
        kind, where = in_blocks(was.blocks, now.blocks, index)
    return _blame(kind, where, offset, texts, at, was, now)


def _blame(
    kind: BlameKind, where: Place, offset: int, texts: tuple[str, str], at: int, was: _Request, now: _Request
) -> Blame:
    old, new = (_near(text, at) for text in texts)
    if kind in ("inserted", "tool added") and not where.line:
        old = ""
    if kind in ("removed", "tool removed") and not where.line:
        new = ""
    kept, after = offset // 4, now.size // 4 - offset // 4
    repeated = min(after, max(0, was.size // 4 - kept))
    return Blame(
        kind, where.place, where.source, where.line, offset, old, new, kept, after, repeated, where.block,
        where.changing, where.value,
    )  # fmt: skip


def _near(text: str, at: int) -> str:
    """Return at most 120 characters of the line at a place; with its line end, if that is the place."""
    start = text.rfind("\n", 0, at) + 1
    end = text.find("\n", at)
    end = len(text) if end < 0 else end + (end == at)
    start = max(start, min(at - _SHOWN // 2, end - _SHOWN))
    return text[start : min(end, start + _SHOWN)]


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _shared_bytes(old: str, new: str, at: int) -> int:
    """Return how many bytes two texts share. Two characters that differ may still begin with the same bytes."""
    pair = [text[at : at + 1].encode("utf-8", "surrogatepass") for text in (old, new)]
    return _bytes(old[:at]) + next((n for n, (a, b) in enumerate(zip(*pair, strict=False)) if a != b), 0)
