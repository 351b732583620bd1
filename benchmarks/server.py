"""How late an event loop is in a server with 200 sessions whose git hangs: `python -m benchmarks.server`.

The server is asyncio's, on loopback. Every session takes a turn at the same time: it builds its prompt in a thread, as
docs/sessions.md shows, and git does not answer before the time is up. `lateness` says what is measured. The same
heartbeat beside nothing, and beside a busy loop in a thread, shows what the machine and the interpreter add: a thread
that computes may keep the interpreter for five milliseconds by itself. It ends with 1 if a step computes for longer
than five milliseconds, or if more beats are late by our doing than beside such a thread.
"""

from __future__ import annotations

import asyncio
import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.lateness import Lateness, lateness
from deepprompt import Prompt, Session, SystemPromptBuilder, gather

SESSIONS = 200
MOST_LATE = 0.005


async def serve(folder: str, sessions: int) -> None:
    """Let so many clients ask one question each of a server, all at once, until all are answered."""

    def prompt_now() -> Prompt:
        around = gather(folder)
        return SystemPromptBuilder("Be brief.", around.instructions, project=around.project).compose()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        question = (await reader.readline()).decode()
        prompt = await asyncio.to_thread(prompt_now)
        session = Session(prompt)
        session.user(question, prompt)
        request = session.request(to="anthropic", model="claude-opus-5-5")
        writer.write(f"{len(request.body['messages'])}\n".encode())
        await writer.drain()
        writer.close()

    async def ask(port: int) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"Does git answer?\n")
        answer = await reader.readline()
        writer.close()
        return answer

    server = await asyncio.start_server(handle, "127.0.0.1", 0, backlog=sessions)
    port = server.sockets[0].getsockname()[1]
    answers = await asyncio.gather(*[ask(port) for _ in range(sessions)])
    server.close()
    if set(answers) != {b"2\n"}:
        raise SystemExit(f"wrong answers: {set(answers)}")


def _busy(seconds: float) -> None:
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def _said(name: str, found: Lateness) -> str:
    late = sorted(found.late)
    shares = [late[int(share * (len(late) - 1))] * 1000 for share in (0.5, 0.99, 1)]
    figures = "".join(f"{one:9.2f}" for one in [*shares, max(found.computed) * 1000])
    ours = f"{found.share_over(MOST_LATE):9.2%} over {MOST_LATE * 1000:g} ms by us"
    return f"{name:<32}{figures} ms{ours}, of {len(late):,} beats"


def main() -> int:
    """Measure, and print."""
    sessions = int(sys.argv[1]) if len(sys.argv) > 1 else SESSIONS
    with tempfile.TemporaryDirectory() as top:
        folder, programs = Path(top, "project"), Path(top, "bin")
        folder.mkdir()
        programs.mkdir()
        subprocess.run(["git", "init", "-q", str(folder)], check=True)
        git = programs / "git"
        git.write_text("#!/bin/sh\nexec /bin/sleep 60\n")
        git.chmod(git.stat().st_mode | stat.S_IXUSR)
        asyncio.run(serve(str(folder), 1))  # everything is imported
        print(f"{'lateness of a loop':<32}{'median':>9}{'99 %':>9}{'most':>9}{'computes':>9}")
        print(_said("nothing else", lateness(lambda: asyncio.sleep(3))))
        busy = lateness(lambda: asyncio.to_thread(_busy, 3))
        print(_said("a thread that computes", busy))
        print(_said(f"{sessions} sessions", lateness(lambda: serve(str(folder), sessions))))
        os.environ["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
        begin = time.perf_counter()
        hanging = lateness(lambda: serve(str(folder), sessions))
        print(_said(f"{sessions} sessions, git hangs", hanging), f"in {time.perf_counter() - begin:.0f} s")
    met = max(hanging.computed) <= MOST_LATE and hanging.share_over(MOST_LATE) <= busy.share_over(MOST_LATE)
    print("The limits are met." if met else "Missed.")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
