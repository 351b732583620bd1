"""`deepprompt lint`: run the rules over files, folders of parts, requests, conversations and functions."""

from __future__ import annotations

import argparse
import dataclasses
import os
import re

from deepprompt import __version__
from deepprompt.checks.lint.findings import Subject
from deepprompt.checks.lint.linter import RULES, known_code, lint_all, unknown_models
from deepprompt.checks.lint.report import as_json, describe, sarif_log, unread_lines
from deepprompt.checks.settings import Settings
from deepprompt.commands.inputs import is_code, stay_inside
from deepprompt.commands.options import add_folder_option, check_provider, given, working_folder
from deepprompt.commands.output import say, show_progress, write, write_json, write_lines
from deepprompt.commands.settings import add_settings_options, configured_prompt, settings_of
from deepprompt.commands.targets import load_subject, read_file, unread
from deepprompt.errors import DeepPromptError, SourceError
from deepprompt.providers.facts import bundled_facts

_FORMATS = ("text", "json", "sarif")


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
    parser.add_argument(
        "--prompt",
        metavar="NAME",
        dest="prompts",
        action="append",
        default=[],
        type=given,
        help="lint this prompt of [tool.deepprompt.prompts], and call the function if it is one; may be repeated",
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
        help="run only these rules, such as DP1 or DP303,DP501; may be repeated",
    )
    parser.add_argument(
        "--ignore",
        metavar="CODES",
        type=_codes,
        action="extend",
        default=[],
        help="run all rules but these; may be repeated",
    )
    parser.add_argument(
        "--provider", metavar="NAME", type=given, help="check requests against the rules of this provider"
    )
    parser.add_argument(
        "--model", metavar="NAME", type=given, help="and of this model (default: the model that the request names)"
    )
    parser.add_argument("--no-comments", action="store_true", help="ignore comments in texts that make exceptions")
    add_settings_options(parser)
    parser.add_argument(
        "--format", choices=_FORMATS, default="text", help="the output format: text, json or sarif (default: text)"
    )
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="short for --format json")
    parser.add_argument("--out", metavar="FILE", type=given, help="write to a file instead of standard output")
    parser.add_argument("--rules", action="store_true", help="list the rules, and lint nothing")


def _codes(value: str) -> list[str]:
    try:
        return [known_code(code.strip()) for code in value.split(",")]
    except SourceError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: argparse.Namespace) -> int:
    """Lint the targets and print the findings."""
    if options.rules and options.format == "json":
        write_json([dataclasses.asdict(rule) for rule in RULES.values()], options.out or "")
        return 0
    if options.rules:
        write("".join(f"{rule.code}  {rule.name}: {rule.summary} {rule.advice}\n" for rule in RULES.values()))
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
    options.targets += options.parts
    targets = [(target, target) for target in options.targets]
    targets += [(name, configured_prompt(name, settings, options)) for name in options.prompts]
    if not targets:
        targets = _without_functions(settings, folder)
    if not targets:
        options.usage_error("nothing to lint: name a file, a folder, module:function or 'build'; or set "
                            "[tool.deepprompt.prompts] in pyproject.toml")  # fmt: skip
    named = len(options.targets)
    loaded = [
        (target, _load(name, target, folder, settings, alone=len(targets) == 1, own=number >= named))
        for number, (name, target) in enumerate(targets)
    ]
    subjects = [subject for _, subject in loaded]
    for line in unknown_models(subjects, settings, options.model or ""):
        say(line)
    show_progress("linting")
    found = lint_all(subjects, settings, options.model or "")
    show_progress("")
    if options.format == "json":
        write_json(as_json(found, subjects), options.out or "")
    elif options.format == "sarif":
        files = frozenset(s.place for subject in subjects if subject.is_file for s in subject.segments)
        homes = {subject.name: home for target, subject in loaded if (home := _home(target, folder))}
        write_json(sarif_log(found, list(RULES.values()), files, homes, __version__), options.out or "")
    else:
        write_lines(describe(found, subjects), options.out or "")
    for line in unread_lines(subjects):
        say(line)
    return 1 if any(not finding.excused for finding in found) or any(subject.unread for subject in subjects) else 0


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
