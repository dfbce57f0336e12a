"""A pattern in place of a part: a connected part that takes one value in, besides the workflow's inputs, and gives one out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from merrow_analysis.edits.change import WantedEdge
from merrow_analysis.graph.instructions import role_of
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_optimizer.mutations.change import Mutation
from merrow_optimizer.mutations.operator_names import SUBGRAPH
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.patterns import Pattern
from merrow_optimizer.mutations.subgraph_boundary import (
    fill,
    has_odd_readers,
    link,
    listed,
    read_on,
    readers,
    sides,
)

LARGEST_PART = 8
"""Nodes of a part that is exchanged at once; a larger one is most of the workflow."""


@dataclass(frozen=True, slots=True, eq=False)
class SingleOutputPart:
    """Some nodes, in order, of which only the ``last`` one's default output is read outside.

    ``entry`` is an edge that brings the one value from another node; None where the part reads inputs alone.
    """

    nodes: tuple[TypedNode, ...]
    last: TypedNode
    entry: TypedEdge | None


def parts_ending_in(original: Original, last: TypedNode) -> Iterator[SingleOutputPart]:
    """The parts that end in a node: the node alone, then with those that work for it alone, and so on."""
    if not _can_go(original, last) or has_odd_readers(last) or len(readers(last)) < len(last.outgoing):
        return
    inside = {last.index}
    while len(inside) <= LARGEST_PART:
        part = _part(original, last, inside)
        if part is not None:
            yield part
        more = {
            edge.source.index
            for index in inside
            for edge in original.typed.node(index).incoming
            if edge.source.index not in inside and _works_for(original, edge.source, inside)
        }
        if not more:
            return
        inside |= more


def _can_go(original: Original, node: TypedNode) -> bool:
    return node.kind == "operator" and node.id not in original.closed and node.resolution.declared is None


def _works_for(original: Original, node: TypedNode, inside: set[int]) -> bool:
    return _can_go(original, node) and all(edge.target.index in inside for edge in node.outgoing)


def _part(original: Original, last: TypedNode, inside: set[int]) -> SingleOutputPart | None:
    nodes = tuple(original.typed.node(index) for index in sorted(inside))
    entering = [
        edge
        for node in nodes
        for edge in node.incoming
        if edge.source.index not in inside and edge.source.kind != "input"
    ]
    if any(edge.source.kind != "operator" or len(edge.feeds) != 1 for edge in entering):
        return None
    if any(edge.target.index in inside for edge in last.outgoing):
        return None  # a cycle
    if len({(edge.source.index, edge.output) for edge in entering}) > 1:
        return None
    return SingleOutputPart(nodes, last, entering[0] if entering else None)


def can_stand_for(pattern: Pattern, part: SingleOutputPart) -> bool:
    """Whether a pattern that suits the workflow can take the place of a part, as far as that shows before types are
    inferred.
    """
    if (pattern.entry is None) != (part.entry is None):
        return False
    roles = {role[1].casefold() for node in part.nodes if (role := role_of(node)) is not None}
    own = {node.role.casefold() for node in pattern.nodes if node.role is not None}
    return not own or not own <= roles


def instead(original: Original, pattern: Pattern, part: SingleOutputPart) -> Mutation:
    """Put a pattern in place of a part."""
    givers = dict(sides(original, pattern) or {})
    if pattern.entry is not None and part.entry is not None:
        givers[pattern.entry] = part.entry.source
    beside = part.entry.source.id if part.entry is not None else next(iter(givers.values())).id
    filled, new = fill(original, pattern, givers, beside)
    if pattern.entry is not None and part.entry is not None:
        default = next(iter(part.entry.source.outputs), None)
        filled.outputs[pattern.entry] = None if part.entry.output == default else part.entry.output
        filled.types[pattern.entry] = part.entry.type
    links = [link(original, filled, edge) for node in pattern.nodes for edge in pattern.into(node.id)]
    removed = frozenset(node.id for node in part.nodes)
    edges: dict[int, tuple[WantedEdge, ...]] = {
        edge.index: () for node in part.nodes for edge in (*node.flow.incoming, *node.flow.outgoing)
    }
    for number, edge in enumerate(readers(part.last)):
        led = read_on(original, edge, filled.ids[pattern.exit], pattern.exit_output)
        edges[edge.flow.index] = (*links, led) if number == 0 else (led,)
    names = [node.id for node in part.nodes]
    return Mutation(
        original,
        SUBGRAPH,
        pattern.title.replace("{part}", listed(names)).replace("{core}", listed(names)),
        part.last.flow.range,
        added=tuple(new),
        removed=removed,
        edges=edges,
        content=(
            "instead",
            pattern.name,
            *names,
            *((node.id, node.role, node.prompt, node.parameters) for node in new),
        ),
    )
