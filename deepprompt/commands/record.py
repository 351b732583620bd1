"""`deepprompt record`: run an agent with its requests going through a recorder on this machine."""

from __future__ import annotations

import argparse
import asyncio
import os
import shlex
import signal
import subprocess
import sys
from typing import Any

from deepprompt.commands.options import given
from deepprompt.commands.output import say, write_lines
from deepprompt.errors import SourceError
from deepprompt.fleet.store import Store, default_store, forget

_DAYS = 30.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `record`."""
    parser.epilog = (
        "Example: deepprompt record -- claude. The recorder listens on loopback behind a secret path, forwards "
        "everything unchanged, and stores the requests in a folder that only you can read. Known keys are not stored. "
        "Exit: that of COMMAND; 1: the recorder failed; 2: wrong usage."
    )
    parser.add_argument(
        "command", metavar="COMMAND", nargs=argparse.REMAINDER, help="the agent and its arguments, after --"
    )
    parser.add_argument(
        "--upstream", type=given, metavar="URL", help="where requests go (default: the provider of each route)"
    )
    parser.add_argument(
        "--proxy", type=given, metavar="URL", help="a proxy on the way there, such as your company's (default: none)"
    )
    parser.add_argument(
        "--for",
        dest="agent",
        type=given,
        metavar="NAME",
        help="the agent that COMMAND is or starts, such as claude or codex",
    )
    parser.add_argument(
        "--store", type=given, metavar="DIR", help="the folder to write to (default: in your state folder)"
    )
    parser.add_argument(
        "--port", type=int, default=0, metavar="N", help="the port to listen on (default: any free one)"
    )
    parser.add_argument(
        "--websocket",
        choices=("refuse", "pass"),
        default="refuse",
        help="refuse WebSockets, so that an agent sends whole requests over HTTP, or pass them on (default: refuse)",
    )
    parser.add_argument(
        "--print-env", action="store_true", help="run no command: print the variables to set, and record until Ctrl-C"
    )
    parser.add_argument("--forget", type=given, metavar="DAYS", help="only delete records older than this, such as 30d")
    parser.add_argument("--quiet", action="store_true", help="do not print a line for each request")


def run(options: argparse.Namespace) -> int:
    """Start the recorder, run the command, and say what was recorded."""
    folder = options.store or default_store()
    options.command = options.command[options.command[:1] == ["--"] :]
    if options.forget:
        days = options.forget.removesuffix("d")
        if not days.replace(".", "", 1).isdecimal():
            options.usage_error(f"--forget takes days, as in 30d, not {options.forget!r:.40}")
        write_lines([f"{forget(folder, float(days))} files removed from {folder}"])
        return 0
    if not options.command and not options.print_env:
        options.usage_error("name the command to run, after --, or use --print-env")
    if options.store is None:
        forget(folder, _DAYS)
    elif _in_repository(folder):
        say(f"{folder} is inside a git work tree; keep records out of commits")
    try:
        from deepprompt.recorder import server  # noqa: F401
    except ImportError:
        raise SourceError('record needs aiohttp: pip install "deepprompt[record]"') from None
    return asyncio.run(_record(options, folder))


def _in_repository(folder: str) -> bool:
    path = os.path.abspath(folder)
    while path != os.path.dirname(path):
        if os.path.lexists(os.path.join(path, ".git")):
            return True
        path = os.path.dirname(path)
    return False


async def _record(options: argparse.Namespace, folder: str) -> int:
    from deepprompt.recorder.agents import PROXIES, own_upstreams, reach_loopback, set_up, started_inside, upstreams
    from deepprompt.recorder.live import Live
    from deepprompt.recorder.server import Proxy
    from deepprompt.recorder.writer import Writer

    store = Store(folder)
    name = os.path.basename(options.command[0]) if options.command else ""
    live = Live(say, options.store or "")
    writer = Writer(store, options.agent or "", live.add)
    addresses = upstreams(options.upstream or "")
    if not options.upstream:
        own = own_upstreams(options.command, os.environ, options.agent or "")
        addresses |= own
        for address in dict.fromkeys(own.values()):
            say(f"requests go to {address}, as your variables say")
    if not options.proxy and (unused := next((one for one in PROXIES if os.environ.get(one)), "")):
        say(f"{unused} is ignored, to protect your keys; --proxy URL sends requests through a proxy")
    proxy = Proxy(addresses, writer, websocket=options.websocket, proxy=options.proxy or "")
    code = 0
    try:
        await proxy.start(options.port)
        setup = set_up(options.command or [name], proxy.address, options.agent or "")
        writer.agent = writer.agent or setup.agent
        live.shown = not options.quiet and not (setup.owns_screen and sys.stderr.isatty())
        if options.print_env:
            variables = {**setup.environment, **reach_loopback(os.environ)}
            write_lines([f"export {key}='{value}'" for key, value in variables.items()])
            if setup.arguments:
                say(f"{setup.agent} does not read them; start it as: {setup.agent} {shlex.join(setup.arguments)}")
            sys.stdout.flush()
            await _until_interrupted()
        else:
            code = await _run_command(options.command, setup)
    finally:
        await proxy.stop()
        writer.close()
    live.file = store.path
    for line in live.summary():
        say(line)
    if not writer.agent and (inside := started_inside(live.agents)):
        say(f"{inside} ran inside another command; with --for {inside}, it is recorded under its own name")
    if writer.lost:
        say(f"{writer.lost} requests could not be recorded")
    return code


async def _until_interrupted() -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, stop.set)
    await stop.wait()


async def _run_command(command: list[str], setup: Any) -> int:
    """Run the command on this terminal, with the recorder's variables. Ctrl-C is the command's to handle."""
    from deepprompt.recorder.agents import reach_loopback

    environment = {**os.environ, **setup.environment, **reach_loopback(os.environ)}
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        process = await asyncio.create_subprocess_exec(
            command[0], *setup.arguments, *command[1:], env=environment, preexec_fn=_default_interrupt
        )
    except FileNotFoundError:
        raise SourceError(f"{command[0]}: not found; is it installed, and on your PATH?") from None
    except (OSError, subprocess.SubprocessError) as error:
        raise SourceError(f"{command[0]}: {getattr(error, 'strerror', None) or error}") from None
    else:
        code = await process.wait()
    finally:
        signal.signal(signal.SIGINT, before or signal.SIG_DFL)
    return code if code >= 0 else 128 - code


def _default_interrupt() -> None:
    """Let the command handle Ctrl-C as it would without us."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
