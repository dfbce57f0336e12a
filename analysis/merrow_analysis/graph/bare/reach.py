"""Order, cycles and reach of a directed graph given as lists of neighbours' numbers; all linear and without
recursion.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
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


def components(successors: Neighbours | Mapping[int, Sequence[int]], nodes: Iterable[int]) -> Iterator[list[int]]:
    """Strongly connected components among ``nodes``, successors first (Tarjan 1972, with a stack of its own)."""
    nodes = list(nodes)
    inside = set(nodes)
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    open_nodes: list[int] = []
    is_open: set[int] = set()
    for root in dict.fromkeys(nodes):
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


def shortest_cycle(successors: Neighbours, component: Sequence[int]) -> list[int]:
    """A shortest cycle through the first node of a strongly connected component, as its nodes in order."""
    start, inside = component[0], set(component)
    came: dict[int, int] = {start: -1}
    queue = [start]
    for node in queue:
        for target in successors[node]:
            if target == start:
                path = [node]
                while came[path[-1]] != -1:
                    path.append(came[path[-1]])
                return path[::-1]
            if target in inside and target not in came:
                came[target] = node
                queue.append(target)
    return [start]


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
