"""Frozen dataclasses without the import of `dataclasses`, for the values that every process needs.

`import dataclasses` takes twice as long as the start of Python, because it imports `inspect`, and it compiles seven
methods for each class. The `dataclass` here compiles the constructor, and equality and hash at their first use. It
knows what our values use: `frozen` and `slots`, defaults, and the options of `field` below; it inherits no fields. To a
type checker such a class is a dataclass. `dataclasses.replace`, `asdict`, `fields` and `is_dataclass` take it for one
too: `dataclasses` itself writes the description that they read, when one of them asks for it.
"""

from __future__ import annotations

import sys
from reprlib import recursive_repr

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
    from typing import ClassVar
else:

    def dataclass(*, frozen: bool = False, slots: bool = False) -> Callable[[type], type]:
        """Return the function that makes a frozen dataclass of a class with annotations."""
        if not frozen:
            raise TypeError("deepprompt.frozen makes frozen values; dataclasses.dataclass makes others")
        return lambda cls: _frozen(cls, _SlottedValue if slots else _Value)

    def field(**options: object) -> object:
        """Describe a field: `default` or `default_factory`, `compare`, `repr`, `kw_only`."""
        return _Options(options)

    def replace(value: object, /, **changes: object) -> object:
        """Return a copy of a value with other fields."""
        return type(value)(**{name: getattr(value, name) for name in type(value)._options} | changes)


class _Options(dict[str, object]):
    """The options of one field."""


class _Missing:
    """The default of a field that a factory makes."""

    def __repr__(self) -> str:
        return "<factory>"


class _Value:
    """The methods of a frozen dataclass."""

    __slots__ = ()
    if TYPE_CHECKING:  # an annotation here would be a field of every value to `typing.get_type_hints`
        _options: ClassVar[Mapping[str, _Options]]

    def __eq__(self, other: object) -> bool:
        _compile_comparison(type(self))  # which replaces this method
        return self == other

    def __hash__(self) -> int:
        _compile_comparison(type(self))
        return hash(self)

    @recursive_repr()
    def __repr__(self) -> str:
        shown = (name for name, of in self._options.items() if of.get("repr", True))
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def __setattr__(self, name: str, value: object) -> None:
        self._refuse(f"cannot assign to field {name!r}", name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse(f"cannot delete field {name!r}", name)
        object.__delattr__(self, name)

    def _refuse(self, reason: str, name: str) -> None:
        """Raise, unless a subclass has attributes of its own."""
        if name in self._options or "_options" in type(self).__dict__:
            from dataclasses import FrozenInstanceError

            raise FrozenInstanceError(reason)


class _SlottedValue(_Value):
    """A value without a `__dict__`: copied and pickled as a list of its fields, as `dataclasses` does it."""

    __slots__ = ()

    def __getstate__(self) -> list[object]:
        return [getattr(self, name) for name in self._options]

    def __setstate__(self, state: list[object]) -> None:
        for name, value in zip(self._options, state, strict=True):
            object.__setattr__(self, name, value)


class _Described:
    """What `dataclasses` wants to know of a class, made when it is first read."""

    def __init__(self, cls: type[_Value], name: str) -> None:
        self.cls, self.name = cls, name

    def __get__(self, value: object, cls: type) -> object:
        import dataclasses
        from typing import Any

        of: Mapping[str, Mapping[str, Any]] = self.cls._options
        fields = [(name, kind, dataclasses.field(**of[name])) for name, kind in self.cls.__annotations__.items()]
        described: object = getattr(dataclasses.make_dataclass(self.cls.__name__, fields, frozen=True), self.name)
        setattr(self.cls, self.name, described)
        return described


def _frozen(cls: type, base: type[_Value]) -> type:
    """Return a copy of the class with the fields, the constructor and the methods of a frozen dataclass."""
    if cls.__bases__ != (object,):
        raise TypeError(f"{cls.__name__} has a base class, and fields are not inherited here")
    namespace = {name: value for name, value in cls.__dict__.items() if name not in ("__dict__", "__weakref__")}
    namespace["__qualname__"] = cls.__qualname__
    options = {name: _options(namespace.pop(name, _Options())) for name in cls.__annotations__}
    if base is _SlottedValue:
        namespace["__slots__"] = tuple(options)
    else:
        namespace |= {name: of["default"] for name, of in options.items() if "default" in of}
    made: type[_Value] = type(cls.__name__, (base,), namespace)
    made._options = options
    described = {name: _Described(made, name) for name in ("__dataclass_fields__", "__dataclass_params__")}
    ordered = tuple(name for name, of in options.items() if not of.get("kw_only"))
    for name, value in {"__init__": _constructor(made, options), "__match_args__": ordered, **described}.items():
        setattr(made, name, value)
    return made


def _options(value: object) -> _Options:
    """Return the options of a field that has this value in its class."""
    return value if isinstance(value, _Options) else _Options(default=value)


def _constructor(cls: type[_Value], options: Mapping[str, _Options]) -> Callable[..., None]:
    """Compile `__init__`, with the signature and the annotations that a dataclass has."""
    given: dict[str, object] = {"set_field": object.__setattr__, "missing": _Missing()}
    plain, keywords, lines = ["self"], list[str](), list[str]()
    for name, of in options.items():
        parameter, value = name, name
        if "default" in of:
            given[f"default_{name}"] = of["default"]
            parameter = f"{name}=default_{name}"
        elif "default_factory" in of:
            given[f"make_{name}"] = of["default_factory"]
            parameter, value = f"{name}=missing", f"make_{name}() if {name} is missing else {name}"
        (keywords if of.get("kw_only") else plain).append(parameter)
        lines.append(f"  set_field(self, {name!r}, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("  self.__post_init__()")
    head = ", ".join([*plain, "*", *keywords] if keywords else plain)
    source = "\n".join([f"def make({', '.join(given)}):", f" def __init__({head}):", *lines, " return __init__"])
    names: dict[str, Callable[..., Callable[..., None]]] = {}
    exec(source, sys.modules[cls.__module__].__dict__, names)
    made = names["make"](**given)
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    made.__annotations__ = {**cls.__annotations__, "return": None}
    return made


def _compile_comparison(cls: type[_Value]) -> None:
    """Give the class, or the base that has its fields, methods that compare as fast as those of a dataclass."""
    owner = next(base for base in cls.__mro__ if "_options" in base.__dict__)
    compared = [name for name, of in cls._options.items() if of.get("compare", True)]
    own, others = ("".join(f"{side}.{name}, " for name in compared) for side in ("self", "other"))
    source = f"""
def __eq__(self, other):
 return ({own}) == ({others}) if other.__class__ is self.__class__ else NotImplemented
def __hash__(self):
 return hash(({own}))
"""
    methods: dict[str, object] = {}
    exec(source, methods)
    for name in {"__eq__", "__hash__"} - owner.__dict__.keys():
        setattr(owner, name, methods[name])
