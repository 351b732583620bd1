"""The rivals: the same prompt by the template engines that are installed. One that is not is left out."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module, metadata
from typing import Any

NAMES = ("jinja2", "minijinja", "langchain-core", "banks")
MODULES = {"langchain-core": "langchain_core.prompts"}

Render = Callable[[dict[str, str]], str]


def versions() -> dict[str, str]:
    """Return the versions of those that are installed."""
    found = {}
    for name in NAMES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def renderers(fixed: str, names: list[str]) -> dict[str, Render]:
    """Return how each installed rival renders a prompt: the fixed text in a compiled template, then what is named."""
    found: dict[str, Render] = {}
    for name in versions():
        try:
            found[name] = _MAKERS[name](fixed, names)
        except Exception as error:  # a rival's new version may have moved anything
            print(f"{name} is left out: {type(error).__name__}: {error}", file=sys.stderr)
    return found


def import_of(name: str) -> str:
    """Return the statement that a program starts with to use a rival."""
    return f"import {MODULES.get(name, name)}"


def _jinja2(fixed: str, names: list[str]) -> Render:
    template = _module("jinja2").Template(_raw(fixed) + _braces(names), keep_trailing_newline=True)
    return lambda values: str(template.render(values))


def _minijinja(fixed: str, names: list[str]) -> Render:
    environment = _module("minijinja").Environment(
        templates={"prompt": _raw(fixed) + _braces(names)}, keep_trailing_newline=True
    )
    return lambda values: str(environment.render_template("prompt", **values))


def _langchain(fixed: str, names: list[str]) -> Render:
    text = fixed.replace("{", "{{").replace("}", "}}") + "".join(f"{{{name}}}" for name in names)
    template = _module("langchain_core.prompts").PromptTemplate.from_template(text)
    return lambda values: str(template.format(**values))


def _banks(fixed: str, names: list[str]) -> Render:
    prompt = _module("banks").Prompt(_raw(fixed) + _braces(names))
    return lambda values: str(prompt.text(values))


def _raw(text: str) -> str:
    return "{% raw %}" + text + "{% endraw %}"


def _braces(names: list[str]) -> str:
    return "".join(f"{{{{ {name} }}}}" for name in names)


def _module(name: str) -> Any:
    return import_module(name)


_MAKERS: dict[str, Callable[[str, list[str]], Render]] = {
    "jinja2": _jinja2,
    "minijinja": _minijinja,
    "langchain-core": _langchain,
    "banks": _banks,
}
