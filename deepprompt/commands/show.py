"""`deepprompt show`: print a part, a resolved preset, an agent's prompt or a reminder; or copy a part to edit it."""

from __future__ import annotations

import argparse
import os

from deepprompt.catalog import SUFFIX, Catalog
from deepprompt.commands.catalogs import add_parts_option, catalog_of, find_file, find_part
from deepprompt.commands.options import given
from deepprompt.commands.output import say, write
from deepprompt.errors import SourceError, UnknownPartError
from deepprompt.prompt import sha256_hex
from deepprompt.sources.files import read_named
from deepprompt.systems.changes import OVERRIDES, files_of
from deepprompt.systems.preset_file import FILE
from deepprompt.systems.presets import load_preset, preset_names
from deepprompt.text.parse import parse_toml
from deepprompt.text.suggest import did_you_mean

TYPE_CHECKING = False  # as type checkers know it, without the import
if TYPE_CHECKING:
    from deepprompt.systems.presets import Preset

_KINDS = ("preset", "agent", "reminder")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `show`."""
    parser.add_argument(
        "part",
        metavar="PART[@VERSION]",
        help="a part as 'deepprompt parts' names it, such as glob or base/tools; or a file: providers/facts.json; or "
        "one of the words preset, agent and reminder, with a NAME",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="the preset, agent or reminder, if PART is such a word")
    add_parts_option(parser)
    parser.add_argument("--preset", type=given, metavar="NAME[@VERSION]", help="the preset of an agent or a reminder")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        type=given,
        metavar="NAME=VALUE",
        dest="variables",
        help="the value of a variable in an agent's prompt or a reminder; may be repeated",
    )
    copy = parser.add_mutually_exclusive_group()
    copy.add_argument(
        "--override-in",
        type=given,
        metavar="DIR",
        help="copy a bundled part into this folder for you to edit, and build with --parts DIR",
    )
    copy.add_argument(
        "--replace-in",
        type=given,
        metavar="PRESET",
        help="copy the part into this preset of --parts, which extends the part's preset, and record what it replaces; "
        "if it is there already, record the text that it replaces now",
    )


def run(options: argparse.Namespace) -> int:
    """Print the part, the preset, the agent or the reminder, or copy the part."""
    if options.name is not None or options.part == "preset":
        return _show_rendered(options)
    if options.preset or options.variables:
        options.usage_error("--preset and --set are for 'show agent NAME' and 'show reminder NAME'")
    if options.replace_in:
        return _replace(options)
    catalog = catalog_of(options)
    if options.override_in:
        family, version, part = find_part(catalog, options.part)
        _start_override(options.override_in, family, version, part, catalog.text(family, version, part))
    else:
        write(catalog.file(*find_file(catalog, options.part)))
    return 0


def _show_rendered(options: argparse.Namespace) -> int:
    if options.part not in _KINDS:
        options.usage_error(f"two names: the first is one of {', '.join(_KINDS)}, not {options.part!r:.60}")
    if options.override_in or options.replace_in:
        options.usage_error("only a part can be copied")
    own = [catalog_of(options)] if options.parts else []
    if options.part == "preset":
        from deepprompt.commands.preset_text import preset_text

        if options.variables:
            options.usage_error("--set is for agents and reminders; 'deepprompt build' shows a preset with its values")
        write(preset_text(load_preset(options.name or options.preset or "deepseek", *own)))
        return 0
    preset = _preset_of(options, own)
    values = _values(options)
    if options.part == "agent":
        from deepprompt.systems.beside import agent_of

        write(agent_of(preset, options.name, None, (), values).text + "\n")
    else:
        write(preset.reminder(options.name, **values) + "\n")
    return 0


def _values(options: argparse.Namespace) -> dict[str, str]:
    pairs = [text.partition("=") for text in options.variables]
    if wrong := [name for name, equals, _ in pairs if not (name and equals)]:
        options.usage_error(f"--set {wrong[0]}: write NAME=VALUE")
    return {name.lower(): value for name, _, value in pairs}


def _preset_of(options: argparse.Namespace, own: list[Catalog]) -> Preset:
    """Return the preset that --preset names, or the only one that has the agent or reminder."""
    if options.preset:
        return load_preset(options.preset, *own)
    families = [family for catalog in own for family in catalog.families_with(FILE)] or preset_names()
    presets = [load_preset(family, *own) for family in families]
    names = {preset.name: getattr(preset, f"own_{options.part}s") for preset in presets}
    having = [preset for preset in presets if options.name in names[preset.name]]
    if len(having) == 1:
        return having[0]
    if having:
        several = ", ".join(preset.name for preset in having)
        raise UnknownPartError(
            f"several presets have the {options.part} {options.name!r}: {several}; name one, --preset"
        )
    every = sorted({name for known in names.values() for name in known})
    raise UnknownPartError(f"no {options.part} named {options.name!r}; {did_you_mean(options.name, every)}")


def _start_override(folder: str, family: str, version: str, part: str, text: str) -> None:
    path = os.path.join(folder, family, version, *part.split("/")) + SUFFIX
    if os.path.lexists(path):
        raise SourceError(f"{path}: the override exists already; edit it, or remove it first")
    _record(os.path.join(folder, family, version), part, text)
    _make_folder(path)
    write(text, path)


def _replace(options: argparse.Namespace) -> int:
    """Copy a part of the extended preset into a preset of the user's, and record its hash."""
    if not options.parts:
        options.usage_error("--replace-in needs --parts DIR, the folder of your presets")
    own = catalog_of(options)
    family, version = own.resolve(options.replace_in, FILE)
    extends = load_preset(f"{family}@{version}", own).extends
    if not extends:
        raise SourceError(f"{family}@{version} extends no preset, so that none of its parts replaces another")
    parent = load_preset(extends, own)
    rows = {row.name: row.file("part") for row in parent.rows if row.file("part")}
    files = {**files_of(parent), **rows}
    file = files.get(options.part)
    if file is None:
        raise UnknownPartError(f"{extends} has no part {options.part!r}; {did_you_mean(options.part, sorted(files))}")
    text = file.catalog.file(file.family, file.version, file.path)
    folder = os.path.join(options.parts, family, version)
    path = os.path.join(folder, *options.part.split("/")) + SUFFIX
    known = os.path.lexists(path)
    _record(folder, options.part, text)
    if known:
        say(f"{path}: recorded that it replaces {file.origin} as it is now")
        return 0
    _make_folder(path)
    write(text, path)
    say(f"{path}: edit it, and add {{ replace = {options.part!r} }} to the changes in preset.toml")
    return 0


def _make_folder(path: str) -> None:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise SourceError(f"{error.filename}: {error.strerror}") from None


def _record(folder: str, part: str, text: str) -> None:
    """Record the hash of the text that a part replaces, instead of an earlier one."""
    path = os.path.join(folder, OVERRIDES)
    lines: list[str] = []
    try:
        if os.path.exists(path):
            data = read_named(path, 1 << 20)
            parse_toml(data, path)
            lines = data.decode().split("\n")
    except OSError as error:
        raise SourceError(f"{error.filename}: {error.strerror}") from None
    kept = [line for line in lines if line and line.partition("=")[0].strip().strip("\"'") != part]
    _make_folder(path)
    write("".join(f"{line}\n" for line in [*kept, f'"{part}" = "{sha256_hex(text)}"']), path)
