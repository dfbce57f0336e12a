"""Loops: one turn more or less, a Loop taken back to its nodes, which then run once, and a Loop around a node with a review."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from merrow_analysis.definitions.schema import MOST_TURNS
from merrow_analysis.definitions.types import FEEDBACK
from merrow_analysis.edits.change import NewNode, WantedEdge, Wrapping, as_it_is
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.graph.boxes.edge_words import AGAIN, FIRST, OVER
from merrow_analysis.graph.measures.call_bounds import count_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.places.box_places import range_of
from merrow_analysis.wiring.wires import NodeOutput
from merrow_optimizer.mutations.change import Mutation, Proposal
from merrow_optimizer.mutations.operator_names import SUBGRAPH
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.roles import node_id
from merrow_optimizer.mutations.wiring import feeders, fits, new_link

_REVIEW = "Review"


def loop_proposals(original: Original) -> Iterator[Proposal]:
    """One turn more and one less for each Loop, each one without an ``over`` edge taken back to its nodes, and a Loop around each
    node whose work can be reviewed.
    """
    for box in original.typed.composites:
        yield from proposals_for(original, box)
    for node in original.typed.nodes:
        yield from reviewing(original, node)


def proposals_for(original: Original, box: Composite) -> Iterator[Proposal]:
    """What can be done to one box; nothing to a Map, and to a Loop that has no id."""
    if box.kind != "loop" or box.implied or original.flow.subgraphs[box.id].name is None:
        return
    most = count_of(box, "max")
    for turns in (most + 1, most - 1):
        if 1 <= turns <= MOST_TURNS:
            yield partial(with_turns, original, box, turns)
    if not any(edge.word == OVER and edge.left[0] == box.id for edge in original.typed.edges):
        yield partial(unwrap, original, box)


def reviewing(original: Original, node: TypedNode) -> Iterator[Proposal]:
    """A Loop around a node whose work a review can judge and advise."""
    spec, review = node.spec, original.typed.operators.named(_REVIEW)
    port = None if spec is None else spec.through
    if spec is None or spec.is_ensemble or spec.is_decision or port is None or not port.many or review is None:
        return
    if node.id in original.closed or not node.outgoing or node.resolution.samples or not review.built_in:
        return
    if fits(original, FEEDBACK, port) and fits(
        original, next(iter(node.outputs.values()), None), review.ports["solution"]
    ):
        task = next(feeders(original, node, review.ports["problem"]), None)
        if task is not None and task.node is not node:
            yield partial(wrap, original, node, task)


def wrap(original: Original, node: TypedNode, task: NodeOutput) -> Mutation:
    """Let a node work until a review accepts what it gives, advised by what the review said of it before."""
    spec = node.spec
    port = None if spec is None else spec.through
    review = original.typed.operators.named(_REVIEW)
    if port is None or review is None:
        raise ValueError(f"{node.id} can't be reviewed")
    judge = NewNode(node_id(review, None, original), review, node.id)
    box = original.free_name(original.cased("REFINE"), [judge.id])
    links = (
        WantedEdge(node.id, judge.id, "solution"),
        new_link(task, judge.id, review, "problem", original),
        WantedEdge(judge.id, node.id, f"{AGAIN}:feedback:{port.name}"),
    )
    last = node.outgoing[-1].flow
    return Mutation(
        original,
        SUBGRAPH,
        f"Review {node.id} and repeat it until it is accepted",
        node.flow.range,
        added=(judge,),
        edges={last.index: (as_it_is(last), *links)},
        wrapped={box: Wrapping(f"Loop (until: {judge.id}.result)", node.id)},
        content=("wrap", node.id, judge.id, box),
    )


def with_turns(original: Original, box: Composite, turns: int) -> Mutation:
    """Give a Loop another number of turns."""
    return Mutation(
        original,
        SUBGRAPH,
        f"Let {box.id} have up to {turns} turn{'' if turns == 1 else 's'}",
        range_of(original.flow.subgraphs[box.id]),
        turns={box.id: turns},
        content=("turns", box.id, turns),
    )


def unwrap(original: Original, box: Composite) -> Mutation:
    """Make a mere group of a Loop: its edges back go, and its nodes run once."""
    typed = original.typed
    edges: dict[int, tuple[WantedEdge, ...]] = {
        edge.flow.index: () for edge in typed.again if edge.border.scope == box.id
    }
    left = {edge.target.id for edge in typed.again if edge.border.scope != box.id}
    for edge in typed.edges:
        if edge.word == FIRST and box.id in edge.entered and edge.target.id not in left:
            text = typed.core.text_of(edge.record)
            edges[edge.flow.index] = (WantedEdge(edge.source.id, edge.target.id, text, kept=True),)
    return Mutation(
        original,
        SUBGRAPH,
        f"Run the nodes of {box.id} once",
        range_of(original.flow.subgraphs[box.id]),
        edges=edges,
        unwrapped=frozenset({box.id}),
        content=("unwrap", box.id),
    )
