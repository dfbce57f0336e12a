"""Lines of a source with a mark under a range, aligned in terminal cells whatever the line is made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from merrow_analysis.visible import plain as plain
from merrow_analysis.visible import visible as visible

if TYPE_CHECKING:
    from merrow_analysis.text import Range

TAB = 4
LINES_SHOWN = 4
"""A range over more lines shows its first two and its last."""
_LEAD, _TAIL = 60, 60
"""How many characters of a long line are shown before the mark, and after its beginning."""


class MarkedLine(NamedTuple):
    """A line as it is shown and the mark below it; ``number`` counts from 1, None stands for lines left out."""

    number: int | None
    text: str
    mark: str


def marked_lines(lines: Sequence[str], place: Range) -> Iterator[MarkedLine]:
    """The lines that ``place`` touches, each with carets below what belongs to it; an empty range gets one caret."""
    first, last = place.start.line, place.end.line
    if place.end.column == 0 and last > first:
        last -= 1
    numbers = list(range(first, last + 1))
    if len(numbers) > LINES_SHOWN:
        numbers = [first, first + 1, -1, last]
    for number in numbers:
        if number < 0:
            yield MarkedLine(None, "...", "")
            continue
        line = lines[number].rstrip("\r\n") if number < len(lines) else ""
        start = place.start.column if number == first else len(line) - len(line.lstrip())
        end = place.end.column if number == place.end.line else len(line)
        yield _mark(number + 1, line, min(start, len(line)), min(end, len(line)))


def _mark(number: int, line: str, start: int, end: int) -> MarkedLine:
    lead, tail = max(0, start - _LEAD), max(end, start)
    cut_left = lead > TAB
    cut_right = len(line) > start + _LEAD + _TAIL
    left = lead if cut_left else 0
    right = min(len(line), start + _LEAD + _TAIL)
    before = _expand(("..." if cut_left else "") + line[left:start], 0)
    width = cells(before)
    marked = _expand(line[start : min(tail, right)], width)
    after = _expand(line[min(tail, right) : right], width + cells(marked))
    text = before + marked + after + ("..." if cut_right else "")
    return MarkedLine(number, text.rstrip(), " " * width + "^" * max(1, cells(marked)))


def _expand(text: str, column: int) -> str:
    """``text`` with its tabs as blanks up to the next tab stop, given that it begins at cell ``column``."""
    if "\t" not in text:
        return visible(text)
    pieces: list[str] = []
    for index, piece in enumerate(text.split("\t")):
        if index:
            blanks = TAB - column % TAB
            pieces.append(" " * blanks)
            column += blanks
        shown = visible(piece)
        pieces.append(shown)
        column += cells(shown)
    return "".join(pieces)


def cells(text: str) -> int:
    """How many terminal cells ``text`` takes."""
    if text.isascii():
        return len(text)
    # Loaded only for such lines: it costs as much as all the rest of a small check.
    try:
        from rich.cells import cell_len
    except ImportError:  # The copy in the editor's extension, which writes to no terminal.
        return len(text)
    return cell_len(text)
