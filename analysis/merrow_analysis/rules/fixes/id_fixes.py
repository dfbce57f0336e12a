"""Another id for a node whose id is a word of Mermaid's own, wherever it is named."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

from merrow_analysis.diagnostics import Applicability, Fix
from merrow_analysis.graph.flow import Flowchart
from merrow_analysis.rules.fixes.meant_fixes import (
    changed,
    is_as_meant,
    is_id,
    is_reserved,
    label_changes,
    range_in,
    with_other_ids,
)
from merrow_analysis.syntax.meant import ids, read_meant
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.reserved import RESERVED, capitalised
from merrow_analysis.syntax.tree import Broken, Header
from merrow_analysis.text import Span, TextEdit, split_lines

_MOST_LINES = 500
"""Lines in which a node is renamed at most."""
_FEW = 3
"""Lines over which a statement may go on that a comment interrupts."""
_SUBGRAPH = re.compile(r"[ \t]*subgraph[ \t]")


class ReservedIds:
    """The repairs of such ids in a text; each is made once, since all places that name a node have the same one."""

    def __init__(self, diagram: Diagram, flow: Flowchart) -> None:
        self._diagram, self._flow = diagram, flow
        self._made: dict[str, Fix | None] = {}

    def fixes(self, line_number: int) -> Iterator[Fix]:
        """The repair of the first such id in a line."""
        line = self._lines[line_number]
        meant = read_meant(line) if self.is_below_header(line_number) else None
        if meant is None:
            return
        names = (line[slice(*piece.span)] for piece in meant.pieces if piece.kind == "id")
        word = next(filter(is_reserved, names), None)
        if word is None:
            return
        if word not in self._made:
            self._made[word] = self._renamed(word)
        fix = self._made[word]
        if fix is not None:
            yield fix

    def lines_from(self, line_number: int) -> list[str]:
        """A few lines of the text, from one on."""
        return self._lines[line_number : line_number + _FEW]

    def is_below_header(self, line_number: int) -> bool:
        """Whether a line belongs to the diagram's body."""
        return self._header is not None and line_number > self._header

    @cached_property
    def _header(self) -> int | None:
        """The diagram's first line, which begins with such a word by right."""
        for block in self._diagram.blocks:
            if any(isinstance(statement, Header) for statement in block.statements):
                return block.line
        return None

    @cached_property
    def _lines(self) -> list[str]:
        return [line.rstrip("\r\n") for block in self._diagram.blocks for line in split_lines(block.text)]

    @cached_property
    def _inside(self) -> set[int]:
        """The lines that name no node whatever they look like: those up to the diagram's first, and those within a label."""
        lines = set(range((self._header or 0) + 1))
        for block in self._diagram.blocks:
            if block.line_count > 1 and not any(isinstance(statement, Broken) for statement in block.statements):
                lines.update(range(block.line + 1, block.line + block.line_count))
        return lines

    def _renamed(self, word: str) -> Fix | None:
        new = self._other_name(word)
        edits: list[TextEdit] = []
        is_node = False
        for number, (line_number, places) in enumerate(self._named(word)):
            line = self._lines[line_number]
            meant = read_meant(line)
            is_node |= (
                line.strip(" \t;])}") not in RESERVED
            )  # Else it may be a statement that somebody is about to write.
            if number == _MOST_LINES or new is None or meant is None:
                return None
            if not is_as_meant(changed(line, [*label_changes(line, meant), *with_other_ids(line, meant)]), meant):
                return None
            edits += [TextEdit(range_in(line_number, place), new) for place in places]
        return Fix(f"Rename {word} to {new}", tuple(edits), Applicability.UNSAFE) if is_node else None

    def _other_name(self, word: str) -> str | None:
        """The word with a capital letter where it would be read as one of Mermaid's own."""
        name = capitalised(word)
        tries = [name, f"{name}_", *(f"{name}_{number}" for number in range(2, 9))]
        return next((candidate for candidate in tries if not self._is_taken(candidate) and is_id(candidate)), None)

    def _is_taken(self, name: str) -> bool:
        return name in self._flow.chart.nodes or name in self._flow.subgraphs or any(self._named(name))

    def _named(self, word: str) -> Iterator[tuple[int, list[Span]]]:
        """The lines in which the node is named, each with the places in it."""
        kept = self._inside | _closing(self._lines) if word == "end" else self._inside
        for number, line in enumerate(self._lines):
            if word in line and number not in kept:
                places = [span for span in ids(line) if line[slice(*span)] == word]
                if places:
                    yield number, places


def _closing(lines: Sequence[str]) -> set[int]:
    """The lines ``end`` that close a subgraph. Where there are more than subgraphs, those are that are indented as one is."""
    starts = sum(_SUBGRAPH.match(line) is not None for line in lines)
    ends = [number for number, line in enumerate(lines) if _is_end(line)]
    if len(ends) <= starts:
        return set(ends)
    closing: set[int] = set()
    indents: list[int] = []
    for number, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if _SUBGRAPH.match(line):
            indents.append(indent)
        elif _is_end(line) and indents and indents[-1] == indent:
            indents.pop()
            closing.add(number)
    return closing


def _is_end(line: str) -> bool:
    return line.strip(" \t;") == "end"
