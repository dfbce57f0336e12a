"""Maps: one around a node that reads a list, so that it works on each item alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from merrow_analysis.definitions.types import item_of
from merrow_analysis.edits.change import WantedEdge, Wrapping, label_of
from merrow_analysis.graph.boxes.edge_words import EACH
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_optimizer.mutations.change import Mutation, Proposal
from merrow_optimizer.mutations.operator_names import SUBGRAPH
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.wiring import fits

_TITLE = "Map (max: 100)"
"""What a Map has anyway, written out: a title needs a parameter to be seen."""


def mapping(original: Original, node: TypedNode) -> Iterator[Proposal]:
    """A Map around a node, for each edge that brings it a list whose items it can work on."""
    if node.kind != "operator" or node.spec is None or node.spec.is_ensemble or node.id in original.closed:
        return
    for edge in node.incoming:
        if is_list_for(original, edge) and not any(
            other.source is edge.source for other in node.incoming if other is not edge
        ):
            yield partial(map_over, original, node, edge)


def is_list_for(original: Original, edge: TypedEdge) -> bool:
    """Whether an edge brings a list, from a node that is not a Decision, of items that fit the port that it leads into."""
    if len(edge.feeds) != 1 or edge.source.kind == "decision" or edge.word is not None:
        return False
    feed = edge.feeds[0]
    item = None if feed.type is None else item_of(feed.type)
    port = next((port for port in edge.target.input_ports if port.name == feed.port), None)
    return item is not None and port is not None and fits(original, item, port)


def map_over(original: Original, node: TypedNode, edge: TypedEdge) -> Mutation:
    """Let a node work on each item of the list that an edge brings; its readers get a list of what it gives."""
    label = label_of(edge.flow)
    taken = WantedEdge(edge.source.id, node.id, EACH if label is None else f"{EACH}:{label}", kept=True)
    box = original.free_name(original.cased("EACH_ITEM"))
    return Mutation(
        original,
        SUBGRAPH,
        f"Run {node.id} for each item that {edge.source.id} gives (Map)",
        node.flow.range,
        edges={edge.flow.index: (taken,)},
        wrapped={box: Wrapping(_TITLE, node.id)},
        content=("map", edge.source.id, label, node.id, box),
    )
