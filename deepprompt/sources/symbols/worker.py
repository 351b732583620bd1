"""The program of the child process that reads source files: jobs on standard input, outlines on standard output.

A grammar is native code that reads a stranger's bytes and takes no time limit. So it runs here, with limited memory,
and the parent ends the process if a file takes too long. A job is a line `SUFFIX SIZE` and the bytes. An answer is a
line of JSON: the lines of the outline, and whether the file parsed.
"""

from __future__ import annotations

import json
import sys

MEMORY = 1 << 30


def main() -> int:
    """Answer one job after the other, until the input ends."""
    _limit()
    from deepprompt.sources.symbols.outline import outline

    jobs, answers = sys.stdin.buffer, sys.stdout.buffer
    while head := jobs.readline():
        suffix, size = head.decode().split()
        data = jobs.read(int(size))
        try:
            answer: object = outline(data, suffix)
        except (RecursionError, MemoryError, ImportError) as error:
            answer = type(error).__name__
        answers.write(json.dumps(answer).encode() + b"\n")
        answers.flush()
    return 0


def _limit() -> None:
    """Limit the memory of this process, where the system can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    sys.exit(main())
