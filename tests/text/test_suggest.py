"""Suggestions for names that do not exist."""

from __future__ import annotations

from typing import ClassVar

import pytest

from deepprompt.text.suggest import did_you_mean, nearest


class TestDidYouMean:
    """What somebody may have meant."""

    MANY: ClassVar[list[str]] = [
        "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "tools/Glob", "glob", "agents/glob_all", "theta",
    ]  # fmt: skip

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("alpah", "alpha"),
            ("ALPHA", "alpha"),
            ("glob", "tools/Glob, glob or agents/glob_all"),
            ("tools/glbo", "tools/Glob or glob"),
            ("beta", "beta, zeta, delta or theta"),
        ],
    )
    def test_near(self, name: str, meant: str) -> None:
        """The nearest names come nearest first, compared by their last component whatever its case."""
        assert did_you_mean(name, self.MANY) == f"did you mean {meant}?"

    @pytest.mark.parametrize("name", ["", "xxxxxxxx", "tools/"])
    def test_none_is_near(self, name: str) -> None:
        """Where none is near, all are listed."""
        assert did_you_mean(name, self.MANY) == f"there are: {', '.join(self.MANY)}"

    def test_none_of_very_many_is_near(self) -> None:
        """Where none of very many is near, the first are listed, and how many more there are."""
        names = [f"name{number}" for number in range(21)]
        assert did_you_mean("x", names) == f"there are: {', '.join(names[:8])}, and 13 more"

    def test_few(self) -> None:
        """Where there are few, all are listed, in their order, under the heading that was asked for."""
        assert did_you_mean("alpha", self.MANY[:8]) == f"there are: {', '.join(self.MANY[:8])}"
        assert did_you_mean("alpha", [], "known") == "known: none"

    def test_at_most_five(self) -> None:
        """Of many near names the five nearest are named."""
        said = did_you_mean("name7", [f"name{number}" for number in range(20)])
        assert said.startswith("did you mean name7, ")
        assert len(said.replace(" or ", ", ").split(", ")) == 5


class TestNearest:
    """The names that resemble one."""

    @pytest.mark.parametrize(
        ("name", "found"),
        [("--jsno", ["--json"]), ("--JSON", ["--json"]), ("--xyz", []), ("", [])],
    )
    def test_names(self, name: str, found: list[str]) -> None:
        """Only names that have much in common are returned, whatever their case."""
        assert nearest(name, ["--json", "--out", "--help"]) == found

    def test_likeness(self) -> None:
        """A caller who must not guess wrongly asks for more likeness."""
        assert nearest("gpt-4", ["gpt-5"]) == ["gpt-5"]
        assert nearest("gpt-4", ["gpt-5"], 0.85) == []
