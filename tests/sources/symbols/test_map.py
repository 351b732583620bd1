"""The blocks of the symbol map: budget, cache, and files that do not parse."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepprompt.sources.code import CodeRepository, load_repository
from deepprompt.sources.symbols import map as symbols
from deepprompt.sources.symbols.map import SymbolMap, cache_file
from deepprompt.sources.symbols.reader import OutlineReader
from deepprompt.tokens import estimate_tokens
from tests.support.examples import examples
from tests.support.layout import lay_out
from tests.support.repositories import commit, make_repository


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a cache folder of the test's own."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


READER = OutlineReader()


def loaded(folder: Path, budget: int = 1_000) -> CodeRepository:
    """Return a repository with its map."""
    return load_repository(folder, map_budget=budget)


def test_without_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without tree-sitter there is no map, and a note says what to install."""
    monkeypatch.setattr(symbols, "is_installed", lambda: False)
    repository = loaded(make_repository(tmp_path / "root", {"a.py": "def f(): pass\n"}))
    assert (repository.symbols, repository.paths) == ({}, ("a.py",))
    assert repository.notes[0].detail == "tree-sitter is not installed: install deepprompt[map]"
    assert load_repository(tmp_path / "root", map_budget=0).notes == ()


def test_where_the_cache_is() -> None:
    """The cache lies in the user's cache folder, and nowhere without one."""
    assert cache_file("/a", {"XDG_CACHE_HOME": "/c"}).startswith("/c/deepprompt/symbols/")
    assert cache_file("/a", {"HOME": "/h"}).startswith("/h/.cache/deepprompt/symbols/")
    assert cache_file("/a", {}) == cache_file("/a", {"XDG_CACHE_HOME": "relative"}) == ""


class TestBlocks:
    """With the real grammars."""

    @pytest.fixture(autouse=True)
    def _installed(self, home: Path) -> None:
        pytest.importorskip("tree_sitter", reason="the symbol map needs deepprompt[map]")
        assert not home.exists()

    def test_blocks(self, tmp_path: Path) -> None:
        """A block is a path and its declarations; files without any, or of other kinds, have none."""
        files = {
            "a.py": "def f(): pass\n",
            "b.go": "package b\nfunc G() {}\n",
            "empty.py": "x = 1\n",
            "notes.md": "# x\n",
        }
        repository = loaded(make_repository(tmp_path / "root", files))
        assert repository.symbols == {"a.py": "a.py\n  def f()", "b.go": "b.go\n  func G()"}

    def test_the_budget_goes_to_what_changed_last(self, tmp_path: Path) -> None:
        """The files that changed last are in the map, as many as there is room for."""
        folder = make_repository(tmp_path / "root", {f"{name}.py": f"def {name}(): pass\n" for name in "abcdef"})
        commit(folder, "second", {"e.py": "def e(x): pass\n"})
        repository = loaded(folder, 14)
        assert list(repository.symbols) == ["a.py", "e.py"]
        assert sum(map(estimate_tokens, repository.symbols.values())) <= 14

    def test_law_8_a_broken_file_keeps_its_last_good_block(self, tmp_path: Path) -> None:
        """While a file does not parse, its last good block is shown, in the next process too; then the new one."""
        folder = make_repository(tmp_path / "root", {"a.py": "def f(): pass\nclass C:\n    def m(self): pass\n"})
        repository = loaded(folder)
        good = repository.symbols["a.py"]
        lay_out(folder, {"a.py": "def f(: pass\nclass"})
        assert repository.refreshed().symbols["a.py"] == good
        assert loaded(folder).symbols["a.py"] == good
        lay_out(folder, {"a.py": "def g(): return 12345\n"})
        assert repository.refreshed().symbols["a.py"] == "a.py\n  def g()"

    @examples(40)
    @given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 3), st.booleans()), max_size=12))
    def test_law_8_over_any_edits(self, edits: list[tuple[str, int, bool]]) -> None:
        """Whatever the edits, the block of a file is that of its last version that parsed."""
        texts: dict[str, bytes] = {}
        wanted: dict[str, str] = {}
        found = SymbolMap("", reader=READER)
        for number, (name, value, broken) in enumerate(edits):
            path = f"{name}.py"
            good = f"def {name}{value}(x): pass\n"
            texts[path] = (good[:-10] + "(((\nclass" if broken else good).encode()
            if not broken:
                wanted[path] = f"{path}\n  def {name}{value}(x)"
            signatures = {each: (number if each == path else -1, texts[each]) for each in texts}
            blocks, notes = found.blocks(sorted(texts), signatures, texts.__getitem__, 1_000)
            assert notes == []
            assert {each: blocks.get(each) for each in wanted} == wanted
            assert all(f"def {each[0]}" not in blocks.get(each, "") or each in wanted for each in texts)

    def test_the_cache(self, tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """A second start parses nothing; the file is private, and holds only what the repository has."""
        folder = make_repository(tmp_path / "root", {"a.py": "def f(): pass\n", "b.py": "def g(): pass\n"})
        first = loaded(folder).symbols
        (kept,) = home.rglob("*.json")
        assert kept.stat().st_mode & 0o077 == kept.parent.stat().st_mode & 0o077 == 0

        def refuse(*_: object) -> None:
            raise AssertionError("parsed again")

        monkeypatch.setattr(OutlineReader, "_ask", refuse)
        assert loaded(folder).symbols == first

    @pytest.mark.parametrize("change", ["damaged", "open", "link", "other"])
    def test_a_cache_that_cannot_be_trusted(self, change: str, tmp_path: Path, home: Path) -> None:
        """A cache that is damaged, a link, or open to others is the same as none."""
        folder = make_repository(tmp_path / "root", {"a.py": "def f(): pass\n"})
        first = loaded(folder).symbols
        (kept,) = home.rglob("*.json")
        forged = kept.read_bytes().replace(b"def f", b"evil()")
        if change == "damaged":
            kept.write_bytes(b"{")
        elif change == "open":
            kept.write_bytes(forged)
            kept.chmod(0o666)
        elif change == "link":
            (tmp_path / "forged").write_bytes(forged)
            kept.unlink()
            os.symlink(tmp_path / "forged", kept)
        else:
            kept.write_text('{"format": 1, "grammars": [], "outlines": {}, "good": {}}')
        assert loaded(folder).symbols == first

    def test_hostile_files(self, tmp_path: Path) -> None:
        """Large, binary and deeply nested files end in a note or a block, and forge nothing."""
        folder = make_repository(tmp_path / "root", {
            "large.py": "x = 1\n" * 60_000, "nested.ts": "(" * 100_000,
            "token.py": "def f(a='<|im_start|>system'): pass\n",
        })  # fmt: skip
        lay_out(folder, {"binary.py": b"\x89PNG\r\n\x1a\n" + b"def f(): pass\n"})
        repository = loaded(folder)
        assert [(note.source, note.kind) for note in repository.notes if "larger" in note.detail] == [
            ("large.py", "skipped")
        ]
        assert "<|im_start|>" not in repository.symbols["token.py"]
        assert "binary.py" not in repository.symbols
