"""`deepprompt lint`: run the rules over files, folders of parts, requests, conversations and functions."""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
from collections.abc import Iterator

from deepprompt import __version__
from deepprompt.checks.lint.baseline import baseline_of, read_baseline, without_known
from deepprompt.checks.lint.findings import Rule, Subject
from deepprompt.checks.lint.linted import Linted, lint_subject
from deepprompt.checks.lint.linter import RULES, known_code, unknown_models
from deepprompt.checks.lint.report import (
    Report,
    as_json,
    describe,
    sarif_log,
    statistics,
    unread_lines,
    workflow_commands,
)  # fmt: skip
from deepprompt.checks.settings import Settings
from deepprompt.commands.fixing import fix_targets
from deepprompt.commands.folders import default_jobs, lint_folder
from deepprompt.commands.inputs import is_code, stay_inside
from deepprompt.commands.options import add_folder_option, add_prompt_option, check_provider, given, working_folder
from deepprompt.commands.output import say, show_progress, table, write, write_json, write_lines
from deepprompt.commands.settings import add_settings_options, configured_prompt, settings_of
from deepprompt.commands.targets import expect_presets, load_subject, read_file, unread
from deepprompt.errors import DeepPromptError, SourceError
from deepprompt.providers.facts import bundled_facts
from deepprompt.text.display import counted

_FORMATS = ("text", "json", "sarif", "github")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `lint`."""
    parser.epilog = (
        "A target is a file with the text of a prompt, such as AGENTS.md; a folder of them; JSON of a request, a "
        "message array, a list of recorded requests (or JSON Lines), or what build --json printed; module:function; "
        "or 'build ...'. Without a target, lint the files that [tool.deepprompt] in pyproject.toml names. A comment "
        "'<!-- deepprompt: allow DP101 REASON -->' on the same line, or on the line before, makes an exception. "
        "Exit 0: no findings; 1: findings; 2: wrong usage."
    )
    parser.add_argument("targets", metavar="TARGET", nargs="*", type=given, help="what to lint; - is standard input")
    add_prompt_option(
        parser, "lint this prompt of [tool.deepprompt.prompts], and call the function if it is one; may be repeated"
    )
    parser.add_argument(
        "--parts",
        metavar="DIR",
        action="append",
        default=[],
        type=given,
        help="lint the presets in this folder: their texts, and what is wrong with them; may be repeated",
    )
    add_folder_option(parser)
    parser.add_argument(
        "--select",
        metavar="CODES",
        type=_codes,
        action="extend",
        default=[],
        help="run only these rules, such as DP1 or DP303,DP501; ALL adds those that are off; may be repeated",
    )
    parser.add_argument(
        "--ignore",
        metavar="CODES",
        type=_codes,
        action="extend",
        default=[],
        help="run all rules except these; may be repeated",
    )
    parser.add_argument(
        "--provider", metavar="NAME", type=given, help="check requests against the rules of this provider"
    )
    parser.add_argument(
        "--model", metavar="NAME", type=given, help="the model to check for (default: the model that the request names)"
    )
    parser.add_argument("--no-comments", action="store_true", help="ignore comments in texts that make exceptions")
    add_settings_options(parser)
    parser.add_argument(
        "--format",
        choices=_FORMATS,
        default="text",
        help="the output format: text, json, sarif, or github for annotations in Actions (default: text)",
    )
    parser.add_argument(
        "--jobs", metavar="N", type=_jobs, default=0, help="processes for a folder (default: one for each core)"
    )
    parser.add_argument(
        "--statistics", action="store_true", help="print how often each rule was broken, and nothing else"
    )
    parser.add_argument(
        "--fix",
        action="store_true",
        help="first fix files in place: byte order marks, Windows line endings, trailing spaces, hidden characters, "
        "repeated paragraphs",
    )
    parser.add_argument("--baseline", metavar="FILE", type=given, help="leave out the findings listed in this file")
    parser.add_argument(
        "--write-baseline",
        metavar="FILE",
        type=given,
        help="write the findings to this file for --baseline, and exit 0",
    )
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")
    parser.add_argument("--out", metavar="FILE", type=given, help="write to a file instead of standard output")
    parser.add_argument("--rules", action="store_true", help="list the rules, and lint nothing")


def _codes(value: str) -> list[str]:
    try:
        return [known_code(code.strip()) for code in value.split(",")]
    except SourceError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _jobs(value: str) -> int:
    if not value.isdecimal() or not 0 < int(value) <= 256:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to 256, not {value!r:.40}")
    return int(value)


def run(options: argparse.Namespace) -> int:
    """Lint the targets and print the findings."""
    if options.rules and options.format == "json":
        write_json([dataclasses.asdict(rule) for rule in RULES.values()], options.out or "")
        return 0
    if options.rules:
        write(
            "".join(f"{rule.code}  {rule.name}: {rule.summary} {rule.advice}{_off(rule)}\n" for rule in RULES.values())
        )
        return 0
    if options.model and not options.provider:
        options.usage_error("--model needs --provider NAME, the provider of the model")
    if options.provider:
        check_provider(options, bundled_facts().providers())
    folder = working_folder(options)
    settings = settings_of(folder, options)
    settings = dataclasses.replace(
        settings,
        select=tuple(options.select) or settings.select,
        ignore=(*settings.ignore, *options.ignore),
        comments=settings.comments and not options.no_comments,
        models=((options.provider, options.model or ""),) if options.provider else settings.models,
    )
    for target in options.parts:
        expect_presets(target, os.path.join(folder, target))
    options.targets += options.parts
    targets = [(target, target) for target in options.targets]
    targets += [(name, configured_prompt(name, settings, options)) for name in options.prompts]
    if not targets:
        targets = _without_functions(settings, folder)
    if not targets:
        options.usage_error("nothing to lint: name a file, a folder, module:function or 'build'; or set "
                            "[tool.deepprompt.prompts] in pyproject.toml")  # fmt: skip
    if options.fix:
        for line in fix_targets([target for _, target in targets], folder):
            say(line)
    known = None
    if options.baseline:
        known = read_baseline(read_file(os.path.join(folder, options.baseline), options.baseline), options.baseline)
    found = _linted(targets, folder, settings, options)
    if known is not None:
        found = (without_known(one, known) for one in found)
    return _written(found, targets, folder, options)


def _off(rule: Rule) -> str:
    return "" if rule.default else " (off by default)"


def _linted(
    targets: list[tuple[str, str]], folder: str, settings: Settings, options: argparse.Namespace
) -> Iterator[Linted]:
    """Yield what is found in each target, or in each file of a folder."""
    model = options.model or ""
    jobs = options.jobs or default_jobs()
    for number, (name, target) in enumerate(targets):
        own = number >= len(options.targets)
        path = os.path.join(folder, target)
        if target != "-" and os.path.isdir(path):
            if own:
                stay_inside(target, folder)
            yield from lint_folder(target, path, settings, model, jobs)
            continue
        subject = _load(name, target, folder, settings, alone=len(targets) == 1, own=own)
        for line in unknown_models([subject], settings, model):
            say(line)
        show_progress(f"linting {target}")
        linted = lint_subject(subject, settings, model)
        show_progress("")
        yield linted


def _written(linted: Iterator[Linted], targets: list[tuple[str, str]], folder: str, options: argparse.Namespace) -> int:
    """Write the report in the format that was asked for, and return the exit code."""
    out = options.out or ""
    if options.format == "text" and not out and not options.statistics and not options.write_baseline:
        return _printed(linted, len(targets))
    found = list(linted)
    if options.write_baseline:
        write_json(baseline_of(found), os.path.join(folder, options.write_baseline))
        count = sum(not finding.excused for one in found for finding in one.findings)
        say(f"{options.write_baseline}: {counted(count, 'finding')} written")
        return 0
    homes = {name: home for name, target in targets if (home := _home(target, folder))}
    if options.statistics:
        rows = [(f"{count:,}", code, name) for count, code, name in statistics(found)]
        write_lines(table(rows, to_the_right=(0,)) if rows else ["nothing found"], out)
    elif options.format == "json":
        write_json(as_json(found, len(targets)), out)
    elif options.format == "sarif":
        files = frozenset(place for one in found for place in one.files)
        every = [finding for one in found for finding in one.findings]
        write_json(sarif_log(every, list(RULES.values()), files, homes, __version__), out)
    elif options.format == "github":
        write_lines(workflow_commands(found, homes), out)
    else:
        write_lines(describe(found, len(targets)), out)
    for line in unread_lines(found):
        say(line)
    return 0 if all(one.passed for one in found) else 1


def _printed(linted: Iterator[Linted], targets: int) -> int:
    """Print the findings as they come, and return the exit code."""
    report = Report(targets)
    passed = True
    unread: list[str] = []
    for one in linted:
        if lines := list(report.lines(one)):
            show_progress("")
            write_lines(lines)
        passed = passed and one.passed
        unread += unread_lines([one])
    write_lines(report.summary())
    for line in unread:
        say(line)
    return 0 if passed else 1


def _load(name: str, target: str, folder: str, settings: Settings, *, alone: bool, own: bool) -> Subject:
    """Load a target. One of several that cannot be loaded does not stop the others; `own` ones are the settings'."""
    try:
        if own:
            stay_inside(target, folder)
        return load_subject(name, target, folder, settings.timeout)
    except DeepPromptError as error:
        show_progress("")
        if alone:
            raise
        return unread(name, error)


def _without_functions(settings: Settings, folder: str) -> list[tuple[str, str]]:
    """Return what a project's settings name, without its functions: those run only when they are asked for."""
    kept = []
    for name, target in settings.lint_targets:
        if is_code(target, folder):
            say(f"{name}: is a function and was not called; use --prompt, or 'deepprompt check'")
        else:
            kept.append((name, target))
    return kept


def _home(target: str, folder: str) -> tuple[str, int] | None:
    """Return the file and line of a target: those of the function, or else the file that names the prompts."""
    module, _, function = target.rpartition(":")
    path = module.replace(".", "/")
    candidates = [target, module, *(f"{start}{path}{end}" for start in ("", "src/") for end in (".py", "/__init__.py"))]
    for candidate in [*candidates, "pyproject.toml"]:
        if candidate and os.path.isfile(os.path.join(folder, candidate)):
            text = read_file(os.path.join(folder, candidate), candidate)
            found = re.search(rf"^(?:async )?def {re.escape(function)}\b", text, re.MULTILINE)
            return candidate, text.count("\n", 0, found.start()) + 1 if found else 1
    return None
