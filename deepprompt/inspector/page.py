"""The page itself: one file with its style, its script and its data inside, safe to open with any data.

Nothing that comes from a prompt is ever written as HTML. All of it is in one block of JSON, escaped here and nowhere
else, and the script puts it into text nodes. The content security policy names the hash of that one script and that
one style, so nothing else on the page runs or loads, and the page can reach no network. Page, style and scripts are
checked against the `MANIFEST` beside them.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from hashlib import sha256
from importlib.resources import files

from deepprompt.errors import AssetError
from deepprompt.manifest import MANIFEST, parse_manifest
from deepprompt.sources.files import reason_of
from deepprompt.text.hidden import split_hidden

STYLES = ("page.css",)
SCRIPTS = ("draw.js", "prompt.js", "difference.js", "timeline.js", "report.js", "start.js")

# In JSON these can only stand inside strings. `<` could end the block or begin a comment; line separators and lone
# surrogates cannot be written everywhere.
_UNSAFE = re.compile("[<>&\u2028\u2029\ud800-\udfff]")
_LONGEST = 600

Shown = str | list[str | int]
"""A text as the page takes it: with a number in place of each hidden character."""


def text_of(text: str) -> Shown:
    """Return a text from a prompt for the page."""
    pieces = split_hidden(text)
    if len(pieces) == 1 and isinstance(pieces[0], str):
        return pieces[0]
    return pieces or ""


def label_of(text: str) -> Shown:
    """Return a name, a path or a value for the page. Only both ends of a very long one are kept."""
    half = _LONGEST // 2
    return text_of(text if len(text) <= _LONGEST else f"{text[:half]}…{text[-half:]}")


def render_page(view: Mapping[str, object]) -> str:
    """Return the page that shows a view."""
    style, script = _joined(STYLES), _joined(SCRIPTS)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    places = {"POLICY": policy, "STYLE": style, "SCRIPT": script, "DATA": _island(view)}
    # One pass, so that inserted text is not searched for placeholders again.
    return re.sub(r"\{\{([A-Z]+)\}\}", lambda place: places[place[1]], _file("page.html"))


def _island(view: Mapping[str, object]) -> str:
    """Return the data as JSON in which nothing can end the script block around it."""
    text = json.dumps(view, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def _file(name: str) -> str:
    """Return a file of the page, which has to be the released one; only its line ends may have been converted."""
    data = _unconverted(name)
    digest, _ = _manifest().get(name, ("", 0))
    if (found := sha256(data).hexdigest()) != digest:
        raise AssetError(
            f"deepprompt: inspector/{name} was altered: its SHA-256 is {found}, {MANIFEST} says {digest or 'nothing'}; "
            "reinstall deepprompt"
        )
    return data.decode()


@cache
def _manifest() -> dict[str, tuple[str, int]]:
    return parse_manifest(_unconverted(MANIFEST).decode(errors="replace"), "deepprompt: inspector")


def _unconverted(name: str) -> bytes:
    try:
        return files(__package__).joinpath(name).read_bytes().replace(b"\r\n", b"\n")
    except OSError as error:
        raise AssetError(f"deepprompt: inspector/{name} cannot be read: {reason_of(error)}; reinstall it") from None


def _joined(names: tuple[str, ...]) -> str:
    return "\n" + "".join(map(_file, names))
