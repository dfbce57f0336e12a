"""Hints on the shape of a workflow: order that is implied anyway, and places where everything waits for one node."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate

from merrow_analysis.diagnostics import Diagnostic, Severity, Tag
from merrow_analysis.graph.conditions import TooManyCombinationsError
from merrow_analysis.graph.liveness import LiveNode
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.plan import feed_of
from merrow_analysis.graph.reach import reach
from merrow_analysis.rules.registry import register
from merrow_analysis.rules.reporting import named, report

IMPLIED_ORDER = register(
    "MW401", "implied-order", "An edge that gives order alone is implied by other paths.", Severity.HINT
)
BOTTLENECK = register(
    "MW402", "bottleneck", "Parallel work before and after a node waits for that one node.", Severity.HINT
)

_WIDE = 3
"""From how many parallel nodes on, before and after, a single node between them is worth a word."""


def check_hints(graph: TypedGraph) -> Iterator[Diagnostic]:
    """Hints. An edge that carries data is never called redundant."""
    yield from _implied_orders(graph)
    if not graph.cycles:
        yield from _bottlenecks(graph)


def _implied_orders(graph: TypedGraph) -> Iterator[Diagnostic]:
    combinations = graph.combinations
    if combinations.live is None or combinations.cases is None:
        return
    plan = {node.index: node for node in combinations.plan}
    for edge in graph.edges:
        if not edge.order_only or edge.target.index not in plan:
            continue
        try:
            if _is_implied(graph, edge, plan[edge.target.index]):
                message = (
                    f"{edge.target.id} runs after {edge.source.id} and in the same cases without this edge too; it "
                    "only gives order, which other paths imply already."
                )
                yield report(IMPLIED_ORDER, edge.flow.range, message, tags=(Tag.UNNECESSARY,))
        except TooManyCombinationsError:
            return


def _is_implied(graph: TypedGraph, edge: TypedEdge, waiting: LiveNode) -> bool:
    """Whether the target runs in the same cases without the edge, and still comes after its Decision."""
    live = graph.combinations.live
    if live is None:
        return False
    feed = feed_of(edge, None)
    gates = list(waiting.gates)
    if feed in gates:
        gates.remove(feed)
    without = LiveNode(-1, waiting.required, tuple(gates), waiting.others)
    live.settle(without)
    same = live.runs.pop(-1) == live.runs[edge.target.index]
    if not same:
        return False
    following = [[e.target.index for e in node.outgoing if e is not edge] for node in graph.nodes]
    return bool(reach(following, [edge.source.index])[edge.target.index])


def _bottlenecks(graph: TypedGraph) -> Iterator[Diagnostic]:
    """Nodes between wide stages that no edge between operators passes by; linear, by counting edges over each place."""
    place = {index: number for number, index in enumerate(graph.order)}
    passing = [0] * (len(place) + 1)
    for edge in graph.edges:
        if edge.source.kind in ("input", "output") or edge.target.kind in ("input", "output"):
            continue
        start, end = place[edge.source.index], place[edge.target.index]
        if end - start > 1:
            passing[start + 1] += 1
            passing[end] -= 1
    inner = [graph.nodes[index].kind not in ("input", "output") for index in graph.order]
    before = list(accumulate(inner, initial=0))
    for number, (index, count) in enumerate(zip(graph.order, accumulate(passing), strict=False)):
        node = graph.nodes[index]
        if count or not inner[number]:
            continue
        sources, targets = _wide_sides(node)
        if sources >= _WIDE and targets >= _WIDE:
            earlier, later = before[number], before[-1] - before[number + 1]
            message = (
                f"All work passes through {named(node)}: {sources} nodes lead into it and {targets} out of it, so "
                f"none of the {later} later nodes starts before all {earlier} earlier ones have ended. Let later "
                "nodes take what they need from the earlier ones directly, where they can."
            )
            yield report(BOTTLENECK, node.flow.range, message)


def _wide_sides(node: TypedNode) -> tuple[int, int]:
    sources = {edge.source.index for edge in node.incoming if edge.source.kind != "input"}
    targets = {edge.target.index for edge in node.outgoing if edge.target.kind != "output"}
    return len(sources), len(targets)
