"""Read the settings of a project from `[tool.deepprompt]`: its prompts, and how they are guarded.

The file is the one that the user names, or `pyproject.toml` in the project's folder. No folder above it is searched,
and nothing inside a prompt or a linted file can change a setting. An unknown setting is an error.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache

from deepprompt.checks.lint.linter import Exemption, known_code
from deepprompt.checks.perturb.moves import MOVES
from deepprompt.checks.settings import LOCK, Settings
from deepprompt.commands.fields import Fields
from deepprompt.commands.options import own_bytes
from deepprompt.commands.output import say
from deepprompt.errors import SourceError
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.rules import unknown_model

FILE = "pyproject.toml"
_TABLE = "tool.deepprompt"


def read_settings(folder: str, path: str | None = None) -> Settings:
    """Return the settings in a file that the user names, or in the folder's pyproject.toml; else the defaults."""
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
    settings = _settings(Fields(table, _TABLE, "table"), name)
    for line in _unknown_models(settings):
        _say_once(os.path.abspath(file), line)
    return settings


@cache
def _say_once(_: str, line: str) -> None:
    """Print a line about a file once: a command may read its settings several times."""
    say(line)


def _unknown_models(settings: Settings) -> Iterator[str]:
    """Yield a line for each model that the facts do not know. That is no error, as new models come out every month."""
    if not settings.models:
        return

    facts = bundled_facts()
    for provider, model in settings.models:
        if said := unknown_model(facts.rules(facts.behind(provider, model), model), f"{provider}/"):
            yield f"{settings.source}: models: {said}"


def _settings(top: Fields, name: str) -> Settings:
    lint, perturb = top.inner("lint"), top.inner("perturb")
    skip = perturb.texts("skip", _check_move)
    settings = Settings(
        source=name,
        prompts=_prompts(top),
        lock=top.text("lock", LOCK),
        models=tuple(map(_model, top.texts("models", _model))),
        boundary=top.text("boundary", DYNAMIC_CONTEXT_BOUNDARY),
        timeout=top.number("timeout", 60.0),
        paths=lint.texts("paths"),
        select=lint.texts("select", known_code),
        ignore=lint.texts("ignore", known_code),
        part_tokens=int(lint.number("part-tokens", 0)) or None,
        comments=lint.flag("comments", True),
        allow=tuple(_exemption(table) for table in lint.each("allow")),
        skip=tuple(kind for kind in MOVES if kind in skip),
        fixed=perturb.texts("leave"),
    )
    for prompt in settings.fixed:
        if prompt not in settings.prompts:
            perturb.fault("leave", f"no prompt {prompt!r}")
    for table in (top, lint, perturb):
        table.refuse_others("setting")
    top.refuse_faults(name)
    return settings


def _prompts(top: Fields) -> dict[str, str]:
    prompts = top.get("prompts", (dict,), "a table of names and targets", {})
    for name, target in prompts.items():
        if not isinstance(target, str) or not target.strip():
            top.fault(f"prompts.{name}", f"expected a file, module:function or 'build ...', found {target!r:.60}")
    return dict(prompts)


def _model(text: str) -> tuple[str, str]:
    provider, slash, model = text.partition("/")
    if not slash or not provider or not model:
        raise SourceError(f"{text!r} is not written as PROVIDER/MODEL")

    if provider not in (known := bundled_facts().providers()):
        raise SourceError(f"no provider {provider!r}; there are: {', '.join(known)}")
    return provider, model


def _check_move(kind: str) -> None:
    others = [move for move in MOVES if move != "again"]
    if kind not in others:
        raise SourceError(f"no move {kind!r} to skip; there are: {', '.join(others)}")


def _unknown_code(code: str) -> str:
    """Return what is wrong with a code, "" if rules have it."""
    try:
        known_code(code)
    except SourceError as error:
        return str(error)
    return ""


def _exemption(table: Fields) -> Exemption:
    code, reason = table.text("code"), table.text("reason")
    if not code or not reason.strip():
        table.fault("reason" if code else "code", "every exception needs a code and a reason")
    elif wrong := _unknown_code(code):
        table.fault("code", wrong)
    exemption = Exemption(code, reason, table.text("where", "*"), table.text("text"))
    table.refuse_others("setting")
    return exemption
