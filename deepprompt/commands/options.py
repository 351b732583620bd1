"""What commands share about options: values that may not be empty, the folder, files that the user names."""

from __future__ import annotations

import argparse
import os

from deepprompt.errors import SourceError
from deepprompt.prompt import Note, Pace, Part
from deepprompt.text.hygiene import from_system, unify_line_ends

_OWN_FILE_LIMIT = 1 << 26


def given(value: str) -> str:
    """Take a value that may not be empty: a shell variable that is not set would be ignored otherwise."""
    if not value:
        raise argparse.ArgumentTypeError("is empty")
    return value


def set_options(options: argparse.Namespace, names: tuple[str, ...]) -> list[str]:
    """Return those of some options that were given, as they are written."""
    values = {name: getattr(options, name) for name in names}
    given_ones = [name for name, value in values.items() if value is not None and value is not False and value != []]
    return [f"--{name.replace('_', '-')}" for name in given_ones]


def working_folder(options: argparse.Namespace) -> str:
    """Return the folder that `--cwd` names."""
    try:
        folder: str = os.path.abspath(options.cwd)
    except FileNotFoundError:
        raise SourceError("the current folder is gone; change to another, or pass --cwd DIR") from None
    if not os.path.isdir(folder):
        raise SourceError(f"--cwd {options.cwd}: not a folder")
    return folder


def appended(options: argparse.Namespace, notes: list[Note]) -> list[Part]:
    """Return what `--append` and `--append-file` add."""
    texts = [from_system(text, "append", notes) for text in options.append if text]
    parts = [Part("append", text, Pace.PROJECT, "argument:append") for text in texts]
    return parts + [Part("append", own_text(path), Pace.PROJECT, f"file:{path}") for path in options.append_file]


def own_part(name: str, path: str) -> tuple[Part]:
    """Return a file that the user named as the one part of a prompt."""
    return (Part(name, own_text(path), Pace.RELEASE, f"file:{path}"),)


def own_text(path: str) -> str:
    """Return the text of a file that the user named: theirs, so taken as it is but for BOM and line ends."""
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
        with open(0 if path == "-" else path, "rb", closefd=path != "-") as file:
            data = file.read(_OWN_FILE_LIMIT + 1)
    except OSError as error:
        raise SourceError(f"{name}: {error.strerror}") from None
    if len(data) > _OWN_FILE_LIMIT:
        raise SourceError(f"{name}: larger than {_OWN_FILE_LIMIT} bytes")
    return data
