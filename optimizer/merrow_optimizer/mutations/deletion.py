"""Node deletion: a node goes, and what it worked on goes on to those who read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from merrow_analysis.edits.change import WantedEdge
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_optimizer.mutations.change import Mutation, Proposal
from merrow_optimizer.mutations.operator_names import DELETION
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.wiring import case_label, relabelled, source_of


def proposals(original: Original) -> Sequence[Proposal]:
    """The removal of each node that is neither an input, an output nor a Decision."""
    nodes = [node for node in original.typed.nodes if node.kind == "operator" and node.id not in original.closed]
    return [partial(remove, original, node) for node in nodes]


def remove(original: Original, node: TypedNode) -> Mutation:
    """Take a node out and bridge it: its readers read what came in by its through port; side inputs are dropped."""
    through = node.spec.through if node.spec is not None else None
    # An edge from the node to itself goes with it.
    before = [edge for edge in node.incoming if edge.source is not node]
    coming = [edge for edge in before if through is not None and edge.port == through.name]
    gates = [edge for edge in before if edge.order_only]
    edges: dict[int, tuple[WantedEdge, ...]] = {edge.index: () for edge in node.flow.incoming}
    edges.update({edge.index: () for edge in node.flow.outgoing})
    for edge in [edge for edge in node.outgoing if edge.target is not node]:
        edges[edge.flow.index] = tuple(_bridges(original, node, edge, coming, gates))
    return Mutation(
        original,
        DELETION,
        f"Remove {node.id}",
        node.flow.range,
        removed=frozenset({node.id}),
        edges=edges,
        content=(node.id,),
    )


def _bridges(
    original: Original, node: TypedNode, edge: TypedEdge, coming: list[TypedEdge], gates: list[TypedEdge]
) -> Iterator[WantedEdge]:
    """What takes the place of one of a node's outgoing edges, in the order of its inputs."""
    kept = True
    stay = {
        (other.source.id, other.output, other.case)
        for other in edge.target.incoming
        if other.source is not node and (other.port == edge.port or (edge.port is None and other.port is not None))
    }
    is_list = edge.target.spec is not None and any(
        port.name == edge.port and port.many for port in edge.target.spec.inputs
    )
    votes = edge.target.spec is not None and edge.target.spec.is_ensemble and is_list
    for before in coming:
        if is_list and (before.source.id, before.output, before.case) in stay:
            continue
        if votes and before.source.kind == "input" and len({name for name, *_ in stay}) > 1:
            continue
        if before.source.kind == "decision":
            yield WantedEdge(before.source.id, edge.target.id, case_label(before, edge.target.spec, edge.port))
            continue
        yield WantedEdge(
            before.source.id, edge.target.id, relabelled(edge, source_of(before).output, original), kept=kept
        )
        kept = False
    opened = {(other.source.id, other.case) for other in edge.target.incoming if other.order_only}
    for gate in gates:
        if (gate.source.id, gate.case) not in opened:
            yield WantedEdge(gate.source.id, edge.target.id, case_label(gate, edge.target.spec, None))
