"""Results and rows together again, however the results come back."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.batch.files import read_manifest, write_batch
from deepprompt.batch.join import join_results
from deepprompt.batch.services import find_service
from deepprompt.batch.template import RequestTemplate
from deepprompt.errors import SourceError
from deepprompt.providers.usage import Usage
from tests.support.examples import examples

USAGE = {"input_tokens": 10, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 0, "output_tokens": 5}


def batch_of(folder: Path, count: int) -> Path:
    """A batch of so many rows, written to a folder."""
    (folder / "rows.jsonl").write_text("".join(f'{{"text":"text {n}"}}\n' for n in range(1, count + 1)))
    service = find_service("anthropic")
    template = RequestTemplate("You.", "{text}", to="anthropic", model="claude-opus-5-5")
    write_batch(str(folder / "rows.jsonl"), template, service, str(folder / "out"))
    return folder / "out"


def done(number: int, text: str = "yes") -> dict[str, Any]:
    """The result of a row."""
    message = {"content": [{"type": "text", "text": text}], "usage": USAGE}
    return {"custom_id": f"row-{number:07}", "result": {"type": "succeeded", "message": message}}


def ended(number: int, kind: str) -> dict[str, Any]:
    """The result of a row without a response."""
    return {"custom_id": f"row-{number:07}", "result": {"type": kind}}


def results_in(path: Path, results: list[Any], tail: str = "") -> str:
    """Write results, with a text behind the last line."""
    path.write_text("".join(json.dumps(result) + "\n" for result in results) + tail)
    return str(path)


def answers(path: Path) -> list[dict[str, Any]]:
    """The lines that a join wrote."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def test_all_of_them(tmp_path: Path) -> None:
    """Every row has its response, in the order of the rows, and the usage is summed."""
    folder = batch_of(tmp_path, 4)
    results = results_in(tmp_path / "r.jsonl", [done(3), done(1), done(4), done(2)])
    joined = join_results(str(folder), [results], str(tmp_path / "answers.jsonl"))
    assert joined.complete
    assert joined.states == {"done": 4}
    assert joined.usage == Usage(400, 360, {}, 20)
    lines = answers(tmp_path / "answers.jsonl")
    assert [line["row"]["text"] for line in lines] == ["text 1", "text 2", "text 3", "text 4"]
    assert all(line["response"]["content"][0]["text"] == "yes" for line in lines)
    assert not (folder / "open.json").exists()


def test_whatever_is_wrong(tmp_path: Path) -> None:
    """Missing, failed, expired, doubled, foreign and cut results are all listed, and no other row is lost."""
    folder = batch_of(tmp_path, 6)
    first = results_in(tmp_path / "a.jsonl", [done(2, "first"), ended(3, "errored"), ended(4, "expired"), done(99)])
    second = results_in(tmp_path / "b.jsonl", [done(2, "second"), done(3), ended(2, "errored")], '{"custom_id":"row-00')
    joined = join_results(str(folder), [first, second], str(tmp_path / "answers.jsonl"))
    assert not joined.complete
    assert joined.states == {"done": 2, "expired": 1, "missing": 3}
    assert joined.still_open == {
        "row-0000001": "missing",
        "row-0000004": "expired",
        "row-0000005": "missing",
        "row-0000006": "missing",
    }
    assert joined.doubled == ["row-0000002"]
    assert joined.foreign == ["row-0000099"]
    assert len(joined.unreadable) == 1
    assert joined.unreadable[0].startswith(f"{second}:4: ")
    lines = answers(tmp_path / "answers.jsonl")
    assert [line["state"] for line in lines] == ["missing", "done", "done", "expired", "missing", "missing"]
    assert lines[1]["response"]["content"][0]["text"] == "first"
    assert json.loads((folder / "open.json").read_text())["ids"] == list(joined.still_open)


@given(seed=st.integers(0, 2**32), lost=st.sets(st.integers(1, 12)))
@examples(25)
def test_until_nothing_is_missing(seed: int, lost: set[int], tmp_path_factory: pytest.TempPathFactory) -> None:
    """Join, write what is missing, join again: after that every row has exactly its own response."""
    folder = tmp_path_factory.mktemp("batch")
    out = batch_of(folder, 12)
    order = random.Random(seed)
    numbers = order.sample(sorted({*range(1, 13)} - lost), 12 - len(lost))
    first = results_in(folder / "1.jsonl", [done(number, f"for {number}") for number in numbers])
    joined = join_results(str(out), [first], str(folder / "answers.jsonl"))
    assert set(joined.still_open) == {f"row-{number:07}" for number in lost}
    if lost:
        template = RequestTemplate("You.", "{text}", to="anthropic", model="claude-opus-5-5")
        write_batch(str(folder / "rows.jsonl"), template, find_service("anthropic"), str(out))
        requests = json.loads((out / "2-00001.json").read_bytes())["requests"]
        assert {request["custom_id"] for request in requests} == set(joined.still_open)
        assert len(read_manifest(str(out))["rounds"]) == 2
    second = results_in(folder / "2.jsonl", [done(number, f"for {number}") for number in lost])
    joined = join_results(str(out), [second, first], str(folder / "answers.jsonl"))
    assert joined.complete
    texts = [line["response"]["content"][0]["text"] for line in answers(folder / "answers.jsonl")]
    assert texts == [f"for {number}" for number in range(1, 13)]


def test_responses_without_usage(tmp_path: Path) -> None:
    """A response that does not say how many tokens it took is counted, not taken for 0."""
    folder = batch_of(tmp_path, 1)
    result = {"custom_id": "row-0000001", "result": {"type": "succeeded", "message": {"content": []}}}
    joined = join_results(str(folder), [results_in(tmp_path / "r.jsonl", [result])], str(tmp_path / "answers.jsonl"))
    assert (joined.complete, joined.without_usage, joined.usage) == (True, 1, Usage())


def test_other_rows(tmp_path: Path) -> None:
    """Rows that changed since are refused; rows that moved can be named."""
    folder = batch_of(tmp_path, 1)
    results = results_in(tmp_path / "r.jsonl", [done(1)])
    (tmp_path / "rows.jsonl").rename(tmp_path / "moved.jsonl")
    with pytest.raises(SourceError, match=r"rows\.jsonl: "):
        join_results(str(folder), [results], str(tmp_path / "answers.jsonl"))
    moved = str(tmp_path / "moved.jsonl")
    assert join_results(str(folder), [results], str(tmp_path / "answers.jsonl"), moved).complete
    (tmp_path / "moved.jsonl").write_text('{"text":"other"}\n')
    with pytest.raises(SourceError, match="not the rows that the batch was made of; name them with --rows FILE"):
        join_results(str(folder), [results], str(tmp_path / "answers.jsonl"), moved)


# A response in the form of each service, and an error.
FORMS: dict[str, tuple[Callable[[str, str], dict[str, Any]], Callable[[str], dict[str, Any]]]] = {
    "anthropic": (
        lambda name, text: {"custom_id": name, "result": {"type": "succeeded", "message": {"text": text}}},
        lambda name: {"custom_id": name, "result": {"type": "errored", "error": {"message": "busy"}}},
    ),
    "openai": (
        lambda name, text: {"custom_id": name, "response": {"status_code": 200, "body": {"text": text}}, "error": None},
        lambda name: {"custom_id": name, "response": None, "error": {"code": "server", "message": "busy"}},
    ),
    "gemini": (
        lambda name, text: {"key": name, "response": {"text": text}},
        lambda name: {"key": name, "status": {"code": 14, "message": "busy"}},
    ),
    "bedrock": (
        lambda name, text: {"recordId": name, "modelInput": {}, "modelOutput": {"text": text}},
        lambda name: {"recordId": name, "modelInput": {}, "error": {"errorCode": 500, "errorMessage": "busy"}},
    ),
}


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
@examples(40)
def test_any_results(form: str, data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Shuffled, doubled, truncated, failed, foreign results: each row has its first response, or a reason."""
    folder = tmp_path_factory.mktemp("batch")
    out = batch_of(folder, 9)
    done_one, failed_one = FORMS[form]
    kinds = st.tuples(st.integers(1, 12), st.sampled_from(("done", "failed", "noise")))
    files = data.draw(st.lists(st.lists(kinds, max_size=15), min_size=1, max_size=3))
    noise = data.draw(
        st.lists(st.sampled_from(("", "null", "[1]", '{"a":1}', "\x00", "{" * 2000, '"x'))), label="noise"
    )
    first: dict[str, str] = {}
    failed, broken, doubled = set(), 0, 0
    paths = []
    for index, results in enumerate(files):
        lines: list[bytes] = []
        for step, (number, kind) in enumerate(results):
            name, text = f"row-{number:07}", f"{index}.{step} é"
            if kind == "done":
                doubled += name in first
                first.setdefault(name, text)
                lines.append(json.dumps(done_one(name, text), ensure_ascii=False).encode())
            elif kind == "failed":
                failed.add(name)
                lines.append(json.dumps(failed_one(name)).encode())
            elif noise:
                lines.append((line := noise[step % len(noise)]).encode())
                broken += line != ""
        whole = b"".join(line + b"\n" for line in lines)
        if data.draw(st.booleans(), label="truncated"):
            whole += json.dumps(done_one("row-0000001", "cut off")).encode()[:-2]
            broken += 1
        (folder / f"{index}.jsonl").write_bytes(whole)
        paths.append(str(folder / f"{index}.jsonl"))
    joined = join_results(str(out), paths, str(folder / "answers.jsonl"))
    rows = [f"row-{number:07}" for number in range(1, 10)]
    found = {line["id"]: line for line in answers(folder / "answers.jsonl")}
    assert list(found) == rows
    for name in rows:
        state = "done" if name in first else "failed" if name in failed else "missing"
        assert found[name]["state"] == state
        assert (found[name].get("response") or {}).get("text") == first.get(name)
    assert set(joined.still_open) == set(rows) - set(first)
    assert joined.foreign == sorted(({*first} | failed) - set(rows))
    assert len(joined.doubled) == doubled
    assert len(joined.unreadable) == broken
    assert joined.complete == (not (joined.still_open or joined.foreign or broken))


def test_parquet(tmp_path: Path) -> None:
    """A name that ends in .parquet gets a table with the same rows, in texts that any reader takes."""
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed: pip install -e '.[parquet]'")
    folder = batch_of(tmp_path, 3)
    results = results_in(tmp_path / "r.jsonl", [done(3, "drei \ud800"), ended(1, "expired")])
    lines, table = tmp_path / "answers.jsonl", tmp_path / "answers.Parquet"
    join_results(str(folder), [results], str(lines))
    joined = join_results(str(folder), [results], str(table))
    assert joined.states == {"done": 1, "expired": 1, "missing": 1}
    assert table.stat().st_mode & 0o777 == 0o600
    rows = parquet.read_table(table).to_pylist()
    for row in rows:
        row["row"] = json.loads(row["row"])
        row["response"] = json.loads(row["response"]) if row["response"] else None
    assert rows == [{"reason": None, "response": None, **line} for line in answers(lines)]


def test_parquet_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyarrow it is an error that says what to install, and nothing is written."""
    folder = batch_of(tmp_path, 1)
    results = results_in(tmp_path / "r.jsonl", [done(1)])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(SourceError, match=r"Parquet needs the package pyarrow: 'pip install deepprompt\[parquet\]'"):
        join_results(str(folder), [results], str(tmp_path / "answers.parquet"))
    assert not (tmp_path / "answers.parquet").exists()
