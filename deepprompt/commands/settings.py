"""Read the settings of a project from `[tool.deepprompt]`: its prompts, and how they are guarded.

The file is the one that the user names, or `pyproject.toml` in the project's folder. No folder above it is searched,
and nothing inside a prompt or a linted file can change a setting. An unknown setting is an error.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Mapping
from functools import cache

from deepprompt.checks.lint.linter import Exemption, known_code
from deepprompt.checks.perturb.moves import MOVES
from deepprompt.checks.settings import LOCK, NOT_PLAIN, Settings, is_plain_name
from deepprompt.commands.options import given, own_bytes
from deepprompt.commands.output import say
from deepprompt.errors import FileRefusedError, SourceError
from deepprompt.prompt import DYNAMIC_CONTEXT_BOUNDARY
from deepprompt.providers.facts import bundled_facts
from deepprompt.providers.rules import unknown_model
from deepprompt.sources.files import read_below
from deepprompt.text.display import display
from deepprompt.text.fields import Fields
from deepprompt.text.parse import MOST_TOML, parse_toml
from deepprompt.text.suggest import did_you_mean

FILE = "pyproject.toml"
_TABLE = "tool.deepprompt"


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where settings come from."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--config", metavar="FILE", type=given, help="read [tool.deepprompt] from this file")
    group.add_argument("--isolated", action="store_true", help="ignore the project's settings")


def settings_of(folder: str, options: argparse.Namespace) -> Settings:
    """Return the settings that the options ask for."""
    return Settings() if options.isolated else read_settings(folder, options.config)


def read_settings(folder: str, path: str | None = None) -> Settings:
    """Return the settings in a file that the user names, or in the folder's pyproject.toml; else the defaults."""
    name = path or FILE
    file = os.path.join(folder, name)
    data = parse_toml(own_bytes(file, name) if path else _found(folder), name)
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


def configured_prompt(name: str, settings: Settings, options: argparse.Namespace) -> str:
    """Return the target of a prompt that the settings name."""
    if name not in settings.prompts:
        what = did_you_mean(name, list(settings.prompts))
        options.usage_error(f"no prompt {name!r:.60} in [{_TABLE}.prompts]; {what}")
    return settings.prompts[name]


def _found(folder: str) -> bytes:
    """Return the bytes of the project's file, none where it has no such file."""
    try:
        return read_below(folder, FILE, MOST_TOML, lambda _: None, whole=True).data
    except FileRefusedError as error:
        if error.kind == "missing":
            return b""
        raise SourceError(f"{FILE}: {error}; use --isolated to ignore it") from None


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
        lock=_inside(top, "lock", top.text("lock", LOCK)),
        models=tuple(map(_model, top.texts("models", _model))),
        boundary=top.text("boundary", DYNAMIC_CONTEXT_BOUNDARY),
        timeout=top.number("timeout", 60.0),
        paths=tuple(_inside(lint, "paths", path) for path in lint.texts("paths")),
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


def _inside(table: Fields, key: str, path: str) -> str:
    """Return a path that a project's settings name, which has to lie below the project's folder."""
    if os.path.isabs(path) or os.pardir in path.replace("\\", "/").split("/"):
        table.fault(key, f"{path!r:.60} leads out of the project; give a path below its folder")
    return path


def _prompts(top: Fields) -> dict[str, str]:
    prompts = top.get("prompts", (dict,), "a table of names and targets", {})
    for name, target in prompts.items():
        if not isinstance(target, str) or not target.strip():
            top.fault(f"prompts.{name}", f"expected a file, module:function or 'build ...', found {target!r:.60}")
        if not is_plain_name(name):
            top.fault(f"prompts.{display(name)!r:.60}", NOT_PLAIN)
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
