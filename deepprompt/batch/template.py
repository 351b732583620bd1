"""A request with holes: built once, checked to share its prefix over all rows, and filled by bytes for each row.

The request is built twice, with different stand-ins for the values of a row. Only the stand-ins may differ between the
two, and only in messages. So all rows share their prefix by construction, and filling in a row is joining bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from json.encoder import encode_basestring
from string import Formatter

from deepprompt.errors import MessageError
from deepprompt.prompt import Prompt
from deepprompt.providers.facts import Facts
from deepprompt.providers.recognise import MESSAGES
from deepprompt.request.request import Request, build_request
from deepprompt.text.hygiene import is_blank, scrub
from deepprompt.text.suggest import did_you_mean
from deepprompt.tokens import estimate_tokens
from deepprompt.words import Lifetime, Target

Row = Mapping[str, object]
"""The values of one row by column. A value that is not text is sent as JSON."""
Messages = Sequence[Mapping[str, object]]

_SYSTEM_ROLES = ("system", "developer")


class RequestTemplate:
    """The request for each row of a table, all with the same prefix.

    `user` is the user's message, with the names of columns in braces: `"Translate: {text}"` (`{{` is a brace). `user`
    and `prompt` may also be functions of the row: `prompt` returns a prompt, `user` a text or a list of messages. A
    function has to pass values on unchanged. A value in the system prompt or in the tools is a `MessageError` that
    names the place, because the rows would not share their prefix.
    """

    def __init__(
        self,
        prompt: Prompt | str | Callable[[Row], Prompt | str],
        user: str | Callable[[Row], str | Messages],
        *,
        to: Target,
        model: str,
        max_tokens: int | None = None,
        prefix_lifetime: Lifetime = "",
        marks: bool = True,
        facts: Facts | None = None,
    ) -> None:
        say = _filled_text(user) if isinstance(user, str) else user

        def build(row: Row) -> Request:
            message = say(row)
            return build_request(
                prompt(row) if callable(prompt) else prompt,
                [{"role": "user", "content": message}] if isinstance(message, str) else message,
                to=to,
                model=model,
                max_tokens=max_tokens,
                prefix_lifetime=prefix_lifetime,
                marks="own" if marks else "none",  # a mark on a row's own message would be written and never read
                facts=facts,
            )

        first, second = _StandIns(), _StandIns()
        self.request = build(first)
        """The request as built with stand-ins. Its marks, notes and rules are those of every row."""
        holes = list(_holes(self.request.body, build(second).body, "", first, second))
        if not holes:
            raise MessageError("no value of the row is in the request: every row would send the same")
        for place, _, _ in holes:
            _check_place(place, self.request.body)
        pieces = first.split(_json(self.request.body))
        self._format = b"%b".join([piece.encode().replace(b"%", b"%%") for piece in pieces[::2]])
        self._names = pieces[1::2]
        self.columns = tuple(dict.fromkeys(self._names))
        """The columns that the request takes from a row."""
        self.digest = hashlib.sha256("\0".join([*pieces, _json(self._names)]).encode()).hexdigest()
        """The SHA-256 of the request without the values of a row."""
        ends = list(accumulate(count for _, count, _ in holes))
        self._needed = [range(end - count, end) for end, (_, count, bare) in zip(ends, holes, strict=True) if bare]
        stand_ins = "".join([first[name] for name in self._names])
        self.shared_tokens = max(0, self.request.tokens - estimate_tokens(stand_ins))
        """The tokens of the input that every row has, by estimate."""

    def body(self, row: Row) -> bytes:
        """Return the JSON of the request for a row: the bytes that `build_request` gives for its values."""
        texts = [value if type(value := row.get(name)) is str else self._text(row, name) for name in self._names]
        for holes in self._needed:
            if not texts[holes[0]][:1].isalnum() and all(is_blank(texts[hole]) for hole in holes):
                names = dict.fromkeys(self._names[hole] for hole in holes)
                raise MessageError(f"{' and '.join(map(repr, names))}: blank; a message needs text")
        try:
            return self._format % (*[encode_basestring(text)[1:-1].encode() for text in texts],)
        except UnicodeEncodeError:  # a lone surrogate, which no request can carry
            return self._format % (*[encode_basestring(scrub(text))[1:-1].encode() for text in texts],)

    def __call__(self, rows: Mapping[str, Sequence[object]]) -> dict[str, list[str]]:
        """Return the column `body` for a table given column by column, as `map_batches` of Ray Data passes it."""
        table = zip(*(rows[name] for name in self.columns), strict=True)
        return {"body": [self.body(dict(zip(self.columns, values, strict=True))).decode() for values in table]}

    @staticmethod
    def _text(row: Row, name: str) -> str:
        """Return a value of a row as text."""
        value = row.get(name)
        if type(value) is str:
            return value
        if value is None:
            there = [str(column) for column in row]
            what = (
                f"column {name!r} has no value" if name in row else f"no column {name!r}; {did_you_mean(name, there)}"
            )
            raise MessageError(what)
        try:
            return str(value) if isinstance(value, str) else _json(value)
        except (TypeError, ValueError):
            raise MessageError(f"column {name!r} has neither text nor JSON: {value!r:.60}") from None


class _StandIns(dict[str, str]):
    """A row of stand-ins, one for any column that is asked for. They are random, so that no text can contain one."""

    def __init__(self) -> None:
        super().__init__()
        self._key = secrets.token_hex(8)

    def __missing__(self, name: str) -> str:
        self[name] = f"Hole{self._key}N{len(self):06}"
        return self[name]

    def split(self, text: str) -> list[str]:
        """Return a text cut at its stand-ins, with the name of the column for each stand-in."""
        pieces = re.split(rf"(Hole{self._key}N[0-9]{{6}})", text)
        names = {stand_in: name for name, stand_in in self.items()}
        return [names[piece] if number % 2 else piece for number, piece in enumerate(pieces)]


def _filled_text(template: str) -> Callable[[Row], str]:
    """Return a function that fills in a text with columns in braces."""
    try:
        parsed = [(text, name, bool(spec or way)) for text, name, spec, way in Formatter().parse(template)]
    except ValueError as error:
        raise MessageError(f"{template!r:.60}: {error}; write {{{{ and }}}} for braces") from None
    for _, name, formatted in parsed:
        if name == "" or formatted:
            raise MessageError(f"{template!r:.60}: in braces stands the name of a column, and nothing else")
    return lambda row: "".join([text + (str(row[name]) if name is not None else "") for text, name, _ in parsed])


def _holes(
    one: object, two: object, place: str, first: _StandIns, second: _StandIns
) -> Iterator[tuple[str, int, bool]]:
    """Yield the places that hold values, how many, and whether the text there is nothing but values and blanks.

    Anything else that differs between the two is a `MessageError`.
    """
    if isinstance(one, dict) and isinstance(two, dict) and list(one) == list(two):
        for key in one:
            yield from _holes(one[key], two[key], f"{place}.{key}" if place else key, first, second)
    elif isinstance(one, list) and isinstance(two, list) and len(one) == len(two):
        for number, (left, right) in enumerate(zip(one, two, strict=True)):
            yield from _holes(left, right, f"{place}[{number}]", first, second)
    elif one != two:
        pieces = first.split(one) if isinstance(one, str) else []
        if len(pieces) < 2 or not isinstance(two, str) or second.split(two) != pieces:
            raise MessageError(
                f"the request depends on the row at {place}, and not only by a value passed on unchanged"
            )
        yield place, len(pieces) // 2, all(map(is_blank, pieces[::2]))


def _check_place(place: str, body: Mapping[str, object]) -> None:
    """Refuse a hole anywhere but in a message of the user or the model."""
    found = re.match(r"(\w+)\[(\d+)\]", place)
    messages = body.get(found[1]) if found and found[1] in MESSAGES else None
    message = messages[int(found[2])] if found and isinstance(messages, list) else None
    if not isinstance(message, Mapping) or message.get("role") in _SYSTEM_ROLES:
        raise MessageError(f"the prompt depends on the row at {place}: put the row's values into the user's message")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
