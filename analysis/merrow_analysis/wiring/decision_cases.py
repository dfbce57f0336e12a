"""Where a case of a Decision may lead that leads nowhere."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from itertools import islice

from merrow_analysis.definitions.types import item_of
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.placing.notation import AFTER
from merrow_analysis.wiring.wires import MOST_LOOKED_AT, Wire, are_together, lacks

_MOST = 20
"""Edges of a node that are looked at."""


def targets_of_case(graph: TypedGraph, decision: TypedNode) -> Iterator[tuple[TypedNode, str | None]]:
    """Where a missing case may lead, the likeliest first, with what its label says behind the case: to a step that nothing leads
    to; to one behind the Decision in the text that runs whatever is chosen; to an output; to where another case leads.
    """
    led_to = dict.fromkeys(edge.target for edge in islice(decision.ways, _MOST))
    others = _unchosen(graph, decision)
    for target in dict.fromkeys((*others, *graph.outputs, *led_to)):
        yield target, _rest(decision, target)


def _unchosen(graph: TypedGraph, decision: TypedNode) -> list[TypedNode]:
    shape = graph.shape
    before, after = reach(shape.before, [decision.index]), reach(shape.following, [decision.index])
    here = decision.index
    ranked: list[tuple[tuple[int | bool, ...], TypedNode]] = []
    nodes = graph.nodes if len(graph.nodes) <= MOST_LOOKED_AT else graph.at(_behind(graph, decision))
    for node in nodes:
        if node.kind != "operator" or before[node.index] or after[node.index] or node is decision:
            continue
        is_lonely = not node.incoming and not node.again_in and bool(node.ways)
        if is_lonely or (node.index > here and node.incoming and node.ways):
            place = shape.places[node.index]
            key = (not is_lonely, not lacks(node), not are_together(graph, decision, node), place)
            ranked.append((key, node))
    return [node for _, node in sorted(ranked, key=lambda pair: pair[0])]


def _behind(graph: TypedGraph, decision: TypedNode) -> Sequence[int]:
    here = graph.shape.places[decision.index]
    return graph.shape.order[here : here + MOST_LOOKED_AT]


def gates(node: TypedNode) -> Iterator[Wire]:
    """The edges that would let a step before a node run in one case alone: it reads what runs in that case, and something else
    that always runs, so that it runs in the other cases, too.
    """
    for edge in islice(node.incoming, _MOST):
        step = edge.source
        is_drawn = step.resolution.plain is not None
        if (
            is_drawn
            or step.kind != "operator"
            or any(inner.source.kind == "decision" for inner in islice(step.incoming, _MOST))
        ):
            continue
        before = [list(_ways_to(edge.source)) for edge in islice(step.incoming, _MOST)]
        for way in (way for ways in before for way in ways):
            if not all(any(other.source is way.source for other in ways) for ways in before):
                yield Wire(way.source, step, f"{way.case_label}:{AFTER}")


def _ways_to(step: TypedNode) -> Iterator[TypedEdge]:
    """The ways of Decisions that lead to a step, or to steps before it, the nearest first."""
    seen: set[TypedNode] = set()
    waiting = deque([step])
    while waiting and len(seen) < _MOST:
        node = waiting.popleft()
        if node.kind != "operator" or node in seen:
            continue
        seen.add(node)
        for edge in islice(node.incoming, _MOST):
            if edge.source.kind == "decision" and edge.case_label:
                yield edge
            waiting.append(edge.source)


def _rest(decision: TypedNode, target: TypedNode) -> str | None:
    """What a case edge says besides its case: the port that its value goes to, or that it brings none."""
    if target.kind != "operator" or target.spec is None:
        return None
    styles = {AFTER if edge.placed.label.after else edge.placed.label.port for edge in islice(decision.ways, _MOST)}
    missing, carries = lacks(target), decision.placement.signature.has_value
    if missing or not target.incoming:
        port = next((name for name in missing if name in styles), next(iter(missing), None))
        if port is None:
            port = next(
                (name for name in styles if name in {input_port.name for input_port in target.input_ports}), None
            )
        return port if carries else None
    if AFTER in styles or not carries:
        return AFTER if carries else None
    bulk = next((port for port in target.input_ports if port.name == target.spec.bulk), None)
    if bulk is not None and (bulk.many or item_of(bulk.type) is not None):
        return bulk.name if bulk.name in styles else None
    return AFTER
