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
from string import Formatter
from typing import Any

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

_BETWEEN = (",\n", ":")
_SYSTEM_ROLES = ("system", "developer")


class RequestTemplate:
    """The request for each row of a table, all with the same prefix.

    `user` is the user's message, with the names of columns in braces: `"Translate: {text}"` (`{{` is a brace). `user`
    and `prompt` may also be functions of the row: `prompt` returns a prompt, `user` a text or a list of messages. A
    function has to pass values on unchanged. A value in the system prompt or in the tools is a `MessageError` that
    names the place, because the rows would not share their prefix. `fields` are set at the top of the request's body,
    such as `{"temperature": 0}`; one whose value is None is left out.
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
        fields: Mapping[str, object] | None = None,
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

        def body_of(request: Request) -> dict[str, object]:
            body = {**request.body, **(fields or {})}
            return {name: value for name, value in body.items() if value is not None}

        first, second = _StandIns(), _StandIns()
        self.request = build(first)
        """The request as built with stand-ins. Its marks, notes and rules are those of every row."""
        body = body_of(self.request)
        holes = list(_holes(body, body_of(build(second)), "", first, second))
        if not holes:
            raise MessageError("no value of the row is in the request: every row would send the same")
        for place, _, _ in holes:
            _check_place(place, body)
        pieces = first.split(_json(body))
        self.pieces = tuple(piece.encode() for piece in pieces[::2])
        """The JSON before the first hole, between holes, and after the last one."""
        self._format = b"%b".join([piece.replace(b"%", b"%%") for piece in self.pieces])
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
        """Return the JSON of the request for a row: the bytes that `build_request` gives for its values.

        Raises `MessageError` for a value that is missing or blank.
        """
        return self.bodies([row])[0]

    def bodies(self, rows: Sequence[Row]) -> list[bytes]:
        """Return the JSON of the request for each of several rows.

        Raises `MessageError` for a value that is missing or blank.
        """
        return [self._format % texts for texts in zip(*map(escaped, self.texts(rows)), strict=True)]

    def texts(self, rows: Sequence[Row]) -> list[list[str]]:
        """Return the texts of all rows for each hole. Raises `MessageError` for a value that is missing or blank."""
        columns: list[list[str]] = []
        for name in self._names:
            values: list[Any] = [row.get(name) for row in rows]
            plain = set(map(type, values)) <= {str}
            columns.append(values if plain else [self._text(row, name) for row in rows])
        for holes in self._needed:
            for number, text in enumerate(columns[holes[0]]):
                if not text[:1].isalnum() and all(is_blank(columns[hole][number]) for hole in holes):
                    names = dict.fromkeys(self._names[hole] for hole in holes)
                    raise MessageError(f"{' and '.join(map(repr, names))}: blank; a message needs text")
        return columns

    def __call__(self, rows: Mapping[str, Any]) -> dict[str, Any]:
        """Return a table with the column `body` added, column by column as `map_batches` of Ray Data passes it."""
        table = zip(*(_plain(rows[name]) for name in self.columns), strict=True)
        bodies = self.bodies([dict(zip(self.columns, values, strict=True)) for values in table])
        return {**rows, "body": [body.decode() for body in bodies]}

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


def escaped(texts: Sequence[str]) -> list[bytes]:
    """Return texts as JSON without the quotes around them, many in one call: that is several times as fast.

    A line end inside a text is escaped, so a bare one is always between two texts.
    """
    if not texts:
        return []
    try:
        data = json.dumps(texts, ensure_ascii=False, separators=_BETWEEN).encode()
    except UnicodeEncodeError:  # a lone surrogate, which no request can carry
        data = json.dumps([scrub(text) for text in texts], ensure_ascii=False, separators=_BETWEEN).encode()
    return data[2:-2].split(b'",\n"')


def join_rows(pieces: Sequence[bytes], columns: Sequence[Sequence[str]]) -> bytes:
    """Return rows one after the other: each the pieces, with its escaped text of every column between two of them."""
    count, step = len(columns[0]), len(pieces) + len(columns)
    rows = [b""] * (count * step)
    for number, piece in enumerate(pieces):
        rows[2 * number :: step] = [piece] * count
    for number, column in enumerate(columns):
        rows[2 * number + 1 :: step] = escaped(column)
    return b"".join(rows)


def _plain(column: Any) -> Sequence[object]:
    """Return a column as plain values; numpy, pandas and Arrow have types of their own."""
    plain = getattr(column, "tolist", None) or getattr(column, "to_pylist", None)
    values: Sequence[object] = plain() if plain is not None else column
    return values


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
