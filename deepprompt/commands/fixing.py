"""Fix the files that `lint --fix` is given: atomically, never through a link, and only what needs no decision."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import replace

from deepprompt.checks.lint.dp4_size import REFRAIN
from deepprompt.checks.lint.findings import Limits
from deepprompt.checks.lint.fixes import fix_text
from deepprompt.checks.lint.subjects import subject_of_files
from deepprompt.commands.output import refuse_links
from deepprompt.commands.targets import TEXT_FILES, list_texts
from deepprompt.errors import DeepPromptError, SourceError
from deepprompt.sources.files import read_named, replace_file
from deepprompt.text.display import counted

_MOST_BYTES = 1 << 25


def fix_targets(targets: list[str], folder: str) -> Iterator[str]:
    """Fix the text files of some targets, and yield a line for each that was changed or could not be fixed."""
    for target in targets:
        path = os.path.join(folder, target)
        if target != "-" and os.path.isdir(path):
            names, _ = list_texts(target, path)
            for name in names:
                yield from _fixed(os.path.join(target, name), folder, is_found=True)
        elif target != "-" and target.endswith(TEXT_FILES) and os.path.lexists(path):
            yield from _fixed(target, folder, is_found=False)


def _fixed(name: str, folder: str, *, is_found: bool) -> Iterator[str]:
    path = os.path.join(folder, name)
    try:
        if os.path.isabs(name):
            refuse_links(os.path.dirname(name), os.path.basename(name))
        else:
            refuse_links(folder, name)
        status = os.lstat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
            return
        data = read_named(path, _MOST_BYTES)
        text = data.decode()
        subject = replace(subject_of_files(name, [(name, text)]), is_found=is_found)
        whole = all(subject.is_sent_whole(segment) for segment in subject.segments)
        new, done = fix_text(text, paragraphs=whole, shortest=REFRAIN if is_found else Limits().repeated_characters)
        if new == text:
            return
        if read_named(path, _MOST_BYTES) != data:
            raise SourceError("changed while it was being fixed")
        replace_file(path, new.encode(), stat.S_IMODE(status.st_mode))
    except UnicodeDecodeError:
        yield f"{name}: not fixed: not UTF-8"
    except DeepPromptError as error:
        yield f"{name}: not fixed: {error}"
    except OSError as error:
        yield f"{name}: not fixed: {error.strerror}"
    else:
        yield f"{name}: fixed: {', '.join(counted(count, what) for what, count in sorted(done.items()))}"
