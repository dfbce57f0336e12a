"""Findings as one JSON array. ASCII only, so that any text survives any terminal and any pipe."""

from __future__ import annotations

import json
from typing import Any

from merrow_analysis.diagnostics import Diagnostic
from merrow_server.positions import wire_range
from merrow_server.reports.findings_report import FileReport, Report


def render(report: Report) -> str:
    """The array of all findings; positions count from 0, characters in UTF-16."""
    objects = [diagnostic_object(file, diagnostic) for file in report.files for diagnostic in file.diagnostics]
    return json.dumps(objects, indent=2)


def diagnostic_object(file: FileReport, diagnostic: Diagnostic) -> dict[str, Any]:
    """One finding as an object; ``fault`` is there where Merrow failed at a fix of it."""
    fixes = [
        {
            "title": fix.title,
            "applicability": fix.applicability.label,
            "edits": [{"range": wire_range(file.lines, edit.range), "newText": edit.new_text} for edit in fix.edits],
        }
        for fix in diagnostic.fixes
    ]
    fault = diagnostic.fixes.fault
    return {
        "file": file.name,
        "code": diagnostic.code,
        "name": diagnostic.name,
        "severity": diagnostic.severity.value,
        "message": diagnostic.message,
        "range": wire_range(file.lines, diagnostic.range),
        "related": [
            {"file": other.name, "range": wire_range(other.lines, related.range), "message": related.message}
            for related in diagnostic.related
            for other in (file.other(related.file),)
        ],
        "fixes": fixes,
        **({} if fault is None else {"fault": fault}),
    }
