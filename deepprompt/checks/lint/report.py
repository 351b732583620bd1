"""Reports of findings: lines for a person, JSON, annotations of GitHub, and SARIF 2.1.0, which code hosts show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from deepprompt.checks.lint.baseline import fingerprint
from deepprompt.checks.lint.findings import Finding, Rule
from deepprompt.checks.lint.linted import Linted
from deepprompt.checks.lint.linter import RULES
from deepprompt.text.display import counted

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


class Report:
    """The lines of a report for a person, one subject after the other, and a summary at the end."""

    def __init__(self, targets: int, *, frames: bool = True) -> None:
        self._targets, self._frames = targets, frames
        self._counts: Counter[str] = Counter()
        self._allowed = self._known = self._parts = 0
        self._before = ""

    def lines(self, linted: Linted) -> Iterator[str]:
        """Yield the lines of a subject: each finding as editors take it, with its line in the text below it."""
        self._parts += linted.parts
        self._known += linted.known
        for finding, frame in zip(linted.findings, linted.frames, strict=True):
            where = _where(finding, linted.files)
            group = finding.place if finding.place in linted.files else finding.subject
            if self._frames and self._before not in ("", group):
                yield ""
            self._before = group
            excuse = f" (allowed: {finding.excused})" if finding.excused else ""
            yield f"{where}: {finding.code} {finding.message}{excuse}"
            if self._frames and not finding.excused:
                yield from frame
            self._allowed += bool(finding.excused)
            self._counts[finding.code] += not finding.excused

    def summary(self) -> Iterator[str]:
        """Yield a line for each rule that was broken, with the advice, and the sum."""
        found = +self._counts
        if self._frames and self._before:
            yield ""
        for code, count in sorted(found.items()):
            yield f"  {code} {RULES[code].name} ({count:,}): {RULES[code].advice}"
        said = counted(found.total(), "finding") if found else "nothing found"
        said += f" in {counted(self._targets, 'target')}, {counted(self._parts, 'part')}"
        said += f"; {self._allowed} allowed with a reason" if self._allowed else ""
        yield said + (f"; {self._known} in the baseline" if self._known else "")


def describe(linted: Sequence[Linted], targets: int) -> Iterator[str]:
    """Yield the whole report for a person."""
    report = Report(targets)
    for one in linted:
        yield from report.lines(one)
    yield from report.summary()


def statistics(linted: Iterable[Linted]) -> list[tuple[int, str, str]]:
    """Return how often each rule was broken, the most frequent first: the count, the code and the name."""
    counts = Counter(finding.code for one in linted for finding in one.findings if not finding.excused)
    return [
        (count, code, RULES[code].name) for code, count in sorted(counts.items(), key=lambda row: (-row[1], row[0]))
    ]


def workflow_commands(linted: Iterable[Linted], homes: Mapping[str, tuple[str, int]]) -> Iterator[str]:
    """Yield a workflow command of GitHub Actions for each open finding, which it shows beside the changed line."""
    for one in linted:
        for finding in one.findings:
            if finding.excused:
                continue
            rule = RULES[finding.code]
            file, line, column = finding.place, finding.line or 1, finding.column or 1
            if finding.place not in one.files:
                file, line = homes.get(finding.subject, ("", 1))
                column = 1
            place = f"file={_property(file)},line={line},col={column}," if file else ""
            text = f"{finding.message}. {rule.advice}"
            yield f"::{_level(rule)} {place}title={finding.code} {rule.name}::{_escaped(text)}"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")


def unread_lines(linted: Iterable[Linted]) -> list[str]:
    """Return a line for each file that was not linted because it could not be read."""
    return [f"not linted: {line}" for one in linted for line in one.unread]


def _where(finding: Finding, files: frozenset[str]) -> str:
    if finding.place in files:
        return ":".join(str(step) for step in (finding.place, finding.line, finding.column) if step)
    place = f"{finding.subject}: {finding.place}" if finding.place else finding.subject
    return f"{place}, line {finding.line}" if finding.line else place


def as_json(linted: Sequence[Linted], targets: int) -> dict[str, object]:
    """Return findings for JSON."""
    found = [finding for one in linted for finding in one.findings]
    rows = [{**asdict(finding), "rule": RULES[finding.code].name} for finding in found]
    open_ones = sum(not finding.excused for finding in found)
    unread = [line for one in linted for line in one.unread]
    known = sum(one.known for one in linted)
    counts = {"open": open_ones, "allowed": len(found) - open_ones, "targets": targets}
    more = ({"unread": unread} if unread else {}) | ({"baseline": known} if known else {})
    return {"findings": rows, **counts, **more}


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
        "partialFingerprints": {"deepprompt/v1": fingerprint(finding)},
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
