"""`deepprompt init`: start a preset of your own, in a folder that builds and has a snapshot test."""

from __future__ import annotations

import argparse
import os
import re

from deepprompt.catalog import bundled
from deepprompt.commands.options import given
from deepprompt.commands.output import write, write_lines
from deepprompt.errors import DeepPromptError, SourceError
from deepprompt.sources.files import read_named
from deepprompt.systems.presets import load_preset, preset_names

_VERSION = "1.0.0"
_PARTS = "prompts"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,63}")

_HEAD = """\
# A preset: which parts make up the prompt, in which order and when. docs/presets.md teaches the format.
format = 1
about = "What @NAME@ is for, in one line"
"""

_ROWS = """
# The prompt, row by row. A part is a text file beside this one: `about` is about.md. deepprompt fills in the slots.
rows = [
  { part = "about" },
  { part = "rules", when = "not brief" }, # in the prompt unless the flag `brief` is on
  { slot = "instructions" },              # AGENTS.md and the like
  { slot = "append" },                    # what --append adds
  { boundary = true },                    # everything above is the same in every turn, and is cached
  { slot = "project" },                   # folder, date, branch, git status
]
"""

_CHANGES = """\
extends = "@EXTENDS@"

# What is different from it. Beside add there are replace, remove, move and set.
changes = [
  # Each part is a text file beside this one: `@NAME@_about` is @NAME@_about.md.
  { add = "@NAME@_about", after = "@FIRST@" },
  # This one is in the prompt unless the flag `brief` is on.
  { add = "@NAME@_rules", after = "@NAME@_about", when = "not brief" },
]
"""

_REST = """
# What your program can turn on: --flag brief, or flags=["brief"] in Python.
[flags]
brief = "leave out the rules"

# The value of ${PRODUCT} in the parts: --set PRODUCT=..., or variables={"PRODUCT": ...}. This one has a default.
[variables]
PRODUCT = { default = "@NAME@" }
"""

_ABOUT = """\
You are ${PRODUCT}, an agent. Say here what it does, for whom, and what it is responsible for.
"""

_MORE_ABOUT = """\
# About ${PRODUCT}

You go by the name ${PRODUCT}. Say here what that is, for whom you work, and what you are responsible for.
"""

_RULES = """\
# Rules

- Write down what holds for every run, one rule per line.
- Put a rule that only some runs need into a part of its own, with a condition.
"""

_ATTRIBUTES_FILE = ".gitattributes"
_ATTRIBUTES = """\
# The bytes of these files are the prompt: no checkout may convert a line ending in them.
prompts/** -text
**/__snapshots__/** -text
"""

_TEST = '''\
"""The prompts are the ones that were reviewed. After a change that you meant: pytest --snapshot-update."""

from pathlib import Path

from deepprompt import load_preset

PRESET = load_preset("@NAME@", Path(__file__).parent.parent / "prompts")


def test_default(prompt_snapshot):
    """The prompt with nothing turned on."""
    assert PRESET.compose().static_prefix == prompt_snapshot


def test_brief(prompt_snapshot):
    """The prompt without the rules."""
    assert PRESET.compose(flags=["brief"]).static_prefix == prompt_snapshot
'''


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `init`."""
    parser.add_argument("folder", metavar="DIR", type=given, help="the folder to write to; it may already exist")
    parser.add_argument(
        "--extend", metavar="PRESET", type=given, help="start from this preset, such as coder or coder@1.0.0"
    )
    parser.add_argument(
        "--name", metavar="NAME", type=given, help="the name of your preset (default: the name of the folder)"
    )


def run(options: argparse.Namespace) -> int:
    """Write the files, or none of them if one exists."""
    folder = os.path.normpath(options.folder)
    name = _name(options)
    files = _files(name, options.extend or "")
    if _same(os.path.join(folder, _ATTRIBUTES_FILE)):  # another preset brought it
        del files[_ATTRIBUTES_FILE]
    there = [path for path in files if os.path.lexists(os.path.join(folder, path))]
    if there:
        exist = "exist" if there[1:] else "exists"
        raise SourceError(f"{folder}: {', '.join(there)} {exist} already; nothing was written")
    for path, text in files.items():
        target = os.path.join(folder, *path.split("/"))
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
        except OSError as error:
            raise SourceError(f"{error.filename}: {error.strerror}") from None
        write(text, target)
    write_lines([os.path.join(folder, path) if folder != os.curdir else path for path in files])
    parts = os.path.normpath(os.path.join(folder, _PARTS))
    write_lines([f"to see the prompt: deepprompt build --preset {name} --parts {parts}"])
    return 0


def _same(path: str) -> bool:
    """Whether the file with the attributes is as we write it."""
    try:
        return os.path.isfile(path) and read_named(path, 1 << 16) == _ATTRIBUTES.encode()
    except DeepPromptError:
        return False


def _name(options: argparse.Namespace) -> str:
    name: str = options.name or os.path.basename(os.path.abspath(options.folder)).lower()
    if not _NAME.fullmatch(name):
        options.usage_error(f"{name!r:.80} is no name for a preset: use small letters, digits, - and _; see --name")
    if name in bundled().families():
        taken = f", and take it with --extend {name}" if name in preset_names() else ""
        options.usage_error(f"{name} is bundled; choose another --name{taken}")
    return name


def _files(name: str, extend: str) -> dict[str, str]:
    """Return the text of each file by its path."""
    about, rules = (f"{name}_about", f"{name}_rules") if extend else ("about", "rules")
    head, about_text = _HEAD, _ABOUT
    if extend:
        parent = load_preset(extend)
        ask = extend if extend != parent.family else f"{parent.family}~={'.'.join(parent.version.split('.')[:2])}"
        head += _CHANGES.replace("@EXTENDS@", ask).replace("@FIRST@", parent.rows[0].name)
        about_text = _MORE_ABOUT
    else:
        head += _ROWS
    home = f"{_PARTS}/{name}/{_VERSION}"
    texts = {
        f"{home}/preset.toml": head + _REST,
        f"{home}/{about}.md": about_text,
        f"{home}/{rules}.md": _RULES,
        _ATTRIBUTES_FILE: _ATTRIBUTES,
        f"tests/test_{name.replace('-', '_')}.py": _TEST,
    }
    return {path: text.replace("@NAME@", name) for path, text in texts.items()}
