"""Where in a file a cursor stands while something is typed: in its front matter, a comment, or a statement."""

from __future__ import annotations

import re
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.ide.cursor.lookup import line_at, lines_between, spot
from merrow_analysis.ide.cursor.statement import CursorExpectation, read_typed
from merrow_analysis.syntax.lexer import first_word
from merrow_analysis.syntax.reduction import open_fence
from merrow_analysis.syntax.tree import Broken, FrontMatter
from merrow_analysis.text import Position, Range, line_content

_FAR_BACK = 200
"""How many lines above the cursor an open metadata block is looked for."""
_ARROW = re.compile(r"--|==|-\.|~~~")
_CONTINUES = re.compile(r"[ \t]*(?:[<xo]?(?:--|==|-\.)|~~~|&|\|)")
_WORD_END = re.compile(r"[\w-]*")


@dataclass(frozen=True, slots=True)
class InFrontMatter:
    """``text`` is what stands between the fences, ``offset`` the cursor in it."""

    text: str
    offset: int


@dataclass(frozen=True, slots=True)
class InComment:
    """``before`` is the line up to the cursor."""

    before: str


@dataclass(frozen=True, slots=True)
class InStatement:
    """``before`` is the statement up to the cursor, ``after`` the rest of its line."""

    before: str
    after: str
    typed: CursorExpectation


def place_at(analysis: Analysis, position: Position) -> InFrontMatter | InComment | InStatement:
    """Say where the cursor stands. Never raises."""
    line = line_at(analysis, position.line)
    column = min(position.column, len(line))
    front = _front_matter(analysis, position.line, column)
    if front is not None:
        return front
    if line.lstrip().startswith("%%") and not line.lstrip().startswith("%%{"):
        return InComment(line[:column])
    before = _before(analysis, position.line) + line[:column]
    return InStatement(before, line[column:], read_typed(before))


def word_range(position: Position, line: str, start: int) -> Range:
    """The word at the cursor, which begins ``start`` characters before it; what follows belongs to it if it has begun."""
    column = min(position.column, len(line))
    end = _WORD_END.match(line, column).end() if start > 0 else column  # type: ignore[union-attr]  # matches anything
    return Range(Position(position.line, column - start), Position(position.line, end))


def _front_matter(analysis: Analysis, line: int, column: int) -> InFrontMatter | None:
    front = analysis.diagram.front_matter
    if front is not None:
        matter, block = front
        here = spot(analysis, Position(line, column))
        start, end = matter.body_span
        if here is None or here.block is not block or not start <= here.offset <= end:
            return None
        return InFrontMatter(matter.body, here.offset - start)
    opened = open_fence(f"{line_at(analysis, 0)}\n")
    if line == 0 or opened is None:
        return None
    # Not closed yet: it goes on to the line that begins the diagram.
    indent, _ = opened
    lines = lines_between(analysis, 1, line + _FAR_BACK)
    for number, text in enumerate(lines):
        content = line_content(text).removeprefix(indent)
        if open_fence(f"{content}\n") or (content[:1].isalpha() and first_word(content) == "GRAPH"):
            if number + 1 <= line:
                return None
            lines = lines[:number]
            break
    offset = sum(map(len, lines[: line - 1])) + column
    return InFrontMatter("".join(lines), offset)


def _before(analysis: Analysis, line: int) -> str:
    """The lines above that belong to the statement on ``line``."""
    here = spot(analysis, Position(line, 0))
    if here is None:
        return ""
    block = here.block
    readable = not any(isinstance(statement, (Broken, FrontMatter)) for statement in block.statements)
    if block.line < line and readable:
        return "".join(lines_between(analysis, block.line, line - 1))
    above = lines_between(analysis, max(0, line - _FAR_BACK), line - 1)
    opened = _open_metadata(above)
    if opened is not None:
        return "".join(above[opened:])
    first = len(above)
    own = line_at(analysis, line)
    while first > 0 and _CONTINUES.match(own):
        first -= 1
        own = above[first]
    return "".join(above[first:])


def _open_metadata(above: list[str]) -> int | None:
    """The number of the line with the ``@{`` that is still open below all of them."""
    for number in range(len(above) - 1, -1, -1):
        line = above[number]
        begin = line.rfind("@{")
        if begin == -1:
            if first_word(line) is not None or _ARROW.search(line):
                return None
            continue
        quoted = False
        for char in "".join((line[begin:], *above[number + 1 :])):
            if char == '"':
                quoted = not quoted
            elif char == "}" and not quoted:
                return None
        return number
    return None
