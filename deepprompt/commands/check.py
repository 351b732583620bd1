"""`deepprompt check`: lint, lock and perturb a project's prompts in one run, for CI."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from deepprompt.checks.lint import report as lint_report
from deepprompt.checks.lint.linted import lint_subjects
from deepprompt.checks.lock import review as lock_review
from deepprompt.checks.lock.lock import compare_locks
from deepprompt.checks.perturb.perturb import Stability, perturb
from deepprompt.checks.settings import Settings
from deepprompt.commands.inputs import stay_inside, target_function
from deepprompt.commands.options import add_folder_option, working_folder
from deepprompt.commands.output import write, write_json, write_lines
from deepprompt.commands.settings import FILE, add_settings_options, settings_of
from deepprompt.commands.targets import load_subject, lock_target, read_locked
from deepprompt.errors import DeepPromptError

_Made = TypeVar("_Made")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `check`."""
    parser.epilog = (
        "The prompts to check are named in [tool.deepprompt] of the folder's pyproject.toml, or of the file that "
        "--config names; nothing else can change what is checked. Exit 0: every check passed; 1: a check failed; "
        "2: wrong usage."
    )
    add_folder_option(parser)
    add_settings_options(parser)
    parser.add_argument(
        "--only",
        metavar="CHECK",
        action="append",
        choices=tuple(_CHECKS),
        help="run only this check: lint, lock or perturb; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def run(options: argparse.Namespace) -> int:
    """Run the checks that the project configures and print what each of them found."""
    folder = working_folder(options)
    settings = settings_of(folder, options)
    if not settings.prompts and not settings.paths:
        what = '[tool.deepprompt.prompts] and main = "module:function"'
        options.usage_error(
            f"{settings.source or FILE}: names no prompt to check; write {what} there"
            if settings.source or os.path.exists(os.path.join(folder, FILE))
            else f"there is no {FILE} here; write one with {what}, or name a file with --config"
        )
    results = [_checked(name, settings, folder) for name in options.only or _CHECKS]
    failed = [result.name for result in results if not result.passed]
    if options.json:
        checks = {result.name: {"passed": result.passed, **result.found} for result in results}
        write_json({"passed": not failed, "checks": checks})
        return 1 if failed else 0
    for result in results:
        write(f"== {result.name}: {'ok' if result.passed else 'FAILED'}\n")
        write_lines(result.lines)
    write(f"\n{'FAILED: ' + ', '.join(failed) if failed else 'all is well'}\n")
    return 1 if failed else 0


@dataclass(frozen=True, slots=True)
class _Result:
    """The result of one check."""

    name: str
    passed: bool
    lines: list[str]
    found: dict[str, object]


def _checked(name: str, settings: Settings, folder: str) -> _Result:
    """Run one check. An error makes it fail and does not stop the others."""
    try:
        return _CHECKS[name](settings, folder)
    except DeepPromptError as error:
        return _Result(name, False, [str(error)], {"error": str(error)})


def _each(
    targets: Iterable[tuple[str, str]], folder: str, make: Callable[[str, str], _Made]
) -> tuple[list[_Made], dict[str, str]]:
    """Return what `make` returns for each target, and the errors by name. One error does not hide the others."""
    made, failed = [], {}
    for name, target in targets:
        try:
            stay_inside(target, folder)
            made.append(make(name, target))
        except DeepPromptError as error:
            failed[name] = str(error)
    return made, failed


def _result(name: str, passed: bool, failed: dict[str, str], lines: Iterable[str], found: dict[str, object]) -> _Result:
    errors: dict[str, object] = {"errors": failed} if failed else {}
    return _Result(name, passed and not failed, [*failed.values(), *lines], found | errors)


def _lint(settings: Settings, folder: str) -> _Result:
    subjects, failed = _each(
        settings.lint_targets, folder, lambda name, target: load_subject(name, target, folder, settings.timeout)
    )
    found = lint_subjects(subjects, settings)
    lines = [*lint_report.unread_lines(found), *(lint_report.describe(found, len(found)) if found else ())]
    passed = all(one.passed for one in found)
    return _result("lint", passed, failed, lines, lint_report.as_json(found, len(found)))


def _lock(settings: Settings, folder: str) -> _Result:
    made, failed = _each(
        settings.prompts.items(), folder, lambda name, target: lock_target(name, target, settings, folder)
    )
    if failed and not made:
        return _result("lock", False, failed, (), {})
    before = [prompt for prompt in read_locked(settings, folder) if prompt.name not in failed]
    drifts = compare_locks(before, made)
    lines = lock_review.review(drifts, settings, made)
    return _result("lock", not drifts, failed, lines, lock_review.as_json(drifts, settings))


def _perturb(settings: Settings, folder: str) -> _Result:
    def perturbed(name: str, target: str) -> Stability | None:
        function = target_function(target, folder)
        if function is None or name in settings.fixed:
            return None
        return perturb(
            function, folder=folder, boundary=settings.boundary, skip=settings.skip, timeout=settings.timeout
        )

    made, failed = _each(settings.prompts.items(), folder, perturbed)
    results = [result for result in made if result is not None]
    lines = [line for result in results for line in result.report().split("\n")]
    found: dict[str, object] = {"prompts": [result.as_json() for result in results]}
    stable = all(result.stable for result in results)
    return _result("perturb", stable, failed, lines or ([] if failed else ["no function to call"]), found)


_CHECKS: dict[str, Callable[[Settings, str], _Result]] = {"lint": _lint, "lock": _lock, "perturb": _perturb}
