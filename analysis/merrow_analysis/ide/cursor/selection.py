"""The node that a selection means, or all nodes and edges in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from merrow_analysis.check import Analysis
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.ide.cursor.lookup import arrow_at, block_at, offset_in, spot, vertex_at
from merrow_analysis.syntax.tree import Arrow, Block, Broken, Chain, Vertex
from merrow_analysis.text import Range, Span


@dataclass(frozen=True, slots=True)
class Selection:
    """The nodes and edges of a workflow that a selection touches, each once, in the order of the text."""

    nodes: tuple[TypedNode, ...] = ()
    edges: tuple[TypedEdge, ...] = ()


def selected_node(analysis: Analysis, place: Range) -> TypedNode | None:
    """The node at the beginning of a selection; None where there is none, or in a flowchart that is not a workflow."""
    here = spot(analysis, place.start)
    if analysis.typed is None or here is None:
        return None
    chain = here.statement
    vertex = vertex_at(chain, here.offset) if isinstance(chain, Chain) else None
    return None if vertex is None else analysis.typed.by_id.get(vertex.name.text)


def selection(analysis: Analysis, place: Range) -> Selection:
    """What of a workflow a selection touches; a cursor means the node at it, or else the edge.

    Nothing in a flowchart that is not a workflow, and where one of the selected lines can't be read.
    """
    typed = analysis.typed
    blocks = list(_blocks(analysis, place))
    if typed is None or any(isinstance(statement, Broken) for block in blocks for statement in block.statements):
        return Selection()
    names: set[str] = set()
    sources: set[str] = set()
    arrows: set[tuple[int, int]] = set()
    for block in blocks:
        vertices, links = _at(block, place)
        names.update(vertex.name.text for vertex in vertices)
        if links:
            sources.update(_named(block))
        # Equal lines share their statements, so an arrow is known by its block, too.
        arrows.update((id(block), id(arrow)) for arrow in links)
    nodes = [typed.by_id[name] for name in names if name in typed.by_id]
    edges = [
        edge
        for name in sources
        if name in typed.by_id
        for edge in typed.by_id[name].outgoing
        if (id(edge.flow.block), id(edge.flow.arrow)) in arrows
    ]
    ranks = typed.shape.ranks
    return Selection(
        tuple(sorted(nodes, key=lambda node: ranks[node.index])), tuple(sorted(edges, key=lambda edge: edge.flow.index))
    )


def _named(block: Block) -> Iterator[str]:
    """The ids in the chains of a block."""
    for chain in block.statements:
        if isinstance(chain, Chain):
            yield from (vertex.name.text for group in chain.groups for vertex in group)


def _blocks(analysis: Analysis, place: Range) -> Iterator[Block]:
    line = place.start.line
    while line <= place.end.line:
        block = block_at(analysis.diagram, line)
        if block is None:
            return
        yield block
        line = block.line + max(1, block.line_count)


def _at(block: Block, place: Range) -> tuple[list[Vertex], list[Arrow]]:
    """The vertices and arrows of a block in a selection."""
    chains = [statement for statement in block.statements if isinstance(statement, Chain)]
    if place.start == place.end:
        offset = offset_in(block, place.start)
        vertices = [vertex for chain in chains if (vertex := vertex_at(chain, offset)) is not None]
        return vertices[:1], [] if vertices else [
            arrow for chain in chains if (arrow := arrow_at(chain, offset)) is not None
        ]
    start = offset_in(block, place.start) if place.start.line >= block.line else 0
    end = offset_in(block, place.end) if place.end.line < block.line + block.line_count else len(block.text)

    def inside(span: Span) -> bool:
        return span[0] < end and start < span[1]

    return (
        [vertex for chain in chains for group in chain.groups for vertex in group if inside(vertex.span)],
        [arrow for chain in chains for arrow in chain.arrows if inside(arrow.span)],
    )
