"""The breaks of a log, one by one: each with the request that broke and the one that it should have begun with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from deepprompt.checks.blame.blame import Blame
from deepprompt.errors import MessageError
from deepprompt.fleet.bodies import BodyReader
from deepprompt.fleet.order import in_order
from deepprompt.fleet.record import Unread, session_in
from deepprompt.fleet.split import Splitter
from deepprompt.providers.segments import Segment


@dataclass(frozen=True, slots=True)
class Break:
    """A request that does not begin with the request it continues."""

    where: str
    after: str
    """Where the request before it stands."""
    found: Blame
    old: list[Segment]
    new: list[Segment]


def breaks_in(path: str) -> Iterator[Break]:
    """Yield the breaks of a log in the order of time. Raises `MessageError` if it has no request with a body."""
    reader = BodyReader()
    splitter = Splitter(reader)
    unread: list[Unread] = []
    requests = 0
    for record in in_order([path], unread):
        if record.complete == "usage" or (record.body is None and not record.raw):
            continue
        body = reader.read(record.raw or json.dumps(record.body, ensure_ascii=False))
        requests += 1
        session = record.session or session_in(body.fields)
        placed = splitter.place(body, record.at or 0.0, record.where, session)
        if placed.broke is not None and placed.parent is not None:
            old = placed.parent
            yield Break(record.where, old.where, placed.broke, list(old.body.segments), list(body.segments))
    if not requests:
        why = f": {unread[0].where}: {unread[0].why}" if unread else ""
        raise MessageError(f"{path}: no request in it that could be compared{why}")
