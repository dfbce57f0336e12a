"""The subgraphs of a diagram as stretches of its text, each from its head to its ``end``."""

from __future__ import annotations

from dataclasses import dataclass

from merrow_analysis.ide.cursor.blocks import end_of
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block, SubgraphEnd, SubgraphStart
from merrow_analysis.text import Position, Range


@dataclass(slots=True, eq=False)
class Stretch:
    """A subgraph in the text. ``end`` is where its ``end`` ends, or the text where nothing closes it."""

    id: str
    head: SubgraphStart
    block: Block
    end: Position
    parent: Stretch | None
    closed: bool = True

    @property
    def range(self) -> Range:
        return Range(self.block.position(self.head.span[0]), self.end)

    @property
    def title(self) -> str:
        title = self.head.title.text.strip() if self.head.title is not None else ""
        return title or self.id


def stretches(diagram: Diagram) -> list[Stretch]:
    """The subgraphs in the order of their heads."""
    listed: list[Stretch] = []
    waiting: list[Stretch] = []
    last = end_of(diagram)
    closed = 0
    for block in diagram.blocks:
        for statement in block.statements:
            if isinstance(statement, SubgraphStart):
                name = statement.id.text if statement.id is not None else ""
                stretch = Stretch(name, statement, block, last, waiting[-1] if waiting else None, closed=False)
                listed.append(stretch)
                waiting.append(stretch)
            elif isinstance(statement, SubgraphEnd) and waiting:
                done = waiting.pop()
                # Mermaid numbers the subgraphs that have no id as they end.
                done.id = done.id or f"subGraph{closed}"
                done.end, done.closed = block.position(statement.span[1]), True
                closed += 1
    for stretch in reversed(waiting):
        stretch.id = stretch.id or f"subGraph{closed}"
        closed += 1
    return listed


def stretch_of(diagram: Diagram, head: SubgraphStart) -> Stretch | None:
    """The subgraph that a statement begins."""
    return next((stretch for stretch in stretches(diagram) if stretch.head is head), None)
