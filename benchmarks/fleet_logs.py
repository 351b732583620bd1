"""Write logs of an invented fleet of agents: the same bytes for the same numbers, on every machine.

Run `python -m benchmarks.fleet_logs FOLDER [--requests 20000] [--files 24]`. Six agents talk to three providers.
Of ten conversations, two have a clock in the system prompt, one has its tools in another order from its middle on, one
has an edited prompt, and one pauses for longer than a cache entry lives. Some requests have recorded usage. One file
is packed, one ends in the middle of a line, and one line is no request.
"""

from __future__ import annotations

import argparse
import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

BEGIN = 1_794_909_600.0  # 2026-11-17 10:00 UTC
TEXT = (
    "the order was sent again and nobody at the depot could say why it came back so late in the week while every "
    "other parcel of that day had reached its street long before noon"
)
WORDS = TEXT.split()
AGENTS = (
    ("letters", "claude-opus-5-5"),
    ("parcels", "claude-sonnet-5"),
    ("returns", "gpt-6.1-sol"),
    ("invoices", "gpt-5.4"),
    ("archive", "deepseek-v4-pro"),
    ("search", "claude-opus-5-5"),
)
TURNS = 10


def main() -> None:
    """Write the logs and say how large they are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--files", type=int, default=24)
    options = parser.parse_args()
    size = write_logs(options.folder, options.requests, options.files)
    print(f"{options.requests:,} requests in {options.files} files, {size:,} bytes")


def write_logs(folder: Path, requests: int, files: int) -> int:
    """Write so many requests to so many files, and return the bytes of their lines."""
    folder.mkdir(parents=True, exist_ok=True)
    sessions = -(-requests // TURNS)
    size = 0
    for number in range(files):
        lines: list[bytes] = []
        for session in range(number, sessions, files):
            count = min(TURNS, requests - session * TURNS)
            lines += [json.dumps(record).encode() + b"\n" for record in _conversation(session, number, count)]
        lines.sort(key=lambda line: json.loads(line)["at"])
        data = b"".join(lines)
        size += len(data)
        if number == 1:
            (folder / f"{number:03}.jsonl.gz").write_bytes(gzip.compress(data, 1, mtime=0))
            continue
        extra = b'{"no": "request"}\n' if number == 2 else b'{"v": 1, "at": 17949' if number == 3 else b""
        (folder / f"{number:03}.jsonl").write_bytes(data + extra)
    return size


def _conversation(session: int, file: int, turns: int) -> Iterator[dict[str, Any]]:
    """Yield the requests of one conversation, each with all messages before it."""
    chance = random.Random(session)
    agent, model = AGENTS[file % len(AGENTS)]  # one agent a file, so that a file has one root
    fault = session // len(AGENTS) % 10
    base = " ".join(random.Random(agent).choices(WORDS, k=500))
    tools = [_tool(agent, number, model) for number in range(6)]
    at = BEGIN + session * 7.0 + chance.random()
    said: list[dict[str, Any]] = []
    for turn in range(turns):
        late = turn >= turns // 2
        at += 400.0 if fault == 5 and turn == turns // 2 else 5.0 + chance.random() * 20
        clock = f" It is minute {turn}:{session % 60:02} now." if fault in (0, 1) else ""
        edited = " Be brief." if fault == 3 and late else ""
        said.append({"role": "user", "content": f"{session} {turn} " + " ".join(chance.choices(WORDS, k=60))})
        order = tools[::-1] if fault == 2 and late else tools
        record: dict[str, Any] = {"v": 1, "at": round(at, 3), "session": f"s{session}", "agent": agent}
        if chance.random() < 0.3:
            record["usage"] = _usage(model, chance)
        yield record | {"body": _body(model, base + clock + edited, order, list(said))}
        said.append({"role": "assistant", "content": " ".join(chance.choices(WORDS, k=40))})


def _tool(agent: str, number: int, model: str) -> dict[str, Any]:
    schema = {"type": "object", "properties": {"what": {"type": "string"}}}
    text = " ".join(random.Random(f"{agent} {number}").choices(WORDS, k=40))
    if model.startswith("claude"):
        return {"name": f"{agent}_{number}", "description": text, "input_schema": schema}
    function = {"name": f"{agent}_{number}", "description": text, "parameters": schema}
    return {"type": "function", "function": function}


def _body(model: str, system: str, tools: list[dict[str, Any]], messages: list[dict[str, Any]]) -> dict[str, Any]:
    if not model.startswith("claude"):
        return {"model": model, "tools": tools, "messages": [{"role": "system", "content": system}, *messages]}
    mark = {"cache_control": {"type": "ephemeral"}}
    blocks = [{"type": "text", "text": system, **mark}]
    *before, last = messages
    last = {**last, "content": [{"type": "text", "text": last["content"], **mark}]}
    return {"model": model, "max_tokens": 1024, "tools": tools, "system": blocks, "messages": [*before, last]}


def _usage(model: str, chance: random.Random) -> dict[str, Any]:
    fresh, read, written, output = (chance.randrange(most) for most in (200, 4_000, 900, 300))
    if model.startswith("claude"):
        return {
            "input_tokens": fresh,
            "cache_read_input_tokens": read,
            "cache_creation_input_tokens": written,
            "output_tokens": output,
        }
    details = {"cached_tokens": read}
    return {"prompt_tokens": fresh + read, "completion_tokens": output, "prompt_tokens_details": details}


if __name__ == "__main__":
    main()
