"""`deepprompt lock`: write `deepprompt.lock`, or see what has drifted from it, part by part, and what that costs."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from deepprompt.checks.lock import (
    Drift,
    LockedPart,
    LockedPrompt,
    compare_locks,
    is_lock,
    lock_prompt,
    lock_text,
    read_lock,
    rewarming,
)
from deepprompt.commands.inputs import read_target
from deepprompt.commands.options import given, own_text, working_folder
from deepprompt.commands.output import counted, write, write_json
from deepprompt.commands.settings import Settings, read_settings
from deepprompt.errors import MessageError, SourceError
from deepprompt.providers.facts import Rules, bundled_facts
from deepprompt.text.hygiene import one_line, reveal


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `lock`."""
    parser.epilog = (
        "A target is a file, module:function or 'build ...', with NAME= before it if it should be called something "
        "else. Without one, the prompts that [tool.deepprompt.prompts] in pyproject.toml names. "
        "Exit 0: written, or nothing has drifted; 1: something has, or there is no lock; 2: wrong usage."
    )
    parser.add_argument("targets", metavar="[NAME=]TARGET", nargs="*", type=given, help="what to lock")
    parser.add_argument("--check", action="store_true", help="write nothing: compare, and review what has drifted")
    parser.add_argument(
        "--cwd", metavar="DIR", type=given, default=".", help="the project's folder (default: the current one)"
    )
    parser.add_argument("--config", metavar="FILE", type=given, help="read [tool.deepprompt] from this file")
    parser.add_argument("--lock", metavar="FILE", type=given, help="the lock file (default: deepprompt.lock)")
    parser.add_argument("--json", action="store_true", help="the review as JSON")


def run(options: argparse.Namespace) -> int:
    """Write the lock, or compare with it."""
    folder = working_folder(options)
    settings = read_settings(folder, options.config)
    settings = dataclasses.replace(settings, lock=options.lock or settings.lock)
    path = os.path.join(folder, settings.lock)
    named = [_named(target, settings) for target in options.targets]
    if twice := [name for name, count in Counter(name for name, _ in named).items() if count > 1]:
        options.usage_error(f"{twice[0]}: named twice")
    settings = dataclasses.replace(settings, prompts=dict(named) or settings.prompts)
    if not settings.prompts:
        options.usage_error(_nothing(settings, path))
    olds = _existing(path, settings) if not options.check else locked(settings, folder)
    # Targets on the command line are some of the prompts; those in the settings are all of them.
    others = [old for old in olds if named and old.name not in settings.prompts]
    made = lock_all(settings, folder)
    drifts = compare_locks([old for old in olds if old not in others], made)
    if not options.check:
        write(lock_text([*others, *made]), path)
    if options.json:
        write_json(report(drifts, settings))
    else:
        lines = review(drifts, settings, made) if options.check else _written(drifts, settings, [*others, *made])
        write("".join(f"{line}\n" for line in lines))
    return 1 if drifts and options.check else 0


def _named(target: str, settings: Settings) -> tuple[str, str]:
    """Return a target with its name: its own, the one before `=`, or the one that the settings have for it."""
    if target in settings.prompts:
        return target, settings.prompts[target]
    name, equals, rest = target.partition("=")
    name, rest = (name, rest) if equals and rest and name.replace("-", "_").isidentifier() else (target, target)
    if rest == "-":
        raise SourceError("standard input cannot be locked: nobody could check it again; name a file")
    return name, rest


def _nothing(settings: Settings, path: str) -> str:
    """Return what to do where nothing says what to lock."""
    what = (
        "nothing to lock: name a file, module:function or 'build'; or set [tool.deepprompt.prompts] in pyproject.toml"
    )
    if not os.path.exists(path):
        return what
    known = " ".join(shlex.quote(f"{old.name}={old.target}") for old in read_lock(own_text(path), settings.lock))
    return f"{what}; {settings.lock} has {known}"


def _existing(path: str, settings: Settings) -> list[LockedPrompt]:
    """Return the prompts of the lock that is to be replaced; what is no lock, or a newer one, is not replaced."""
    if not os.path.exists(path) or not os.path.getsize(path):
        return []
    text = own_text(path)
    if not is_lock(text):
        raise SourceError(f"{settings.lock}: is there, and is no lock file; --lock FILE names another")
    return read_lock(text, settings.lock)


def lock_all(settings: Settings, folder: str) -> list[LockedPrompt]:
    """Return every prompt of a project as it is now."""
    return [lock_one(name, target, settings, folder) for name, target in settings.prompts.items()]


def lock_one(name: str, target: str, settings: Settings, folder: str) -> LockedPrompt:
    """Return a prompt of a project as it is now."""
    value = read_target(target, folder, settings.timeout)
    try:
        return lock_prompt(name, target, value, folder=folder, boundary=settings.boundary)
    except MessageError as error:
        raise MessageError(f"{name}: {error}") from None


def locked(settings: Settings, folder: str) -> list[LockedPrompt]:
    """Return the prompts as they are locked."""
    path = os.path.join(folder, settings.lock)
    if not os.path.exists(path):
        raise SourceError(f"{settings.lock}: no such file; write it with 'deepprompt lock', and commit it")
    return read_lock(own_text(path), settings.lock)


def _written(drifts: Sequence[Drift], settings: Settings, made: Sequence[LockedPrompt]) -> Iterator[str]:
    for drift in drifts:
        yield from _changes(drift) if drift.old else ()
    yield f"{settings.lock}: {counted(len(made), 'prompt')}, {counted(_tokens(made), 'token')} locked"


def _tokens(prompts: Sequence[LockedPrompt]) -> int:
    return sum(prompt.tokens for prompt in prompts)


def review(drifts: Sequence[Drift], settings: Settings, made: Sequence[LockedPrompt]) -> Iterator[str]:
    """Yield what has drifted, in lines for a person."""
    if not drifts:
        said = "1 prompt is as it was" if len(made) == 1 else f"all {len(made)} prompts are as they were"
        yield f"{settings.lock}: {said} locked ({counted(_tokens(made), 'token')})"
        return
    for drift in drifts:
        yield from _changes(drift)
        if drift.old and drift.new:
            yield f"  the first {drift.same:,} tokens are the same; writing the rest costs more than reading it, by"
            for cost in _costs(drift, settings):
                yield f"    {cost['provider']} {cost['model']}: {_cost(cost)}"
    yield f"If that is meant, run 'deepprompt lock' and commit {settings.lock}."


def _changes(drift: Drift) -> Iterator[str]:
    name = _shown(drift.name)
    if drift.old is None or drift.new is None:
        yield f"{name}: not locked yet" if drift.old is None else f"{name}: locked, but the project has no such prompt"
        return
    yield f"{name}: {drift.old.tokens:,} -> {drift.new.tokens:,} tokens ({drift.new.tokens - drift.old.tokens:+,})"
    for sign, old, new in drift.rows:
        yield f"  {sign} {_change(old, new)}"
    if drift.old.target != drift.new.target:
        yield f"  ~ target: {_shown(drift.old.target)} -> {_shown(drift.new.target)}"


def _change(old: LockedPart | None, new: LockedPart | None) -> str:
    part = new or old
    assert part is not None
    name = f"{_shown(part.part)} ({part.pace})"
    if old is None or new is None:
        tokens = part.tokens if old is None else -part.tokens
        return f"{name}: {tokens:+,} tokens" + (f", {part.version}" if part.version else "")
    if old == new:
        return f"{name}: stands elsewhere"
    if new.pace == old.pace == "setting":
        return f"{name}: {_shown(old.value)} -> {_shown(new.value)}"
    changes = [f"{old.tokens:,} -> {new.tokens:,} tokens ({new.tokens - old.tokens:+,})"]
    if old.sha256 == new.sha256:
        changes = []
    elif old.tokens == new.tokens:
        changes = [f"other text, {old.bytes:,} -> {new.bytes:,} bytes"]
    if old.pace != new.pace:
        changes.append(f"pace {old.pace} -> {new.pace}")
    if old.mark != new.mark:
        changes.append(f"mark {old.mark or 'none'} -> {new.mark or 'none'}")
    if old.version != new.version:
        changes.append(f"{old.version or 'no version'} -> {new.version or 'no version'}")
    elif old.version and old.sha256 != new.sha256:
        changes.append(f"still {old.version}: other text under the same version")
    return f"{name}: {', '.join(changes)}"


def _costs(drift: Drift, settings: Settings) -> list[dict[str, object]]:
    """Return what filling the caches again costs, by each model that the project names, or by one of each provider."""
    rows: list[dict[str, object]] = []
    for rules in _rules(drift, settings):
        cost = rewarming(drift, rules)
        rows.append({"provider": rules.provider, "model": rules.model, "as_of": rules.as_of} | dataclasses.asdict(cost))
    return rows


def _rules(drift: Drift, settings: Settings) -> list[Rules]:
    facts = bundled_facts()
    own = drift.new.model.partition("/") if drift.new else ("", "", "")
    if own[0] in facts.providers():
        return [facts.rules(own[0], own[2])]
    return [facts.rules(facts.behind(to, model), model) for to, model in settings.models or facts.examples()]


def _cost(cost: dict[str, object]) -> str:
    if cost["why_none"]:
        return f"nothing; {cost['why_none']}"
    if cost["why_full"]:
        return f"{cost['cost']:,.0f} tokens at the input price in each request: {cost['why_full']}"
    return (
        f"{cost['cost']:,.0f} tokens at the input price: {cost['written']:,} to write, {cost['kept']:,} can be read "
        f"(facts of {cost['as_of']})"
    )


def report(drifts: Sequence[Drift], settings: Settings) -> dict[str, object]:
    """Return what has drifted as JSON has it."""
    rows = [
        {
            "name": drift.name,
            "old": dataclasses.asdict(drift.old) if drift.old else None,
            "new": dataclasses.asdict(drift.new) if drift.new else None,
            "same": drift.same,
            "changes": [
                {
                    "change": sign,
                    "old": dataclasses.asdict(old) if old else None,
                    "new": dataclasses.asdict(new) if new else None,
                }
                for sign, old, new in drift.rows
            ],
            "costs": _costs(drift, settings),
        }
        for drift in drifts
    ]
    return {"lock": settings.lock, "drifted": len(drifts), "prompts": rows}


def _shown(text: str) -> str:
    return one_line(reveal(text, "", []), "", [])
