"""Subgraph mutation: a typed pattern put around a node or in place of a part, and a pattern taken back to its core; also a turn
more or less of a Loop, and a Loop taken back to its nodes; a Loop or a Map around a node.

What comes in and what goes on stay: a pattern's nodes read the workflow's own inputs and the value that the replaced part
read, and all readers of that part read the pattern's last node. Whether the types on this boundary fit is asked of the graph
that follows, as for every change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, count, islice
from typing import Generic, NamedTuple, TypeVar

from merrow_optimizer.mutations.change import Proposal
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.patterns import Pattern, built_in_patterns
from merrow_optimizer.mutations.subgraph_around import Core, around, can_go_around, possible_cores
from merrow_optimizer.mutations.subgraph_boundary import suits
from merrow_optimizer.mutations.subgraph_instead import (
    LARGEST_PART,
    SingleOutputPart,
    can_stand_for,
    instead,
    parts_ending_in,
)
from merrow_optimizer.mutations.subgraph_loops import loop_proposals
from merrow_optimizer.mutations.subgraph_maps import mapping
from merrow_optimizer.mutations.subgraph_reduce import instances, reduce_to_core

_Item = TypeVar("_Item")


class ProposalGroup(NamedTuple):
    """What one pattern, or one move of Loops and Maps, might do: at most so many ``proposals``, made when looked at.

    ``draws_boxes`` where they draw Loops or Maps: what comes of that is only known when the whole mutant was read.
    """

    most: int
    proposals: Iterator[Proposal]
    draws_boxes: bool = False


def proposals(original: Original, patterns: Iterable[Pattern] | None = None) -> Sequence[Proposal]:
    """Every pattern around every node, in place of every part, every instance back to its core, and what can be done to and with
    Loops and Maps.

    ``patterns`` are the built-in ones unless told otherwise.
    """
    return [proposal for group in groups(original, patterns) for proposal in group.proposals]


def groups(original: Original, patterns: Iterable[Pattern] | None = None) -> list[ProposalGroup]:
    """The same, apart: first each pattern's, the largest part of them."""
    known = tuple(built_in_patterns() if patterns is None else patterns)
    nodes = original.typed.nodes
    suiting = [pattern for pattern in known if suits(original, pattern)]
    mosts = [len(nodes) * (1 if pattern.core is not None else LARGEST_PART) for pattern in suiting]
    proposed = [ProposalGroup(most, _uses(original, pattern)) for most, pattern in zip(mosts, suiting, strict=True)]
    # To look for instances takes long where there are none; so they are looked for behind the uses of a pattern.
    last = proposed.pop() if proposed else ProposalGroup(0, iter(()))
    proposed.append(ProposalGroup(last.most + len(nodes) * len(known), chain(last.proposals, _back(original, known))))
    proposed.append(
        ProposalGroup(3 * len(original.typed.composites.boxes) + len(nodes), loop_proposals(original), draws_boxes=True)
    )
    over = (proposal for node in nodes for proposal in mapping(original, node))
    return [*proposed, ProposalGroup(len(original.typed.edges), over, draws_boxes=True)]


def _back(original: Original, known: tuple[Pattern, ...]) -> Iterator[Proposal]:
    yield from (partial(reduce_to_core, original, instance) for instance in instances(original, known))


def _uses(original: Original, pattern: Pattern) -> Iterator[Proposal]:
    if pattern.core is not None:
        cores = original.remembered(_cores)
        yield from (partial(around, original, pattern, core.node) for core in cores if can_go_around(pattern, core))
    else:
        regions = original.remembered(_parts)
        yield from (partial(instead, original, pattern, part) for part in regions if can_stand_for(pattern, part))


class _SharedItems(Generic[_Item]):
    """Items that several patterns look at, each made when the first of them comes to it."""

    def __init__(self, items: Iterable[_Item]) -> None:
        self._left = iter(items)
        self._made: list[_Item] = []

    def __iter__(self) -> Iterator[_Item]:
        for number in count():
            if number == len(self._made):
                more = list(islice(self._left, 1))
                if not more:
                    return
                self._made += more
            yield self._made[number]


def _cores(original: Original) -> _SharedItems[Core]:
    return _SharedItems(core for node in original.typed.nodes for core in possible_cores(original, [node]))


def _parts(original: Original) -> _SharedItems[SingleOutputPart]:
    return _SharedItems(part for node in original.typed.nodes for part in parts_ending_in(original, node))


def with_patterns(patterns: Iterable[Pattern]) -> Callable[[Original], Sequence[Proposal]]:
    """The operator with these patterns, in place of the built-in ones alone."""
    return partial(proposals, patterns=tuple(patterns))
