"""The files of a folder, linted on several cores: in the order of their paths, each as soon as it is done."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from deepprompt.checks.lint.kinds import is_repository
from deepprompt.checks.lint.linted import Linted, lint_subject
from deepprompt.checks.lint.subjects import subject_of_files
from deepprompt.checks.settings import Settings
from deepprompt.commands.output import show_progress
from deepprompt.commands.targets import list_texts, load_presets, read_text_file, shown_path

_BATCH = 32  # files that one process lints before it reports
_FEW = 256  # for so many files no other process is started


def default_jobs() -> int:
    """Return how many processes may lint at once: one for each core that this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def lint_folder(target: str, path: str, settings: Settings, model: str, jobs: int) -> Iterator[Linted]:
    """Yield what is found in each text file of a folder, and then in its presets; files are prompts of their own.

    The order is that of their paths, whatever the number of jobs. The last one has what could not be looked into.
    """
    names, refused = list_texts(target, path)
    batches = [names[start : start + _BATCH] for start in range(0, len(names), _BATCH)]
    known = is_repository((shown_path(target, name) for name in names), os.path.normpath(target))
    work = partial(_lint_files, target, path, settings, model, known)
    done = 0
    for results in _map(work, batches, jobs if len(names) > _FEW else 1):
        yield from results
        done += len(results)
        show_progress(f"{target}: {done:,} of {len(names):,} files linted")
    show_progress("")
    presets, problems = load_presets(target, path)
    if presets or problems:
        together = replace(subject_of_files(target, []), presets=tuple(presets), problems=tuple(problems))
        yield lint_subject(together, settings, model)
    if refused:
        yield Linted(target, (), (), 0, unread=tuple(refused))


def _map(work: partial[list[Linted]], batches: list[list[str]], jobs: int) -> Iterator[list[Linted]]:
    if jobs < 2:
        yield from map(work, batches)
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(min(jobs, len(batches))) as pool:
        try:
            yield from pool.map(work, batches)
        except BaseException:  # such as an interrupt: what has not begun need not
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def _lint_files(target: str, path: str, settings: Settings, model: str, known: bool, names: list[str]) -> list[Linted]:
    return [_lint_file(target, path, settings, model, known, name) for name in names]


def _lint_file(target: str, path: str, settings: Settings, model: str, known: bool, name: str) -> Linted:
    read = read_text_file(target, path, name)
    if isinstance(read, str):
        return Linted(target, (), (), 0, unread=(read,))
    subject = replace(subject_of_files(target, [read]), is_found=True, in_repository=known)
    return lint_subject(subject, settings, model)
