"""Batch inference in a Ray pipeline: Parquet in, requests on one shared prefix, responses out.

    pip install '.[ray]'
    python examples/ray_batch.py

It needs no key and no GPU: the requests go to a stand-in for OpenAI on loopback. `RequestTemplate` builds them, and Ray
Data's own processor for HTTP sends them. On a machine with a GPU, Ray's processor for vLLM takes its place.
"""

from __future__ import annotations

import json
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import ray
import ray.data
from ray.data.llm import HttpRequestProcessorConfig, build_processor
from standin import Answer, StandIn

from deepprompt import RequestTemplate

PROMPT = "You sort letters of customers into: parcel, refund, other. Answer with one word.\n" * 60
LETTERS = ("Where is my parcel?", "I want my money back.", "Do you sell stamps?", 'It is "late" again.\nTwo weeks!')
COUNT = 40


def run(table: Path, url: str, answers: Path) -> None:
    """Read letters from Parquet, send one request for each, and write the responses to Parquet."""
    template = RequestTemplate(PROMPT, "Letter: {letter}", to="openai", model="gpt-6.1-sol")
    # A template is a callable for `map_batches`: it adds the column `body`. All bodies begin with the same bytes.
    requests = ray.data.read_parquet(str(table)).map_batches(template)
    processor = build_processor(
        HttpRequestProcessorConfig(url=f"{url}/v1/chat/completions", batch_size=16, concurrency=1),
        preprocess=lambda row: {**row, "payload": json.loads(row["body"])},
        postprocess=kept,
    )
    processor(requests).write_parquet(str(answers))


def kept(row: dict[str, Any]) -> dict[str, Any]:
    """Return what is kept of a row and its response."""
    response = row["http_response"]
    cached = response["usage"]["prompt_tokens_details"]["cached_tokens"]
    answer = response["choices"][0]["message"]["content"]
    return {"id": row["id"], "letter": row["letter"], "answer": answer, "cached": cached}


def main() -> None:
    """Make a table, run the pipeline on two CPUs, and print what came back."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    letters = [f"{LETTERS[number % len(LETTERS)]} No {number}." for number in range(COUNT)]
    with tempfile.TemporaryDirectory() as folder, StandIn([Answer("other")] * COUNT) as server:
        table, answers = Path(folder) / "letters.parquet", Path(folder) / "answers"
        pyarrow.parquet.write_table(pyarrow.table({"id": list(range(COUNT)), "letter": letters}), table)
        run(table, server.url, answers)
        found = sorted(pyarrow.parquet.read_table(answers).to_pylist(), key=lambda row: int(row["id"]))
    ray.shutdown()
    read = sum(row["cached"] > 0 for row in found)
    print(f"{len(found)} letters, {len(found)} responses; {read} requests read their prefix from the cache")
    print(f"{found[1]['letter']} -> {found[1]['answer']}")


if __name__ == "__main__":
    main()
