"""The part of a graph that one frame has: its own nodes, and the composites among them, each taken as one piece of work."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from heapq import heapify, heappop, heappush

from merrow_analysis.graph.nodes import TypedGraph

Unit = int | str
"""A node by its handle, or a composite by its id."""


@dataclass(slots=True, eq=False)
class Part:
    """``box`` is the composite that it is the inside of, None for the whole graph. ``order`` are its units, sources first.

    ``waiting`` counts the units that must be settled before each, ``following`` are those that wait for it, ``places`` are
    their places in the order. ``unit`` has for each node inside, however deep, the unit that it belongs to; ``roots``
    wait for nothing. ``loops`` has a bit for each of its units that is a Loop without a box, and ``behind`` the bits of
    those that come before a unit, where any do.
    """

    box: str | None
    order: list[Unit] = field(default_factory=list)
    waiting: dict[Unit, int] = field(default_factory=dict)
    following: dict[Unit, list[Unit]] = field(default_factory=dict)
    unit: dict[int, Unit] = field(default_factory=dict)
    places: dict[Unit, int] = field(default_factory=dict)
    roots: tuple[Unit, ...] = ()
    loops: dict[Unit, int] = field(default_factory=dict)
    behind: dict[Unit, int] = field(default_factory=dict)


def parts_of(graph: TypedGraph) -> Mapping[str | None, Part]:
    """The part of each composite, and under None that of the whole workflow. Linear in the edges and in how deep they lie."""
    composites, shape = graph.composites, graph.shape
    if not composites:
        return {None: _rooted(_whole(graph))}
    parts: dict[str | None, Part] = {None: Part(None)}
    parts.update((name, Part(name)) for name in composites.boxes)
    chains: dict[int, tuple[str | None, ...]] = {}
    for handle in shape.order:
        chain: tuple[str | None, ...] = (*composites.around(graph.node(handle).id), None)
        chains[handle] = chain
        unit: Unit = handle
        for box in chain:
            part = parts[box]
            part.unit[handle] = unit
            if unit not in part.following:
                part.following[unit] = []
                part.waiting[unit] = 0
            if box is not None:
                unit = box
    before: dict[tuple[str | None, Unit], set[Unit]] = {}
    for handle in shape.order:
        inside = set(chains[handle])
        for source in shape.before[handle]:
            scope = next(box for box in chains[source] if box in inside)
            part = parts[scope]
            first, then = part.unit[source], part.unit[handle]
            seen = before.setdefault((scope, then), set())
            if first != then and first not in seen:
                seen.add(first)
                part.waiting[then] += 1
                part.following[first].append(then)
    implied = frozenset(box.id for box in composites if box.implied)
    for part in parts.values():
        _sort(part, shape.places)
        _rooted(part)
        _follow_loops(part, implied)
    return parts


def _follow_loops(part: Part, implied: Collection[str]) -> None:
    """Find what comes after the Loops without a box of a part."""
    part.loops = {unit: 1 << number for number, unit in enumerate(unit for unit in part.order if unit in implied)}
    for unit in part.order if part.loops else ():
        before = part.behind.get(unit, 0) | part.loops.get(unit, 0)
        for target in part.following[unit] if before else ():
            part.behind[target] = part.behind.get(target, 0) | before


def _rooted(part: Part) -> Part:
    part.roots = tuple(unit for unit in part.order if part.waiting[unit] == 0)
    return part


def _whole(graph: TypedGraph) -> Part:
    """The part of a graph without composites: all of it."""
    shape = graph.shape
    return Part(
        None,
        list(shape.order),
        {handle: len(set(shape.before[handle])) for handle in shape.order},
        {handle: list(dict.fromkeys(shape.following[handle])) for handle in shape.order},
        {handle: handle for handle in shape.order},
        {handle: place for place, handle in enumerate(shape.order)},
    )


def _sort(part: Part, places: list[int]) -> None:
    """Put the units of a part in order: sources first, ties by the first of their nodes."""
    earliest: dict[Unit, int] = {}
    for handle, unit in part.unit.items():
        earliest[unit] = min(earliest.get(unit, places[handle]), places[handle])
    left = part.waiting.copy()
    queue = [(earliest[unit], str(unit), unit) for unit, count in left.items() if count == 0]
    heapify(queue)
    while queue:
        *_, unit = heappop(queue)
        part.places[unit] = len(part.order)
        part.order.append(unit)
        for target in part.following[unit]:
            left[target] -= 1
            if left[target] == 0:
                heappush(queue, (earliest[target], str(target), target))
