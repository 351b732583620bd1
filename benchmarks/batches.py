"""Batch files: a million requests on one prefix, beside orjson writing only what varies."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from importlib import import_module

from benchmarks.measure import Row, Settings
from deepprompt.batch.files import write_batch
from deepprompt.batch.services import find_service
from deepprompt.batch.template import RequestTemplate, join_rows
from deepprompt.request.request import build_request

_TURNS = 10
PROMPT = "You sort letters of customers by what they want.\n" * 30
MODEL = "gpt-6.1-sol"


def rows(settings: Settings) -> Iterator[Row]:
    """Measure filling in rows, and the whole command's work from a table on disk to files."""
    count = 20_000 if settings.quick else 1_000_000
    table = [
        {"text": f"Letter {number}: my parcel is late again, and nobody answers. " + "x" * 40}
        for number in range(1_000)
    ]
    template = RequestTemplate(PROMPT, "{text}", to="openai", model=MODEL)
    rounds = count // len(table)
    with tempfile.TemporaryDirectory() as folder:
        pieces = (*template.pieces[:-1], template.pieces[-1] + b"\n")
        head, tail = template.body({"text": "|"}).split(b"|")
        dumps = _dumps()
        # In turns, so that noise hits both.
        ours = limit = 0.0
        for _ in range(_TURNS):
            ours += _timed(lambda file: file(join_rows(pieces, template.texts(table))), rounds // _TURNS, folder)
            limit += _timed(
                lambda file: [file(b"".join((head, dumps(row["text"])[1:-1], tail, b"\n"))) for row in table],
                rounds // _TURNS,
                folder,
            )
        one = (
            _timed(lambda file: [file(_built(row["text"])) for row in table[:200]], 1, folder)
            * len(table)
            * rounds
            / 200
        )
        yield Row(
            f"{count:,} requests; the limit joins what varies by orjson",
            f"{ours:.3g} s",
            f"{limit:.3g} s",
            ours / limit,
            1.3,
            rivals={"build_request for each": one / limit},
        )
        yield _whole(table, rounds, folder, limit)


def _whole(table: list[dict[str, str]], rounds: int, folder: str, limit: float) -> Row:
    path = os.path.join(folder, "rows.jsonl")
    with open(path, "w") as file:
        for _ in range(rounds):
            file.writelines(json.dumps(row) + "\n" for row in table)
    service = find_service("openai")
    template = RequestTemplate(PROMPT, "{text}", to="openai", model=MODEL)
    begin = time.perf_counter()
    write_batch(path, template, service, os.path.join(folder, "out"))
    ours = time.perf_counter() - begin
    return Row(
        "the same from a table on disk to files with a manifest", f"{ours:.3g} s", f"{limit:.3g} s", ours / limit, None
    )


def _built(text: str) -> bytes:
    body = build_request(PROMPT, [{"role": "user", "content": text}], to="openai", model=MODEL, marks="own").body
    return json.dumps(body, ensure_ascii=False).encode() + b"\n"


def _dumps() -> Callable[[str], bytes]:
    try:
        dumps: Callable[[str], bytes] = import_module("orjson").dumps
        return dumps
    except ImportError:
        return lambda text: json.dumps(text, ensure_ascii=False).encode()


def _timed(work: Callable[[Callable[[bytes], int]], object], rounds: int, folder: str) -> float:
    with open(os.path.join(folder, "written"), "wb", 1 << 20) as file:
        begin = time.perf_counter()
        for _ in range(rounds):
            work(file.write)
        return time.perf_counter() - begin
