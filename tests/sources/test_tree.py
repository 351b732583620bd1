"""The list of files within a budget."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deepprompt.sources.tree import fold_tree
from deepprompt.tokens import estimate_tokens
from tests.support.examples import examples

PATHS = st.lists(
    st.lists(st.sampled_from(["a", "b", "long_name", "c.py"]), min_size=1, max_size=5).map("/f/".join), unique=True
)


def test_a_list_that_fits() -> None:
    """A list within the budget is shown as it is."""
    assert fold_tree(["a.py", "b/c.py"], 100) == ("a.py", "b/c.py")


def test_folders_that_do_not_fit() -> None:
    """A folder whose files do not fit is one line with their number; smaller ones are opened first."""
    paths = sorted([*(f"big/{number:03}.py" for number in range(200)), "small/a.py", "small/b.py", "top.py"])
    assert fold_tree(paths, 20) == ("big/ (200 files)", "small/a.py", "small/b.py", "top.py")


def test_not_even_the_top_fits() -> None:
    """What does not fit at the top is counted."""
    assert fold_tree([f"{number:03}.py" for number in range(50)], 5) == ("000.py", "001.py", "(48 more)")


@examples(100)
@given(paths=PATHS, budget=st.integers(1, 60))
def test_every_file_is_listed_or_counted(paths: list[str], budget: int) -> None:
    """The lines stay within the budget, apart from the last one, and stand for every file."""
    paths = sorted(paths)
    lines = fold_tree(paths, budget)
    named = [line for line in lines if not line.startswith("(")]
    assert estimate_tokens("\n".join(named)) <= budget
    folders = {
        line.partition(" (")[0]: int(line.partition(" (")[2].split()[0]) for line in named if line.endswith(" files)")
    }
    for folder, count in folders.items():
        assert count == sum(path.startswith(folder) for path in paths)
    if named == list(lines):
        files = [line for line in named if not line.endswith(" files)")]
        assert len(files) + sum(folders.values()) == len(paths)
