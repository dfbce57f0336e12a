"""Comments that silence a rule, for the next statement or the whole file, as code actions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from merrow_analysis.check import Analysis
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.ide.actions.actions import QUICK_FIX, Action, Request, now
from merrow_analysis.ide.cursor.lookup import block_at, line_at, offset_in
from merrow_analysis.rules.registry import Flags, flags_of
from merrow_analysis.syntax.tree import Comment, FrontMatter
from merrow_analysis.text import Position, Range, TextEdit

_LISTED = re.compile(r"%%\s*merrow\b[ \t]*:[ \t]*(ignore-file|ignore)[ \t]*\[([^\]\r\n]*)\]", re.IGNORECASE)


def ignore_here(request: Request) -> Iterator[Action]:
    """Silence each finding for its statement."""
    for diagnostic in _once(request.diagnostics):
        edit = _above_statement(request.analysis, diagnostic)
        if edit is not None:
            title = f"Ignore {diagnostic.code} ({diagnostic.name}) here"
            yield Action(title, QUICK_FIX, now(edit), diagnostic, suppresses=True)


def ignore_in_file(request: Request) -> Iterator[Action]:
    """Silence each finding's rule for the whole file."""
    for diagnostic in _once(request.diagnostics):
        edit = _in_file(request.analysis, diagnostic.code)
        if edit is not None:
            title = f"Ignore {diagnostic.code} ({diagnostic.name}) in this file"
            yield Action(title, QUICK_FIX, now(edit), diagnostic, suppresses=True)


def _once(diagnostics: tuple[Diagnostic, ...]) -> Iterator[Diagnostic]:
    seen: set[str] = set()
    for diagnostic in diagnostics:
        code = diagnostic.code
        if code in seen or flags_of(code) & (Flags.REFUSED | Flags.ABOUT_COMMENTS):
            continue
        seen.add(code)
        yield diagnostic


def _above_statement(analysis: Analysis, diagnostic: Diagnostic) -> TextEdit | None:
    """A comment above the statement; a code more in one that is there already. None where no comment can stand there."""
    start = diagnostic.range.start
    block = block_at(analysis.diagram, start.line)
    if block is None or analysis.diagram.header is None:
        return None
    offset = offset_in(block, start)
    first = next((statement for statement in block.statements if not isinstance(statement, Comment)), None)
    if first is None or isinstance(first, FrontMatter):
        return None
    covered = block.range(first.span)
    if not covered.start.line <= start.line <= covered.end.line or offset > len(block.text):
        return None
    line = covered.start.line
    above = line_at(analysis, line - 1) if line else ""
    listed = _LISTED.search(above)
    if listed is not None and listed[1].lower() == "ignore" and above.lstrip().startswith("%%"):
        return _one_more(line - 1, listed, diagnostic.code)
    own = line_at(analysis, line)
    indent = own[: len(own) - len(own.lstrip(" \t"))]
    place = Position(line, 0)
    return TextEdit(Range(place, place), f"{indent}%% merrow: ignore[{diagnostic.code}]\n")


def _in_file(analysis: Analysis, code: str) -> TextEdit | None:
    """A comment below the header; a code more in one that is there already."""
    header = analysis.diagram.header
    if header is None:
        return None
    for block in analysis.diagram.blocks:
        for statement in block.statements:
            if isinstance(statement, Comment):
                listed = _LISTED.search(block.text, *statement.span)
                if listed is not None and listed[1].lower() == "ignore-file":
                    position = block.position(listed.start(2))
                    shift = position.column - listed.start(2)
                    return _one_more(position.line, listed, code, shift)
    block = header[1]
    line = block.line + block.line_count
    if not block.text.endswith(("\n", "\r")):
        place = block.position(len(block.text))
        return TextEdit(Range(place, place), f"\n%% merrow: ignore-file[{code}]")
    below = line_at(analysis, line)
    indent = below[: len(below) - len(below.lstrip(" \t"))]
    place = Position(line, 0)
    return TextEdit(Range(place, place), f"{indent}%% merrow: ignore-file[{code}]\n")


def _one_more(line: int, listed: re.Match[str], code: str, shift: int = 0) -> TextEdit:
    place = Position(line, listed.end(2) + shift)
    return TextEdit(Range(place, place), f", {code}" if listed[2].strip() else code)
