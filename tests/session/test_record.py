"""What a session keeps of its answers: saved as it was recorded, and read back only if it is that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from deepprompt import Prompt, Session, Usage
from deepprompt.errors import SessionError
from deepprompt.prompt import sha256_hex
from deepprompt.session.record import Recorded, read_recorded

ONE = Recorded("anthropic", "m", 3, 120, Usage(130, 100, {"5m": 20}, 7), "hit", "it was read", 12.5)

DAMAGED: tuple[Any, ...] = (
    [],
    ["anthropic"],
    ["anthropic", 1, 3, 120, [130, 100, {}, 7], "hit", "", None],
    ["anthropic", "m", -3, 120, [130, 100, {}, 7], "hit", "", None],
    ["anthropic", "m", True, 120, [130, 100, {}, 7], "hit", "", None],
    ["anthropic", "m", 3, 1.5, [130, 100, {}, 7], "hit", "", None],
    ["anthropic", "m", 3, 120, [1, 100, {}, 7], "hit", "", None],
    ["anthropic", "m", 3, 120, [130], "hit", "", "now"],
    5,
)


def test_a_row_is_read_back() -> None:
    """What is saved is what was recorded, through JSON."""
    assert read_recorded(json.loads(json.dumps(ONE.row()))) == ONE


@pytest.mark.parametrize("row", DAMAGED, ids=str)
def test_a_damaged_session_is_not_loaded(tmp_path: Path, row: Any) -> None:
    """A record that is none is the error of a damaged session, never a traceback."""
    session = Session(Prompt(()))
    session.save(tmp_path / "session")
    state = json.loads((tmp_path / "session").read_text())["session"] | {"recorded": [row]}
    text = json.dumps(state, separators=(",", ":"))
    (tmp_path / "session").write_text(f'{{"sha256":"{sha256_hex(text)}","session":{text}}}\n')
    with pytest.raises(SessionError, match="damaged"):
        Session.load(tmp_path / "session")


def test_a_session_of_before_there_were_records(tmp_path: Path) -> None:
    """A session that was saved without records loads with none."""
    session = Session(Prompt(()))
    session.save(tmp_path / "session")
    state = json.loads((tmp_path / "session").read_text())["session"]
    del state["recorded"]
    text = json.dumps(state, separators=(",", ":"))
    (tmp_path / "session").write_text(f'{{"sha256":"{sha256_hex(text)}","session":{text}}}\n')
    assert Session.load(tmp_path / "session").recorded == []
