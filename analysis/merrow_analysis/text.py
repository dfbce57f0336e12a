"""Places in a text, and edits of it.

Everywhere in ``merrow_analysis`` a position counts code points from zero: ``Position(line, column)``. The front doors
(`merrow_server`) convert to UTF-16 at the rim and nowhere else. Lines end at ``\\n``, ``\\r\\n`` or a lone ``\\r``, as they
do for Mermaid and for the Language Server Protocol; no other character ends a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r)|[^\r\n]+")


class Position(NamedTuple):
    """A place between two characters; both numbers count from zero, columns in code points."""

    line: int
    column: int


class Range(NamedTuple):
    """The text from ``start`` up to, not including, ``end``."""

    start: Position
    end: Position


class TextEdit(NamedTuple):
    """Replace the text of ``range`` by ``new_text``."""

    range: Range
    new_text: str


def split_lines(text: str) -> list[str]:
    """Cut ``text`` into its lines, each with its own line ending; ``"".join`` of the answer gives ``text`` back."""
    if "\r" not in text:
        return text.splitlines(keepends=True) if _only_newlines(text) else _LINE.findall(text)
    return _LINE.findall(text)


def _only_newlines(text: str) -> bool:
    """Whether ``str.splitlines`` would cut at line feeds alone."""
    return text.isascii() and not any(c in text for c in "\v\f\x1c\x1d\x1e")


class OverlappingEdits(ValueError):
    """Two edits of one list touch the same text."""


def apply_edits(text: str, edits: Iterable[TextEdit]) -> str:
    """Apply ``edits``, whose ranges all speak of ``text`` as it is, and return the new text.

    Insertions at one place keep the order of the list. Raises `OverlappingEdits` when two ranges overlap.
    """
    ordered = sorted(enumerate(edits), key=lambda pair: (pair[1].range.start, pair[1].range.end, pair[0]))
    if not ordered:
        return text
    lines = split_lines(text)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))

    def offset(position: Position) -> int:
        if position.line >= len(lines):
            return len(text)
        content = len(lines[position.line].rstrip("\r\n"))
        return starts[position.line] + min(position.column, content)

    pieces: list[str] = []
    done = 0
    for _, edit in ordered:
        start, end = offset(edit.range.start), offset(edit.range.end)
        if start < done:
            raise OverlappingEdits(f"edits overlap at line {edit.range.start.line + 1}")
        pieces += (text[done:start], edit.new_text)
        done = max(end, start)
    pieces.append(text[done:])
    return "".join(pieces)
