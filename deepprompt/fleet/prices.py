"""What tokens cost in money: the dated table `assets/prices/<date>/prices.json`, or one of your own.

Prices of input and output are a million tokens'. What a cache read or write costs is a multiple of the input price, and
stands in the facts about providers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from deepprompt.catalog import bundled
from deepprompt.errors import AssetError
from deepprompt.providers.rules import is_named
from deepprompt.sources.files import read_named

_FAMILY = "prices"
_LIMIT = 1 << 24


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The prices of one model for a million tokens; None for one that the table does not have."""

    input: float
    output: float | None = None


class Prices:
    """The prices of one date. Raises `AssetError` for data of another form."""

    def __init__(self, data: Mapping[str, Any], label: str) -> None:
        models = data.get("models") if isinstance(data, Mapping) else None
        if not isinstance(models, list) or not isinstance(data.get("as_of"), str):
            raise AssetError(f'{label}: expected {{"as_of": DATE, "currency": ..., "models": [...]}}')
        for number, row in enumerate(models):
            fault = _fault(row)
            if fault:
                raise AssetError(f"{label}: models[{number}]: {fault}")
        self.as_of: str = data["as_of"]
        self.currency = str(data.get("currency") or "USD")
        self.sign = "$" if self.currency == "USD" else f"{self.currency} "
        self._models: list[Mapping[str, Any]] = models

    def of(self, model: str) -> ModelPrice | None:
        """Return the prices of a model, None if the table does not know it."""
        row = next((row for row in self._models if is_named(row, model)), None)
        return None if row is None else ModelPrice(float(row["input"]), row.get("output"))


def _fault(row: object) -> str:
    if not isinstance(row, Mapping):
        return "expected an object"
    names, given = row.get("names"), [row.get("input"), row.get("output", 0)]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return "names is a list of model names"
    if not all(isinstance(price, int | float) and not isinstance(price, bool) and price >= 0 for price in given):
        return "input and output are prices for a million tokens"
    return ""


@lru_cache(maxsize=1)
def bundled_prices() -> Prices:
    """Return the newest bundled table."""
    catalog = bundled()
    version = catalog.versions(_FAMILY)[-1]
    return Prices(json.loads(catalog.file(_FAMILY, version, "prices.json")), f"prices of {version}")


def load_prices(path: str) -> Prices:
    """Return the table in a file of your own."""
    try:
        data = json.loads(read_named(path, _LIMIT))
    except (ValueError, RecursionError) as error:
        raise AssetError(f"{path}: not JSON: {error}") from None
    return Prices(data, path)
