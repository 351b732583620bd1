"""What a project says of itself in `[tool.deepprompt]`: its prompts, and how they are guarded.

The file is the one that the user names, or `pyproject.toml` in the folder that the command is run for; no folder above
it and nothing inside a prompt or a linted file is looked at. Whatever is not known there is an error, not ignored.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from deepprompt.checks.lint.linter import Exemption, known_code
from deepprompt.checks.perturb.moves import MOVES
from deepprompt.checks.places import BOUNDARY
from deepprompt.checks.settings import LOCK, Settings
from deepprompt.commands.options import own_bytes
from deepprompt.commands.output import say
from deepprompt.errors import SourceError
from deepprompt.text.suggest import did_you_mean

FILE = "pyproject.toml"
_TABLE = "tool.deepprompt"

_said: set[tuple[str, str]] = set()
"""The files of which something was said, with what: a command may read its settings more than once."""


def read_settings(folder: str, path: str | None = None) -> Settings:
    """Return the settings in a file that the user names, or in the folder's own; the silent ones where it has none."""
    name = path or FILE
    file = os.path.join(folder, name)
    if path is None and not os.path.exists(file):
        return Settings()
    try:
        data = tomllib.loads(own_bytes(file, name).decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise SourceError(f"{name}: not TOML: {error}") from None
    table = data.get("tool", {})
    table = table.get("deepprompt") if isinstance(table, Mapping) else None
    if table is None:
        if path is not None:
            raise SourceError(f"{name}: has no table [{_TABLE}]")
        return Settings()
    settings = _settings(_Table(table, _TABLE, name), name)
    for line in _unknown_models(settings):
        if (said := (os.path.abspath(file), line)) not in _said:
            _said.add(said)
            say(line)
    return settings


def _unknown_models(settings: Settings) -> Iterator[str]:
    """Yield what there is to say of models that the facts do not know: no error, as new ones come every month."""
    if not settings.models:
        return
    from deepprompt.providers.facts import bundled_facts
    from deepprompt.providers.rules import unknown_model

    facts = bundled_facts()
    for provider, model in settings.models:
        if said := unknown_model(facts.rules(facts.behind(provider, model), model), f"{provider}/"):
            yield f"{settings.source}: models: {said}"


def _settings(top: _Table, name: str) -> Settings:
    lint, perturb = top.table("lint"), top.table("perturb")
    skip = perturb.texts("skip", _move)
    settings = Settings(
        source=name,
        prompts=top.texts_by_name("prompts"),
        lock=top.text("lock", LOCK),
        models=tuple(_model(text, top) for text in top.texts("models")),
        boundary=top.text("boundary", BOUNDARY),
        timeout=top.number("timeout", 60.0),
        paths=lint.texts("paths"),
        select=lint.texts("select", known_code),
        ignore=lint.texts("ignore", known_code),
        part_tokens=int(lint.number("part-tokens", 0)) or None,
        comments=lint.flag("comments", True),
        allow=tuple(_exemption(table) for table in lint.tables("allow")),
        skip=tuple(kind for kind in MOVES if kind in skip),
        fixed=perturb.texts("leave"),
    )
    unknown = [prompt for prompt in settings.fixed if prompt not in settings.prompts]
    if unknown:
        raise SourceError(f"{name}: [{_TABLE}.perturb] leave: no prompt {unknown[0]!r}")
    for table in (top, lint, perturb):
        table.refuse_others()
    return settings


def _model(text: str, table: _Table) -> tuple[str, str]:
    provider, slash, model = text.partition("/")
    if not slash or not provider or not model:
        raise table.wrong("models", f"{text!r} is not written as PROVIDER/MODEL")
    from deepprompt.providers.facts import bundled_facts

    if provider not in (known := bundled_facts().providers()):
        raise table.wrong("models", f"no provider {provider!r}; there are: {', '.join(known)}")
    return provider, model


def _move(kind: str) -> str:
    others = [move for move in MOVES if move != "again"]
    if kind not in others:
        raise SourceError(f"no move {kind!r} to skip; there are: {', '.join(others)}")
    return kind


def _exemption(table: _Table) -> Exemption:
    code, reason = table.text("code", ""), table.text("reason", "")
    if not code or not reason.strip():
        raise table.wrong("code" if not code else "reason", "every exception needs a code and a reason")
    exemption = Exemption(known_code(code), reason, table.text("where", "*"), table.text("text", ""))
    table.refuse_others()
    return exemption


class _Table:
    """A table of the file, which knows what was asked of it."""

    def __init__(self, values: object, place: str, file: str) -> None:
        self.place, self.file = place, file
        if not isinstance(values, Mapping):
            raise SourceError(f"{file}: {place} is a table, not {type(values).__name__}")
        self.values = values
        self.known: list[str] = []

    def wrong(self, key: str, what: str) -> SourceError:
        return SourceError(f"{self.file}: [{self.place}] {key}: {what}")

    def _get(self, key: str, kind: type | tuple[type, ...], said: str, default: Any) -> Any:
        self.known.append(key)
        value = self.values.get(key, default)
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise self.wrong(key, f"expected {said}, found {value!r:.60}")
        return value

    def text(self, key: str, default: str) -> str:
        value: str = self._get(key, str, "a text", default)
        return value

    def number(self, key: str, default: float) -> float:
        value = float(self._get(key, (int, float), "a number", default))
        if not 0 <= value < float("inf") or (key in self.values and value == 0):
            raise self.wrong(key, f"expected a number above 0, found {value:g}")
        return value

    def flag(self, key: str, default: bool) -> bool:
        value: bool = self._get(key, bool, "true or false", default)
        return value

    def texts(self, key: str, check: Callable[[str], str] = str) -> tuple[str, ...]:
        values = self._get(key, list, "a list of texts", [])
        try:
            return tuple(check(value) if isinstance(value, str) else self._refuse(key, value) for value in values)
        except SourceError as error:
            raise error if str(error).startswith(self.file) else self.wrong(key, str(error)) from None

    def _refuse(self, key: str, value: object) -> str:
        raise self.wrong(key, f"expected a list of texts, found {value!r:.60} in it")

    def texts_by_name(self, key: str) -> dict[str, str]:
        values = self._get(key, dict, "a table of names and targets", {})
        for name, value in values.items():
            if not isinstance(value, str) or not value.strip():
                raise self.wrong(
                    f"{key}.{name}", f"expected a file, module:function or 'build ...', found {value!r:.60}"
                )
        return dict(values)

    def table(self, key: str) -> _Table:
        self.known.append(key)
        return _Table(self.values.get(key, {}), f"{self.place}.{key}", self.file)

    def tables(self, key: str) -> list[_Table]:
        values = self._get(key, list, "a list of tables", [])
        return [_Table(value, f"{self.place}.{key}", self.file) for value in values]

    def refuse_others(self) -> None:
        for key in self.values:
            if key not in self.known:
                raise self.wrong(key, f"no such setting; {did_you_mean(key, self.known)}")
