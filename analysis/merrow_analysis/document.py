"""A text that is edited: its lines and blocks, spliced by each edit.

An edit replaces the lines it touched; blocks are read anew from the statement before the first of them until the boundaries
coincide with the old ones again. All other blocks stay the same objects (only their line moves), so
that what was worked out for them may be kept. The outcome is always that of reading the whole text cold.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

from merrow_analysis.syntax.characters import WHITE_CHARACTERS
from merrow_analysis.syntax.parser import Diagram, continues_statement, parse_body, parse_lines
from merrow_analysis.syntax.tree import Block, Comment
from merrow_analysis.text import Position, TextEdit, split_lines


class Change(NamedTuple):
    """Blocks that an edit replaced; equal ones at both ends are not among them."""

    old: list[Block]
    new: list[Block]


class Document:
    """The lines of a text and the diagram in them, kept up to date by `edit`."""

    def __init__(self, text: str) -> None:
        self.lines = split_lines(text)
        self.diagram: Diagram = parse_lines(self.lines, text)
        self.changes: list[Change] | None = None
        """The blocks replaced since this was last emptied, in order; None where the whole text was read."""

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def edit(self, edit: TextEdit) -> None:
        """Replace a range by new text. Positions beyond the end of a line or of the text mean that end."""
        first, last, new = self._new_lines(edit)
        old = self.lines[first:last]
        self.lines[first:last] = new
        self.diagram.line_count = len(self.lines)
        if self._needs_whole(first, old, new):
            self._read_whole()
        else:
            self._splice(first, last, len(new))

    def _new_lines(self, edit: TextEdit) -> tuple[int, int, list[str]]:
        """Which lines (from, up to) the edit replaces, and by what."""
        lines = self.lines
        start, end = self._clamp(edit.range.start), self._clamp(edit.range.end)
        first, last = start.line, end.line + 1
        before = lines[first][: start.column] if first < len(lines) else ""
        after = lines[end.line][end.column :] if end.line < len(lines) else ""
        text = before + edit.new_text + after
        # A carriage return may join a line feed that now follows it, and text without a line ending the next line.
        if first > 0 and (lines[first - 1][-1] == "\r" or not lines[first - 1].endswith(("\n", "\r"))):
            first -= 1
            text = lines[first] + text
        while last < len(lines) and (not text.endswith("\n")):
            text += lines[last]
            last += 1
        return first, min(last, len(lines)), split_lines(text)

    def _clamp(self, position: Position) -> Position:
        lines = self.lines
        if position.line >= len(lines):
            return Position(len(lines), 0)
        content = len(lines[position.line].rstrip("\r\n"))
        return Position(position.line, min(position.column, content))

    def _needs_whole(self, first: int, old: list[str], new: list[str]) -> bool:
        diagram = self.diagram
        if diagram.whole or diagram.header is None:
            return True
        header = diagram.header[1]
        if first < header.line + header.line_count:
            return True
        return any("%%{" in line or ('="' in line) for line in (*old, *new))

    def _read_whole(self) -> None:
        """Read the text anew, keeping the block objects at both ends that did not change."""
        old = self.diagram.blocks
        diagram = parse_lines(self.lines)
        new = diagram.blocks
        shared = min(len(old), len(new))
        front = 0
        while front < shared and _same(old[front], new[front]):
            front += 1
        back = 0
        while back < shared - front and _same(old[-1 - back], new[-1 - back]):
            back += 1
        kept: dict[int, Block] = {}
        for index in (*range(front), *range(len(new) - back, len(new))):
            block = old[index - len(new) + len(old)] if index >= front else old[index]
            block.line, block.reach = new[index].line, new[index].reach
            kept[id(new[index])] = block
            new[index] = block
        diagram.far = [kept.get(id(block), block) for block in diagram.far]
        if diagram.header is not None:
            diagram.header = (diagram.header[0], kept.get(id(diagram.header[1]), diagram.header[1]))
        if diagram.front_matter is not None:
            front_matter, block = diagram.front_matter
            block = kept.get(id(block), block)
            diagram.front_matter = (front_matter, block)
        self.diagram = diagram
        self.changes = None

    def _splice(self, first: int, last: int, count: int) -> None:
        """Read anew around lines ``first`` to ``last`` (old numbers), which are now ``count`` lines."""
        diagram = self.diagram
        blocks = diagram.blocks
        delta = count - (last - first)
        start = self._first_affected(first)
        if start is None:
            self._read_whole()
            return
        edit_end = first + count

        def met(line: int) -> bool:
            if line < edit_end:
                return False
            index = bisect_right(blocks, line - delta, key=_line) - 1
            if index < 0 or blocks[index].line != line - delta:
                return False
            return not self._continues(line)

        line = blocks[start].line if start < len(blocks) else first
        # An arrow makes reading step back over the statements before it: seldom over more than the last one.
        base = start - 1
        while base > 0 and all(isinstance(statement, Comment) for statement in blocks[base].statements):
            base -= 1
        for window in (max(base, 0), 0):
            partial, reached = parse_body(self.lines, blocks[window:start], line, met)
            if partial.whole:
                self._read_whole()
                return
            made = partial.blocks
            kept = min(start - window, len(made))
            while kept and made[kept - 1] is not blocks[window + kept - 1]:
                kept -= 1
            if kept or not window:
                break
        resume = bisect_right(blocks, reached - delta - 1, key=_line) if reached < len(self.lines) else len(blocks)
        if delta:
            for index in range(resume, len(blocks)):
                blocks[index].line += delta
        changed = Change(blocks[window + kept : resume], made[kept:])
        while changed.old and changed.new and _same(changed.old[0], changed.new[0]):
            _renumber(changed.old.pop(0), changed.new.pop(0))
            kept += 1
        resumed = resume
        while changed.old and changed.new and _same(changed.old[-1], changed.new[-1]):
            _renumber(changed.old.pop(), changed.new.pop())
            resumed -= 1
        blocks[window + kept : resumed] = changed.new
        if self.changes is not None:
            self.changes.append(changed)
        if diagram.far or partial.far:
            diagram.far = [block for block in blocks if block.reach]

    def _first_affected(self, first: int) -> int | None:
        """The index of the block from which to read: the statement before the edit, or one that looked as far as it.

        None where that would be the header, which only the reading of a whole text knows.
        """
        blocks = self.diagram.blocks
        index = max(bisect_right(blocks, first, key=_line) - 1, 0)
        # Step to a block before the edit, then over blank lines and comments to the statement that a new arrow would continue.
        index -= 1
        while index > 0 and all(isinstance(statement, Comment) for statement in blocks[index].statements):
            index -= 1
        for block in self.diagram.far:
            if block.line < first <= block.line + block.reach:
                index = min(index, bisect_right(blocks, block.line, key=_line) - 1)
        header = self.diagram.header
        if header is None or index < 0 or blocks[index].line <= header[1].line:
            return None
        return index

    def _continues(self, line: int) -> bool:
        """Whether the next line with content begins with an arrow."""
        lines = self.lines
        while line < len(lines):
            content = lines[line].lstrip(WHITE_CHARACTERS)
            if content and not content.startswith("%%"):
                return continues_statement(content)
            line += 1
        return False


def _line(block: Block) -> int:
    return block.line


def _renumber(old: Block, new: Block) -> None:
    """Let the old block stand where the new one would."""
    old.line, old.reach = new.line, new.reach


def _same(old: Block, new: Block) -> bool:
    """Whether two blocks say the same, so that the old object may stand for the new one."""
    return old.text == new.text and (old.statements is new.statements or old.statements == new.statements)
