"""Reports of findings: lines for a person, JSON, and SARIF 2.1.0, which code hosts show beside the changed lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby

from deepprompt.checks.lint.findings import Finding, Rule, Subject
from deepprompt.checks.lint.linter import RULES
from deepprompt.prompt import sha256_hex
from deepprompt.text.display import counted

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def describe(found: Sequence[Finding], subjects: Sequence[Subject]) -> Iterator[str]:
    """Yield a line for each finding, those in files as editors take them, and a summary."""
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
    parts = sum(segment.kind != "setting" for subject in subjects for segment in subject.segments)
    said = counted(len(open_ones), "finding") if open_ones else "nothing found"
    said += f" in {counted(len(subjects), 'target')}, {counted(parts, 'part')}"
    yield said + (f"; {allowed} allowed with a reason" if allowed else "")


def unread_lines(subjects: Sequence[Subject]) -> list[str]:
    """Return a line for each file that was not linted because it could not be read."""
    return [f"not linted: {line}" for subject in subjects for line in subject.unread]


def _where(finding: Finding, files: set[str]) -> str:
    if finding.place in files:
        return ":".join(str(step) for step in (finding.place, finding.line, finding.column) if step)
    place = f"{finding.subject}: {finding.place}" if finding.place else finding.subject
    return f"{place}, line {finding.line}" if finding.line else place


def as_json(found: Sequence[Finding], subjects: Sequence[Subject]) -> dict[str, object]:
    """Return findings for JSON."""
    rows = [{**asdict(finding), "rule": RULES[finding.code].name} for finding in found]
    open_ones = sum(not finding.excused for finding in found)
    unread = [line for subject in subjects for line in subject.unread]
    counts = {"open": open_ones, "allowed": len(found) - open_ones, "targets": len(subjects)}
    return {"findings": rows, **counts, **({"unread": unread} if unread else {})}


def sarif_log(
    findings: Sequence[Finding],
    rules: Sequence[Rule],
    files: frozenset[str],
    homes: Mapping[str, tuple[str, int]],
    version: str,
) -> object:
    """Return a SARIF log with one run.

    `files` are the places that are files, which hosts can show. For what is none, `homes` has file and line by subject:
    GitHub refuses a log with a result that has no file.
    """
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    driver = {
        "name": "deepprompt",
        "semanticVersion": version,
        "rules": [
            {
                "id": rule.code,
                "name": rule.name,
                "shortDescription": {"text": rule.summary},
                "help": {"text": rule.advice},
                "defaultConfiguration": {"level": _level(rule)},
            }
            for rule in rules
        ],
    }
    results = [
        _result(finding, rules[numbers[finding.code]], numbers[finding.code], _location(finding, files, homes))
        for finding in findings
    ]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _level(rule: Rule) -> str:
    return "error" if rule.error else "warning"


def _result(finding: Finding, rule: Rule, number: int, location: dict[str, object]) -> dict[str, object]:
    result: dict[str, object] = {
        "ruleId": finding.code,
        "ruleIndex": number,
        "level": _level(rule),
        "message": {"text": f"{finding.message}. {rule.advice}"},
        "locations": [location],
        # Without the line: an edit above a finding does not make it a new one.
        "partialFingerprints": {
            "deepprompt/v1": sha256_hex("\0".join((finding.code, finding.subject, finding.place, finding.message)))
        },
    }
    if finding.excused:
        result["suppressions"] = [{"kind": "inSource", "justification": finding.excused}]
    return result


def _location(finding: Finding, files: frozenset[str], homes: Mapping[str, tuple[str, int]]) -> dict[str, object]:
    if finding.place in files:
        region = {"startLine": finding.line or 1} | ({"startColumn": finding.column} if finding.column else {})
        return _physical(finding.place, region)
    name = f"{finding.subject}::{finding.place}"
    home = homes.get(finding.subject)
    physical = _physical(home[0], {"startLine": home[1]}) if home else {}
    return physical | {"logicalLocations": [{"fullyQualifiedName": name, "kind": "resource"}]}


def _physical(path: str, region: dict[str, int]) -> dict[str, object]:
    return {"physicalLocation": {"artifactLocation": {"uri": path.replace("\\", "/")}, "region": region}}
