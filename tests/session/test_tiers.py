"""A tiered context turn after turn: the laws of `strict`, what is remembered, and what is reported."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt import assemble_messages, build_request, compose_messages, estimate_tokens, simulate
from deepprompt.errors import MessageError, SessionError
from deepprompt.prompt import NotedText
from deepprompt.providers.facts import bundled_facts
from deepprompt.session.ledger import Ledger
from deepprompt.session.tiers import Tiers
from deepprompt.sources.code import CodeRepository
from deepprompt.systems.tiers import Tier, TieredContext
from tests.support.examples import examples
from tests.support.layout import lay_out
from tests.support.repositories import make_repository

PROMPT = "You are a careful reviewer of code. " * 60
PATHS = [f"src/{name}.py" for name in "abcdefgh"]
PROVIDERS = [("anthropic", "claude-opus-5-5"), ("openai", "gpt-5.6"), ("deepseek", "deepseek-v4-pro")]


def world(texts: dict[str, str], ages: dict[str, int] | None = None) -> CodeRepository:
    """Return a repository of these texts, without a folder."""
    paths = tuple(sorted(texts))
    known = {path: ((0, 0, number), NotedText(texts[path])) for number, path in enumerate(paths)}
    return CodeRepository(
        "/nowhere", paths, ages or {}, paths, signatures={path: known[path][0] for path in paths}, texts=known
    )


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message, with or without a mark."""
    content = message["content"]
    return content if isinstance(content, str) else "".join(block["text"] for block in content)


def marks_in(messages: list[dict[str, Any]]) -> int:
    """Return how many marks an array has."""
    return json.dumps(messages).count("cache_control")


TURNS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(PATHS), st.integers(0, 3), max_size=3),
        st.sets(st.sampled_from(PATHS), max_size=6),
        st.integers(0, 3),
    ),
    min_size=1,
    max_size=8,
)


@examples(60)
@given(turns=TURNS, ages=st.dictionaries(st.sampled_from(PATHS), st.integers(0, 900)), to=st.sampled_from(PROVIDERS))
def test_the_laws_of_strict(
    turns: list[tuple[dict[str, int], set[str], int]], ages: dict[str, int], to: tuple[str, str], tmp_path_factory: Any
) -> None:
    """The laws 1, 2, 4, 5, 9, 10 and 12, over any turns of edits, selections and dropped history."""
    state = tmp_path_factory.mktemp("state") / "tiers"
    tiers, shuffled = Tiers(to=to[0], model=to[1]), Tiers(to=to[0], model=to[1])
    texts = {path: f"# {path}\n" + f"value = {path!r}\n" * 30 for path in PATHS}
    history: list[dict[str, Any]] = []
    before: list[dict[str, Any]] = []
    for number, (edits, chosen, dropped) in enumerate(turns):
        for path, value in edits.items():
            texts[path] = f"# {path}\n" + f"value = {value}\n" * (20 + value)
        history = history[2 * dropped :] if number else history
        selected, given_history = sorted(chosen), deepcopy(history)
        context = tiers.next(world(texts, ages), selected, history, (), f"ask {number}", system_prompt=PROMPT)
        assert (selected, history) == (sorted(chosen), given_history), "12: the caller's values do not change"
        messages = assemble_messages(context)
        whole = "\n\x00\n".join(map(text_of, messages))
        for path in PATHS:
            shown = whole.count(f"\n{path}\n```\n")
            assert shown == (path in chosen), "1: every selected file stands in the array once"
            if shown:
                assert f"\n{path}\n```\n{texts[path]}```" in whole, "1: and its text is the current one"
        spoken = [text_of(message) for message in messages if text_of(message).startswith("said ")]
        assert spoken == [message["content"] for message in history], "2: history is whole and in order"
        assert marks_in(messages) <= 4, "9: at most four marks"
        report = tiers.explain()
        kept = [message for message in before if "cache_control" in json.dumps(message)][: report.kept]
        if kept and report.kept:
            last = before.index(kept[-1])
            assert [text_of(each) for each in before[:last]] == [text_of(each) for each in messages[:last]], "4"
        other = random.Random(number).sample(PATHS, len(PATHS))
        mixed = {path: texts[path] for path in other}
        again = shuffled.next(world(mixed, ages), selected[::-1], history, (), f"ask {number}", system_prompt=PROMPT)
        assert assemble_messages(again) == messages, "5: the same bytes, whatever the order of the input"
        tiers.save(state)
        tiers = Tiers.load(state)  # 10: loading changes nothing, as the next turn compares
        before = messages
        history = [*history, {"role": "user", "content": f"said {number}"},
                   {"role": "assistant", "content": f"said back {number}"}]  # fmt: skip


@examples(60)
@given(
    turns=TURNS,
    ages=st.dictionaries(st.sampled_from(PATHS), st.integers(0, 900)),
    share=st.sampled_from([0.1, 0.25, 1]),
)
def test_the_laws_of_the_ledger(
    turns: list[tuple[dict[str, int], set[str], int]], ages: dict[str, int], share: float, tmp_path_factory: Any
) -> None:
    """The laws 1 to 6, 9, 10 and 12, over any turns of edits, selections and dropped history."""
    state = tmp_path_factory.mktemp("state") / "tiers"
    tiers, shuffled = Tiers(Ledger(share)), Tiers(Ledger(share))
    texts = {path: f"# {path}\n" + f"value = {path!r}\n" * 30 for path in PATHS}
    history: list[dict[str, Any]] = []
    before: list[dict[str, Any]] = []
    for number, (edits, chosen, dropped) in enumerate(turns):
        for path, value in edits.items():
            texts[path] = f"# {path}\n" + f"value = {value}\n" * (20 + value)
        history = history[2 * dropped :] if number else history
        selected, given_history = sorted(chosen), deepcopy(history)
        context = tiers.next(world(texts, ages), selected, history, (), f"ask {number}", system_prompt=PROMPT)
        assert (selected, history) == (sorted(chosen), given_history), "12: the caller's values do not change"
        messages = assemble_messages(context)
        whole = "\n\x00\n".join(map(text_of, messages))
        for path in chosen:
            last = whole.rindex(f"\n{path}\n```\n")
            current = f"\n{path}\n```\n{texts[path]}```"
            assert whole[last : last + len(current)] == current, "1: the last copy of a selected file is current"
        spoken = [text_of(message) for message in messages if text_of(message).startswith("said ")]
        assert spoken == [message["content"] for message in history], "2: history is whole and in order"
        report = tiers.explain()
        live = sum(estimate_tokens(texts[path]) for path in chosen) + estimate_tokens("\n".join(PATHS)) + 10
        assert report.outdated <= share * live, "6: not more is outdated than the limit"
        assert marks_in(messages) <= 4, "9: at most four marks"
        if report.kept == 2:
            end = len(before) - 1  # all but the question
            assert list(map(text_of, messages[:end])) == list(map(text_of, before[:end])), (
                "3: it begins with the last one"
            )
        elif report.kept == 1:
            assert text_of(messages[0]) == text_of(before[0]), "4: a laying that keeps the first page leaves its bytes"
        mixed = {path: texts[path] for path in random.Random(number).sample(PATHS, len(PATHS))}
        again = shuffled.next(world(mixed, ages), selected[::-1], history, (), f"ask {number}", system_prompt=PROMPT)
        assert assemble_messages(again) == messages, "5: the same bytes, whatever the order of the input"
        tiers.save(state)
        tiers = Tiers.load(state)  # 10: loading changes nothing, as the next turn compares
        before = messages
        history = [*history, {"role": "user", "content": f"said {number}"},
                   {"role": "assistant", "content": f"said back {number}"}]  # fmt: skip


SEEDED = """
import hashlib, json, sys
from deepprompt import Tiers, assemble_messages
from deepprompt.prompt import NotedText
from deepprompt.sources.code import CodeRepository
for strategy in ("strict", "ledger"):
    tiers, digest, history = Tiers(strategy), hashlib.sha256(), []
    texts = {f"src/{name}.py": f"# {name}\\n" * 200 for name in "abcdefgh"}
    for turn in range(12):
        texts[f"src/{'abcdefgh'[turn * 3 % 8]}.py"] += f"edited = {turn}\\n"
        paths = tuple({*texts})
        known = {path: ((0, 0, turn), NotedText(texts[path])) for path in paths}
        symbols = {path: path + "\\n  def f()" for path in {*sorted(paths)[:5]}}
        repository = CodeRepository("/", tuple(sorted(paths)), dict.fromkeys({*paths}, 3), ("a",), symbols,
                                    signatures={path: (0, 0, turn) for path in {*paths}}, texts=known)
        chosen = {path for path in paths if (turn + len(path) + ord(path[4])) % 3}
        context = tiers.next(repository, chosen, history, (), f"ask {turn}", system_prompt="Be kind. " * 400)
        digest.update(json.dumps(assemble_messages(context)).encode() + repr(tiers.explain()).encode())
        history = [*history, {"role": "user", "content": f"said {turn}"}, {"role": "assistant", "content": "yes"}]
    print(digest.hexdigest())
"""


@pytest.mark.slow
def test_law_5_with_other_hash_seeds() -> None:
    """The same bytes and reports in another process, whatever its hash seed: sets differ there, and nothing else."""
    printed = {
        subprocess.run(
            [sys.executable, "-c", SEEDED],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(printed) == 1
    assert len(set(printed.pop().split())) == 2


def replayed(to: str, model: str, make: Any) -> float:
    """Return what a history of edits costs: most in two files, some in others, every turn a question and an answer."""
    dice = random.Random(7)
    paths = [f"src/{number:02}.py" for number in range(24)]
    texts = {
        path: f"# {path}\n" + "".join(f"value_{path[4:6]}_{line} = {line}\n" for line in range(150)) for path in paths
    }
    ages = {path: 4 * number for number, path in enumerate(paths)}
    history: list[dict[str, Any]] = []
    bodies = []
    for turn in range(40):
        context = make(world(texts, ages), paths, history, f"ask {turn}")
        bodies.append(build_request(compose_messages(context), to=to, model=model, marks="own").body)  # type: ignore[arg-type]
        for path in [dice.choice(paths[:3])] if turn % 4 else [dice.choice(paths)]:
            texts[path] += f"edited = {turn}\n"
        history = [*history, {"role": "user", "content": f"ask {turn}"}, {"role": "assistant", "content": "done " * 40}]
    rules = bundled_facts().rules(to, model)
    return simulate(bodies, rules, times=[60.0 * turn for turn in range(len(bodies))]).paid


@pytest.mark.slow
@pytest.mark.parametrize(("to", "model"), PROVIDERS[:2])
def test_what_it_costs(to: str, model: str) -> None:
    """Replaying a history costs at most three quarters of one block's cost, and with the ledger less than that."""

    def by(tiers: Tiers) -> Any:
        def make(repository: CodeRepository, paths: list[str], history: list[Any], ask: str) -> TieredContext:
            return tiers.next(repository, paths, history, (), ask, system_prompt=PROMPT)

        return make

    def one_block(repository: CodeRepository, paths: list[str], history: list[Any], ask: str) -> TieredContext:
        files = {path: repository.text(path) for path in paths}
        return TieredContext(PROMPT, tiers={"L0": Tier(files=files, history=history)}, user_prompt=ask)

    strict = replayed(to, model, by(Tiers(to=to, model=model)))
    assert strict <= 0.75 * replayed(to, model, one_block)
    assert replayed(to, model, by(Tiers("ledger", to=to, model=model))) < strict


def test_a_real_folder(tmp_path: Path) -> None:
    """The system prompt comes from the folder; files that cannot be shown are left out with a note."""
    repository = make_repository(
        tmp_path / "root", {"system.md": "MAIN", "system_extra.md": "EXTRA", "a.py": "a = 1\n"}
    )
    lay_out(repository, {"image": b"\x89PNG\r\n\x1a\n"})
    from deepprompt.sources.code import load_repository

    tiers = Tiers()
    messages = assemble_messages(
        tiers.next(load_repository(repository, map_budget=0), ["./a.py", "image", "no", "../x"], user_prompt="x")
    )
    assert text_of(messages[0]).startswith("MAIN\n\nEXTRA")
    assert "\na.py\n```\na = 1\n```" in "\n".join(map(text_of, messages))
    found = [note for note in tiers.notes if note.source != "symbol map"]  # which needs the extra `map`
    assert [(note.kind, note.source) for note in found] == [
        ("refused", "image"), ("skipped", "no"), ("refused", "../x"),
    ]  # fmt: skip


def test_explain() -> None:
    """The report says what stayed, what moved and why, and what it costs."""
    tiers = Tiers()
    with pytest.raises(SessionError, match="there was no turn yet"):
        tiers.explain()
    texts = {path: f"# {path}\n" * 200 for path in PATHS[:4]}
    tiers.next(world(texts), PATHS[:4], (), (), "x", system_prompt=PROMPT)
    first = tiers.explain()
    assert (first.turn, first.kept, first.reason, first.read) == (1, 0, "", 0)
    assert sum(first.tokens.values()) + estimate_tokens("x") == first.read + first.written + first.full
    tiers.next(world(texts), PATHS[:4], (), (), "x", system_prompt=PROMPT)
    second = tiers.explain()
    assert (second.moved, second.written, second.outdated) == ((), 0, 0)
    assert second.price < 0.1
    texts["src/a.py"] = "changed\n" * 200
    tiers.next(world(texts), PATHS[:4], (), (), "x", system_prompt=PROMPT)
    assert tiers.explain().reason == "src/a.py changed"
    assert "the others were rebuilt: src/a.py changed" in str(tiers.explain())
    tiers.next(world(texts), PATHS[:2], (), (), "x", system_prompt="another")
    assert tiers.explain().reason == "the system prompt changed"


@pytest.mark.parametrize(
    ("change", "reason"),
    [(lambda _: b"x", "not a saved session, or damaged"), (lambda data: data[:-9], "not a saved session, or damaged")],
)
def test_a_damaged_state(change: Any, reason: str, tmp_path: Path) -> None:
    """A state that is not what was written is an error, and one that was is private."""
    tiers = Tiers()
    tiers.next(world({}), [], user_prompt="x", system_prompt=PROMPT)
    tiers.save(tmp_path / "state")
    assert (tmp_path / "state").stat().st_mode & 0o077 == 0
    (tmp_path / "state").write_bytes(change((tmp_path / "state").read_bytes()))
    with pytest.raises(SessionError, match=reason):
        Tiers.load(tmp_path / "state")


def test_a_session_is_no_state(tmp_path: Path) -> None:
    """The file of a session is not taken for a state."""
    from deepprompt import Session

    Session("x").save(tmp_path / "session")
    with pytest.raises(SessionError, match=r"not what Tiers.save\(\) wrote"):
        Tiers.load(tmp_path / "session")


def test_wrong_values() -> None:
    """Values of other types are errors that say what is expected."""
    with pytest.raises(SessionError, match="no strategy 'x'; there are: 'strict', 'ledger', Ledger"):
        Tiers("x")
    with pytest.raises(MessageError, match=r"Tiers\.next: selected takes paths of files"):
        Tiers().next(world({}), "a.py", user_prompt="x")
    with pytest.raises(MessageError, match="a message is a mapping"):
        Tiers().next(world({}), [], ["x"], user_prompt="x", system_prompt="y")  # type: ignore[list-item]


def test_the_ledger_explains() -> None:
    """The report of the ledger says what was appended, what is outdated, and why the pages were rebuilt."""
    tiers = Tiers(Ledger(0.25))
    texts = {path: f"# {path}\n" * 200 for path in PATHS}
    tiers.next(world(texts), PATHS, (), (), "x", system_prompt=PROMPT)
    texts["src/a.py"] = "changed\n" * 100
    tiers.next(world(texts), PATHS, (), (), "x", system_prompt=PROMPT)
    report = tiers.explain()
    assert (report.kept, report.moved, report.reason) == (2, (("src/a.py", "-", "log"),), "")
    assert report.outdated == estimate_tokens("# src/a.py\n" * 200)
    assert f"  {report.outdated:,} tokens are outdated" in str(report)
    for path in PATHS[1:4]:
        texts[path] = "changed\n" * 100
    tiers.next(world(texts), PATHS, (), (), "x", system_prompt=PROMPT)
    assert tiers.explain().reason.endswith("tokens would be outdated")
    assert tiers.explain().outdated == 0
    tiers.next(world(texts), PATHS, [{"role": "user", "content": "a"}], (), "x", system_prompt=PROMPT)
    tiers.next(world(texts), PATHS, [], (), "x", system_prompt=PROMPT)
    assert tiers.explain().reason == "messages were dropped or changed"


def test_a_share() -> None:
    """A share that is none is refused."""
    with pytest.raises(SessionError, match="Ledger: outdated takes a share from 0 to 1, not 2"):
        Ledger(2)
