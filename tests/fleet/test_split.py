"""Every break of made-up traffic is found with its kind and its place, mixed and shuffled too, and nothing else is."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from deepprompt.fleet.bodies import BodyReader
from deepprompt.fleet.record import session_in
from deepprompt.fleet.split import Splitter
from tests.support.traffic import made


def found_in(records: list[dict[str, Any]]) -> dict[str, tuple[str, str]]:
    """Return the kind and the place of the break before each request, by the name of the request."""
    reader = BodyReader()
    splitter = Splitter(reader)
    found: dict[str, tuple[str, str]] = {}
    for record in sorted(records, key=lambda one: one["at"]):
        body = reader.read(json.dumps(record["body"]))
        placed = splitter.place(body, record["at"], record["id"], session_in(body.fields))
        kind = "new" if placed.parent is None else placed.broke.kind if placed.broke else ""
        found[record["id"]] = kind, placed.broke.place if placed.broke else ""
    return found


EXPECTED = {record["id"]: (kind, place) for record, kind, place in made()}


def test_each_run_alone() -> None:
    """Within one run, each break is named, and side requests begin conversations of their own."""
    runs: dict[str, list[dict[str, Any]]] = {}
    for record, _, _ in made():
        runs.setdefault(record["id"].rpartition("-")[0], []).append(record)
    found = {name: what for run in runs.values() for name, what in found_in(run).items()}
    assert found == EXPECTED


@pytest.mark.parametrize("seed", range(3))
def test_all_runs_mixed(seed: int) -> None:
    """In one log of all agents, in any order, with the runs side by side, the same is found."""
    records = [record for record, _, _ in made()]
    chance = random.Random(seed)
    offsets = {record["id"].rpartition("-")[0]: chance.uniform(0, 20) for record in records}
    order = list(records)
    for number, record in enumerate(order):
        run, _, turn = record["id"].rpartition("-")
        record["at"] = offsets[run] + 30 * int(turn) + number / 1e6
    chance.shuffle(order)
    assert found_in(order) == EXPECTED


def test_sessions_apart() -> None:
    """Requests of two named sessions are never related, however alike they are."""
    reader = BodyReader()
    splitter = Splitter(reader)
    talk = [
        {"role": "user", "content": "Hi."},
        {"role": "assistant", "content": "Yo."},
        {"role": "user", "content": "?"},
    ]
    bodies = [reader.read(json.dumps({"model": "m", "messages": talk[:size]})) for size in (1, 3)]
    for session in ("a", "b"):
        placed = splitter.place(bodies[0], 0, "x", session)
        assert placed.parent is None
    for session in ("a", "b"):
        placed = splitter.place(bodies[1], 1, "y", session)
        assert placed.parent is not None
        assert placed.request.conversation.session == session


def test_a_branch() -> None:
    """A conversation that goes on from an earlier request in two ways is one tree, and nothing broke."""
    reader = BodyReader()
    splitter = Splitter(reader)

    def place(*texts: str) -> Any:
        talk = [{"role": ("user", "assistant")[number % 2], "content": text} for number, text in enumerate(texts)]
        return splitter.place(reader.read(json.dumps({"model": "m", "messages": talk})), 0, "", "")

    first = place("task")
    one, two = place("task", "answer", "more"), place("task", "other answer", "else")
    assert one.parent is first.request
    assert two.parent is first.request
    assert (one.broke, two.broke) == (None, None)


def conversation(number: int, turns: int) -> list[str]:
    """Return the bodies of one conversation."""
    talk: list[dict[str, str]] = []
    bodies = []
    for turn in range(turns):
        talk += [{"role": "user", "content": f"Task {number}.{turn} " + "x" * 300}]
        bodies.append(json.dumps({"model": "m", "system": "Be kind.", "messages": talk}))
        talk += [{"role": "assistant", "content": f"Answer {number}.{turn}"}]
    return bodies


@pytest.mark.parametrize("session", [True, False])
def test_memory_is_bounded(session: bool) -> None:
    """However many conversations come one after the other, only so much is remembered, and none of them breaks."""
    reader = BodyReader()
    splitter = Splitter(reader, memory=200_000)
    for number in range(200):
        for turn, body in enumerate(conversation(number, 6)):
            placed = splitter.place(reader.read(body), 10.0 * number, "", str(number) if session else "")
            assert (placed.parent is None) == (turn == 0)
            assert placed.broke is None
            assert reader.size < 220_000
    assert splitter.count == 200
    assert len(splitter._open) < 60
    assert len(splitter._said) < 500


def test_side_by_side_in_little_memory() -> None:
    """Conversations that go on side by side stay apart while what ended long ago is forgotten."""
    reader = BodyReader()
    splitter = Splitter(reader, memory=200_000)
    for number in range(100):
        for pair in zip(conversation(2 * number, 5), conversation(2 * number + 1, 5), strict=True):
            for body in pair:
                assert splitter.place(reader.read(body), 0.0, "", "").broke is None
    assert splitter.count == 200


@pytest.mark.parametrize("session", ["", "s1"])
def test_a_conversation_that_breaks_at_once(session: str) -> None:
    """If the prompt changes between the first two requests, they share only what the user asked: that is enough."""
    reader = BodyReader()
    splitter = Splitter(reader)
    rules = [{"role": "system", "content": "Follow the rules of the house, always. " * 20 + end} for end in "ab"]
    ask, answer = {"role": "user", "content": "Mend the roof."}, {"role": "assistant", "content": "Done."}
    more = {"role": "user", "content": "And the door."}
    title = [{"role": "system", "content": "Write a title."}, {"role": "user", "content": "'Mend the roof.'"}]
    placed = [
        splitter.place(reader.read(json.dumps({"model": "m", "messages": talk})), number, "", session)
        for number, talk in enumerate(([rules[0], ask], title, [rules[1], ask, answer, more]))
    ]
    assert placed[2].parent is placed[0].request
    assert placed[2].broke is not None
    assert (placed[2].broke.kind, placed[2].broke.place) == ("edit", "messages[0].content")
    assert splitter.count == 2


def scripted(clock: str, turns: int = 6) -> list[str]:
    """Return the bodies of one run of a script that always says the same; a clock with `{}` changes with the turn."""
    talk: list[dict[str, str]] = []
    bodies = []
    for turn in range(turns):
        talk += [{"role": "user", "content": f"Task {turn}."}]
        head = [{"type": "text", "text": "Follow the rules of the house. " * 20 + f"It is {clock.format(turn)}."}]
        bodies.append(json.dumps({"model": "m", "system": head, "messages": talk}))
        talk += [{"role": "assistant", "content": f"Answer {turn}."}]
    return bodies


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("12:07:33", "12:07:33", False),
        ("12:07:33", "12:54:11", False),
        ("12:07:33", "12:54:1{}", False),
        ("12:0{}:33", "12:07:33", False),
        ("12:0{}:33", "12:54:1{}", False),
        # Two runs at the same time cannot be told apart if both or neither have a clock that changes.
        ("12:07:33", "12:54:11", True),
        ("12:07:33", "12:54:1{}", True),
    ],
)
def test_two_runs_of_one_script(first: str, second: str, together: bool) -> None:
    """The second run of a script continues itself, whatever changed since the first, one after the other or not."""
    runs = [scripted(first), scripted(second)]
    order = [(run, turn) for run in range(2) for turn in range(6)]
    if together:
        order.sort(key=lambda one: one[1])
    reader = BodyReader()
    splitter = Splitter(reader)
    broke = 0
    for at, (run, turn) in enumerate(order):
        placed = splitter.place(reader.read(runs[run][turn]), at, f"{run}.{turn}", "")
        after = placed.parent.where if placed.parent else ""
        assert after == (f"{run}.{turn - 1}" if turn else "")
        broke += placed.broke is not None
    assert broke == sum(5 for clock in (first, second) if "{}" in clock)
    assert len({one.root for one in splitter._open.values()}) == 2


def test_a_retry() -> None:
    """A request that is sent twice stays in its conversation, and a branch counts as part of the one it left."""
    reader = BodyReader()
    splitter = Splitter(reader)
    bodies = scripted("noon", 4)
    sent = [*bodies[:3], bodies[2], bodies[3]]
    placed = [splitter.place(reader.read(body), at, str(at), "") for at, body in enumerate(sent)]
    assert [one.parent and one.parent.where for one in placed] == [None, "0", "1", "2", "3"]
    assert {one.request.conversation.number for one in placed} == {1}
    other = json.loads(bodies[3])
    other["messages"][-2]["content"] = "Another answer."
    branch = splitter.place(reader.read(json.dumps(other)), 9, "9", "")
    assert (branch.parent, branch.broke) == (placed[3].request, None)
    assert (branch.request.conversation.number, branch.request.conversation.root) == (2, 1)
