"""Loops from arrows: where nodes lead to each other, the arrows back to where the cycle begins make a Loop.

The same is read in a drawing, where no arrow says anything, and in a file where arrows back say ``again`` outside of boxes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from merrow_analysis.graph.bare.reach import components
from merrow_analysis.graph.records import EdgeRecord

_DEEPEST = 20
"""Loops in each other; all that still leads back inside of these are arrows back of the innermost."""
_MOST_MERGED = 100
"""How often cycles without a choice are looked for inside of a Loop; likewise."""


@dataclass(frozen=True, slots=True, eq=False)
class ArrowLoop:
    """Nodes that run in turns. ``members`` are in the order of the text, ``head`` is where each turn begins, and ``back`` are the
    arrows back that another turn begins by. ``around`` is the Loop directly around it.
    """

    members: tuple[str, ...]
    head: str
    back: tuple[EdgeRecord, ...]
    around: ArrowLoop | None


@dataclass(slots=True, eq=False)
class Arrows:
    """What Loops are made of: ``names`` in the order of the text, and the ``edges`` between these. ``asks`` are the nodes at
    which something chooses. ``marked`` are the edges that say ``again``; without ``all_back`` only these are arrows back.
    """

    names: Sequence[str]
    edges: Sequence[EdgeRecord]
    asks: Collection[str]
    marked: Collection[EdgeRecord] = ()
    all_back: bool = True
    barred: Collection[str] = ()
    """Nodes whose cycles are none of these Loops."""


def loops_of(arrows: Arrows) -> list[ArrowLoop]:
    """The Loops that arrows back make, outer ones first. Linear for each of at most some twenty levels."""
    return _Finder(arrows).loops()


class _Finder:
    def __init__(self, arrows: Arrows) -> None:
        self.arrows = arrows
        self.places = {name: place for place, name in enumerate(arrows.names)}
        self.into: dict[str, list[EdgeRecord]] = defaultdict(list)
        for edge in arrows.edges:
            self.into[edge.target].append(edge)
        self.barred = frozenset(arrows.barred)

    def loops(self) -> list[ArrowLoop]:
        arrow_loops: list[ArrowLoop] = []
        pending: list[tuple[Sequence[str], Sequence[EdgeRecord], ArrowLoop | None, int]] = [
            (self.arrows.names, self.arrows.edges, None, 0)
        ]
        while pending:
            names, edges, around, depth = pending.pop(0)
            for members, own in self.cycles(names, edges):
                if around is None and not self.barred.isdisjoint(members):
                    continue
                head = self._head(members, own)
                if head is None:
                    continue
                back, rest = self._apart(own, head)
                if not any(self._are_conditional(own, head, back)):
                    back, rest = self._merged(members, head, back, rest)
                if depth == _DEEPEST:
                    back, rest = [*back, *closing(head, rest)], []
                loop = ArrowLoop(tuple(members), head, tuple(back), around)
                arrow_loops.append(loop)
                pending.append((members, rest, loop, depth + 1))
        return arrow_loops

    def cycles(self, names: Sequence[str], edges: Sequence[EdgeRecord]) -> list[tuple[list[str], list[EdgeRecord]]]:
        """The groups of nodes that lead to each other, in the order of the text, with the edges in each."""
        numbers = {name: number for number, name in enumerate(names)}
        following: list[list[int]] = [[] for _ in names]
        for edge in edges:
            following[numbers[edge.source]].append(numbers[edge.target])
        groups = sorted(
            group
            for group in components(following, range(len(names)))
            if len(group) > 1 or group[0] in following[group[0]]
        )
        group_of = {number: place for place, group in enumerate(groups) for number in group}
        inside: list[list[EdgeRecord]] = [[] for _ in groups]
        for edge in edges:
            place = group_of.get(numbers[edge.source])
            if place is not None and group_of.get(numbers[edge.target]) == place:
                inside[place].append(edge)
        return [([names[number] for number in group], inside[place]) for place, group in enumerate(groups)]

    def _head(self, members: Sequence[str], own: Sequence[EdgeRecord]) -> str | None:
        """Where a cycle begins: where it is entered from outside; of several such nodes the first to which an answer leads back,
        else the first in the text. One that is not entered begins where its first arrow does: people draw first what comes
        first, while a box may list its steps in any order. Where arrows say ``again``, at one that these lead to.
        """
        within = set(members)
        named = {edge.target for edge in own if edge in self.arrows.marked}
        if not named and not self.arrows.all_back:
            return None
        entered = {name for name in members if any(edge.source not in within for edge in self.into[name])}
        if named:
            entered = entered & named or named
        return self._first(entered, own) if entered else own[0].source

    def _first(self, entered: Collection[str], own: Sequence[EdgeRecord]) -> str:
        places, asks = self.places, self.arrows.asks
        led = {
            edge.target
            for edge in own
            if edge.target in entered and edge.source in asks and places[edge.source] >= places[edge.target]
        }
        return min(led or entered, key=places.__getitem__)

    def _apart(self, own: Sequence[EdgeRecord], head: str) -> tuple[list[EdgeRecord], list[EdgeRecord]]:
        """The arrows back to a node, and the other edges."""
        back = [edge for edge in own if edge.target == head and (self.arrows.all_back or edge in self.arrows.marked)]
        gone = set(back)
        return back, [edge for edge in own if edge not in gone]

    def _are_conditional(self, own: Sequence[EdgeRecord], head: str, back: Iterable[EdgeRecord]) -> list[bool]:
        """Whether a choice decides if these arrows back are taken."""
        free = freely_reached(head, own, self.arrows.asks)
        return [edge.source in self.arrows.asks or edge.source not in free for edge in back]

    def _merged(
        self, members: Sequence[str], first: str, back: list[EdgeRecord], rest: list[EdgeRecord]
    ) -> tuple[list[EdgeRecord], list[EdgeRecord]]:
        """Cycles inside of a Loop that goes on without a choice, and that do so themselves, are one with it."""
        for _ in range(_MOST_MERGED):
            taken: list[EdgeRecord] = []
            for inner, own in self.cycles(members, rest):
                head = self._head(inner, own)
                if head is None:
                    continue
                again, _ = self._apart(own, head)
                if not any(self._are_conditional(own, head, again)):
                    taken += again
            if not taken:
                return back, rest
            gone = set(taken)
            back, rest = [*back, *taken], [edge for edge in rest if edge not in gone]
        early = closing(first, rest)
        gone = set(early)
        return [*back, *early], [edge for edge in rest if edge not in gone]


def closing(head: str, edges: Sequence[EdgeRecord]) -> list[EdgeRecord]:
    """Of the edges between nodes that are all reached from a head those that lead back on the way to their source: without them
    there are no cycles, and all is reached still.
    """
    following: dict[str, list[EdgeRecord]] = defaultdict(list)
    for edge in edges:
        following[edge.source].append(edge)
    leading_back: list[EdgeRecord] = []
    seen, on_way = {head}, {head}
    way = [(head, iter(following[head]))]
    while way:
        name, left = way[-1]
        onward = next(left, None)
        if onward is None:
            way.pop()
            on_way.discard(name)
        elif onward.target in on_way:
            leading_back.append(onward)
        elif onward.target not in seen:
            target = onward.target
            seen.add(target)
            on_way.add(target)
            way.append((target, iter(following[target])))
    return leading_back


def freely_reached(head: str, own: Iterable[EdgeRecord], asks: Collection[str]) -> set[str]:
    """The nodes of a Loop that run in every turn which begins at its head: no choice is on the way to them."""
    following: dict[str, list[str]] = defaultdict(list)
    for edge in own:
        following[edge.source].append(edge.target)
    seen, pending = {head}, [head]
    while pending:
        name = pending.pop()
        if name in asks:
            continue
        for target in following[name]:
            if target not in seen:
                seen.add(target)
                pending.append(target)
    return seen
