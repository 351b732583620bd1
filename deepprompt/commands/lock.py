"""`deepprompt lock`: write `deepprompt.lock`, or report the parts that differ from it, and the cost."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shlex
from collections import Counter

from deepprompt.checks.lock.file import is_lock, lock_text, read_lock
from deepprompt.checks.lock.lock import LockedPrompt, compare_locks
from deepprompt.checks.lock.review import as_json, review, written
from deepprompt.checks.settings import NOT_PLAIN, Settings, is_plain_name
from deepprompt.commands.inputs import is_there, stay_inside
from deepprompt.commands.options import add_folder_option, given, own_text, working_folder
from deepprompt.commands.output import refuse_links, write, write_json, write_lines
from deepprompt.commands.settings import add_settings_options, settings_of
from deepprompt.commands.targets import lock_target, read_locked
from deepprompt.errors import SourceError
from deepprompt.sources.files import NOT_REGULAR
from deepprompt.text.display import display


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `lock`."""
    parser.epilog = (
        "A target is a file, module:function or 'build ...', with NAME= before it to give it another name. "
        "Without a target, lock the prompts that [tool.deepprompt.prompts] in pyproject.toml names. "
        "Exit 0: written, or no changes; 1: changes, or no lock file; 2: wrong usage."
    )
    parser.add_argument("targets", metavar="[NAME=]TARGET", nargs="*", type=given, help="what to lock")
    parser.add_argument(
        "--check",
        action="store_true",
        help="compare the prompts with the lock file, report the changes, and write nothing",
    )
    add_folder_option(parser)
    add_settings_options(parser)
    parser.add_argument("--lock", metavar="FILE", type=given, help="the lock file (default: deepprompt.lock)")
    parser.add_argument("--json", action="store_true", help="print the changes as JSON")


def run(options: argparse.Namespace) -> int:
    """Write the lock file, or compare the prompts with it."""
    folder = working_folder(options)
    settings = settings_of(folder, options)
    settings = dataclasses.replace(settings, lock=options.lock or settings.lock)
    path = os.path.join(folder, settings.lock)
    refuse_links(folder, settings.lock)
    named = [_named(target, settings, folder) for target in options.targets]
    if twice := [name for name, count in Counter(name for name, _ in named).items() if count > 1]:
        options.usage_error(f"{twice[0]}: named twice")
    for target in () if named else settings.prompts.values():
        stay_inside(target, folder)
    settings = dataclasses.replace(settings, prompts=dict(named) or settings.prompts)
    if not settings.prompts:
        options.usage_error(_nothing(settings, path))
    olds = _existing(path, settings) if not options.check else read_locked(settings, folder)
    # Targets on the command line are some of the prompts; those in the settings are all of them.
    others = [old for old in olds if named and old.name not in settings.prompts]
    made = [lock_target(name, target, settings, folder) for name, target in settings.prompts.items()]
    drifts = compare_locks([old for old in olds if old not in others], made)
    if not options.check:
        write(lock_text([*others, *made]), path)
    if options.json:
        write_json(as_json(drifts, settings))
    else:
        lines = review(drifts, settings, made) if options.check else written(drifts, settings, [*others, *made])
        write_lines(lines)
    return 1 if drifts and options.check else 0


def _named(target: str, settings: Settings, folder: str) -> tuple[str, str]:
    """Return the name and the target: the name before `=`, the name in the settings, or else the target itself."""
    if target in settings.prompts and not is_there(os.path.join(folder, target)):  # a file is read, not looked up
        stay_inside(settings.prompts[target], folder)
        return target, settings.prompts[target]
    name, equals, rest = target.partition("=")
    name, rest = (name, rest) if equals and rest and name.replace("-", "_").isidentifier() else (target, target)
    if not is_plain_name(name):
        raise SourceError(f"{name!r:.60} {NOT_PLAIN}; or give it a name, as NAME={display(rest)}")
    if rest == "-":
        raise SourceError("standard input cannot be locked, as it could not be checked again; name a file")
    return name, rest


def _nothing(settings: Settings, path: str) -> str:
    """Return the message for when neither the options nor the settings name a prompt."""
    what = (
        "nothing to lock: name a file, module:function or 'build'; or set [tool.deepprompt.prompts] in pyproject.toml"
    )
    if not os.path.exists(path):
        return what
    known = " ".join(shlex.quote(f"{old.name}={old.target}") for old in read_lock(own_text(path), settings.lock))
    return f"{what}; {settings.lock} has {known}"


def _existing(path: str, settings: Settings) -> list[LockedPrompt]:
    """Return the prompts of the existing lock file. A file that is not a lock, or a newer one, is not replaced."""
    if not os.path.exists(path):
        return []
    if not os.path.isfile(path):  # a pipe would be waited for, here or when it is written
        raise SourceError(f"{settings.lock}: {NOT_REGULAR}; name another with --lock FILE")
    if not os.path.getsize(path):
        return []
    text = own_text(path)
    if not is_lock(text):
        raise SourceError(f"{settings.lock}: exists, and is not a lock file; name another with --lock FILE")
    return read_lock(text, settings.lock)
