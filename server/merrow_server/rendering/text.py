"""Findings for people: place, reason, source line with a mark, related places, remedy; a summary at the end."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.diagnostics import Applicability, Diagnostic, Fix, Severity
from merrow_analysis.text import Range
from merrow_server.rendering.counts import counted
from merrow_server.rendering.snippet import marked_lines, visible
from merrow_server.rendering.terminal import style
from merrow_server.reports.findings_report import FileReport, OtherFile, Report

_COLOUR = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.HINT: "cyan"}
_RELATED_SHOWN = 6
_DIM = "bright_black"


def render_file(file: FileReport) -> str:
    """All findings in one file, with colours for `echo`."""
    return "\n".join(line for diagnostic in file.diagnostics for line in (*_finding(file, diagnostic), ""))


def _finding(file: FileReport, diagnostic: Diagnostic) -> Iterator[str]:
    colour = _COLOUR[diagnostic.severity]
    shown = diagnostic.related[:_RELATED_SHOWN]
    numbers = [diagnostic.range.end.line, *(related.range.end.line for related in shown)]
    gutter = len(str(max(numbers) + 1))
    label = style(f"{diagnostic.severity.value}[{diagnostic.code}]", fg=colour, bold=True)
    here = OtherFile(file.name, file.lines)
    yield f"{_place(here, diagnostic.range)}: {label} {style(visible(diagnostic.message), bold=True)}"
    yield from _snippet(here, diagnostic.range, gutter, colour)
    for related in shown:
        other = file.other(related.file)
        arrow = " " * gutter + style("--> ", fg="blue", bold=True)
        yield f"{arrow}{_place(other, related.range)}: {visible(related.message)}"
        yield from _snippet(other, related.range, gutter, "blue")
    more = len(diagnostic.related) - len(shown)
    if more:
        yield " " * gutter + style(f" ... and {counted(more, 'more place')}", fg=_DIM)
    for fix in diagnostic.fixes.titles:
        yield " " * gutter + style(" = ", fg="blue", bold=True) + _help(fix)
    if diagnostic.fixes.fault is not None:
        yield (
            " " * gutter + style(" = ", fg="blue", bold=True) + f"{style('note:', bold=True)} {diagnostic.fixes.fault}"
        )


def _place(file: OtherFile, place: Range) -> str:
    """``path:line:column``, counted from 1 as people and editors do, columns in characters."""
    name = style(visible(file.name), bold=True)
    return f"{name}:{place.start.line + 1}:{place.start.column + 1}"


def _snippet(file: OtherFile, place: Range, gutter: int, colour: str) -> Iterator[str]:
    if place.start.line >= len(file.lines):
        return
    bar = style("|", fg="blue", bold=True)
    yield f"{' ' * gutter} {bar}"
    for number, text, mark in marked_lines(file.lines, place):
        shown = "" if number is None else str(number)
        yield f"{style(shown.rjust(gutter), fg='blue', bold=True)} {bar} {text}".rstrip()
        if mark:
            yield f"{' ' * gutter} {bar} {style(mark, fg=colour, bold=True)}"


def _help(fix: Fix) -> str:
    title = visible(fix.title).removesuffix(".")
    how = "--fix does it" if fix.applicability >= Applicability.SAFE else "may change the meaning: --fix --unsafe-fixes"
    return f"{style('help:', fg='green', bold=True)} {title} {style(f'({how})', fg=_DIM)}"


def summary(report: Report) -> str:
    """One line: what was found, where, and how much of it can be repaired; empty where nothing was found."""
    count = report.count()
    if not count:
        return ""
    kinds = [
        style(counted(count[severity], severity.value), fg=_COLOUR[severity], bold=True)
        for severity in Severity
        if count[severity]
    ]
    listed = kinds[0] if len(kinds) == 1 else ", ".join(kinds[:-1]) + " and " + kinds[-1]
    checked = len(report.files)
    touched = sum(bool(file.diagnostics) for file in report.files)
    where = f"in {counted(checked, 'file')}" if touched == checked else f"in {touched} of {counted(checked, 'file')}"
    safe, every = report.repairable(Applicability.SAFE), report.repairable(Applicability.UNSAFE)
    repair = ""
    if safe:
        repair = f"; {safe} can be repaired with --fix"
    if every > safe:
        more = f"{every - safe} more" if safe else str(every)
        repair += (
            f"; {more} with --fix --unsafe-fixes" if safe else f"; {more} can be repaired with --fix --unsafe-fixes"
        )
    return f"Found {listed} {where}{repair}."
