"""Which nodes lie in which subgraph: what each subgraph mentions, and which of several that mention a node has it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from merrow_analysis.graph.flow import Subgraph, SubgraphBody
from merrow_analysis.syntax.tree import Block, Chain, SubgraphEnd, SubgraphStart


@dataclass(slots=True, eq=False)
class Mentions:
    """What is mentioned in a subgraph that is being read, in order; ``own`` are nodes that stand alone or are declared in it."""

    members: dict[str, None] = field(default_factory=dict)
    own: dict[str, None] = field(default_factory=dict)

    def add(self, chain: Chain) -> None:
        """Note the nodes of a chain."""
        members, own = self.members, self.own
        # Mermaid lists the members of a subgraph from the last group of a chain to the first.
        for group in reversed(chain.groups):
            for vertex in group:
                members.setdefault(vertex.name.text)
                if vertex.shape is not None or not chain.arrows:
                    own.setdefault(vertex.name.text)

    def body(self, start: Block, end: Block | None, name: str) -> SubgraphBody:
        """The subgraph, read to its end."""
        return SubgraphBody(start, end, name, tuple(self.members), tuple(self.own))


class Members(NamedTuple):
    """What a subgraph has; see `Subgraph`."""

    nodes: list[str]
    refused: tuple[str, ...]
    parent: str | None


def members_of(bodies: Iterable[SubgraphBody]) -> dict[str, Members]:
    """The members of each subgraph: a node is in the first one of those that mention it to be closed. None is around itself,
    also where several have the same id.
    """
    claimed: set[str] = set()
    by_name: dict[str, Members] = {}
    outer: dict[str, str] = {}
    for body in bodies:
        name = body.id
        members = [node for node in body.members if node not in claimed and node != name]
        if name in by_name:
            by_name[name].nodes.extend(members)
        else:
            by_name[name] = Members(members, tuple([node for node in body.own if node in claimed]), None)
        claimed.update(members)
        for member in members:
            inner = by_name.get(member)
            if inner is not None and inner.parent is None and _outermost(outer, name) != member:
                by_name[member] = inner._replace(parent=name)
                outer[member] = name
    return by_name


def _outermost(outer: dict[str, str], name: str) -> str:
    """The outermost subgraph around one. ``outer`` has one around each; it gets further ones, so that many questions take little
    time.
    """
    while (around := outer.get(name)) is not None:
        further = outer.get(around)
        if further is None:
            return around
        outer[name] = name = further
    return name


def with_members(bodies: Iterable[SubgraphBody], subgraphs: Mapping[str, Subgraph]) -> dict[str, Subgraph]:
    """Subgraphs with the members that these bodies give them, where nothing else is said of them than before."""
    known = members_of(bodies)
    return {name: replace(group, **known[name]._asdict()) for name, group in subgraphs.items()}


def innermost(bodies: Sequence[SubgraphBody], line: int, here: Callable[[Block], Block]) -> int | None:
    """The number of the innermost body that a line lies in."""
    inner, first = None, -1
    for number, body in enumerate(bodies):
        start = here(body.start).line
        if first < start < line and (body.end is None or line < here(body.end).line):
            inner, first = number, start
    return inner


def read_again(
    body: SubgraphBody, bodies: Sequence[SubgraphBody], blocks: Sequence[Block], here: Callable[[Block], Block]
) -> SubgraphBody | None:
    """A body as it is in ``blocks`` now; None where it can't be told from others without reading them all."""
    names = {(other.start, other.end): other.id for other in bodies}
    if len(names) < len(bodies):
        return None
    open_ones: list[tuple[Block, Mentions]] = []

    def close(end: Block | None) -> SubgraphBody | None:
        start, mentions = open_ones.pop()
        name = names.get((start, end))
        if name is not None and open_ones:
            open_ones[-1][1].members.setdefault(name)
        return None if name is None else mentions.body(start, end, name)

    for number in range(bisect_left(blocks, here(body.start).line, key=lambda block: block.line), len(blocks)):
        first = blocks[number].origin or blocks[number]
        for statement in first.statements:
            if isinstance(statement, Chain):
                if open_ones:
                    open_ones[-1][1].add(statement)
            elif isinstance(statement, SubgraphStart):
                open_ones.append((first, Mentions()))
            elif isinstance(statement, SubgraphEnd) and open_ones:
                closed = close(first)
                if closed is None or (closed.start, closed.end) == (body.start, body.end):
                    return closed
                if not open_ones:
                    return None
    while open_ones:
        closed = close(None)
        if closed is None or (closed.start, closed.end) == (body.start, body.end):
            return closed
    return None
