"""Repairs of statements that can't be read: each is tried on the grammar before it is offered."""

from __future__ import annotations

import re

from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.syntax.tree import Block, Broken, SyntaxProblem
from merrow_analysis.text import Position, Range, TextEdit, split_lines

_ARROW = re.compile(r"\s*(?:[xo<]?--|[xo<]?==|[xo<]?-\.|~~~|:::|;|$)")
_CLOSERS = {
    "[": "]",
    "(": ")",
    "{": "}",
    "[[": "]]",
    "((": "))",
    "([": "])",
    "[(": ")]",
    "{{": "}}",
    '"': '"',
    "|": "|",
}
_END = re.compile(r"end\b")


def fixes_for(problem: SyntaxProblem, block: Block) -> list[Fix]:
    """The repairs of a broken statement that make it readable; none where no simple edit does."""
    line_number, line, column = _line_of(block, problem.span[0])
    maker = _MAKERS.get(problem.code)
    if maker is None:
        return []
    return maker(problem, block.line + line_number, line, column)


def _line_of(block: Block, offset: int) -> tuple[int, str, int]:
    """The line of a block that holds an offset: its number, its text without line ending, and the column."""
    position = block.position(offset)
    number = position.line - block.line
    lines = split_lines(block.text)
    text = lines[number].rstrip("\r\n") if number < len(lines) else ""
    return number, text, position.column


def reads(line: str) -> bool:
    """Whether a line by itself is Mermaid."""
    diagram = parse_diagram(f"flowchart TD\n{line}\n")
    return not any(isinstance(statement, Broken) for block in diagram.blocks for statement in block.statements)


def _comment(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    statement = line[:column].rstrip()
    indent = line[: len(line) - len(line.lstrip())]
    comment = line[column:].rstrip()
    whole = Range(Position(line_number, 0), Position(line_number, len(line)))
    safe = Applicability.SAFE if reads(statement) else Applicability.UNSAFE
    return [Fix("Move the comment to a line of its own", (TextEdit(whole, f"{indent}{comment}\n{statement}"),), safe)]


def _unclosed(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    opener = next((text for text in ("[[", "((", "([", "[(", "{{") if line.startswith(text, column)), line[column])
    closer = _CLOSERS.get(opener)
    if closer is None:
        return []
    rest = line[column + len(opener) :]
    quoted = rest.lstrip().startswith('"') and opener != '"'
    after = column + len(opener)
    if quoted:
        close = line.find('"', line.index('"', after) + 1)
        after = close + 1 if close != -1 else after
    found = _ARROW.search(line, after)
    places = [found.start() if found else len(line.rstrip()), len(line.rstrip())]
    if opener == '"':
        # The bracket that should follow the quote stands there already.
        brackets = [line.rfind(mark) for mark in ("])", ")]", "]]", "))", "}}", "]", ")", "}")]
        places = [place for place in brackets if place > column] + places
    for place in places:
        if place > column and reads(line[:place] + closer + line[place:]):
            at = Position(line_number, place)
            return [Fix(f"Add {closer}", (TextEdit(Range(at, at), closer),), Applicability.UNSAFE)]
    return []


def _reserved(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    if not _END.match(line, column):
        return []
    repaired = f"{line[:column]}End{line[column + 3 :]}"
    if not reads(repaired):
        return []
    place = Range(Position(line_number, column), Position(line_number, column + 3))
    return [Fix("Write End", (TextEdit(place, "End"),), Applicability.UNSAFE)]


def _quote_label(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    """Quotes around the whole label, from the bracket that opens it to the last one that could close it."""
    for start in range(column, -1, -1):
        opener = next(
            (text for text in _CLOSERS if len(text) == 2 and line.startswith(text, start)), line[start : start + 1]
        )
        closer = _CLOSERS.get(opener)
        if closer is None or opener == '"' or (start and line[start - 1] in "[({|"):
            continue
        inside = start + len(opener)
        end = line.rfind(closer)
        if end <= inside or '"' in line[inside:end]:
            continue
        if reads(f'{line[:inside]}"{line[inside:end]}"{line[end:]}'):
            place = Range(Position(line_number, inside), Position(line_number, end))
            return [Fix("Put the label in quotes", (TextEdit(place, f'"{line[inside:end]}"'),), Applicability.SAFE)]
    return []


def _no_header(problem: SyntaxProblem, line_number: int, line: str, _column: int) -> list[Fix]:
    if problem.kind != "not-a-diagram" or not reads(line):
        return []
    at = Position(line_number, 0)
    return [Fix("Begin with flowchart TD", (TextEdit(Range(at, at), "flowchart TD\n"),), Applicability.UNSAFE)]


_MAKERS = {
    "MW002": _unclosed,
    "MW003": _unclosed,
    "MW004": _comment,
    "MW005": _reserved,
    "MW006": _quote_label,
    "MW011": _no_header,
}
