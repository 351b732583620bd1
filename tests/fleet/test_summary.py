"""The report as text: what an API without a cache looks like, excerpts, and causes to leave out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepprompt import report
from deepprompt.fleet.report import Report
from deepprompt.fleet.summary import NO_CACHE, as_json, excerpts, first_lines, known_causes, lines_of_report

RULES = "Follow the rules of the house. " * 400


def written(path: Path, read: int | None, *, mark: bool = True, clock: str = "", turns: int = 3) -> Report:
    """Return the report on a log of one conversation whose API says that each request reads so many tokens."""
    talk: list[dict[str, str]] = []
    lines = []
    for turn in range(turns):
        talk.append({"role": "user", "content": f"Task {turn}."})
        block: dict[str, Any] = {"type": "text", "text": RULES + clock.format(turn)}
        if mark:
            block["cache_control"] = {"type": "ephemeral"}
        body = {"model": "claude-opus-5-5", "system": [block], "messages": list(talk)}
        record: dict[str, Any] = {"at": 1_794_909_600 + 20 * turn, "agent": "demo", "body": body}
        if read is not None:
            record["usage"] = {"input_tokens": 3200 - read, "cache_read_input_tokens": read, "output_tokens": 9}
        lines.append(json.dumps(record) + "\n")
        talk.append({"role": "assistant", "content": f"Done with {turn}."})
    path.write_text("".join(lines))
    return report(path)


def test_an_api_without_a_cache(tmp_path: Path) -> None:
    """If the API reports no cached token at all although some could be read, the first lines say so, and why."""
    found = written(tmp_path / "log.jsonl", 0)
    lines = first_lines(found)
    assert lines[4].startswith("note   the API reported no cached tokens at all: demo claude-opus-5-5 could have read ")
    assert lines[5].strip() == NO_CACHE
    assert as_json(found)["nothing_cached"] == [{"who": "demo claude-opus-5-5", "could_read": 6200}]
    assert lines[2].endswith("the same as without a cache")


@pytest.mark.parametrize(("read", "mark", "turns"), [(100, True, 3), (None, True, 3), (0, False, 3), (0, True, 1)])
def test_an_api_with_one(read: int | None, mark: bool, turns: int, tmp_path: Path) -> None:
    """It does not say so if tokens were read, or are simulated, or nothing could have been read."""
    found = written(tmp_path / "log.jsonl", read, mark=mark, turns=turns)
    assert len(first_lines(found)) == 4
    notes = [line for line in lines_of_report(found) if "without a cache mark" in line]
    assert len(notes) == (not mark)


def test_what_was_read_is_not_lost(tmp_path: Path) -> None:
    """A request cannot have lost what the API says that it read, so no loss costs more than was paid."""
    found = written(tmp_path / "log.jsonl", 3000, clock="It is 10:0{}.")
    cause = found.causes()[0]
    assert (cause.kind, cause.requests, cause.lost) == ("clock", 2, 400)
    assert 0 < found.lost_share() < 1


def test_advice(tmp_path: Path) -> None:
    """Each cause says what to do, as text and as JSON."""
    found = written(tmp_path / "log.jsonl", None, clock="It is 10:0{}.")
    assert "       to do: Put it into the newest message, or leave it out." in lines_of_report(found)
    causes: Any = as_json(found)["causes"]
    assert [one["advice"] for one in causes] == ["Put it into the newest message, or leave it out."]
    assert known_causes(found) == "all, clock, system[0]"


def test_a_model_without_a_price(tmp_path: Path) -> None:
    """It does not look as if it cost nothing."""
    written(tmp_path / "log.jsonl", None, clock="It is 10:0{}.")
    text = (tmp_path / "log.jsonl").read_text()
    (tmp_path / "log.jsonl").write_text(text.replace("claude-opus-5-5", "my-model"))
    lines = lines_of_report(report(tmp_path / "log.jsonl"))
    assert any(line.startswith("  1.  no price ") for line in lines)
    assert any(line.startswith("my-model ") and line.endswith("  no price") for line in lines)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("short", "sharp", ("short", "sharp")),
        ("", "new", ("", "new")),
        ("a" * 100 + "x", "a" * 100 + "y", ("…" + "a" * 59 + "x", "…" + "a" * 59 + "y")),
        ("a" * 90 + "x" + "b" * 90, "a" * 90 + "y", ("…" + "a" * 24 + "x" + "b" * 35 + "…", "…" + "a" * 59 + "y")),
        ("x" + "b" * 90, "y" + "b" * 90, ("x" + "b" * 59 + "…", "y" + "b" * 59 + "…")),
    ],
)
def test_excerpts(old: str, new: str, shown: tuple[str, str]) -> None:
    """An excerpt is at most 60 characters long and holds the difference."""
    assert excerpts(old, new) == shown
