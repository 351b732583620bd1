"""What a git history costs in tiers: replays the commits of a repository that you name, and prints the cost table.

    python -m benchmarks.replay FOLDER [--turns 64] [--skip 0] [--work files] [--work map]

Each commit that changes one to eight source files is a turn. The model sees the repository as it was before the commit,
and its answer is the diff. Turns are 60 seconds apart. With `files`, the files that changed most in the 200 commits
before are shown in full; with `map`, the symbol map of all sources, the file list, and the files of the last six
commits. Costs are multiples of the same requests without a cache, by `simulate`; no provider is called.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from deepprompt import Tiers, build_request, compose_messages, estimate_tokens, simulate
from deepprompt.prompt import NotedText
from deepprompt.providers.facts import bundled_facts
from deepprompt.sources.code import CodeRepository
from deepprompt.sources.symbols.languages import BY_SUFFIX, suffix_of
from deepprompt.sources.symbols.map import SymbolMap, rank_sources
from deepprompt.sources.tree import fold_tree
from deepprompt.systems.tiers import Tier, TieredContext
from deepprompt.text.hygiene import neutralise

PROVIDERS = (("anthropic", "claude-opus-5-5"), ("openai", "gpt-5.6"), ("deepseek", "deepseek-v4-pro"))
PROMPT = "You are a careful reviewer of code. " * 60
_TEST = re.compile(r"(?:^|/)(?:tests?|testdata|vendor|__tests__)/|_test\.|\.test\.|(?:^|/)test_")
_MOST_CHANGED = 8
_SHOWN_TOKENS = 100_000
_BEFORE = 200
_DIFF = 8_000
_LONG_TALK, _SHORT_TALK = 24_000, 12_000
_MAP_TOKENS = 40_000
_NEAR = 5

Make = Callable[[CodeRepository, Sequence[str], Sequence[Mapping[str, object]], str], TieredContext]


@dataclass
class History:
    """The sources of a repository at one commit after the other."""

    folder: str
    texts: dict[str, str] = field(default_factory=dict)
    versions: dict[str, int] = field(default_factory=dict)
    changed: dict[str, int] = field(default_factory=dict)
    """The number of the commit that changed a file last."""
    number: int = 0

    def git(self, *words: str) -> bytes:
        """Return what git prints."""
        return subprocess.run(["git", "-C", self.folder, *words], check=True, capture_output=True).stdout

    def commits(self, most: int) -> list[tuple[str, list[str]]]:
        """Return the last commits, oldest first, each with the sources that it changes."""
        text = self.git("log", "--no-merges", f"--max-count={most}", "--name-only", "-z", "--format=%x01%H").decode(
            errors="surrogateescape"
        )
        found = []
        for entry in text.split("\x01")[1:]:
            name, _, paths = entry.partition("\0")
            found.append((name.strip(), [path for path in paths.strip("\n\0").split("\0") if _is_source(path)]))
        return found[::-1]

    def begin(self, commit: str) -> None:
        """Take the sources as they are in a commit."""
        names = self.git("ls-tree", "-r", "-z", "--name-only", commit).decode(errors="surrogateescape").split("\0")
        self.texts = {}
        self.take(commit, [path for path in names if _is_source(path)])

    def take(self, commit: str, paths: Sequence[str]) -> None:
        """Take some sources as they are in a commit; those that are not there go."""
        for path in paths:
            done = subprocess.run(["git", "-C", self.folder, "show", f"{commit}:{path}"], capture_output=True)
            self.versions[path] = self.versions.get(path, 0) + 1
            self.changed[path] = self.number
            if done.returncode or b"\0" in done.stdout[:8_000]:
                self.texts.pop(path, None)
            else:
                self.texts[path] = neutralise(done.stdout.decode(errors="replace"))

    def repository(self, symbol_map: SymbolMap | None) -> CodeRepository:
        """Return the present state as `load_repository` would."""
        paths = tuple(sorted(self.texts))
        ages = {path: self.number - last for path, last in self.changed.items() if path in self.texts and last}
        signatures = {path: (0, 0, self.versions[path]) for path in paths}
        known = {path: (signatures[path], NotedText(self.texts[path])) for path in paths}
        symbols: Mapping[str, str] = {}
        if symbol_map is not None:
            ranked = rank_sources(paths, ages)
            symbols, _ = symbol_map.blocks(ranked, signatures, lambda path: self.texts[path].encode(), _MAP_TOKENS)
        tree = fold_tree(paths, 4_000)
        return CodeRepository(self.folder, paths, ages, tree, symbols, signatures=signatures, texts=known)


def _is_source(path: str) -> bool:
    return suffix_of(path) in BY_SUFFIX and not _TEST.search(path)


def replay(folder: str, turns: int, skip: int, work: str, makes: Mapping[str, Make]) -> dict[str, list[TieredContext]]:
    """Return the contexts of every way to make them, one for each turn."""
    history = History(folder)
    every = history.commits(turns * 4 + _BEFORE + skip)
    every = every[: len(every) - skip]
    usable = [at for at, (_, paths) in enumerate(every) if 0 < len(paths) <= _MOST_CHANGED][-turns:]
    if not usable:
        raise SystemExit(f"{folder}: no commit changes one to {_MOST_CHANGED} source files")
    first = usable[0]
    for name, paths in every[max(0, first - _BEFORE) : first]:
        history.number += 1
        history.changed |= dict.fromkeys(paths, history.number)
        last = name
    seen = dict(history.changed)
    history.begin(last if first else every[0][0])
    history.changed = seen
    often = Counter(path for _, paths in every[max(0, first - _BEFORE) : first] for path in paths)
    chosen = _most_changed(history, often) if work == "files" else []
    symbol_map = SymbolMap(folder) if work == "map" else None
    talk: list[dict[str, object]] = []
    found: dict[str, list[TieredContext]] = {name: [] for name in makes}
    for number, at in enumerate(usable):
        until = usable[number - 1] if number else first - 1
        for name, paths in every[until + 1 : at]:
            history.number += 1
            history.take(name, paths)
        name, paths = every[at]
        near = {path for _, few in every[max(0, at - _NEAR) : at + 1] for path in few}
        selected = [path for path in (chosen or sorted(near)) if path in history.texts]
        state = history.repository(symbol_map)
        for kind, make in makes.items():
            found[kind].append(make(state, selected, talk, f"Turn {number}: go on."))
        diff = history.git("show", "--format=", name, "--", *paths).decode(errors="replace")[:_DIFF]
        talk = _cut([*talk, {"role": "user", "content": f"Turn {number}: go on."},
                     {"role": "assistant", "content": neutralise(diff) or "Done."}])  # fmt: skip
        history.number += 1
        history.take(name, paths)
    return found


def _most_changed(history: History, often: Counter[str]) -> list[str]:
    shown, room = [], _SHOWN_TOKENS
    for path, _ in sorted(often.items(), key=lambda one: (-one[1], one[0])):
        size = estimate_tokens(history.texts.get(path, ""))
        if size and size <= room:
            room -= size
            shown.append(path)
    return sorted(shown)


def _cut(talk: list[dict[str, object]]) -> list[dict[str, object]]:
    sizes = [estimate_tokens(str(message["content"])) for message in talk]
    if sum(sizes) <= _LONG_TALK:
        return talk
    while sum(sizes) > _SHORT_TALK and len(sizes) > 2:
        talk, sizes = talk[2:], sizes[2:]
    return talk


def one_block(
    state: CodeRepository, selected: Sequence[str], talk: Sequence[Mapping[str, object]], ask: str
) -> TieredContext:
    """Show everything in one block, with one mark."""
    files = {path: state.text(path) for path in selected}
    tier = Tier(symbols=dict(state.symbols), files=files, history=list(talk))
    return TieredContext(PROMPT, tiers={"L0": tier}, user_prompt=ask)


def by_tiers(tiers: Tiers) -> Make:
    """Show it in tiers."""

    def make(
        state: CodeRepository, selected: Sequence[str], talk: Sequence[Mapping[str, object]], ask: str
    ) -> TieredContext:
        return tiers.next(state, selected, talk, (), ask, system_prompt=PROMPT)

    return make


def cost(contexts: Sequence[TieredContext], to: Any, model: str) -> float:
    """Return what a conversation costs, in multiples of the same without a cache."""
    if not contexts:
        return 1.0
    bodies = [build_request(compose_messages(context), to=to, model=model, marks="own").body for context in contexts]
    rules = bundled_facts().rules(to, model)
    paid = simulate(bodies, rules, times=[60.0 * turn for turn in range(len(bodies))])
    return paid.paid / sum(charge.read + sum(charge.written.values()) + charge.full for charge in paid.charges)


def main(arguments: list[str]) -> int:
    """Print the cost table of a history."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.replay", description=__doc__.partition("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("--turns", type=int, default=64)
    parser.add_argument("--skip", type=int, default=0, help="leave out so many of the newest commits")
    parser.add_argument("--work", choices=("files", "map"), action="append")
    options = parser.parse_args(arguments)
    print("| work | model | turns | one block | strict | ledger | strict / one block | ledger / one block |")
    print("|---|---|--:|--:|--:|--:|--:|--:|")
    for work in options.work or ["files"]:
        for to, model in PROVIDERS:
            makes = {"one block": one_block} | {
                name: by_tiers(Tiers(name, to=to, model=model)) for name in ("strict", "ledger")
            }
            made = replay(options.folder, options.turns, options.skip, work, makes)
            paid = {name: cost(contexts, to, model) for name, contexts in made.items()}
            whole = paid["one block"]
            shares = [paid[name] / whole for name in ("strict", "ledger")]
            figures = [whole, paid["strict"], paid["ledger"], *shares]
            cells = " | ".join(f"{figure:.2f}" for figure in figures)
            print(f"| {work} | {model} | {len(made['strict'])} | {cells} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
