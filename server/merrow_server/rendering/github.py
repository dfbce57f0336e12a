"""Findings as workflow commands of GitHub Actions, which draws them beside the lines of a pull request."""

from __future__ import annotations

from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_server.positions import wire_range
from merrow_server.reports.findings_report import FileReport, Report

_COMMAND = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.HINT: "notice"}


def render(report: Report) -> str:
    """One command a line; lines and columns count from 1."""
    commands = [_command(file, diagnostic) for file in report.files for diagnostic in file.diagnostics]
    commands += [f"::error::{_data(problem)}" for problem in report.problems]
    return "\n".join(commands)


def _command(file: FileReport, diagnostic: Diagnostic) -> str:
    place = wire_range(file.lines, diagnostic.range)
    properties = {
        "file": file.name,
        "line": place["start"]["line"] + 1,
        "col": place["start"]["character"] + 1,
        "endLine": place["end"]["line"] + 1,
        "endColumn": place["end"]["character"] + 1,
        "title": f"{diagnostic.code} {diagnostic.name}",
    }
    written = ",".join(f"{name}={_property(str(value))}" for name, value in properties.items())
    return f"::{_COMMAND[diagnostic.severity]} {written}::{_data(diagnostic.message)}"


def annotation(command: str, file: str, text: str, title: str) -> str:
    """One command about a whole file: ``error``, ``warning`` or ``notice``."""
    return f"::{command} file={_property(file)},title={_property(title)}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
