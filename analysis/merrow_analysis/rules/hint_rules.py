"""Hints on the shape of a workflow: order that is implied anyway, and places where everything waits for one node."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.diagnostics import Diagnostic, Severity, Tag
from merrow_analysis.graph.bare.conditions import TooManyCombinationsError
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.bare.shape import GraphShape
from merrow_analysis.graph.instructions import memory_of
from merrow_analysis.graph.liveness.live_nodes import Feed
from merrow_analysis.graph.liveness.waiting import order_of
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph
from merrow_analysis.rules.context import GraphContext
from merrow_analysis.rules.fixes.edge_fixes import remove_edge
from merrow_analysis.rules.registry import Flags, RuleFamily, Scope
from merrow_analysis.rules.reporting import named, report

_FAMILY = RuleFamily[GraphContext](Scope.GRAPH, Flags.NEEDS_WHOLE | Flags.QUICK_LOOK)
IMPLIED_ORDER = _FAMILY.rule(
    "MW401",
    "implied-order",
    "An edge that only sets the order is implied by other paths.",
    Severity.HINT,
    fix="sometimes",
)
BOTTLENECK = _FAMILY.rule(
    "MW402", "bottleneck", "Parallel work before and after a node waits for that one node.", Severity.HINT
)

_MOST_ORDERS = 200
"""Order-only edges that are looked at: each costs a walk through the graph."""
_WIDE = 3
"""From how many parallel nodes on, before and after, a single node between them is worth a word."""


@_FAMILY.checked_by
def check_hints(context: GraphContext) -> Iterator[Diagnostic]:
    """Hints. An edge that carries data is never called redundant."""
    graph = context.graph
    if graph.core.reading.drawn and not graph.core.reading.names:
        return  # What is drawn is a person's picture, not a plan to be made quicker.
    yield from _implied_orders(context)
    if not graph.cycles:
        yield from _bottlenecks(graph, context.settings)


def _implied_orders(context: GraphContext) -> Iterator[Diagnostic]:
    graph = context.graph
    combinations = graph.combinations
    live = combinations.live
    if live is None or combinations.cases is None:
        return
    waiting = combinations.waiting
    orders = sorted(
        (edge for node in graph.decisions for edge in node.outgoing if edge.order_only and _orders_alone(edge)),
        key=lambda edge: edge.flow.index,
    )
    without: dict[int, dict[Feed, bool]] = {}
    """By target and gate, whether it runs in the same cases without that one."""
    for edge in orders[:_MOST_ORDERS]:
        target = edge.target.index
        try:
            if target not in without:
                node, runs = waiting[target], live.runs[target]
                without[target] = {
                    gate: truth == runs for gate, truth in zip(node.gates, live.without_each_gate(node), strict=True)
                }
            if without[target].get(order_of(edge), True) and _comes_after_anyway(graph, edge):
                message = (
                    f"{edge.target.id} runs after {edge.source.id} and in the same cases without this edge too; it "
                    "only gives order, which other paths imply already."
                )
                # Not a safe fix: of two edges that imply each other, one has to stay.
                fixes = remove_edge(context, IMPLIED_ORDER, edge.flow)
                yield report(IMPLIED_ORDER, edge.flow.range, message, fixes=fixes, tags=(Tag.UNNECESSARY,))
        except TooManyCombinationsError:
            return


def _orders_alone(edge: TypedEdge) -> bool:
    """Whether an edge says nothing of a composite: one that leads out may end a Loop, and what enters lets all of it wait."""
    return not (edge.left or edge.entered)


def _comes_after_anyway(graph: TypedGraph, edge: TypedEdge) -> bool:
    """Whether the target comes after its Decision without the edge."""
    following = list(graph.shape.following)
    following[edge.source.index] = [other.target.index for other in edge.source.outgoing if other is not edge]
    return bool(reach(following, [edge.source.index])[edge.target.index])


_LOOKED_BACK = 8
"""Nodes before another one that may show that something passes it by, so that not all are counted at each edit."""


def _may_be_cut(shape: GraphShape, index: int) -> bool:
    """Whether nothing that comes right before a node passes it by."""
    boundary, places = shape.boundary, shape.places
    place = places[index]
    for other in shape.order[max(place - _LOOKED_BACK, 0) : place]:
        if other not in boundary:
            for target in shape.following[other]:
                if places[target] > place and target not in boundary:
                    return False
    return True


def _bottlenecks(graph: TypedGraph, settings: WorkflowSettings) -> Iterator[Diagnostic]:
    """Nodes between wide stages that no edge between operators passes by."""
    shape = graph.shape
    boundary = shape.boundary
    if not any(_may_be_cut(shape, index) for index in shape.wide - boundary):
        return
    inner = shape.count - len(boundary)
    boundary_places = sorted(shape.places[end] for end in boundary)
    for index in shape.cuts:
        if index not in shape.wide:
            continue
        sources = len({source for source in shape.before[index] if source not in boundary})
        later = {target for target in shape.following[index] if target not in boundary}
        targets = len(later)
        if sources < _WIDE or targets < _WIDE:
            continue
        if all(memory_of(graph.node(target), settings).kind == "all" for target in later):
            continue  # They are shown all that came before, so that none could begin sooner.
        earlier = shape.places[index] - bisect_left(boundary_places, shape.places[index])
        node = graph.node(index)
        if node.resolution.plain is not None:
            continue  # A drawing of what exists: its middle is meant to be one.
        message = (
            f"All work passes through {named(node)}: {sources} nodes lead into it and {targets} out of it, so none of "
            f"the {inner - earlier - 1} later nodes starts before all {earlier} earlier ones have ended. "
            "Let later nodes take what they need from the earlier ones directly, where they can."
        )
        yield report(BOTTLENECK, node.flow.range, message)
