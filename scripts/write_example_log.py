"""Write examples/logs/helpdesk.jsonl.gz: the requests of an invented agent that makes three common mistakes.

Run `python scripts/write_example_log.py`. The agent answers two customers. Its system prompt has a clock, an
instruction file is edited in the middle of a conversation, and later its tools come in another order. The README and
docs/report.md show what `deepprompt report` says about it.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from deepprompt import load_preset  # noqa: E402

LOG = ROOT / "examples" / "logs" / "helpdesk.jsonl.gz"
BEGIN = 1_794_909_600  # 2026-11-17 10:00 UTC
MODEL = "claude-opus-5-5"
RULES = "Refunds over 50 euros need a manager.\n"
QUESTIONS = (
    "My parcel has not arrived. Order 8812.",
    "Can you send it to my office instead?",
    "How long does that take?",
    "And if nobody is there?",
    "Then I would rather have my money back.",
    "Thank you. How do I cancel the newsletter?",
)


def body(customer: int, turn: int) -> dict[str, object]:
    """Return the request of one turn, with every message before it."""
    coder = load_preset("coder@1.0.0").compose(tools=["Read", "Grep", "Bash"])
    tools = [{**tool, "name": f"shop_{str(tool['name']).lower()}"} for tool in coder.tools]
    if customer == 2 and turn >= 4:
        tools.reverse()
    minute = 12 * customer + 2 * turn
    rules = RULES if customer == 1 and turn < 3 else RULES + "Never promise a delivery date.\n"
    clock = (
        f"Current time: 2026-11-17 10:{minute:02}\n" if turn % 2 else f"Current time: 2026-11-17 10:{minute - 2:02}\n"
    )
    system = coder.static_prefix + "\n# Rules of the shop\n\n" + rules + clock
    messages: list[dict[str, object]] = []
    for number, question in enumerate(QUESTIONS[: turn + 1]):
        messages.append({"role": "user", "content": f"[customer {customer}] {question}"})
        if number < turn:
            messages.append({"role": "assistant", "content": "I looked it up for you. " * 12})
    mark = {"cache_control": {"type": "ephemeral"}}
    messages[-1]["content"] = [{"type": "text", "text": messages[-1]["content"], **mark}]
    system_blocks = [{"type": "text", "text": system, **mark}]
    return {"model": MODEL, "max_tokens": 1024, "tools": tools, "system": system_blocks, "messages": messages}


def log() -> bytes:
    """Return the log: one line for each request, packed, the same bytes every time."""
    lines = [
        json.dumps({"at": BEGIN + 720 * customer + 60 * turn, "agent": "helpdesk", "body": body(customer, turn)})
        for customer in (1, 2)
        for turn in range(len(QUESTIONS))
    ]
    packed = io.BytesIO()
    with gzip.GzipFile("", "wb", 9, packed, mtime=0) as file:
        file.write("\n".join(lines).encode() + b"\n")
    return packed.getvalue()


if __name__ == "__main__":
    LOG.parent.mkdir(exist_ok=True)
    LOG.write_bytes(log())
