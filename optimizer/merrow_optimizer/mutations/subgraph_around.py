"""A pattern put around a node, its core: nodes before it that advise it, copies beside it, nodes after it."""

from __future__ import annotations

from merrow_analysis.graph.nodes import TypedNode
from merrow_optimizer.mutations.base import SUBGRAPH
from merrow_optimizer.mutations.change import Change, Link, Subject
from merrow_optimizer.mutations.patterns import Pattern, PatternEdge
from merrow_optimizer.mutations.subgraph_boundary import (
    Filled,
    fill,
    has_odd_readers,
    has_operators,
    link,
    read_on,
    readers,
    sides,
)


def can_go_around(subject: Subject, pattern: Pattern, core: TypedNode) -> bool:
    """Whether a pattern can be put around a node, as far as that shows before its types are inferred."""
    if core.kind != "operator" or core.spec is None or core.id in subject.closed or not core.incoming:
        return False
    if sides(subject, pattern) is None or not has_operators(subject, pattern):
        return False
    if pattern.copies and (core.resolution.declared is not None or core.resolution.samples or not _solves(core)):
        return False
    if core.spec.is_ensemble and next(pattern.into(pattern.core or ""), None) is not None:
        return False  # what should advise it would vote
    if pattern.exit != pattern.core and (has_odd_readers(core) or not readers(core)):
        return False
    return all(_port(pattern, core, edge) is not None for edge in pattern.into(pattern.core or ""))


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


def around(subject: Subject, pattern: Pattern, core: TypedNode) -> Change:
    """Put a pattern around a node."""
    givers = sides(subject, pattern) or {}
    filled, new = fill(subject, pattern, givers, core.id, core)
    last = core.flow.incoming[-1]
    into_core = [link(subject, filled, edge, _port(pattern, core, edge)) for edge in pattern.into(pattern.core or "")]
    links = _beside(core, filled, pattern)
    for node in pattern.nodes:
        links += (link(subject, filled, edge) for edge in pattern.into(node.id))
    edges: dict[int, tuple[Link, ...]] = {}
    if pattern.exit == pattern.core:
        edges[last.index] = (_as_is(core, last.index), *links, *into_core)
    else:
        if into_core:
            edges[last.index] = (_as_is(core, last.index), *into_core)
        for number, edge in enumerate(readers(core)):
            led = read_on(subject, edge, filled.ids[pattern.exit], pattern.exit_output)
            edges[edge.flow.index] = (*links, led) if number == 0 else (led,)
    return Change(
        subject,
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


def _as_is(core: TypedNode, index: int) -> Link:
    edge = next(edge for edge in core.flow.incoming if edge.index == index)
    label = edge.arrow.label
    return Link(edge.source.id, core.id, None if label is None else label.text, kept=True)


def _beside(core: TypedNode, filled: Filled, pattern: Pattern) -> list[Link]:
    """The copies' edges: those of the core."""
    found: list[Link] = []
    for copy in pattern.copies:
        for edge in core.flow.incoming:
            if edge.carries_nothing:
                continue
            label = edge.arrow.label
            found.append(Link(edge.source.id, filled.ids[copy.id], None if label is None else label.text))
    return found
