"""An agent that is shown files instead of calling tools, and changes them by edit blocks.

    python examples/tiers_agent.py          against a stand-in on loopback

Each turn the files are shown as they are now. Those that have been still the longest stand first, so that the provider
reads them from its cache, and a file that was just edited stands behind them.
"""

from __future__ import annotations

import json
from pathlib import Path
from urllib.request import Request, urlopen

import demo
from standin import Answer, StandIn

from deepprompt import Tiers, apply_edits, build_request, compose_messages, load_repository, parse_edits, read_usage

MODEL = "claude-opus-5-5"
SELECTED = ["AGENTS.md", "postbox/retry.py", "postbox/limits.py", "tests/test_retry.py"]
TURNS = {
    "How often is a message sent?": "MOST_TRIES times, as `deliver` in postbox/retry.py says.",
    "Raise the limit to five.": (
        "I raise it.\n\npostbox/limits.py\n=@= EDIT =@=\nMOST_TRIES = 3  # tries of one message, the first included\n"
        "=@= REPLACE =@=\nMOST_TRIES = 5  # tries of one message, the first included\n=@= END =@=\n"
    ),
    "Is that all?": "The test of the pauses has to change as well: with five tries there are four pauses.",
}


def send(url: str, body: object) -> dict[str, object]:
    """Send a request, and return the response."""
    data = json.dumps(body).encode()
    with urlopen(Request(f"{url}/v1/messages", data, {"content-type": "application/json"})) as response:
        found: dict[str, object] = json.load(response)
        return found


def apply(text: str) -> None:
    """Change the files as the edit blocks of a response say, and print what became of each."""
    edits = parse_edits(text)
    files = {edit.path: Path(edit.path).read_text("utf-8") for edit in edits if Path(edit.path).is_file()}
    edited = apply_edits(edits, files)
    for path, content in edited.files.items():
        Path(path).write_text(content, "utf-8")
    for result in edited.results:
        print(f"  {result}")


def main() -> None:
    """Ask three questions about a project that the second answer changes."""
    with demo.project(), StandIn(Answer(text) for text in TURNS.values()) as server:
        repository = load_repository(".", map_budget=0)
        tiers = Tiers(to="anthropic", model=MODEL)
        history: list[dict[str, str]] = []
        for question in TURNS:
            repository = repository.refreshed()
            context = tiers.next(repository, SELECTED, history, user_prompt=question)
            request = build_request(compose_messages(context), to="anthropic", model=MODEL, max_tokens=2_000)
            response = send(server.url, request.body)
            text = str(response["content"][0]["text"])  # type: ignore[index]
            print(f"user: {question}\nagent: {text.splitlines()[0]}")
            apply(text)
            history += [{"role": "user", "content": question}, {"role": "assistant", "content": text}]
            usage = read_usage(response)
            print(f"  {usage.cached_read:,} of {usage.input:,} input tokens read from the cache")


if __name__ == "__main__":
    main()
