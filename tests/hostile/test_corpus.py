"""The corpus: which cases there are, and that each has its test, named by its id."""

from __future__ import annotations

from tests.support.hostile.corpus import named

# The ids of each letter: files, encodings, invisible text, boundary and tags, includes, regular expressions, logs, the
# page, commands in a hostile project and supply chain. Those of git and processes are counted beside their tests.
CORPUS = {
    "F": "01 02 03 04 06 07 08 09 10 11 12 14 15 16 17 18 19 20 21 22 23 24 26 27 28 29 30 31 32",
    "E": "01 02 03 05 06 07 09 10",
    "U": "01 02 03 04 05 06 08 10 11 12 13 14 15 16",
    "B": "01 02 03 05 06 07 08 09 10 12 13 14 16 17 18 19 20 21 22 23 24 26 27 28 29 30",
    "I": "01 02 03 04 05 06 08 09 11 12 13 14",
    "R": "01 02 03 04 05 06",
    "L": "01 02 03 04 05 06 07 09 10 11 12 13 14 15 16",
    "H": "01 02 03 05 06 07 08 10",
    "N": "01 02 03 04 05 06 07 08 09 10 11 12 13 14",
    "S": "01 02 03 04 05 06 07 08",
}
CASES = {f"{letter}{number}" for letter, numbers in CORPUS.items() for number in numbers.split()}


def test_every_case_has_its_test() -> None:
    """Each of the 140 cases has a test named after it, and every case that a test names exists."""
    assert len(CASES) == 140
    found = {case for case in named() if case[0] in CORPUS}
    assert found == CASES
