"""The order of a graph with composites: each Loop and Map as one unit among the nodes around it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from merrow_analysis.graph.liveness.live_nodes import Feed, LiveLoop, LiveNode
from merrow_analysis.graph.model import Graph

Unit = int | str
"""A node by its handle, or a composite by its id."""


def unit_edges(graph: Graph) -> dict[str | None, dict[Unit, set[Unit]]]:
    """For each composite, and None for the whole, which units directly in it lead to which others."""
    composites, handles, chart = graph.composites, graph.handles, graph.chart
    rows: dict[str | None, dict[Unit, set[Unit]]] = {None: {}, **{box.id: {} for box in composites}}
    for name in chart.nodes:
        rows[composites.inside.get(name)][handles[name]] = set()
    for box in composites:
        rows[box.parent][box.id] = set()
    for edge in chart.edges:
        if not graph.is_flat(edge):
            continue
        border = composites.border(edge.source, edge.target)
        source: Unit = border.left[-1] if border.left else handles[edge.source]
        target: Unit = border.entered[0] if border.entered else handles[edge.target]
        if source != target:
            rows[border.scope][source].add(target)
    return rows


def unit_order(graph: Graph) -> list[int] | None:
    """Every node's handle in a topological order in which no other node stands between those of a composite.

    None where composites taken as units wait for each other. Ties are by first mention. Linear but for a heap.
    """
    rows, ranks = unit_edges(graph), dict[Unit, float](enumerate(graph.shape.ranks))
    boxes = list(graph.composites)
    for box in reversed(boxes):  # inner ones first
        ranks[box.id] = min((ranks[unit] for unit in rows[box.id]), default=0.0)
    orders = {scope: _sorted(row, ranks) for scope, row in rows.items()}
    if any(order is None for order in orders.values()):
        return None
    units: list[int] = []
    stack: list[Iterator[Unit]] = [iter(orders[None] or ())]
    while stack:
        unit = next(stack[-1], None)
        if unit is None:
            stack.pop()
        elif isinstance(unit, int):
            units.append(unit)
        else:
            stack.append(iter(orders[unit] or ()))
    return units


def _sorted(following: Mapping[Unit, Iterable[Unit]], ranks: Mapping[Unit, float]) -> list[Unit] | None:
    waiting = dict.fromkeys(following, 0)
    for row in following.values():
        for target in row:
            waiting[target] += 1
    # Of equal ranks (a composite has that of its first node) the ids decide, which are of one kind then.
    ready = [(ranks[unit], str(unit), unit) for unit, count in waiting.items() if count == 0]
    heapify(ready)
    order: list[Unit] = []
    while ready:
        unit = heappop(ready)[2]
        order.append(unit)
        for target in following[unit]:
            waiting[target] -= 1
            if waiting[target] == 0:
                heappush(ready, (ranks[target], str(target), target))
    return order if len(order) == len(waiting) else None


@dataclass(slots=True, eq=False)
class LiveOrder:
    """In which order nodes are settled, and whose liveness each node's liveness is a function of.

    ``places`` by handle, -1 for nodes that are not listed; ``following`` by handle; ``behind`` has by Loop the nodes into which
    an ``over`` edge of it leads.
    """

    order: Sequence[int]
    places: Sequence[int]
    following: Mapping[int, Sequence[int]] | Sequence[Sequence[int]]
    behind: Mapping[str, Sequence[int]] = field(default_factory=dict)


def live_order(order: Sequence[int], plan: Iterable[LiveNode], loops: Mapping[str, LiveLoop], count: int) -> LiveOrder:
    """The order for a graph with composites. ``count`` is one more than the largest handle."""
    places = [-1] * count
    for place, node in enumerate(order):
        places[node] = place
    following: dict[int, dict[int, None]] = {node: {} for node in order}
    behind: dict[str, dict[int, None]] = {name: {} for name in loops}
    for step in plan:
        for feed in feeds_of_node(step):
            following.setdefault(feed.source, {})[step.index] = None
            for loop in loops_before(feed, loops):
                behind[loop.id][step.index] = None
                for other in (*loop.again, *loop.leads_out):
                    following.setdefault(other.source, {})[step.index] = None
    return LiveOrder(
        order,
        places,
        {node: sorted(row, key=places.__getitem__) for node, row in following.items()},
        {name: sorted(row, key=places.__getitem__) for name, row in behind.items()},
    )


def feeds_of_node(node: LiveNode) -> Iterator[Feed]:
    """All that a node waits for."""
    for feeds in node.required:
        yield from feeds
    yield from node.gates
    yield from node.others
    yield from node.value or ()
    for feeds in node.passes:
        yield from feeds


def loops_before(feed: Feed, loops: Mapping[str, LiveLoop]) -> Iterator[LiveLoop]:
    """The Loop that a feed is over, and those whose being over it depends on."""
    pending = [feed]
    seen: set[str] = set()
    while pending:
        over = pending.pop().over
        if over is not None and over not in seen:
            seen.add(over)
            loop = loops[over]
            yield loop
            pending += [*loop.again, *loop.leads_out]
