"""Order, cycles and reach of a directed graph given as lists of neighbours' numbers; all linear and without
recursion.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush

Neighbours = Sequence[Sequence[int]]


def topological_order(successors: Neighbours) -> list[int]:
    """Nodes so that sources come before targets, ties by number. Nodes on cycles or behind them are missing at the
    end.
    """
    waiting = [0] * len(successors)
    for targets in successors:
        for target in targets:
            waiting[target] += 1
    ready = [node for node, count in enumerate(waiting) if not count]
    heapify(ready)
    order: list[int] = []
    while ready:
        node = heappop(ready)
        order.append(node)
        for target in successors[node]:
            waiting[target] -= 1
            if not waiting[target]:
                heappush(ready, target)
    return order


def components(
    successors: Neighbours | Mapping[int, Sequence[int]], nodes: Iterable[int], inside: Collection[int] | None = None
) -> Iterator[list[int]]:
    """Strongly connected components among ``nodes``, successors first (Tarjan 1972, with a stack of its own).

    ``inside`` are the same nodes as a set, where the caller has one; then those that come first are asked for one by one.
    """
    if inside is None:
        nodes = list(nodes)
        inside = set(nodes)
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    open_nodes: list[int] = []
    is_open: set[int] = set()
    for root in nodes:
        if root in number:
            continue
        work = [(root, iter(successors[root]))]
        number[root] = low[root] = len(number)
        open_nodes.append(root)
        is_open.add(root)
        while work:
            node, targets = work[-1]
            for target in targets:
                if target not in inside:
                    continue
                if target not in number:
                    number[target] = low[target] = len(number)
                    open_nodes.append(target)
                    is_open.add(target)
                    work.append((target, iter(successors[target])))
                    break
                if target in is_open and number[target] < low[node]:
                    low[node] = number[target]
            else:
                work.pop()
                if work:
                    parent = work[-1][0]
                    if low[node] < low[parent]:
                        low[parent] = low[node]
                if low[node] == number[node]:
                    component = [open_nodes.pop()]
                    while component[-1] != node:
                        component.append(open_nodes.pop())
                    is_open.difference_update(component)
                    yield sorted(component)


def shortest_cycle(
    successors: Neighbours, component: Sequence[int], predecessors: Neighbours | None = None
) -> list[int]:
    """A shortest cycle through the first node of a strongly connected component, as its nodes in order.

    Of several it is the one that takes the first edges. ``predecessors`` are those of ``successors``, where the caller has them.
    """
    start, left = component[0], set(component)
    if start in successors[start]:
        return [start]
    ends = left.intersection(successors[start])
    if predecessors is None:
        rows: list[list[int]] = [[] for _ in successors]
        for node in component:
            for target in successors[node]:
                rows[target].append(node)
        predecessors = rows
    # By how many edges the nodes are away from coming back to the start.
    away = [{start}]
    while away[-1] and ends.isdisjoint(away[-1]):
        left -= away[-1]
        away.append(set[int]().union(*map(predecessors.__getitem__, away[-1])) & left)
    cycle = [start]
    for nearer in reversed(away[1:]) if away[-1] else ():
        cycle.append(next(target for target in successors[cycle[-1]] if target in nearer))
    return cycle


def reach(neighbours: Neighbours, starts: Iterable[int]) -> bytearray:
    """For each node 1 where a path leads to it from one of ``starts`` (themselves included), else 0."""
    seen = bytearray(len(neighbours))
    stack = list(starts)
    for node in stack:
        seen[node] = 1
    while stack:
        for target in neighbours[stack.pop()]:
            if not seen[target]:
                seen[target] = 1
                stack.append(target)
    return seen
