"""Edge rewiring: an edge starts at another node, or leads to another one.

Its reader stays where its source moves: at the same port, in the same place among its inputs. Where its head moves, the edge
keeps its place in the text, and that of a Decision its case.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from merrow_analysis.edits.change import WantedEdge
from merrow_analysis.graph.nodes import TypedEdge
from merrow_analysis.wiring.wires import NodeOutput
from merrow_optimizer.mutations import memories, rewiring_heads
from merrow_optimizer.mutations.change import Grid, Joined, Mutation, Proposal
from merrow_optimizer.mutations.operator_names import REWIRING
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.wiring import fits, outputs, relabelled, source_of


def proposals(original: Original) -> Sequence[Proposal]:
    """A new source for each edge that brings a value, another node to lead to for each edge, and an edge more or fewer for each
    step that joins what it reads.
    """
    return Joined(
        _tails(original), rewiring_heads.proposals(original), memories.sharing(original), memories.forgetting(original)
    )


def _tails(original: Original) -> Sequence[Proposal]:
    """Every other output of every node for each edge that brings a value."""
    typed = original.typed
    sources = [source for node in typed.nodes for source in outputs(node)]
    place = {(source.node.id, source.output): number for number, source in enumerate(sources)}
    own = {
        edge: place[start]
        for edge in typed.edges
        if edge.port is not None and edge.target.kind != "unknown"
        for start in ((edge.source.id, source_of(edge).output),)
        if start in place
    }
    return Grid(rewire, original, list(own), sources, list(own.values()))


def rewire(original: Original, edge: TypedEdge, source: NodeOutput) -> Mutation:
    """Let an edge start at another output."""
    what = source.node.id if source.output is None else f"{source.output} of {source.node.id}"
    link = WantedEdge(source.node.id, edge.target.id, relabelled(edge, source.output, original), kept=True)
    return Mutation(
        original,
        REWIRING,
        f"Let {edge.target.id} read {what} instead of {edge.source.id}",
        edge.flow.range,
        edges={edge.flow.index: (link,)},
        content=(edge.source.id, edge.output, edge.target.id, edge.port, source.node.id, source.output),
        doubts=tuple(_doubts(original, edge, source)),
    )


def _doubts(original: Original, edge: TypedEdge, source: NodeOutput) -> Iterator[tuple[str, str]]:
    target = edge.target
    if original.reaches(target, source.node):
        yield "bridge", f"{source.node.id} comes after {target.id}: they would wait for each other."
    port = next((port for port in target.input_ports if port.name == edge.port), None)
    if port is not None and not fits(original, source.type, port):
        yield "types", f"`{port.name}` of {target.id} takes {port.item}; {source.node.id} gives {source.type}."
