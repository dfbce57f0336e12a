"""A text that is edited: its lines and blocks, spliced by each edit.

An edit replaces the lines it touched. Blocks are read again from the statement before the first of them until the boundaries
coincide with the old ones. All other blocks stay the same objects, or successors of them where lines came or went above
(`Block.moved`), so that what was worked out for them may be kept. The outcome is always that of reading the whole text cold.
Every edit makes another `Diagram`; the earlier ones stay as they were.
"""

from __future__ import annotations

from bisect import bisect_right
from copy import copy
from dataclasses import replace
from typing import NamedTuple

from merrow_analysis.syntax.characters import WHITE_CHARACTERS
from merrow_analysis.syntax.parser import Diagram, continues_statement, parse_body, parse_lines
from merrow_analysis.syntax.tree import Block, Comment
from merrow_analysis.text import TextEdit, edited_lines, equal_ends, split_lines


class BlockChange(NamedTuple):
    """Blocks that an edit replaced, as they were before it; equal ones at both ends are not among them."""

    old: list[Block]
    new: list[Block]


class Document:
    """The lines of a text and the diagram in them, kept up to date by `edit`."""

    def __init__(self, text: str) -> None:
        self.lines = split_lines(text)
        self.diagram: Diagram = parse_lines(self.lines, text)
        self.changes: list[BlockChange] | None = None
        """The blocks replaced since this was last emptied, in order; None where the whole text was read."""

    @property
    def text(self) -> str:
        return "".join(self.lines)

    def fork(self) -> Document:
        """Another document of the same text, which shares its blocks; each is edited by itself."""
        other = copy(self)
        other.lines = self.lines.copy()
        other.changes = None if self.changes is None else self.changes.copy()
        return other

    def edit(self, edit: TextEdit) -> None:
        """Replace a range by new text. Positions beyond the end of a line or of the text mean that end."""
        first, last, new = edited_lines(self.lines, edit)
        old = self.lines[first:last]
        self.lines[first:last] = new
        if self._needs_whole(first, old, new):
            self._read_whole()
        else:
            self._splice(first, last, len(new))

    def _needs_whole(self, first: int, old: list[str], new: list[str]) -> bool:
        diagram = self.diagram
        if diagram.whole or diagram.header is None:
            return True
        header = diagram.header[1]
        if first < header.line + header.line_count:
            return True
        return any("%%{" in line or ('="' in line) for line in (*old, *new))

    def _read_whole(self) -> None:
        """Read the text again, keeping the block objects at both ends that did not change."""
        before = self.diagram
        old = before.blocks
        diagram = parse_lines(self.lines)
        new = diagram.blocks
        front, back = equal_ends(old, new, _same)
        kept: dict[Block, Block] = {}
        for index in (*range(front), *range(len(new) - back, len(new))):
            block = old[index - len(new) + len(old)] if index >= front else old[index]
            kept[new[index]] = new[index] = _moved(block, new[index])
        diagram.moved = {block.origin: block for block in kept.values() if block.origin is not None}
        diagram.far = [kept.get(block, block) for block in diagram.far]
        if diagram.header is not None:
            diagram.header = (diagram.header[0], kept.get(diagram.header[1], diagram.header[1]))
        if diagram.front_matter is not None:
            front_matter, block = diagram.front_matter
            diagram.front_matter = (front_matter, kept.get(block, block))
        self.diagram = diagram
        self.changes = None

    def _splice(self, first: int, last: int, count: int) -> None:
        """Read again around lines ``first`` to ``last`` (old numbers), which are now ``count`` lines."""
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
            partial, reached = parse_body(self.lines, blocks[window:start], line, met, quotes=diagram.quotes)
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
        changed = BlockChange(blocks[window + kept : resume], made[kept:])
        head, tail = blocks[: window + kept], blocks[resume:]
        moved: dict[Block, Block] = {}
        front, back = equal_ends(changed.old, changed.new, _same)
        for number in range(front):
            head.append(_moved(changed.old[number], changed.new[number], moved))
        new = changed.new[front : len(changed.new) - back]
        behind = [
            _moved(before, other, moved)
            for before, other in zip(
                changed.old[len(changed.old) - back :], changed.new[len(changed.new) - back :], strict=True
            )
        ]
        if delta:
            for number, block in enumerate(tail):
                tail[number] = successor = block.moved(block.line + delta)
                moved[block.origin or block] = successor
        after = [*head, *new, *behind, *tail]
        if self.changes is not None:
            self.changes.append(BlockChange(changed.old[front : len(changed.old) - back], new))
        far = [block for block in after if block.reach] if diagram.far or partial.far else []
        known = diagram.moved
        if moved:
            known = {block.origin: block for block in after if block.origin is not None}
        self.diagram = replace(diagram, blocks=after, line_count=len(self.lines), far=far, moved=known)

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


def _moved(block: Block, like: Block, moved: dict[Block, Block] | None = None) -> Block:
    """A block where the equal block ``like`` is; noted in ``moved`` by its origin where that is another line."""
    if (block.line, block.reach) == (like.line, like.reach):
        return block
    successor = block.moved(like.line, like.reach)
    if moved is not None:
        moved[block.origin or block] = successor
    return successor


def _same(old: Block, new: Block) -> bool:
    """Whether two blocks say the same, so that the old object may stand for the new one."""
    return old.text == new.text and (old.statements is new.statements or old.statements == new.statements)
