"""Repairs of statements that can't be read: each is tried on the grammar before it is offered."""

from __future__ import annotations

import re

from merrow_analysis.definitions.metadata import parse_metadata
from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.suggest import closest
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.syntax.tree import Block, Broken, Chain, Statement, SyntaxProblem
from merrow_analysis.text import Position, Range, TextEdit

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
    "@{": " }",
}
_KEYWORDS = ("flowchart", "graph")
_DIRECTIONS = frozenset(("TD", "TB", "LR", "RL", "BT"))
_ARROW_ALONE = re.compile(r"(?:[xo<]?(?:--|==|-?\.+-?|-)[-=.xo>]*|~~~+)(?:\|[^|]*\|)?\s*")
_END = re.compile(r"end\b")
_LINE = re.compile(r"[^\r\n]*")


def fixes_for(problem: SyntaxProblem, block: Block) -> list[Fix]:
    """The repairs of a broken statement that make it readable; none where no simple edit does."""
    line_number, line, column = _line_of(block, problem.span[0])
    maker = _MAKERS.get(problem.flaw)
    if maker is None:
        return []
    return maker(problem, block.line + line_number, line, column)


def _line_of(block: Block, offset: int) -> tuple[int, str, int]:
    """The line of a block that holds an offset: its number, its text without line ending, and the column."""
    position = block.position(offset)
    number = position.line - block.line
    # A block may hold thousands of statements, so only this line is looked at.
    line = _LINE.match(block.text, offset - position.column)
    return number, "" if line is None else line[0], position.column


def reads(line: str) -> bool:
    """Whether a line by itself is Mermaid."""
    diagram = parse_diagram(f"flowchart TD\n{line}\n")
    return all(_is_read(statement) for block in diagram.blocks for statement in block.statements)


def _is_read(statement: Statement) -> bool:
    if isinstance(statement, Chain):
        written = [vertex.metadata for group in statement.groups for vertex in group if vertex.metadata is not None]
        return all(parse_metadata(metadata.body).error is None for metadata in written)
    return not isinstance(statement, Broken)


def _comment(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    statement = line[:column].rstrip()
    indent = line[: len(line) - len(line.lstrip())]
    comment = line[column:].rstrip()
    whole = Range(Position(line_number, 0), Position(line_number, len(line)))
    if not reads(statement):
        return []
    return [Fix("Move the comment to a line of its own", (TextEdit(whole, f"{indent}{comment}\n{statement}"),))]


def _unclosed(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    openers = ("@{", "[[", "((", "([", "[(", "{{")
    opener = next((text for text in openers if line.startswith(text, column)), line[column : column + 1])
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
    elif opener == "|":
        places += [place for place in range(len(line.rstrip()) - 1, column, -1) if line[place].isspace()]
    closers = [closer]
    if opener == '"':
        # Neither the quote nor the bracket around it is closed.
        before = next((text for text in reversed(_CLOSERS) if line.endswith(text, 0, column) and text != opener), "")
        closers += [closer + _CLOSERS[before]] if before else []
        closers += ['" }'] if "@{" in line[:column] else []
    elif line.count('"', column) % 2:
        closers.append(f'"{closer}')
    for mark in closers:
        for place in places:
            if place > column and reads(line[:place] + mark + line[place:]):
                at = Position(line_number, place)
                return [Fix(f"Add {mark.strip()}", (TextEdit(Range(at, at), mark),), Applicability.UNSAFE)]
    return []


def _unfinished_arrow(_problem: SyntaxProblem, line_number: int, line: str, column: int) -> list[Fix]:
    """Take away an arrow that nothing follows on its line."""
    if not _ARROW_ALONE.fullmatch(line, column):
        return []
    kept = line[:column].rstrip()
    if not kept or not reads(kept):
        return []
    place = Range(Position(line_number, len(kept)), Position(line_number, len(line.rstrip())))
    return [Fix("Remove the unfinished arrow", (TextEdit(place, ""),), Applicability.UNSAFE)]


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
    if problem.kind != "not-a-diagram":
        return []
    at = Position(line_number, 0)
    word, _, direction = line.strip().partition(" ")
    keyword = closest(word, _KEYWORDS) or next((known for known in _KEYWORDS if word and known.startswith(word)), None)
    if keyword is not None:
        header = f"{keyword} {direction.strip().upper() if direction.strip().upper() in _DIRECTIONS else 'TD'}"
        whole = Range(at, Position(line_number, len(line)))
        return [Fix(f"Write {header}", (TextEdit(whole, header),), Applicability.UNSAFE)]
    if not reads(line):
        return []
    return [Fix("Begin with flowchart TD", (TextEdit(Range(at, at), "flowchart TD\n"),), Applicability.UNSAFE)]


_MAKERS = {
    "syntax-error": _unfinished_arrow,
    "unclosed-bracket": _unclosed,
    "unclosed-quote": _unclosed,
    "comment-after-statement": _comment,
    "reserved-word": _reserved,
    "bracket-in-label": _quote_label,
    "not-a-diagram": _no_header,
}
