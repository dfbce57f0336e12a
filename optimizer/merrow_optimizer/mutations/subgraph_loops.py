"""Loops: one turn more or less, and a Loop taken back to its nodes, which then run once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from merrow_analysis.definitions.schema import MOST_TURNS
from merrow_analysis.edits.change import Link
from merrow_analysis.graph.call_bounds import count_of
from merrow_analysis.graph.composites import Composite
from merrow_analysis.graph.words import FIRST, OVER
from merrow_analysis.places.box_places import range_of
from merrow_optimizer.mutations.change import Mutation, Proposal
from merrow_optimizer.mutations.names import SUBGRAPH
from merrow_optimizer.mutations.subject import Subject


def loop_proposals(subject: Subject) -> Iterator[Proposal]:
    """One turn more and one less for each Loop, and each one without an ``over`` edge taken back to its nodes."""
    for box in subject.typed.composites:
        yield from proposals_for(subject, box)


def proposals_for(subject: Subject, box: Composite) -> Iterator[Proposal]:
    """What can be done to one box; nothing to a Map, and to a Loop that has no id."""
    if box.kind != "loop" or subject.flow.subgraphs[box.id].name is None:
        return
    most = count_of(box, "max")
    for turns in (most + 1, most - 1):
        if 1 <= turns <= MOST_TURNS:
            yield partial(with_turns, subject, box, turns)
    if not any(edge.word == OVER and edge.left[0] == box.id for edge in subject.typed.edges):
        yield partial(unwrap, subject, box)


def with_turns(subject: Subject, box: Composite, turns: int) -> Mutation:
    """Give a Loop another number of turns."""
    return Mutation(
        subject,
        SUBGRAPH,
        f"Let {box.id} have up to {turns} turn{'' if turns == 1 else 's'}",
        range_of(subject.flow.subgraphs[box.id]),
        turns={box.id: turns},
        content=("turns", box.id, turns),
    )


def unwrap(subject: Subject, box: Composite) -> Mutation:
    """Make a mere group of a Loop: its edges back go, and its nodes run once."""
    typed = subject.typed
    edges: dict[int, tuple[Link, ...]] = {edge.flow.index: () for edge in typed.again if edge.border.scope == box.id}
    left = {edge.target.id for edge in typed.again if edge.border.scope != box.id}
    for edge in typed.edges:
        if edge.word == FIRST and box.id in edge.entered and edge.target.id not in left:
            text = typed.core.text_of(edge.record)
            edges[edge.flow.index] = (Link(edge.source.id, edge.target.id, text, kept=True),)
    return Mutation(
        subject,
        SUBGRAPH,
        f"Run the nodes of {box.id} once",
        range_of(subject.flow.subgraphs[box.id]),
        edges=edges,
        unwrapped=frozenset({box.id}),
        content=("unwrap", box.id),
    )
