"""Fixes that take edges away, turn them round or lead them elsewhere, and those that remove a node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.change import GraphChange, WantedEdge, label_of
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.fix_context import Reveals, asked, nothing
from merrow_analysis.rules.registry import Rule


def remove_edge(
    context: GraphContext,
    rule: Rule,
    edge: FlowEdge,
    *,
    title: str = "",
    sure: bool = False,
    reveals: Reveals = nothing,
) -> Iterator[Fix]:
    """The fix that takes an edge away; ``sure`` where that always can and may be done."""
    arrow = f"{edge.record.source} → {edge.record.target}"
    change = GraphChange(edges={edge.index: ()})
    title = title or f"Remove the edge {arrow}"
    yield from asked(context).changed(rule, title, change, sure=sure, reveals=reveals)


def turn_edge(context: GraphContext, rule: Rule, edge: FlowEdge, *, reveals: Reveals = nothing) -> Iterator[Fix]:
    """The fix that has an edge lead the other way."""
    source, target = edge.record.source, edge.record.target
    change = GraphChange(edges={edge.index: (WantedEdge(target, source, label_of(edge), kept=True),)})
    title = f"Turn the edge round: {target} → {source}"
    yield from asked(context).changed(rule, title, change, reveals=reveals)


def relabel(
    context: GraphContext,
    rule: Rule,
    edge: TypedEdge,
    label: str | None,
    title: str = "",
    *,
    reveals: Reveals = nothing,
) -> Iterator[Fix]:
    """The fix that gives an edge another label, or takes the one that it has away."""
    link = WantedEdge(edge.source.id, edge.target.id, label, kept=True)
    change = GraphChange(edges={edge.flow.index: (link,)})
    yield from asked(context).changed(rule, title or f"Write |{label}|", change, reveals=reveals)


def remove_node(context: GraphContext, rule: Rule, node: TypedNode, *, reveals: Reveals = nothing) -> Iterator[Fix]:
    """The fix that removes a node with its edges."""
    if node.implied or node.id in context.graph.flow.groups:
        return
    edges: dict[int, tuple[WantedEdge, ...]] = {edge.index: () for edge in (*node.flow.incoming, *node.flow.outgoing)}
    change = GraphChange(removed=frozenset({node.id}), edges=edges)
    yield from asked(context).changed(rule, f"Remove {node.id}", change, reveals=reveals)


def firsts(fixes: Iterable[Fix], most: int) -> Iterator[Fix]:
    """The first ones, each of which differs from those before it."""
    seen: set[object] = set()
    for fix in fixes:
        # Where only the title is asked for, a fix has no edits.
        if (key := fix.edits or fix.title) not in seen:
            seen.add(key)
            yield fix
        if len(seen) == most:
            return
