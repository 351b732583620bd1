"""Fields of a table or an object in a file of the user's, read by type. Everything wrong with a file is one error."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from deepprompt.errors import SourceError
from deepprompt.text.suggest import did_you_mean

_MOST_SHOWN = 60


class Fields:
    """A table or object. Asking for a field with the wrong type notes the fault and returns the default.

    Ask for every field that may be there, then call `refuse_others`; `refuse_faults` raises what was noted.
    """

    def __init__(self, values: object, place: str, kind: str = "object", faults: list[str] | None = None) -> None:
        self.place, self.kind = place, kind
        self.faults: list[str] = [] if faults is None else faults
        self.known: list[str] = []
        self.values: Mapping[str, Any] = values if isinstance(values, Mapping) else {}
        if not isinstance(values, Mapping):
            self.faults.append(f"{place or 'the whole file'}: expected {_article(kind)}, found {_shown(values)}")

    def fault(self, key: str, what: str) -> None:
        """Note what is wrong with a field."""
        self.faults.append(f"{self.place}.{key}: {what}" if self.place else f"{key}: {what}")

    def get(self, key: str, kinds: tuple[type, ...], expected: str, default: Any) -> Any:
        """Return a field of one of some types. True and false are no numbers."""
        self.known.append(key)
        value = self.values.get(key, default)
        if key not in self.values or (isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)):
            return value
        self.fault(key, f"expected {expected}, found {_shown(value)}")
        return default

    def text(self, key: str, default: str = "") -> str:
        """Return a text."""
        value: str = self.get(key, (str,), "text", default)
        return value

    def flag(self, key: str, default: bool = False) -> bool:
        """Return a truth value."""
        value: bool = self.get(key, (bool,), "true or false", default)
        return value

    def number(self, key: str, default: float) -> float:
        """Return a number above 0."""
        value = float(self.get(key, (int, float), "a number", default))
        if key in self.values and not 0 < value < float("inf"):
            self.fault(key, f"expected a number above 0, found {value:g}")
            return default
        return value

    def texts(self, key: str, check: Callable[[str], object] | None = None) -> tuple[str, ...]:
        """Return a list of texts. `check` raises a `SourceError` for a text that may not be in it."""
        texts = []
        for value in self.get(key, (list,), "a list of texts", []):
            if not isinstance(value, str):
                self.fault(key, f"expected a list of texts, found {_shown(value)} in it")
                continue
            try:
                if check is not None:
                    check(value)
                texts.append(value)
            except SourceError as error:
                self.fault(key, str(error))
        return tuple(texts)

    def inner(self, key: str) -> Fields:
        """Return the table or object in a field, an empty one if there is none."""
        self.known.append(key)
        place = f"{self.place}.{key}" if self.place else key
        return Fields(self.values.get(key, {}), place, self.kind, self.faults)

    def each(self, key: str) -> list[Fields]:
        """Return the tables or objects of a list."""
        values = self.get(key, (list,), f"a list of {self.kind}s", [])
        place = f"{self.place}.{key}" if self.place else key
        return [Fields(value, f"{place}[{number}]", self.kind, self.faults) for number, value in enumerate(values)]

    def require(self, *keys: str) -> None:
        """Note the fields that are not there but have to be."""
        for key in keys:
            if key not in self.values:
                self.fault(key, "is missing")

    def refuse_others(self, what: str) -> None:
        """Note the fields that nobody asked for: a misspelt one would be ignored otherwise."""
        for key in self.values:
            if key not in self.known:
                self.fault(key, f"no such {what}; {did_you_mean(key, self.known)}")

    def refuse_faults(self, file: str) -> None:
        """Raise one error with every fault that was noted, if there are any."""
        if self.faults:
            raise SourceError("; ".join(f"{file}: {fault}" for fault in self.faults))


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _shown(value: object) -> str:
    """Return a value as JSON and TOML write it."""
    try:
        shown = json.dumps(value, ensure_ascii=False, default=str)
    except RecursionError:
        shown = f"a {type(value).__name__}"
    return shown if len(shown) <= _MOST_SHOWN else f"{shown[:_MOST_SHOWN]}…"
