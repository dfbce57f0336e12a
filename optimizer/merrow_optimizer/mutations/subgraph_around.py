"""A pattern put around a node, its core: nodes before it that advise it, copies beside it, nodes after it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from merrow_analysis.edits.change import WantedEdge, as_it_is, label_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_optimizer.mutations.change import Mutation
from merrow_optimizer.mutations.operator_names import SUBGRAPH
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.patterns import Pattern, PatternEdge
from merrow_optimizer.mutations.subgraph_boundary import (
    Filled,
    fill,
    has_odd_readers,
    link,
    read_on,
    readers,
    sides,
)


class Core(NamedTuple):
    """A node that patterns may be put around: whether its readers can read another node, and whether samples of it
    differ.
    """

    node: TypedNode
    is_read_alone: bool
    can_be_copied: bool


def possible_cores(original: Original, among: Sequence[TypedNode] | None = None) -> list[Core]:
    """The nodes that patterns may be put around, of all or ``among`` some."""
    return [
        Core(
            node,
            not has_odd_readers(node) and bool(readers(node)),
            node.resolution.declared is None and not node.resolution.samples and _solves(node),
        )
        for node in (original.typed.nodes if among is None else among)
        if node.kind == "operator" and node.spec is not None and node.id not in original.closed and node.incoming
        if all(edge.target is not node for edge in node.outgoing)
    ]


def can_go_around(pattern: Pattern, core: Core) -> bool:
    """Whether a pattern that suits the workflow can be put around a node, as far as that shows before types are inferred."""
    node = core.node
    if (pattern.copies and not core.can_be_copied) or (pattern.exit != pattern.core and not core.is_read_alone):
        return False
    advice = list(pattern.into(pattern.core or ""))
    if advice and node.spec is not None and node.spec.is_ensemble:
        return False  # what should advise it would vote
    return all(_port(pattern, node, edge) is not None for edge in advice)


def _solves(node: TypedNode) -> bool:
    """Whether it makes a solution itself, so that another sample of it may differ: no vote over or check of another's."""
    through = node.spec.through if node.spec is not None else None
    return node.spec is not None and not node.spec.is_ensemble and (through is None or through.name != _CHECKED)


_CHECKED = "solution"
"""The through port of operators that work on what another node has solved."""


def _port(pattern: Pattern, core: TypedNode, edge: PatternEdge) -> str | None:
    """The core's open port that an edge of the pattern leads to; None where it has none.

    The through port of the pattern's core stands for that of the node, whatever its name.
    """
    if core.spec is None:
        return None
    port = core.spec.ports.get(edge.port)
    through = core.spec.through
    if port is None and through is not None and pattern.core_through == edge.port:
        port = through
    if port is None:
        return None
    fed = bool(core.sources(port.name)) or port.name in core.resolution.literals
    return port.name if port.many or not fed else None


def around(original: Original, pattern: Pattern, core: TypedNode) -> Mutation:
    """Put a pattern around a node."""
    givers = sides(original, pattern) or {}
    filled, new = fill(original, pattern, givers, core.id, core)
    last = core.flow.incoming[-1]
    into_core = [link(original, filled, edge, _port(pattern, core, edge)) for edge in pattern.into(pattern.core or "")]
    links = _beside(core, filled, pattern)
    for node in pattern.nodes:
        links += (link(original, filled, edge) for edge in pattern.into(node.id))
    edges: dict[int, tuple[WantedEdge, ...]] = {}
    if pattern.exit == pattern.core:
        edges[last.index] = (as_it_is(last), *links, *into_core)
    else:
        if into_core:
            edges[last.index] = (as_it_is(last), *into_core)
        for number, edge in enumerate(readers(core)):
            led = read_on(original, edge, filled.ids[pattern.exit], pattern.exit_output)
            edges[edge.flow.index] = (*links, led) if number == 0 else (led,)
    return Mutation(
        original,
        SUBGRAPH,
        pattern.title.replace("{core}", core.id).replace("{part}", core.id),
        core.flow.range,
        added=tuple(new),
        edges=edges,
        content=(
            "around",
            pattern.name,
            core.id,
            *((node.id, node.role, node.prompt, node.parameters) for node in new),
        ),
    )


def _beside(core: TypedNode, filled: Filled, pattern: Pattern) -> list[WantedEdge]:
    """The copies' edges: those of the core."""
    edges: list[WantedEdge] = []
    for copy in pattern.copies:
        for edge in core.flow.incoming:
            if edge.carries_nothing:
                continue
            edges.append(WantedEdge(edge.source.id, filled.ids[copy.id], label_of(edge)))
    return edges
