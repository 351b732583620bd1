"""What a caller can give to compose a preset: `Given` has the arguments, `Inputs` their values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from typing import TypedDict, TypeVar, Unpack

    from deepprompt.prompt import Part
    from deepprompt.systems.preset import McpServer, SlashCommand

    _T = TypeVar("_T")

    class Given(TypedDict, total=False):
        """What a caller can give to compose a preset. `Preset.compose` says what each is."""

        tools: Iterable[str | Mapping[str, object]]
        flags: Iterable[str]
        variables: Mapping[str, str] | None
        lists: Mapping[str, Iterable[Mapping[str, object]]] | None
        mcp: Iterable[McpServer]
        commands: Iterable[SlashCommand]
        output_style: str
        base: str | Iterable[Part]
        append: str | Iterable[Part]
        custom: str | Iterable[Part]
        model: str
        budget: int | None
        provides: Iterable[str] | None


class Inputs:
    """What a caller gave to compose a preset, in a form that can be compared with what was given before."""

    __slots__ = (
        "append", "base", "budget", "commands", "custom", "flags", "lists", "mcp", "model", "output_style", "provides",
        "tools", "variables",
    )  # fmt: skip

    def __init__(self, **given: Unpack[Given]) -> None:
        if not given.keys() <= _NAMES or isinstance(given.get("flags"), Mapping):
            _refuse(given)
        self.tools = _each(given.get("tools", ()))
        self.flags = _each(given.get("flags", ()))
        self.variables = given.get("variables") or {}
        self.lists = {name: tuple(items) for name, items in (given.get("lists") or {}).items()}
        self.mcp = tuple(given.get("mcp", ()))
        self.commands = tuple(given.get("commands", ()))
        self.output_style = given.get("output_style", "")
        self.base = _own(given.get("base", ""))
        self.append = _own(given.get("append", ""))
        self.custom = _own(given.get("custom", ""))
        self.model = given.get("model", "")
        self.budget = given.get("budget")
        provides = given.get("provides")
        self.provides = None if provides is None else _each(provides)

    @property
    def own_tools(self) -> list[Mapping[str, object]]:
        """The caller's own definitions of tools."""
        return [tool for tool in self.tools if not isinstance(tool, str)]

    def key(self) -> tuple[object, ...]:
        """Return everything that a prefix depends on, apart from definitions of tools."""
        lists: object = self.lists
        if lists:
            lists = tuple((name, tuple(tuple(item.items()) for item in items)) for name, items in self.lists.items())
        return (
            tuple([tool if isinstance(tool, str) else id(tool) for tool in self.tools]), self.flags,
            tuple(self.variables.items()), lists or (), self.mcp, self.commands, self.output_style, self.base,
            self.append, self.model, self.provides,
        )  # fmt: skip


_NAMES = frozenset(Inputs.__slots__)


def _each(given: str | Iterable[_T]) -> tuple[str | _T, ...]:
    """Return the values, also where the caller gave one name instead of a list of names."""
    return (given,) if isinstance(given, str) else tuple(given)


def _own(given: str | Iterable[Part]) -> str | tuple[Part, ...]:
    return given if isinstance(given, str) else tuple(given)


def _refuse(given: Mapping[str, object]) -> None:
    """Raise for an argument that `compose` does not have, or for flags with values."""
    from deepprompt.arguments import wrong
    from deepprompt.text.suggest import did_you_mean

    for name in given.keys() - _NAMES:
        raise TypeError(f"Preset.compose: no argument {name!r:.60}; {did_you_mean(name, sorted(_NAMES))}")
    raise wrong("Preset.compose: flags", "the names of those that are on, such as ['dry_run']", given["flags"])
