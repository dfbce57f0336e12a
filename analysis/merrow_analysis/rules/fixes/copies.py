"""Fixes that write a node a second time: as a further voice of an ensemble, or as the next turn of a circle."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

from merrow_analysis.diagnostics import Fix
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge, as_it_is, label_of
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.box_fixes import free_id
from merrow_analysis.rules.fixes.fix_context import asked
from merrow_analysis.rules.registry import Rule
from merrow_analysis.rules.reporting import spelled

_VOICES = 3


def vote_over_three(context: GraphContext, rule: Rule, node: TypedNode, only: TypedNode) -> Iterator[Fix]:
    """Give an ensemble with one source two more that are told the same."""
    names = _free_ids(context, only.id, _VOICES - 1)
    copies = [_copy(only, name) for name in names]
    added = tuple(copy for copy in copies if copy is not None)
    if len(added) < len(copies) or node.id in {edge.source.id for edge in only.flow.incoming}:
        return
    edges: dict[int, tuple[WantedEdge, ...]] = {}
    for edge in only.flow.incoming:
        edges[edge.index] = (as_it_is(edge), *(WantedEdge(edge.source.id, name, label_of(edge)) for name in names))
    for edge in only.flow.outgoing:
        if edge.target.id == node.id:
            edges[edge.index] = (as_it_is(edge), *(WantedEdge(name, node.id, label_of(edge)) for name in names))
    title = f"Vote over three: {only.id}, {' and '.join(names)}"
    yield from asked(context).changed(rule, title, GraphChange(added=added, edges=edges))


def unroll_once(context: GraphContext, rule: Rule, circle: Collection[str], back: FlowEdge) -> Iterator[Fix]:
    """Write the node to which the last edge of a circle leads a second time, behind that edge: what followed the first one
    outside the circle follows the second.
    """
    node = context.graph.by_id[back.target.id]
    [name] = _free_ids(context, node.id, 1)
    copy = _copy(node, name)
    inside = [edge for edge in node.flow.incoming if edge.source.id in circle]
    if copy is None or len(inside) != 1 or node.id == back.source.id:
        return
    edges: dict[int, tuple[WantedEdge, ...]] = {
        back.index: (WantedEdge(back.source.id, name, label_of(back), kept=True),)
    }
    for edge in node.flow.incoming:
        if edge.index != back.index:
            edges[edge.index] = (as_it_is(edge), WantedEdge(edge.source.id, name, label_of(edge)))
    for edge in node.flow.outgoing:
        if edge.target.id not in circle:
            edges[edge.index] = (WantedEdge(name, edge.target.id, label_of(edge), kept=True),)
    title = f"Unroll once: {node.id} again as {name}"
    yield from asked(context).changed(rule, title, GraphChange(added=(copy,), edges=edges))


def ask_before(context: GraphContext, rule: Rule, port: str, again: TypedEdge) -> Iterator[Fix]:
    """Write the node whose `again` edge alone feeds a port a second time, before the Loop: it works on what enters the Loop, and
    the port has its output in the first turn.
    """
    graph, node, target = context.graph, again.source, again.target
    members = set(graph.composites.members(again.border.scope or ""))
    [name] = _free_ids(context, node.id, 1)
    links: list[WantedEdge] = []
    beside: FlowEdge | None = None
    for edge in node.incoming:
        if edge.source.id not in members:
            links.append(WantedEdge(edge.source.id, name, label_of(edge.flow)))
            continue
        entering = _enters(target, edge, members) if edge.source is target else None
        if entering is None:
            return
        output = entering.placed.label.output
        links.append(WantedEdge(entering.source.id, name, spelled(output, edge.port)))
        beside = entering.flow
    copy = None if beside is None else _copy(node, name)
    if beside is None or copy is None:
        return
    links.append(WantedEdge(name, target.id, spelled(again.placed.label.output, port)))
    change = GraphChange(
        added=(replace(copy, beside=beside.source.id),), edges={beside.index: (as_it_is(beside), *links)}
    )
    yield from asked(context).changed(rule, f"Ask {node.id} before the first turn as well, as {name}", change)


def _enters(target: TypedNode, edge: TypedEdge, members: Collection[str]) -> TypedEdge | None:
    """The edge from outside to the port of a node that has the name of the one which an edge out of it feeds."""
    entering = (entry for entry in target.incoming if entry.source.id not in members and not entry.word)
    return next((entry for entry in entering if entry.port == edge.port), None)


def _free_ids(context: GraphContext, wanted: str, count: int) -> list[str]:
    taken: list[str] = []
    while len(taken) < count:
        taken.append(free_id(context, wanted, taken))
    return taken


def _copy(node: TypedNode, name: str) -> NewNode | None:
    """A node that says what another one does, under another id; None for one that is no step, or is told by its label alone."""
    if node.spec is None or node.kind != "operator" or node.resolution.plain or node.spec.is_ensemble:
        return None
    parameters = {key: parameter.value for key, parameter in node.resolution.parameters.items() if key != "op"}
    return NewNode(name, node.spec, node.id, parameters=tuple(parameters.items()))
