"""The files of a batch: split by the limits, all or nothing, and written again only where something is missing."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.batch.files import leave_open, read_manifest, write_batch
from deepprompt.batch.services import Service, find_service, services
from deepprompt.batch.template import RequestTemplate
from deepprompt.errors import MessageError, SourceError
from tests.support.examples import examples


def template_for(service: Service, prompt: str = "You translate.") -> RequestTemplate:
    """A template as the command makes it."""
    return RequestTemplate(
        prompt, "{text}", to=service.target, model="some-model", marks=service.marks, fields=service.fields
    )


def rows_in(folder: Path, texts: list[str]) -> str:
    """Write a table of texts."""
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps({"text": text, "key": f"k{n}"}) + "\n" for n, text in enumerate(texts)))
    return str(path)


def requests_in(path: Path) -> list[dict[str, Any]]:
    """The requests of one file, for any service."""
    if path.suffix == ".json":
        return list(json.loads(path.read_bytes())["requests"])
    return [json.loads(line) for line in path.read_bytes().splitlines()]


@pytest.mark.parametrize("name", services())
def test_every_row_once(name: str, tmp_path: Path) -> None:
    """Each row is one request with its id, and the manifest's figures are those of the files."""
    service = dataclasses.replace(find_service(name), requests=3)
    out = tmp_path / "out"
    manifest = write_batch(rows_in(tmp_path, [f"text {n}" for n in range(8)]), template_for(service), service, str(out))
    files = manifest["rounds"][0]
    assert [file["requests"] for file in files] == [3, 3, 2]
    seen = []
    for file in files:
        path = out / file["name"]
        assert path.stat().st_mode & 0o777 == 0o600
        assert file["bytes"] == path.stat().st_size
        assert file["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
        seen += [next(value for value in line.values() if isinstance(value, str)) for line in requests_in(path)]
    assert sorted(seen) == [f"row-{n:07}" for n in range(1, 9)]
    assert read_manifest(str(out)) == manifest
    assert sorted(os.listdir(out)) == sorted([*(file["name"] for file in files), "manifest.json"])


@given(sizes=st.lists(st.integers(1, 400), min_size=1, max_size=30), limit=st.integers(1_200, 3_000))
@examples(40)
def test_no_file_is_over_the_limit(sizes: list[int], limit: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Files keep the limit by bytes and are no smaller than they have to be; all rows are in them, in order."""
    folder = tmp_path_factory.mktemp("batch")
    service = dataclasses.replace(find_service("anthropic"), bytes=limit)
    texts = ["ü" * size for size in sizes]
    out = folder / "out"
    manifest = write_batch(rows_in(folder, texts), template_for(service), service, str(out))
    files = manifest["rounds"][0]
    assert all(file["bytes"] <= limit for file in files)
    for before, after in pairwise(files):
        first = json.dumps(requests_in(out / after["name"])[0], ensure_ascii=False, separators=(",", ":"))
        assert before["bytes"] + len(first.encode()) + 2 > limit
    lines = [line for file in files for line in requests_in(out / file["name"])]
    assert [line["params"]["messages"][0]["content"][0]["text"] for line in lines] == texts


def test_one_request_over_the_limit(tmp_path: Path) -> None:
    """A request that fits into no file is an error, and nothing is written."""
    service = dataclasses.replace(find_service("openai"), bytes=300)
    with pytest.raises(MessageError, match=r"^row-0000002: [\d,]+ bytes, more than OpenAI Batch"):
        write_batch(rows_in(tmp_path, ["x", "y" * 400]), template_for(service), service, str(tmp_path / "out"))
    assert os.listdir(tmp_path / "out") == []


def test_problems_of_rows_together(tmp_path: Path) -> None:
    """All problems of the rows are in one error with their lines, and nothing is written."""
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"text":"a","id":"x"}\n{"text":" ","id":"y"}\n{"id":"z"}\n{"text":"b","id":"x"}\n{"text":"c","id":"a b"}\n'
    )
    service = find_service("anthropic")
    with pytest.raises(MessageError) as caught:
        write_batch(str(path), template_for(service), service, str(tmp_path / "out"), "id")
    text = str(caught.value)
    assert [f"rows.jsonl:{n}: " in text for n in range(1, 6)] == [False, True, True, True, True]
    assert "'text': blank" in text
    assert "no column 'text'" in text
    assert "the id 'x' stands twice" in text
    assert os.listdir(tmp_path / "out") == []
    with pytest.raises(SourceError, match=r"rows\.jsonl:1: no id in column 'key'; columns: text, id"):
        write_batch(str(path), template_for(service), service, str(tmp_path / "out"), "key")


def test_many_problems_end(tmp_path: Path) -> None:
    """After twenty problems the rest is not read."""
    service = find_service("openai")
    with pytest.raises(MessageError, match=r"and perhaps more$") as caught:
        write_batch(rows_in(tmp_path, [" "] * 50), template_for(service), service, str(tmp_path / "out"))
    assert str(caught.value).count("blank") == 20


def test_no_rows(tmp_path: Path) -> None:
    """A table without rows is an error."""
    service = find_service("openai")
    with pytest.raises(MessageError, match=r"^no rows to write$"):
        write_batch(rows_in(tmp_path, []), template_for(service), service, str(tmp_path / "out"))


def test_sorted_for_an_engine(tmp_path: Path) -> None:
    """For an engine with a prefix cache, rows with a common beginning follow each other."""
    service = find_service("vllm")
    out = tmp_path / "out"
    write_batch(rows_in(tmp_path, ["b 1", "a 1", "b 0", "a 0"]), template_for(service), service, str(out))
    texts = [line["body"]["messages"][-1]["content"] for line in requests_in(out / "00001.jsonl")]
    assert texts == ["a 0", "a 1", "b 0", "b 1"]


class TestAgain:
    """A second run."""

    def test_writes_only_missing_files(self, tmp_path: Path) -> None:
        """A file that is there stays, one that is gone is written again, and one with other bytes is refused."""
        service = dataclasses.replace(find_service("openai"), requests=1)
        rows, out = rows_in(tmp_path, ["a", "b"]), tmp_path / "out"
        write_batch(rows, template_for(service), service, str(out))
        kept, before = (out / "00001.jsonl").stat().st_ino, (out / "00002.jsonl").read_bytes()
        (out / "00002.jsonl").unlink()
        write_batch(rows, template_for(service), service, str(out))
        assert (out / "00001.jsonl").stat().st_ino == kept
        assert (out / "00002.jsonl").read_bytes() == before
        (out / "00002.jsonl").write_text("mine")
        with pytest.raises(SourceError, match=r"00002\.jsonl: exists, and is another file; write to another folder"):
            write_batch(rows, template_for(service), service, str(out))
        assert (out / "00002.jsonl").read_text() == "mine"

    def test_never_mixes_batches(self, tmp_path: Path) -> None:
        """Another prompt, other rows or another service in the same folder is an error."""
        service, out = find_service("openai"), str(tmp_path / "out")
        rows = rows_in(tmp_path, ["a"])
        write_batch(rows, template_for(service), service, out)
        with pytest.raises(SourceError, match=r"holds another batch \(template changed\)"):
            write_batch(rows, template_for(service, "Other."), service, out)
        rows_in(tmp_path, ["b"])
        with pytest.raises(SourceError, match=r"holds another batch \(rows changed\)"):
            write_batch(rows, template_for(service), service, out)

    def test_writes_only_what_a_join_left_open(self, tmp_path: Path) -> None:
        """After a join, the next round has only the rows without a response, in files of its own."""
        service, out = find_service("openai"), tmp_path / "out"
        rows = rows_in(tmp_path, ["a", "b", "c"])
        manifest = write_batch(rows, template_for(service), service, str(out))
        leave_open(str(out), manifest, ["row-0000002"])
        again = write_batch(rows, template_for(service), service, str(out))
        assert [[file["name"] for file in files] for files in again["rounds"]] == [["00001.jsonl"], ["2-00001.jsonl"]]
        assert [line["custom_id"] for line in requests_in(out / "2-00001.jsonl")] == ["row-0000002"]
        assert not (out / "open.json").exists()

    def test_files_that_are_not_ours(self, tmp_path: Path) -> None:
        """A manifest that is not one of a batch is an error."""
        (tmp_path / "manifest.json").write_text('{"format": 9}')
        with pytest.raises(SourceError, match="not the manifest of a batch, or of a newer version"):
            read_manifest(str(tmp_path))
        with pytest.raises(SourceError, match="write the batch with `deepprompt batch` first"):
            read_manifest(str(tmp_path / "nowhere"))
