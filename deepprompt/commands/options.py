"""Options that several commands share: types of values, groups of options, files that the user names."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from deepprompt.errors import SourceError
from deepprompt.sources.files import NOT_REGULAR, read_named, reason_of
from deepprompt.text.hygiene import unify_line_ends

_OWN_FILE_LIMIT = 1 << 26


def given(value: str) -> str:
    """Take a value that is not empty. Otherwise an unset shell variable would go unnoticed."""
    if not value:
        raise argparse.ArgumentTypeError("is empty")
    return value


def count(value: str) -> int:
    """Take a whole number above 0."""
    if not value.isascii() or not value.isdecimal() or len(value) > 12 or not int(value):
        raise argparse.ArgumentTypeError(f"expected a whole number above 0, not {value!r:.40}")
    return int(value)


def seconds(value: str) -> float:
    """Take a number of seconds."""
    try:
        time = float(value)
    except ValueError:
        time = -1.0
    if not 0 <= time < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, not {value!r:.40}")
    return time


def add_folder_option(parser: argparse._ActionsContainer) -> None:
    """Add `--cwd`, see `working_folder`."""
    parser.add_argument(
        "--cwd", metavar="DIR", type=given, default=os.curdir, help="the project's folder (default: the current one)"
    )


def add_prompt_option(parser: argparse._ActionsContainer, said: str) -> None:
    """Add `--prompt NAME`, the name of a prompt in the project's settings."""
    parser.add_argument("--prompt", metavar="NAME", dest="prompts", action="append", default=[], type=given, help=said)


def add_home_option(parser: argparse._ActionsContainer) -> None:
    """Add `--home`, see `home_folder`."""
    parser.add_argument(
        "--home",
        metavar="DIR",
        help="the user's home folder, searched after the project (default: yours; '' searches none)",
    )


def home_folder(options: argparse.Namespace) -> str:
    """Return the folder that `--home` names, the user's own by default, "" if there is none."""
    home: str = options.home
    if home is None:
        home = os.path.expanduser("~")
        home = "" if home == "~" or os.environ.get("HOME") == "" else home
    return os.path.abspath(home) if home else ""


def add_root_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say where templates and includes are."""
    parser.add_argument(
        "--root",
        type=given,
        default=os.curdir,
        metavar="DIR",
        help="the folder of the includes (default: the current one)",
    )
    parser.add_argument(
        "--template-root",
        type=given,
        default=os.curdir,
        metavar="DIR",
        help="the folder of the templates, below the root (default: the root)",
    )
    parser.add_argument(
        "--minify-json", action="store_true", help="remove insignificant white space from included .json files"
    )


def add_counting_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say how tokens are counted, see `inputs.counter_from_options`."""
    parser.add_argument(
        "--model",
        type=given,
        metavar="NAME",
        help="count tokens for this model: exactly if its vocabulary is public and deepprompt[tokens] is installed; "
        "by default for the model that a request names, or else by estimate",
    )
    parser.add_argument(
        "--usage",
        type=given,
        metavar="FILE",
        help="calibrate the estimate with recorded usage: a saved session, or a transcript with usage in its records",
    )


def check_provider(options: argparse.Namespace, providers: Sequence[str]) -> None:
    """End with wrong usage if `--provider` names a provider that the facts do not know."""
    if options.provider and options.provider not in providers:
        options.usage_error(f"no provider {options.provider!r:.40}; there are: {', '.join(providers)}")


def set_options(options: argparse.Namespace, names: tuple[str, ...]) -> list[str]:
    """Return which of some options were given, as they are written on the command line."""
    values = {name: getattr(options, name) for name in names}
    given_ones = [name for name, value in values.items() if value is not None and value is not False and value != []]
    return [f"--{name.replace('_', '-')}" for name in given_ones]


def working_folder(options: argparse.Namespace) -> str:
    """Return the folder that `--cwd` names."""
    try:
        folder: str = os.path.abspath(options.cwd)
    except FileNotFoundError:
        raise SourceError("the current folder no longer exists; change to another, or pass --cwd DIR") from None
    if not os.path.isdir(folder):
        raise SourceError(f"--cwd {options.cwd}: not a folder")
    return folder


def own_text(path: str) -> str:
    """Return the text of a file that the user named. It is trusted: only a BOM and the line ends are changed."""
    data = own_bytes(path, path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    if not text:
        raise SourceError(f"{'standard input' if path == '-' else path}: is empty")
    return unify_line_ends(text)


def own_bytes(path: str, name: str) -> bytes:
    """Return the bytes of a file that the user named, or of standard input for `-`; errors call it `name`."""
    try:
        if path != "-":
            return read_named(path, _OWN_FILE_LIMIT)
        with open(0, "rb", closefd=False) as file:
            data = file.read(_OWN_FILE_LIMIT + 1)
    except (OSError, ValueError) as error:
        reason = reason_of(error)
        hint = "; use - for standard input" if reason == NOT_REGULAR else ""
        raise SourceError(f"{name}: {reason}{hint}") from None
    if len(data) > _OWN_FILE_LIMIT:
        raise SourceError(f"{name}: larger than {_OWN_FILE_LIMIT} bytes")
    return data
