"""Recording and reporting: what the recorder adds to a request and to an event, and how many requests are reported."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.measure import Row, Settings
from deepprompt import report

RULES = "Guideline {}: prefer small steps, and say what you did. "


def rows(settings: Settings) -> Iterator[Row]:
    """Measure both, the recorder where aiohttp is installed."""
    with tempfile.TemporaryDirectory() as folder:
        yield from _report(Path(folder), settings.quick)
        try:
            yield from asyncio.run(_record(Path(folder) / "store", settings.rounds(300)))
        except ImportError:
            return


def _write(path: Path, sessions: int) -> tuple[int, int]:
    """Write a log of conversations with bodies of some 30 KB; one in five has a clock. Return requests and bytes."""
    tools = [{"name": f"tool_{n}", "description": RULES.format(n) * 12, "input_schema": {}} for n in range(12)]
    count = 0
    at = 1_794_900_000.0
    with path.open("w") as file:
        for session in range(sessions):
            talk: list[dict[str, Any]] = [{"role": "user", "content": f"Task {session}. " + RULES.format(session) * 5}]
            for turn in range(40):
                clock = f"It is {turn} past. " if session % 5 == 0 else ""
                system = [
                    {"type": "text", "text": RULES.format(1) * 100 + clock, "cache_control": {"type": "ephemeral"}}
                ]
                body = {"model": "claude-opus-5-5", "tools": tools, "system": system, "messages": talk}
                at += 3
                file.write(f'{{"v":1,"at":{at},"session":"s{session}","body":{json.dumps(body)}}}\n')
                call = {"type": "tool_use", "id": f"c{turn}", "name": "tool_1", "input": {"turn": turn}}
                result = {"type": "tool_result", "tool_use_id": f"c{turn}", "content": f"{session} {turn} " + "x" * 700}
                talk = [*talk, {"role": "assistant", "content": [call]}, {"role": "user", "content": [result]}]
                count += 1
    return count, path.stat().st_size


def _report(folder: Path, quick: bool) -> Iterator[Row]:
    large = folder / "large.jsonl"
    requests, size = _write(large, 15 if quick else 400)
    began = time.process_time()
    report(large)
    speed = requests / (time.process_time() - began)
    name = f"requests reported in a second and core, bodies of {size / requests / 1000:.0f} KB"
    yield Row(name, f"{speed:,.0f}", "2,000", 2000 / speed, 1)
    yield _memory(folder, quick)
    if not quick:  # too few requests to be cut into parts
        yield _two(large, folder / "parts", requests)


def _memory(folder: Path, quick: bool) -> Row:
    """Compare the largest memory of processes that report on a log and on one that is four times as long."""
    peaks = []
    for name, sessions in (("small", 25 if quick else 100), ("large", 100 if quick else 400)):
        path = folder / f"{name}.memory.jsonl"
        _write(path, sessions)
        code = f"import resource\nfrom deepprompt import report\nreport({str(path)!r})\n"
        code += "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        peaks.append(int(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout))
        path.unlink()
    name = f"memory of a report on four times as many requests, {40 * (25 if quick else 100):,} before"
    return Row(name, f"{peaks[1] / 1000:.0f} MB", f"{peaks[0] / 1000:.0f} MB", peaks[1] / peaks[0], 1.5)


def _two(log: Path, folder: Path, requests: int) -> Row:
    """Compare one process with two, on the same requests in eight files; by the clock, so on a quiet machine."""
    folder.mkdir()
    lines = log.read_text().splitlines(keepends=True)
    for number in range(8):
        (folder / f"{number}.jsonl").write_text(
            "".join(lines[number * len(lines) // 8 : (number + 1) * len(lines) // 8])
        )
    times = []
    for jobs in (1, 2):
        began = time.perf_counter()
        report(folder, jobs=jobs)
        times.append(time.perf_counter() - began)
    name = f"report on {requests:,} requests with two processes, beside one"
    return Row(name, f"{times[1]:.2f} s", f"{times[0]:.2f} s", times[1] / times[0], round(1 / 1.8, 2))


async def _record(folder: Path, rounds: int) -> list[Row]:
    import aiohttp
    from aiohttp import web

    from deepprompt.fleet.store import Store
    from deepprompt.recorder.server import Proxy
    from deepprompt.recorder.writer import Writer

    async def answer(request: web.Request) -> web.StreamResponse:
        if "events" not in request.path:
            await request.read()
            return web.json_response({"usage": {"input_tokens": 1, "output_tokens": 1}})
        response = web.StreamResponse()
        await response.prepare(request)
        for _ in range(rounds):
            await response.write(b"data: %d\n\n" % time.perf_counter_ns())
            await asyncio.sleep(0.003)
        return response

    app = web.Application(client_max_size=1 << 30)
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    direct = f"http://127.0.0.1:{runner.addresses[0][1]}"
    writer = Writer(Store(str(folder)))
    proxy = Proxy({"anthropic": direct}, writer)
    await proxy.start()
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": RULES * 1400}]}).encode()
    try:
        async with aiohttp.ClientSession() as client:
            times: dict[str, list[float]] = {}
            lags: dict[str, list[float]] = {}
            addresses = {"direct": direct, "recorded": f"{proxy.address}/anthropic"}
            for name, address in addresses.items():  # apart: the writer goes on after a recorded request
                for _ in range(rounds):
                    began = time.perf_counter()
                    async with client.post(f"{address}/v1/messages", data=body, raise_for_status=True) as response:
                        await response.read()
                    times.setdefault(name, []).append(time.perf_counter() - began)
            for name, address in addresses.items():
                async with client.post(f"{address}/events", data=body) as response:
                    async for line in response.content:
                        if line.startswith(b"data: "):
                            lags.setdefault(name, []).append((time.perf_counter_ns() - int(line[6:])) / 1e6)
    finally:
        await proxy.stop()
        writer.close()
        await runner.cleanup()
    added = 1000 * (statistics.median(times["recorded"]) - statistics.median(times["direct"]))
    lag = statistics.median(lags["recorded"]) - statistics.median(lags["direct"])
    return [
        Row("added to a request of 78 KB, median", f"{added:.2f} ms", "2 ms", added / 2, 1),
        Row("added to an event of a stream, median", f"{lag:.2f} ms", "0.5 ms", lag / 0.5, 1),
    ]
