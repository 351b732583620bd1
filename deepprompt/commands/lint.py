"""`deepprompt lint`: every rule over files, folders of parts, requests, conversations and functions that make a prompt.

`load_subjects` and `find_all` are what `check` shares with it.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from deepprompt import __version__
from deepprompt.checks.lint.findings import Finding, Limits, Subject
from deepprompt.checks.lint.linter import known_code, lint
from deepprompt.checks.lint.rules import RULES
from deepprompt.checks.lint.subjects import model_of, provider_of, subject_of, subjects_of_requests, told_apart
from deepprompt.commands.inputs import read_target, target_function
from deepprompt.commands.options import given, own_bytes, working_folder
from deepprompt.commands.output import say, write, write_json
from deepprompt.commands.settings import Settings, read_settings
from deepprompt.errors import MessageError, SourceError
from deepprompt.providers.segments import Segment
from deepprompt.text.hygiene import decode, unify_line_ends

TEXT_FILES = (".md", ".mdc", ".txt", ".prompt", ".rst")
"""What of a folder is linted."""

_MOST_FILES = 10_000
# What tools put into a project's folder, our own snapshots among it.
_NOT_PROMPTS = frozenset(("__pycache__", "__snapshots__", "build", "dist", "node_modules", "site-packages", "venv"))
_FORMATS = ("text", "json", "sarif")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options of `lint`."""
    parser.epilog = (
        "A target is a file with the text of a prompt, such as AGENTS.md; a folder of them; JSON of a request, a "
        "message array, a list of recorded requests (or JSON Lines), or what build --json printed; module:function; "
        "or 'build ...'. Without one, what [tool.deepprompt] in pyproject.toml names. A comment "
        "'<!-- deepprompt: allow DP101 REASON -->' on the line, or on the one before, makes an exception. "
        "Exit 0: nothing found; 1: something; 2: wrong usage."
    )
    parser.add_argument("targets", metavar="TARGET", nargs="*", type=given, help="what to lint; - is standard input")
    parser.add_argument(
        "--cwd", metavar="DIR", type=given, default=".", help="the project's folder (default: the current one)"
    )
    parser.add_argument(
        "--select",
        metavar="CODES",
        type=_codes,
        action="extend",
        default=[],
        help="only these rules, such as DP1 or DP303,DP501; may be repeated",
    )
    parser.add_argument(
        "--ignore",
        metavar="CODES",
        type=_codes,
        action="extend",
        default=[],
        help="all rules but these; may be repeated",
    )
    parser.add_argument("--provider", metavar="NAME", type=given, help="whose rules a request is held to")
    parser.add_argument("--model", metavar="NAME", type=given, help="and for which model (default: the one it names)")
    parser.add_argument("--no-comments", action="store_true", help="let no comment in a text make an exception")
    parser.add_argument("--config", metavar="FILE", type=given, help="read [tool.deepprompt] from this file")
    parser.add_argument("--format", choices=_FORMATS, default="text", help="how to print it (default: text)")
    parser.add_argument("--json", dest="format", action="store_const", const="json", help="the same as --format json")
    parser.add_argument("--out", metavar="FILE", type=given, help="write to a file, all at once")
    parser.add_argument("--rules", action="store_true", help="list the rules, and do nothing else")


def _codes(value: str) -> list[str]:
    try:
        return [known_code(code.strip()) for code in value.split(",")]
    except SourceError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def run(options: argparse.Namespace) -> int:
    """Lint the targets and print what was found."""
    if options.rules and options.format == "json":
        write_json([dataclasses.asdict(rule) for rule in RULES.values()], options.out or "")
        return 0
    if options.rules:
        write("".join(f"{rule.code}  {rule.name}: {rule.summary} {rule.advice}\n" for rule in RULES.values()))
        return 0
    if options.model and not options.provider:
        options.usage_error("--model needs --provider NAME, whose model it is")
    if options.provider:
        from deepprompt.providers.facts import bundled_facts

        if options.provider not in (known := bundled_facts().providers()):
            options.usage_error(f"no provider {options.provider!r}; there are: {', '.join(known)}")
    folder = working_folder(options)
    settings = read_settings(folder, options.config)
    settings = dataclasses.replace(
        settings,
        select=tuple(options.select) or settings.select,
        ignore=(*settings.ignore, *options.ignore),
        comments=settings.comments and not options.no_comments,
        models=((options.provider, options.model or ""),) if options.provider else settings.models,
    )
    targets = [(target, settings.prompts.get(target, target)) for target in options.targets] or targets_of(settings)
    if not targets:
        options.usage_error("nothing to lint: name a file, a folder, module:function or 'build'; or set "
                            "[tool.deepprompt.prompts] in pyproject.toml")  # fmt: skip
    loaded = [
        (target, subject) for name, target in targets for subject in load_subjects(name, target, folder, settings)
    ]
    subjects = [subject for _, subject in loaded]
    for line in _unknown_models(subjects, settings, options.model or ""):
        say(line)
    found = find_all(subjects, settings, options.model or "")
    if options.format == "json":
        write_json(report(found, subjects), options.out or "")
    elif options.format == "sarif":
        from deepprompt.checks.lint.sarif import sarif_log

        files = frozenset(s.place for subject in subjects if subject.is_file for s in subject.segments)
        homes = {subject.name: home for target, subject in loaded if (home := _home(target, folder))}
        write_json(sarif_log(found, list(RULES.values()), files, homes, __version__), options.out or "")
    else:
        write("".join(f"{line}\n" for line in described(found, subjects)), options.out or "")
    return 1 if any(not finding.excused for finding in found) else 0


def _home(target: str, folder: str) -> tuple[str, int] | None:
    """Return the file and the line that a target stands for: a function's own, or else where prompts are named."""
    module, _, function = target.rpartition(":")
    path = module.replace(".", "/")
    candidates = [target, module, *(f"{start}{path}{end}" for start in ("", "src/") for end in (".py", "/__init__.py"))]
    for candidate in [*candidates, "pyproject.toml"]:
        if candidate and os.path.isfile(os.path.join(folder, candidate)):
            text = _text(os.path.join(folder, candidate), candidate)
            found = re.search(rf"^(?:async )?def {re.escape(function)}\b", text, re.MULTILINE)
            return candidate, text.count("\n", 0, found.start()) + 1 if found else 1
    return None


def targets_of(settings: Settings) -> list[tuple[str, str]]:
    """Return the names and targets that a project wants linted."""
    return [*settings.prompts.items(), *((path, path) for path in settings.paths)]


def load_subjects(name: str, target: str, folder: str, settings: Settings) -> Iterator[Subject]:
    """Yield what a target holds to be linted."""
    path = os.path.join(folder, target)
    if target != "-" and os.path.isdir(path):
        yield _folder(target, path)
        return
    if target.endswith(".jsonl") and os.path.isfile(path):
        yield subjects_of_requests(_text(path, target), name)
        return
    value = read_target(target, folder, settings.timeout)
    if isinstance(value, str) and target_function(target, folder) is None:
        place = "standard input" if target == "-" else target
        yield _files(name, [(place, unify_line_ends(value.removeprefix("\ufeff")))])
        return
    if isinstance(value, list) and value and all(_is_recorded(item) for item in value):
        yield subjects_of_requests(value, name)
        return
    try:
        subject = subject_of(value, name)
        if not any(segment.text for segment in subject.segments if segment.kind != "setting"):
            raise MessageError("no prompt in it: nothing that would be sent")
        yield subject
    except MessageError as error:
        raise MessageError(f"{name}: {error}") from None


def _is_recorded(item: object) -> bool:
    return isinstance(item, dict) and any(key in item for key in ("body", "messages", "input", "contents"))


def _text(path: str, name: str) -> str:
    return decode(own_bytes(path, name), name, [])


def _folder(target: str, path: str) -> Subject:
    """Return the text files of a folder, each as a part, in the order of their paths."""
    texts = []
    for root, folders, names in os.walk(path):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _NOT_PROMPTS)
        for name in sorted(names):
            if name.endswith(TEXT_FILES):
                inside = os.path.normpath(os.path.join(target, os.path.relpath(os.path.join(root, name), path)))
                texts.append((inside, _text(os.path.join(root, name), inside)))
        if len(texts) > _MOST_FILES:
            raise SourceError(f"{target}: more than {_MOST_FILES:,} text files; name a smaller folder")
    if not texts:
        raise SourceError(f"{target}: no text files in it ({', '.join(TEXT_FILES)})")
    return _files(target, texts)


def _files(name: str, texts: Sequence[tuple[str, str]]) -> Subject:
    segments = [Segment(path, "system", "system", text, joins=True) for path, text in texts]
    return Subject(name, tuple(piece for segment in segments for piece in told_apart([segment])), is_file=True)


def find_all(subjects: Sequence[Subject], settings: Settings, model: str = "") -> list[Finding]:
    """Return what is wrong with any of the subjects, for this model whatever they name."""
    found = []
    for subject in subjects:
        found += lint(
            subject,
            _limits(subject, settings, model),
            select=settings.select,
            ignore=settings.ignore,
            exemptions=settings.allow,
            comments=settings.comments,
        )
    return found


def _unknown_models(subjects: Sequence[Subject], settings: Settings, model: str) -> list[str]:
    """Return what to say of models that the facts do not know: their requests are held to less."""
    from deepprompt.providers.facts import unknown_model

    rules = [_limits(subject, settings, model).rules for subject in subjects]
    said = dict.fromkeys(unknown_model(one) for one in rules if one is not None and one.model)
    return [line for line in said if line]


def _limits(subject: Subject, settings: Settings, wanted: str = "") -> Limits:
    """Return what a subject is held against: the rules of the provider that it is for, where that is known.

    `wanted` is a model that counts whatever a request names.
    """
    limits = Limits() if settings.part_tokens is None else Limits(part_tokens=settings.part_tokens)
    if subject.body is None:
        return limits
    provider, model = provider_of(subject.body), model_of(subject)
    if settings.models:
        named = dict(reversed(settings.models))
        provider = provider if provider in named else settings.models[0][0]
        model = wanted or model or named[provider]
    if not provider:
        return limits
    from deepprompt.providers.facts import bundled_facts

    facts = bundled_facts()
    return dataclasses.replace(limits, rules=facts.rules(facts.behind(provider, model), model))


def described(found: Sequence[Finding], subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield findings in lines, the files' ones as editors take them, and a sum at the end."""
    files = {segment.place for subject in subjects if subject.is_file for segment in subject.segments}
    for (code, message), same in groupby(found, key=lambda finding: (finding.code, finding.message)):
        for finding in same:
            where = _where(finding, files)
            excuse = f" (allowed: {finding.excused})" if finding.excused else ""
            yield f"{where}: {code} {message}{excuse}"
    open_ones = [finding for finding in found if not finding.excused]
    for code in sorted({finding.code for finding in open_ones}):
        yield f"  {code} {RULES[code].name}: {RULES[code].advice}"
    allowed = len(found) - len(open_ones)
    counted = f"{len(open_ones)} finding{'' if len(open_ones) == 1 else 's'}" if open_ones else "nothing found"
    yield f"{counted} in {_counted(subjects)}" + (f"; {allowed} allowed with a reason" if allowed else "")


def _counted(subjects: Sequence[Subject]) -> str:
    parts = sum(segment.kind != "setting" for subject in subjects for segment in subject.segments)
    return f"{len(subjects)} target{'' if len(subjects) == 1 else 's'}, {parts} part{'' if parts == 1 else 's'}"


def _where(finding: Finding, files: set[str]) -> str:
    if finding.place in files:
        return ":".join(str(step) for step in (finding.place, finding.line, finding.column) if step)
    place = f"{finding.subject}: {finding.place}" if finding.place else finding.subject
    return f"{place}, line {finding.line}" if finding.line else place


def report(found: Sequence[Finding], subjects: Sequence[Subject]) -> dict[str, object]:
    """Return findings as JSON has them."""
    rows = [{**dataclasses.asdict(finding), "rule": RULES[finding.code].name} for finding in found]
    open_ones = sum(not finding.excused for finding in found)
    return {"findings": rows, "open": open_ones, "allowed": len(found) - open_ones, "targets": len(subjects)}
