"""Diagrams in Markdown: every fenced block whose first word is ``mermaid`` or ``mmd``, with places and edits mapped to the file.

A fence may be in lists and block quotes and be indented; its text is what remains of its lines without those marks,
with the file's own line endings. Words that name the language: ``mermaid`` and ``mmd`` in any case, and ``{mermaid}`` as MyST and
Quarto write it. The fence may be of colons (``::: mermaid``), as in Azure DevOps and with plug-ins of markdown-it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from merrow_analysis.markdown_blocks import FencedBlock, fenced_blocks
from merrow_analysis.text import (
    OverlappingEditsError,
    Position,
    Range,
    TextEdit,
    line_content,
    split_lines,
)

_OPENING = re.compile(r"(?:```|~~~|:::)[ \t]*(?:\{[ \t]*)?\.?(?:mermaid|mmd)", re.I)
_LANGUAGE = re.compile(r"(?:mermaid|mmd)(?![^\s{])|\{\s*\.?(?:mermaid|mmd)(?:\s[^}]*)?\}", re.I)
_DIRECTIVE_OPTION = re.compile(r":[\w-]+:")
_NOT_A_QUOTE_MARK = re.compile(r"[^>\s]")


@dataclass(frozen=True, slots=True)
class _FenceLine:
    """A line of a fence in the file: ``cut`` characters lead up to it, ``pad`` spaces of its text stand for a tab."""

    host: str
    cut: int
    pad: int

    @property
    def text(self) -> str:
        return " " * self.pad + self.host[self.cut :]


@dataclass(frozen=True, slots=True)
class DiagramFence:
    """One diagram of a Markdown file.

    ``index`` counts the file's diagrams from 1; ``text`` is the diagram; ``line`` is the file's line on which it
    begins; ``range`` is the file's text from the opening fence to the end of the closing one.
    """

    index: int
    text: str
    line: int
    range: Range
    _lines: tuple[_FenceLine, ...]
    _prefix: str
    _glue: str

    def to_host(self, position: Position) -> Position:
        """The place in the file of a place in the diagram."""
        number, column = position
        if number >= len(self._lines):
            return Position(self.line + len(self._lines), 0)
        line = self._lines[number]
        if column < line.pad:
            return Position(self.line + number, line.cut - 1)
        return Position(self.line + number, line.cut + column - line.pad)

    def range_to_host(self, span: Range) -> Range:
        return Range(self.to_host(span.start), self.to_host(span.end))

    def from_host(self, position: Position) -> Position | None:
        """The place in the diagram of a place in the file, or None outside; the marks before a line mean its start."""
        number, column = position.line - self.line, position.column
        if not 0 <= number < len(self._lines):
            return None
        line = self._lines[number]
        return Position(number, column - line.cut + line.pad if column >= line.cut else 0)

    def shift(self, number: int) -> int:
        """How far right of its place in the diagram's line ``number`` what is written there is in the file."""
        line = self._lines[number]
        return line.cut - line.pad

    def edits_to_host(self, edits: Iterable[TextEdit]) -> list[TextEdit]:
        """Edits of the diagram as edits of the file: new lines get the fence's indentation and quote marks.

        The diagram that is found in the file afterwards is the edited one, except that a line ending is added where the
        edits leave none before the closing fence. Edits that touch are made one. Raises `OverlappingEditsError` as
        `apply_edits` does.
        """
        return [self._edit_to_host(edit) for edit in self._merged(edits)]

    def _merged(self, edits: Iterable[TextEdit]) -> list[TextEdit]:
        """The edits in order, those made one that touch, or that lie within the same partly cut tab."""
        merged: list[TextEdit] = []
        ordered = sorted(enumerate(edits), key=lambda pair: (pair[1].range.start, pair[1].range.end, pair[0]))
        for _, edit in ordered:
            start, end = self._clamp(edit.range.start), self._clamp(edit.range.end)
            if end < start or (merged and start < merged[-1].range.end):
                raise OverlappingEditsError(f"edits overlap at line {start.line + 1}")
            new_text = edit.new_text
            if merged:
                before = merged[-1].range.end
                if start == before or (start.line == before.line and start.column < self._lines[start.line].pad):
                    new_text = merged[-1].new_text + " " * (start.column - before.column) + new_text
                    start = merged.pop().range.start
            merged.append(TextEdit(Range(start, end), new_text))
        return merged

    def _clamp(self, position: Position) -> Position:
        if position.line >= len(self._lines):
            if self._lines and self._lines[-1].text[-1:] not in ("\r", "\n"):
                return Position(len(self._lines) - 1, len(self._lines[-1].text))
            return Position(len(self._lines), 0)
        return Position(position.line, min(position.column, len(line_content(self._lines[position.line].text))))

    def _edit_to_host(self, edit: TextEdit) -> TextEdit:
        start, end = edit.range
        pieces = split_lines(edit.new_text)
        if not pieces or pieces[-1][-1] in "\r\n":
            pieces.append("")

        host_start, lead = self.to_host(start), ""
        if start.line >= len(self._lines):
            lead = self._glue + self._prefix
        elif self._written_anew(self._lines[start.line], start.column):
            host_start, lead = Position(host_start.line, 0), self._prefix + " " * start.column

        if end.line < len(self._lines):
            last = self._lines[end.line]
            host_end = Position(self.line + end.line, last.cut + max(0, end.column - last.pad))
            rest = line_content(last.text)[end.column :]
            pieces[-1] += " " * max(0, last.pad - end.column)
        else:
            host_end, rest = self.to_host(end), ""
            if pieces[-1] or (len(pieces) == 1 and start.column > 0):
                pieces[-1] += self._line_ending
            elif len(pieces) == 1:
                return TextEdit(Range(Position(host_start.line, 0), host_end), "")
            else:
                pieces.pop()

        text = ""
        for number, piece in enumerate(pieces):
            before = lead if number == 0 else self._prefix
            more = rest if number == len(pieces) - 1 else ""
            text += (before if line_content(piece) + more else before.rstrip(" \t")) + piece
        return TextEdit(Range(host_start, host_end), text)

    def _written_anew(self, line: _FenceLine, column: int) -> bool:
        """Whether new text at ``column`` needs the marks before it: they are half a tab, or too few for white space."""
        return column < line.pad or (column == 0 and line.host[: line.cut] != self._prefix)

    @property
    def _line_ending(self) -> str:
        first = self._lines[0].host if self._lines else ""
        return first[len(line_content(first)) :] or "\n"


def find_fences(text: str) -> list[DiagramFence]:
    """The diagrams of a Markdown text, in order. Linear in the text; costs next to nothing where no fence is one."""
    if _OPENING.search(text) is None:
        return []
    return list(_fences(split_lines(text)))


def _fences(hosts: list[str]) -> Iterator[DiagramFence]:
    index = 0
    for block in fenced_blocks([line_content(host) for host in hosts], _LANGUAGE):
        if _LANGUAGE.match(block.info):
            index += 1
            yield _fence(index, hosts, block)


def _fence(index: int, hosts: list[str], block: FencedBlock) -> DiagramFence:
    first = block.opening_line + 1
    lines = [_FenceLine(hosts[first + number], cut, pad) for number, (cut, pad) in enumerate(block.cuts)]
    last_line = block.opening_line + len(lines) + block.closed
    options = 0
    if block.info.startswith("{"):  # a directive's options precede its body
        while options < len(lines) and _DIRECTIVE_OPTION.match(lines[options].text):
            options += 1
    lines = lines[options:]
    opening = hosts[block.opening_line]
    prefix = _NOT_A_QUOTE_MARK.sub(" ", opening[: block.opening_column])
    if prefix.endswith(">"):
        prefix += " "  # which belongs to the mark: without it, a space that the text begins with would
    return DiagramFence(
        index=index,
        text="".join(line.text for line in lines),
        line=first + options,
        range=Range(
            Position(block.opening_line, block.opening_column),
            Position(last_line, len(line_content(hosts[last_line]))),
        ),
        _lines=tuple(lines),
        _prefix=prefix,
        _glue="" if opening != line_content(opening) else "\n",
    )
