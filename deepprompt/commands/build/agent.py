"""`deepprompt build --agent`: an agent's prompt of tagged sections, from JSON files."""

from __future__ import annotations

import argparse
import dataclasses
import os
from datetime import datetime
from types import NoneType

from deepprompt.commands.options import own_text, working_folder
from deepprompt.errors import SourceError
from deepprompt.prompt import Note, Prompt
from deepprompt.systems.tagged import AgentConfig, Responsibility, Task, TaskStep, compose_tagged_prompt
from deepprompt.text.fields import Fields
from deepprompt.text.hygiene import from_system
from deepprompt.text.parse import parse_json


def compose_agent(options: argparse.Namespace) -> Prompt:
    """Read the files and return the prompt."""
    notes: list[Note] = []
    prompt = compose_tagged_prompt(
        _with_own_texts(_agent(options.agent), options),
        options.channel or "",
        from_system(working_folder(options), "cwd", notes),
        [from_system(os.path.abspath(folder), "directory", notes) for folder in options.directory],
        now=_now(options.now),
        task=_task(options.task) if options.task else None,
        background=options.background,
        memories=_memories(options.memories) if options.memories else (),
    )
    return dataclasses.replace(prompt, notes=(*notes, *prompt.notes))


def _with_own_texts(agent: AgentConfig, options: argparse.Namespace) -> AgentConfig:
    """Return the agent with the texts of `--formatting` and `--storage-file` in place of its own."""
    formatting = {**agent.formatting}
    for text in options.formatting:
        name, equals, path = text.partition("=")
        if not equals or not name or not path:
            options.usage_error(f"--formatting {text}: write NAME=FILE")
        formatting[name] = own_text(path).removesuffix("\n")
    storage_text = own_text(options.storage_file).removesuffix("\n") if options.storage_file else agent.storage_text
    return dataclasses.replace(agent, formatting=formatting, storage_text=storage_text)


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
    fields = Fields(_read(path), "")
    agent = AgentConfig(
        identity=fields.text("identity"),
        instructions=fields.text("instructions"),
        role=fields.text("role"),
        responsibilities=tuple(map(_responsibility, fields.each("responsibilities"))),
        storage=fields.flag("storage", True),
        storage_text=fields.text("storage_text"),
        formatting=_formatting(fields.inner("formatting")),
    )
    fields.refuse_others("field")
    fields.refuse_faults(path)
    return agent


def _formatting(fields: Fields) -> dict[str, str]:
    return {channel: fields.text(channel) for channel in fields.values}


def _responsibility(fields: Fields) -> Responsibility:
    fields.require("title", "content")
    responsibility = Responsibility(fields.text("title"), fields.text("content"))
    fields.refuse_others("field")
    return responsibility


def _task(path: str) -> Task:
    fields = Fields(_read(path), "")
    fields.require("id", "title", "description", "status")
    task = Task(
        id=fields.get("id", (int, str), "a number or text", ""),
        title=fields.text("title"),
        description=fields.text("description"),
        status=fields.text("status"),
        steps=tuple(map(_step, fields.each("steps"))),
    )
    fields.refuse_others("field")
    fields.refuse_faults(path)
    return task


def _step(fields: Fields) -> TaskStep:
    fields.require("title")
    number = fields.get("task_id", (int, str, NoneType), "a number or text", None)
    step = TaskStep(title=fields.text("title"), done=fields.flag("done"), task_id=number)
    fields.refuse_others("field")
    return step


def _memories(path: str) -> tuple[str, ...]:
    memories = _read(path)
    fields = Fields({"the whole file": memories}, "")
    texts = fields.texts("the whole file")
    fields.refuse_faults(path)
    return texts


def _read(path: str) -> object:
    return parse_json(own_text(path), path, SourceError)
