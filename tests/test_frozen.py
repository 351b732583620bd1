"""Values of `deepprompt.frozen` behave as those that `dataclasses` makes, which is not imported for them."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys
import typing
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from deepprompt import GitSnapshot, InstructionFile, Note, Pace, Part, ProjectContext, Prompt, Surroundings, frozen
from deepprompt.sources.git.repository import Repository
from deepprompt.sources.skills import Skill

VALUES = (Part, Note, Prompt, ProjectContext, GitSnapshot, InstructionFile, Surroundings, Repository, Skill)
GIVEN: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    (("a",), {}),
    (("a", 3, ["x"], 4), {}),
    ((), {"first": "a", "aside": ("b",)}),
]
WRONG: list[tuple[tuple[Any, ...], dict[str, Any]]] = [((), {}), (("a",), {"x": 1}), (("a", 1, [], 2, ()), {})]


def made(dataclass: Any, field: Callable[..., Any], *, slots: bool) -> Any:
    """Make the same class with either module."""

    class Value:
        """A value."""

        first: str
        second: int = 2
        many: list[str] = field(default_factory=list)
        hidden: object = field(default=None, repr=False)
        aside: tuple[str, ...] = field(default=(), compare=False, kw_only=True)

        @property
        def both(self) -> str:
            return f"{self.first}{self.second}"

    return dataclass(frozen=True, slots=slots)(Value)


Pair = tuple[Any, Any]


@pytest.fixture(params=[True, False], ids=["slots", "no slots"])
def pair(request: pytest.FixtureRequest) -> Pair:
    """Return the class that we make, and the one that `dataclasses` makes."""
    return (
        made(frozen.dataclass, frozen.field, slots=request.param),
        made(dataclasses.dataclass, dataclasses.field, slots=request.param),
    )


def refused(work: Callable[..., object], *arguments: object, **named: object) -> str:
    """Return the error that a call ends with, as type and message."""
    with pytest.raises((TypeError, AttributeError)) as caught:
        work(*arguments, **named)
    return f"{type(caught.value).__name__}: {caught.value}"


class TestSameAsDataclasses:
    """Each behaviour, beside that of the standard library."""

    def test_construction(self, pair: Pair) -> None:
        """Arguments by place and by name, defaults and factories give the same fields."""
        for arguments, named in GIVEN:
            ours, theirs = (cls(*arguments, **named) for cls in pair)
            assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
            assert (repr(ours), ours.both) == (repr(theirs), theirs.both)

    def test_a_factory_makes_a_new_value_each_time(self, pair: Pair) -> None:
        """Two values do not share what a factory made."""
        assert pair[0]("a").many is not pair[0]("b").many

    def test_wrong_arguments(self, pair: Pair) -> None:
        """Missing, unknown and too many arguments raise the same error."""
        for arguments, named in WRONG:
            assert refused(pair[0], *arguments, **named) == refused(pair[1], *arguments, **named)

    def test_frozen(self, pair: Pair) -> None:
        """No field can be set or deleted, and no other attribute added."""
        ours, theirs = (cls("a") for cls in pair)
        assert refused(setattr, ours, "first", 1) == refused(setattr, theirs, "first", 1)
        assert refused(delattr, ours, "first") == refused(delattr, theirs, "first")
        assert refused(setattr, ours, "other", 1) == "FrozenInstanceError: cannot assign to field 'other'"
        assert refused(delattr, ours, "other") == "FrozenInstanceError: cannot delete field 'other'"

    def test_equality(self, pair: Pair) -> None:
        """Values are equal by their compared fields and their class, as hashes are."""
        for cls in pair:
            assert cls("a", hidden=1) == cls("a", hidden=1, aside=("x",))
            assert cls("a") != cls("b")
            assert cls("a") != "a"
            assert cls("a") != type("Other", (cls,), {})("a")
            assert hash(cls("a", many=())) == hash(cls("a", many=(), aside=("x",)))
            assert hash(cls("a", many=())) != hash(cls("b", many=()))
            with pytest.raises(TypeError, match="unhashable"):
                hash(cls("a"))

    def test_copies(self, pair: Pair) -> None:
        """`replace` of either module changes the fields that it is given, and keeps the others."""
        for cls in pair:
            value = cls("a", 3, aside=("x",))
            assert dataclasses.asdict(dataclasses.replace(value, first="b")) == {
                "first": "b", "second": 3, "many": [], "hidden": None, "aside": ("x",),
            }  # fmt: skip
        value = pair[0]("a", 3, aside=("x",))
        assert frozen.replace(value, first="b").aside == ("x",)
        assert refused(frozen.replace, value, third=1).startswith("TypeError")
        assert copy.copy(value) == copy.deepcopy(value) == value

    def test_signature(self, pair: Pair) -> None:
        """Signature, annotations, match arguments and documentation are the same."""
        ours, theirs = pair
        assert str(inspect.signature(ours)) == str(inspect.signature(theirs))
        assert ours.__annotations__ == theirs.__annotations__
        assert ours.__match_args__ == theirs.__match_args__
        assert (ours.__doc__, ours.__name__, ours.__qualname__) == (
            theirs.__doc__,
            theirs.__name__,
            theirs.__qualname__,
        )
        assert ours.__init__.__qualname__ == theirs.__init__.__qualname__
        assert hasattr(ours("a"), "__dict__") == hasattr(theirs("a"), "__dict__")

    def test_description(self, pair: Pair) -> None:
        """`fields` and `is_dataclass` see the same."""
        ours, theirs = pair
        seen = ("name", "type", "default", "default_factory", "init", "repr", "hash", "compare", "kw_only")
        assert dataclasses.is_dataclass(ours)
        assert [[getattr(one, name) for name in seen] for one in dataclasses.fields(ours)] == [
            [getattr(one, name) for name in seen] for one in dataclasses.fields(theirs)
        ]

    def test_a_dataclass_may_extend_one(self, pair: Pair) -> None:
        """A frozen dataclass of the standard library inherits the fields."""
        for cls in pair:
            extended = dataclasses.make_dataclass("Extended", [("more", int, 1)], bases=(cls,), frozen=True)
            assert repr(extended("a")).endswith("(first='a', second=2, many=[], aside=(), more=1)")
            assert refused(setattr, extended("a"), "first", "b").startswith("FrozenInstanceError")

    def test_a_plain_subclass_may_have_attributes(self, pair: Pair) -> None:
        """A subclass sets attributes of its own, and no field."""
        value = type("Sub", (pair[0],), {})("a")
        value.own = 1
        assert value.own == 1
        del value.own
        assert not hasattr(value, "own")
        assert refused(setattr, value, "first", "b").startswith("FrozenInstanceError")

    def test_a_value_that_contains_itself(self, pair: Pair) -> None:
        """`repr` ends."""
        first, second = (cls("a") for cls in pair)
        first.many.append(first)
        second.many.append(second)
        assert repr(first) == repr(second)


@pytest.mark.parametrize("cls", VALUES)
class TestOurValues:
    """The values that are made so."""

    def test_type_hints(self, cls: type) -> None:
        """The constructor's annotations are those of the class, resolved where the class was written."""
        names = {"NoteKind": str, "GitState": str, "GitSnapshot": GitSnapshot}
        hints = typing.get_type_hints(cls.__init__, localns=names)  # type: ignore[misc]
        assert hints.pop("return") is type(None)
        assert hints == typing.get_type_hints(cls, localns=names)

    def test_they_are_dataclasses(self, cls: type) -> None:
        """`dataclasses` lists the fields in the order of the class."""
        assert [field.name for field in dataclasses.fields(cls)] == list(cls.__annotations__)


@pytest.mark.parametrize(
    "value",
    [
        Part("a", "b", Pace.TURN, "c"),
        Note("cut", "a", "b", 3),
        Prompt((Part("a", "b", Pace.TURN, "c"),), notes=(Note("cut", "a", "b"),)),
        ProjectContext("/", git_status="M a", notes=(Note("cut", "a", "b"),)),
    ],
)
def test_pickle(value: object) -> None:
    """A value survives every protocol, notes included."""
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        back = pickle.loads(pickle.dumps(value, protocol))
        assert back == value
        assert getattr(back, "notes", ()) == getattr(value, "notes", ())


def test_a_method_of_the_class_stays() -> None:
    """A class that compares its values in a way of its own keeps it."""
    own: Any = type("Own", (), {"__annotations__": {"a": "int"}, "__module__": __name__, "__hash__": lambda _: 7})
    assert hash(frozen.dataclass(frozen=True)(own)(1)) == 7


def test_only_frozen_values() -> None:
    """What is not known here is an error when the class is made."""
    with pytest.raises(TypeError, match="makes frozen values"):
        frozen.dataclass(slots=True)(type("A", (), {"__annotations__": {"a": "int"}}))
    with pytest.raises(TypeError, match="B has a base class, and fields are not inherited here"):
        frozen.dataclass(frozen=True)(type("B", (Part,), {"__annotations__": {"a": "int"}}))


@pytest.mark.parametrize("code", ["import deepprompt as d; d.SystemPromptBuilder().build()", "build"])
def test_dataclasses_is_not_imported(tmp_path: Path, code: str) -> None:
    """A first prompt and `deepprompt build`, with git, start without it."""
    if code == "build":
        code = "import sys; from deepprompt.cli import main; sys.argv[1:] = ['build', '--quiet']; main()"
    after = "print('dataclasses' in {*sys.modules} - before, file=sys.stderr)"  # coverage imports it before us
    script = f"import sys, io\nbefore = {{*sys.modules}}\n{code}\n{after}"
    ran = subprocess.run([sys.executable, "-I", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert ran.stderr.strip() == "False", ran.stderr
