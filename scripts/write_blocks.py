"""Write what a session does with every type of block: the samples in tests/data, and the table in docs/blocks.md.

Run it with the SDKs installed (`pip install -e '.[sdk]'`) after one of them was upgraded, and without them after a
change in how blocks are sent: `python scripts/write_blocks.py`. A test checks that the page is up to date.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.block_law import MODELS, row  # noqa: E402
from tests.support.sdk_types import RECORDED, Sample, generated, recorded  # noqa: E402

PAGE = ROOT / "docs" / "blocks.md"
START, END = "<!-- blocks -->\n", "<!-- end of blocks -->\n"
TITLES = {
    "anthropic": "Anthropic's Messages",
    "openai": "OpenAI's Chat Completions",
    "openai-responses": "OpenAI's Responses",
    "gemini": "Gemini",
    "bedrock": "Bedrock's Converse",
}
SIDES = {"answer": "In a response", "user": "In a user's message", "result": "In a tool's result"}
WORDS = {
    "kept": "kept",
    "translated": "written",
    "translated, with a note": "written, note",
    "left out, with a note": "left out, note",
    "replaced": "sentence, note",
    "LOST": "-",
}


def main() -> int:
    """Record the samples of the SDKs, if those are installed, and write the table into the page."""
    try:
        samples = generated()
    except BaseException as error:  # pytest's skip is none of Exception
        if type(error).__name__ != "Skipped":
            raise
        samples = recorded()
    RECORDED.write_text(json.dumps([vars_of(one) for one in samples], indent=1) + "\n", "utf-8", newline="\n")
    before, _, rest = PAGE.read_text("utf-8").partition(START)
    PAGE.write_text(before + START + table(samples) + END + rest.partition(END)[2], "utf-8", newline="\n")
    return 0


def vars_of(sample: Sample) -> dict[str, object]:
    """Return a sample as it is recorded."""
    return {"api": sample.api, "side": sample.side, "kind": sample.kind, "block": sample.block}


def table(samples: list[Sample]) -> str:
    """Return the tables, one for each API and side. Types that fare alike share a line."""
    text = ""
    for api, title in TITLES.items():
        text += f"\n### {title}\n"
        for side, where in SIDES.items():
            lines: dict[tuple[str, ...], list[str]] = {}
            for sample in samples:
                if (sample.api, sample.side) == (api, side):
                    found = row(sample)
                    refused = ("refused by `append`",) + ("",) * (len(MODELS) - 1)
                    cells = refused if isinstance(found, str) else tuple(WORDS[cell] for cell in found.values())
                    lines.setdefault(cells, []).append(f"`{sample.kind}`")
            if lines:
                text += f"\n| {where} | {' | '.join(MODELS)} |\n|---{'|---' * len(MODELS)}|\n"
                text += "".join(f"| {', '.join(kinds)} | {' | '.join(cells)} |\n" for cells, kinds in lines.items())
    return text + "\n"


if __name__ == "__main__":
    raise SystemExit(main())
