"""`deepprompt build --agent`: an agent's prompt of tagged sections, out of JSON files with the values' own fields."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
from collections.abc import Callable
from datetime import datetime
from typing import Any

from deepprompt.commands.options import working_folder
from deepprompt.errors import SourceError
from deepprompt.prompt import Note, Prompt
from deepprompt.systems.tagged import AgentConfig, Responsibility, Task, TaskStep, compose_tagged_prompt
from deepprompt.text.hygiene import from_system
from deepprompt.text.suggest import did_you_mean


def compose_agent(options: argparse.Namespace) -> Prompt:
    """Read the files and return the prompt."""
    notes: list[Note] = []
    prompt = compose_tagged_prompt(
        _agent(options.agent),
        options.channel or "",
        from_system(working_folder(options), "cwd", notes),
        [from_system(os.path.abspath(folder), "directory", notes) for folder in options.directory],
        now=_now(options.now),
        task=_task(options.task) if options.task else None,
        background=options.background,
        memories=_memories(options.memories) if options.memories else (),
    )
    return dataclasses.replace(prompt, notes=(*notes, *prompt.notes))


def _now(text: str | None) -> datetime:
    if text is None:
        return datetime.now().astimezone()
    try:
        now = datetime.fromisoformat(text)
    except ValueError:
        now = None
    if now is None or now.tzinfo is None:
        raise SourceError(f"--now {text}: expected a time with its zone, such as 2031-03-04T15:06:00+00:00")
    return now


def _agent(path: str) -> AgentConfig:
    texts = dict.fromkeys(("identity", "instructions", "role"), _text)
    known = {**texts, "responsibilities": _list_of(_responsibility), "storage": _flag}
    return AgentConfig(**_object(_read(path), path, "", known))


def _responsibility(value: object, path: str, place: str) -> Responsibility:
    return Responsibility(**_object(value, path, place, {"title": _text, "content": _text}, {"title", "content"}))


def _task(path: str) -> Task:
    known = {"id": _number, "title": _text, "description": _text, "status": _text, "steps": _list_of(_step)}
    return Task(**_object(_read(path), path, "", known, {"id", "title", "description", "status"}))


def _step(value: object, path: str, place: str) -> TaskStep:
    known = {"title": _text, "done": _flag, "task_id": lambda v, p, at: None if v is None else _number(v, p, at)}
    return TaskStep(**_object(value, path, place, known, {"title"}))


def _memories(path: str) -> tuple[str, ...]:
    return tuple(_list_of(_text)(_read(path), path, ""))


def _read(path: str) -> object:
    try:
        with open(path, "rb") as file:
            return json.loads(file.read().decode("utf-8-sig"))
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not UTF-8 at byte {error.start}") from None
    except json.JSONDecodeError as error:
        raise SourceError(f"{path}:{error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise SourceError(f"{path}: nested too deeply") from None


_TYPES = {str: "text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


def _wrong(path: str, place: str, expected: str, value: object) -> SourceError:
    found = "nothing" if value is None else _TYPES.get(type(value), type(value).__name__)
    return SourceError(f"{path}: {place or 'the whole file'}: expected {expected}, found {found}")


def _text(value: object, path: str, place: str) -> str:
    if not isinstance(value, str):
        raise _wrong(path, place, "text", value)
    return value


def _flag(value: object, path: str, place: str) -> bool:
    if not isinstance(value, bool):
        raise _wrong(path, place, "true or false", value)
    return value


def _number(value: object, path: str, place: str) -> str | int:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise _wrong(path, place, "a number or text", value)
    return value


def _list_of(item: Callable[[object, str, str], Any]) -> Callable[[object, str, str], tuple[Any, ...]]:
    def read(value: object, path: str, place: str) -> tuple[Any, ...]:
        if not isinstance(value, list):
            raise _wrong(path, place, "a list", value)
        return tuple(item(entry, path, f"{place}[{index}]") for index, entry in enumerate(value))

    return read


def _object(
    value: object,
    path: str,
    place: str,
    known: dict[str, Callable[[object, str, str], Any]],
    required: frozenset[str] | set[str] = frozenset(),
) -> dict[str, Any]:
    """Return the fields of an object, each as its reader makes it."""
    if not isinstance(value, dict):
        raise _wrong(path, place, "an object", value)
    at = f"{place}." if place else ""
    for name in value:
        if name not in known:
            raise SourceError(f"{path}: {at}{name}: no such field; {did_you_mean(name, list(known))}")
    for name in known:
        if name in required and name not in value:
            raise SourceError(f"{path}: {at}{name}: is missing")
    return {name: known[name](entry, path, f"{at}{name}") for name, entry in value.items()}
