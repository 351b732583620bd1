"""Reading the prompt or request that a user names: a text, what `build --json` printed, a session or a request."""

from __future__ import annotations

import argparse
import json
import re

from deepprompt.checks.segments import Segment, read_request
from deepprompt.commands import build_folder
from deepprompt.commands.options import own_bytes
from deepprompt.errors import MessageError, SourceError
from deepprompt.prompt import Prompt

_BOM = "\ufeff"
# What a text has to begin with to be meant as JSON, even if it is none.
_LIKE_JSON = re.compile(r'(?:\[\s*)?\{\s*"')


def build_here(folder: str) -> Prompt:
    """Return the prompt of a folder, as `deepprompt build` makes it without options."""
    parser = argparse.ArgumentParser()
    build_folder.add_options(parser)
    parser.set_defaults(cwd=folder, preset=None)
    return build_folder.compose(parser.parse_args([]))


def load_request(path: str) -> list[Segment]:
    """Return what a file holds, byte for byte: no line end and no byte order mark is a matter of taste here."""
    name = name_of(path)
    return parse_request(read_text(path), name)


def name_of(path: str) -> str:
    """Return what a file is called in messages."""
    return "standard input" if path == "-" else path


def parse_request(text: str, name: str) -> list[Segment]:
    """Return what a text holds: JSON, if it is meant as that, or else the prompt itself."""
    begin = text.removeprefix(_BOM).lstrip()
    if begin.startswith(("{", "[")):
        try:
            return read_request(json.loads(begin))
        except json.JSONDecodeError as error:
            if name.endswith(".json") or _LIKE_JSON.match(begin):
                line = error.lineno + text.count("\n", 0, len(text) - len(begin))
                raise MessageError(f"{name}:{line}: not JSON: {error.msg}") from None
        except RecursionError:
            raise MessageError(f"{name}: nested too deeply") from None
        except ValueError as error:  # a number of too many digits
            raise MessageError(f"{name}: not JSON: {error}") from None
        except MessageError as error:
            raise MessageError(f"{name}: {error}") from None
    return read_request(text)


def read_text(path: str) -> str:
    """Return the text of a file that the user named, as it is."""
    name = name_of(path)
    data = own_bytes(path, name)
    if not data:
        raise SourceError(f"{name}: is empty")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise SourceError(f"{name}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
