"""Subgraph mutation: a typed pattern put around a node or in place of a part, and a pattern taken back to its core; also a turn
more or less of a Loop, and a Loop taken back to its nodes; a Loop or a Map around a node.

What comes in and what goes on stay: a pattern's nodes read the workflow's own inputs and the value that the replaced part
read, and all readers of that part read the pattern's last node. Whether the types on this boundary fit is asked of the graph
that follows, as for every change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from merrow_optimizer.mutations.change import Proposal
from merrow_optimizer.mutations.patterns import Pattern, built_in_patterns
from merrow_optimizer.mutations.subgraph_around import around, can_go_around, possible_cores
from merrow_optimizer.mutations.subgraph_boundary import suits
from merrow_optimizer.mutations.subgraph_instead import can_stand_for, instead, parts
from merrow_optimizer.mutations.subgraph_loops import loop_proposals
from merrow_optimizer.mutations.subgraph_maps import mapping
from merrow_optimizer.mutations.subgraph_reduce import instances, reduce_to_core
from merrow_optimizer.mutations.subject import Subject


def proposals(subject: Subject, patterns: Iterable[Pattern] | None = None) -> Sequence[Proposal]:
    """Every pattern around every node, in place of every part, every instance back to its core, and what can be done to and with
    Loops and Maps.

    ``patterns`` are the built-in ones unless told otherwise.
    """
    known = tuple(built_in_patterns() if patterns is None else patterns)
    cores = possible_cores(subject)
    regions = parts(subject)
    found: list[Proposal] = []
    for pattern in known:
        if not suits(subject, pattern):
            continue
        if pattern.core is not None:
            found += (partial(around, subject, pattern, core.node) for core in cores if can_go_around(pattern, core))
        else:
            found += (partial(instead, subject, pattern, part) for part in regions if can_stand_for(pattern, part))
    found += (partial(reduce_to_core, subject, instance) for instance in instances(subject, known))
    found += loop_proposals(subject)
    found += (proposal for node in subject.typed.nodes for proposal in mapping(subject, node))
    return found


def with_patterns(patterns: Iterable[Pattern]) -> Callable[[Subject], Sequence[Proposal]]:
    """The operator with these patterns, in place of the built-in ones alone."""
    return partial(proposals, patterns=tuple(patterns))
