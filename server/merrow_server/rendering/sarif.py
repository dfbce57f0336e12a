"""Findings as a SARIF 2.1.0 log, for code scanning and other tools (OASIS standard, sarif-v2.1.0).

Written as plain dictionaries: the tests hold them against the official schema, and the libraries that model SARIF
bring a class for each of its hundred objects to write a dozen.
"""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import quote

from merrow_analysis.diagnostics import Diagnostic, Fix, Severity
from merrow_analysis.rules.pages import shown_page
from merrow_analysis.rules.registry import Rule, find_rule
from merrow_analysis.text import Range
from merrow_server.positions import wire_range
from merrow_server.reports.findings_report import FileReport, OtherFile, Report

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVEL = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "note"}


def render(report: Report) -> str:
    """The log as JSON text, in ASCII."""
    return json.dumps(log(report), indent=2)


def log(report: Report) -> dict[str, Any]:
    """The log: one run, whose rules are those with findings."""
    codes = sorted({diagnostic.code for file in report.files for diagnostic in file.diagnostics})
    rules = [rule for rule in map(find_rule, codes) if rule is not None]
    index = {rule.code: position for position, rule in enumerate(rules)}
    driver: dict[str, Any] = {
        "name": "Merrow",
        "version": version("merrow"),
        "rules": [_rule(rule) for rule in rules],
    }
    results = [_result(file, diagnostic, index) for file in report.files for diagnostic in file.diagnostics]
    run: dict[str, Any] = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "invocations": [
            {
                "executionSuccessful": not (report.problems or report.faults),
                "toolExecutionNotifications": [
                    {"level": "error", "message": {"text": _printable(sentence)}}
                    for sentence in (*report.problems, *report.faults)
                ],
            }
        ],
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(rule: Rule) -> dict[str, Any]:
    page = shown_page(rule.code) or rule.summary
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.summary},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVEL[rule.severity]},
    }


def _result(file: FileReport, diagnostic: Diagnostic, rules: dict[str, int]) -> dict[str, Any]:
    here = OtherFile(file.name, file.lines)
    result: dict[str, Any] = {
        "ruleId": diagnostic.code,
        "level": _LEVEL[diagnostic.severity],
        "message": {"text": _printable(diagnostic.message)},
        "locations": [_location(here, diagnostic.range)],
    }
    if diagnostic.code in rules:
        result["ruleIndex"] = rules[diagnostic.code]
    if diagnostic.related:
        result["relatedLocations"] = [
            {
                "id": number,
                **_location(file.other(related.file), related.range),
                "message": {"text": _printable(related.message)},
            }
            for number, related in enumerate(diagnostic.related, 1)
        ]
    if diagnostic.fixes:
        fixes = [_fix(here, fix) for fix in diagnostic.fixes]
        # The schema wants each fix once.
        result["fixes"] = [fix for number, fix in enumerate(fixes) if fix not in fixes[:number]]
    return result


def _fix(file: OtherFile, fix: Fix) -> dict[str, Any]:
    return {
        "description": {"text": _printable(fix.title)},
        "artifactChanges": [
            {
                "artifactLocation": {"uri": _uri(file.name)},
                "replacements": [
                    {"deletedRegion": _region(file, edit.range), "insertedContent": {"text": _printable(edit.new_text)}}
                    for edit in fix.edits
                ],
            }
        ],
        "properties": {"applicability": fix.applicability.label},
    }


def _location(file: OtherFile, place: Range) -> dict[str, Any]:
    return {
        "physicalLocation": {"artifactLocation": {"uri": _uri(file.name)}, "region": _region(file, place)},
    }


def _region(file: OtherFile, place: Range) -> dict[str, int]:
    wire = wire_range(file.lines, place)
    return {
        "startLine": wire["start"]["line"] + 1,
        "startColumn": wire["start"]["character"] + 1,
        "endLine": wire["end"]["line"] + 1,
        "endColumn": wire["end"]["character"] + 1,
    }


def _uri(name: str) -> str:
    """A relative path as a relative reference, an absolute one as a ``file:`` URI."""
    path = Path(name)
    if path.is_absolute():
        return path.as_uri()
    try:
        written = path.as_posix().encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        # Windows allows half a pair of surrogates in a file name.
        written = path.as_posix().encode("utf-8", "surrogatepass")
    return quote(written)


def _printable(text: str) -> str:
    """``text`` with what no UTF-8 can carry replaced."""
    return text.encode("utf-8", "replace").decode("utf-8")
