"""The coding session on a real engine: what llama.cpp evaluates for each request, and what the simulator predicted.

Not part of CI. It needs two packages that nothing else here does, the first of which is compiled when it is installed:

    pip install llama-cpp-python gguf
    python -m benchmarks.llama_engine --write docs/engine.md

The model is written on the spot: random, tiny, with a vocabulary of bytes, so a token is a byte and nobody needs to
download one. What it says is noise; what it has to evaluate before it can say it is what a real one would have to. It
ends with 1 if a count of the engine is not the one that was predicted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.coding_session import TURNS, Turn, build_layout, coding_session, session_layout
from benchmarks.sessions import ENGINE
from deepprompt.checks.cache.simulate import simulate
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.segments import Segment

# Shorter than the session of `benchmarks.sessions`, or the other layout would take half an hour: one call a turn, and
# of the tools those that are called.
TOOLS = ("Bash", "Edit", "Grep", "Read")
MOST_CALLS = 1
WIDTH = 16
BATCH = 512
START, FIRST_BYTE = 1, 3
"""The tokens that a prompt starts with and that stands for the byte 0; before it come unknown, start and end."""

ABOUT = """\
# A real engine

A simulation can be wrong, so this page runs a real engine. It counts the tokens that llama.cpp had to evaluate for
the same {turns} turns in two layouts: as a `Session` sends them, and as `build()` lays them out, with the project
state at the end of the system prompt. The session needed {session:,} evaluations, the other layout {build:,}.

- **Conversation**: the one in `python -m benchmarks.sessions` (a prefix of 25 KB, git changes in 60 % of the turns,
  AGENTS.md and the date once each, one resume), with one tool call a turn.
- **Engine**: llama-cpp-python {llama} and gguf {gguf}, on {date}. The model is random, one layer and {width} wide,
  with a vocabulary of bytes. So a token is one byte here, where a real token has about four.
- **Requests**: each is rendered to plain text and passed to an engine that remembers the previous request. The
  responses come from the session, not from the engine, so they are evaluated too.
- **Times** are rough, because the machine had other work. The counts are exact.

To repeat it, in a clone of the repository:

<!-- not run: it compiles llama.cpp and then takes minutes -->
```sh
python3 -m venv .venv
source .venv/bin/activate
pip install . llama-cpp-python gguf
python -m benchmarks.llama_engine
```

*Predicted* is the result of `simulate` with the rules for llama.cpp of {as_of}. An engine with one slot remembers
only the previous request. It always evaluates the last token of a prompt, and the start token in the first request.
{agreeing} of the {counts} counts of both layouts match the prediction. The table shows the first request of each turn.

"""


@dataclass(frozen=True, slots=True)
class Request:
    """One request as the engine took it."""

    turn: int
    tokens: int
    evaluated: int
    predicted: int
    seconds: float
    """To the first token of the answer."""


class Engine:
    """A context of llama.cpp that keeps its last prompt, and evaluates what a new one does not share with it."""

    def __init__(self, model: Path, size: int) -> None:
        self._library: Any = import_module("llama_cpp")
        self._llama = self._library.Llama(
            str(model), n_ctx=size, n_batch=BATCH, n_ubatch=BATCH, n_threads=1, n_threads_batch=1, flash_attn=True,
            verbose=False,
        )  # fmt: skip
        # Its counters, of tokens evaluated together and of those evaluated alone, read 1 as long as they are 0.
        for warm_up in (b"ab", b"abc"):
            self.first_token(warm_up)
        self._llama.reset()

    def first_token(self, text: bytes) -> tuple[int, int, float]:
        """Return how many tokens a prompt has, how many had to be evaluated, and the time to the answer's first."""
        tokens = [START, *(FIRST_BYTE + byte for byte in text)]
        before = self._evaluated()
        begin = time.perf_counter()
        answer = self._llama.generate(tokens, temp=0.0)
        next(answer)
        took = time.perf_counter() - begin
        answer.close()
        return len(tokens), self._evaluated() - before, took

    def _evaluated(self) -> int:
        counted = self._library.llama_perf_context(self._llama.ctx)
        return int(counted.n_p_eval + counted.n_eval)


def write_model(path: Path, size: int) -> None:
    """Write a random model of one layer whose tokens are bytes."""
    gguf: Any = import_module("gguf")
    numpy: Any = import_module("numpy")
    random = numpy.random.default_rng(1)
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_context_length(size)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(1)
    writer.add_head_count_kv(1)
    writer.add_rope_dimension_count(WIDTH)
    writer.add_layer_norm_rms_eps(1e-5)
    kinds = gguf.TokenType
    tokens = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256))]
    writer.add_tokenizer_model("llama")
    writer.add_token_list(tokens)
    writer.add_token_scores([0.0] * len(tokens))
    writer.add_token_types([kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL, *[kinds.BYTE] * 256])
    shapes = dict.fromkeys(("attn_q", "attn_k", "attn_v", "attn_output"), (WIDTH, WIDTH))
    shapes |= {"ffn_gate": (2 * WIDTH, WIDTH), "ffn_up": (2 * WIDTH, WIDTH), "ffn_down": (WIDTH, 2 * WIDTH)}
    layer = {"attn_norm": (WIDTH,), "ffn_norm": (WIDTH,), **shapes}
    whole = {"token_embd": (len(tokens), WIDTH), "output_norm": (WIDTH,), "output": (len(tokens), WIDTH)}
    for name, shape in {**whole, **{f"blk.0.{name}": shape for name, shape in layer.items()}}.items():
        writer.add_tensor(f"{name}.weight", random.standard_normal(shape).astype(numpy.float32) / 10)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def rendered(segments: list[Segment]) -> list[Segment]:
    """Return a request's blocks as the engine is given them: a line that says what each is, and its text."""
    blocks = [segment for segment in segments if segment.kind != "setting"]
    return [replace(block, text=f"[{block.role or 'start'} {block.kind}]\n{block.text}\n") for block in blocks]


def byte_count(text: str) -> int:
    """Return how many tokens a text has where every byte is one."""
    return len(text.encode())


def predicted(previous: list[Segment], current: list[Segment]) -> int:
    """Return how many tokens the simulator lets the engine evaluate after the previous request; [] for none."""
    known = [previous] if previous else []
    charge = simulate([*known, current], bundled_facts().rules("llama.cpp", ""), count=byte_count).charges[-1]
    return charge.full + (not previous)  # the token that starts the prompt


def run(turns: list[Turn]) -> Iterator[tuple[Request, Request]]:
    """Yield each request in both layouts; each has an engine of its own, and they take turns."""
    layouts = [
        [(sent.turn, rendered(sent.segments)) for sent in layout(turns, to=ENGINE[0], model=ENGINE[1])]
        for layout in (session_layout, build_layout)
    ]
    longest = max(sum(byte_count(block.text) for block in sent[-1][1]) for sent in layouts)
    size = (longest + 2) // 256 * 256 + 256
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder, "model.gguf")
        write_model(model, size)
        engines = [Engine(model, size) for _ in layouts]
        previous: list[list[Segment]] = [[], []]
        for both in zip(*layouts, strict=True):
            requests = []
            for number, (turn, blocks) in enumerate(both):
                tokens, evaluated, took = engines[number].first_token("".join(block.text for block in blocks).encode())
                requests.append(Request(turn, tokens, evaluated, predicted(previous[number], blocks), took))
                previous[number] = blocks
            yield requests[0], requests[1]


def table(turns: list[Turn], requests: list[tuple[Request, Request]]) -> Iterator[str]:
    """Yield the lines of a Markdown table: the first request of each turn, and sums."""
    sides = [f"{layout}: tokens | evaluated | predicted | first token" for layout in ("session", "build()")]
    yield f"| turn | changed | {' | '.join(sides)} |"
    yield "|--:|---|" + "--:|" * 8
    first = [both for number, both in enumerate(requests) if not number or both[0].turn != requests[number - 1][0].turn]
    for turn, both in zip(turns, first, strict=False):
        yield f"| {turn.number} | {', '.join(turn.moved)} | {_cells(both[0])} | {_cells(both[1])} |"
    for name, some in (("together", first), (f"all {len(requests)} requests", requests)):
        yield f"| | **{name}** | {' | '.join(_cells(_sum([both[side] for both in some])) for side in (0, 1))} |"


def _cells(request: Request) -> str:
    return f"{request.tokens:,} | {request.evaluated:,} | {request.predicted:,} | {request.seconds:.2f} s"


def _sum(requests: list[Request]) -> Request:
    columns = zip(*((one.tokens, one.evaluated, one.predicted, one.seconds) for one in requests), strict=True)
    tokens, evaluated, foreseen, seconds = (sum(column) for column in columns)
    return Request(0, int(tokens), int(evaluated), int(foreseen), seconds)


def main() -> int:
    """Run the session; return 1 if the engine and the simulator do not agree."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.llama_engine", description=__doc__)
    parser.add_argument("--turns", type=int, default=TURNS, help="how many turns the session has")
    parser.add_argument("--write", type=Path, metavar="FILE", help="write the table there too")
    options = parser.parse_args()
    if any(find_spec(name) is None for name in ("llama_cpp", "gguf")):
        print("benchmarks.llama_engine needs two packages: pip install llama-cpp-python gguf", file=sys.stderr)
        return 1
    turns = coding_session(options.turns, tools=TOOLS, most_calls=MOST_CALLS)
    requests = []
    for both in run(turns):
        requests.append(both)
        if sys.stderr.isatty():
            print(f"\rturn {both[0].turn}", end="", file=sys.stderr)
    agreeing = sum(one.evaluated == one.predicted for both in requests for one in both)
    lines = "\n".join(table(turns, requests)) + "\n"
    print(lines, f"\n{agreeing} of {2 * len(requests)} counts are as predicted.", sep="")
    if options.write:
        about = ABOUT.format(
            turns=len(turns), date=date.today(), llama=version("llama-cpp-python"), gguf=version("gguf"), width=WIDTH,
            as_of=bundled_facts().as_of, counts=2 * len(requests),
            agreeing="All" if agreeing == 2 * len(requests) else f"Only {agreeing}",
            session=sum(both[0].evaluated for both in requests), build=sum(both[1].evaluated for both in requests),
        )  # fmt: skip
        options.write.write_text(about + lines)
    return 0 if agreeing == 2 * len(requests) else 1


if __name__ == "__main__":
    sys.exit(main())
