"""Findings as SARIF 2.1.0, the format in which code hosts take them and show them beside the lines of a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from deepprompt.checks.lint.findings import Finding, Rule
from deepprompt.prompt import sha256_hex

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


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
        # The line is left out: what moves down because of an edit above it is no new finding.
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
