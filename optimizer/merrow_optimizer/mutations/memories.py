"""What a step remembers: all earlier results, the last ones, or none; or the result of one earlier step, which an edge brings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from merrow_analysis.definitions.operators import InputPort
from merrow_analysis.definitions.settings import Memory
from merrow_analysis.edits.change import as_it_is
from merrow_analysis.graph.instructions import memory_of
from merrow_analysis.graph.nodes import TypedEdge, TypedNode
from merrow_analysis.graph.remembering import arriving, has_memory, to_remember
from merrow_analysis.wiring.wires import NodeOutput
from merrow_optimizer.mutations.change import Grid, Mutation, Proposal
from merrow_optimizer.mutations.operator_names import REWIRING, SUBSTITUTION
from merrow_optimizer.mutations.original import Original
from merrow_optimizer.mutations.wiring import fits, new_link, outputs

MEMORIES = (Memory("all"), Memory("none"), Memory("last", 1), Memory("last", 2))
"""What a step may be given to remember. `summary` and `tokens` keep less of the same, by another call or by length."""


def remembering(original: Original) -> Sequence[Proposal]:
    """Each of `MEMORIES` for each step that asks a model."""
    return Grid(remember, original, thinkers(original, original.typed.nodes), MEMORIES)


def thinkers(original: Original, nodes: Sequence[TypedNode]) -> list[TypedNode]:
    """The steps among ``nodes`` that can remember and may be changed."""
    return [node for node in nodes if node.kind == "operator" and node.id not in original.closed and has_memory(node)]


def remember(original: Original, node: TypedNode, memory: Memory) -> Mutation:
    """Have a step remember all earlier results, the last ones, or none."""
    what = "nothing" if memory.kind == "none" else "all earlier results"
    if memory.amount is not None:
        what = "the last result" if memory.amount == 1 else f"the last {memory.amount} results"
    return Mutation(
        original,
        SUBSTITUTION,
        f"Let {node.id} remember {what}",
        node.flow.range,
        memories={node.id: memory},
        content=(node.id, "memory", memory.kind, memory.amount),
        doubts=tuple(_same(original, node, memory)),
    )


def _same(original: Original, node: TypedNode, memory: Memory) -> Iterator[tuple[str, str]]:
    """What is wrong where a memory would show the step what it is shown already."""
    now, count = memory_of(node, original.analysis.settings), len(to_remember(original.typed, node))
    if _shown(now, count) == _shown(memory, count):
        yield "memory", f"{node.id} would see the same earlier results as it does now."
    elif memory.amount is not None and memory.amount >= count:
        yield "memory", f"{node.id} has {count} earlier results to remember, which `all` shows as well."


def _shown(memory: Memory, count: int) -> object:
    """What tells memories apart over ``count`` results."""
    if not count:
        return 0
    if memory.kind in ("agent", "tokens", "summary"):
        return memory
    return 0 if memory.kind == "none" else min(memory.amount or count, count)


def sharing(original: Original) -> Sequence[Proposal]:
    """An edge from each node's result to each step that joins what it reads; those of steps before it that it does not see yet
    make sense.
    """
    sources = [source for node in original.typed.nodes for source in outputs(node)[:1]]
    return Grid(share, original, [node for node in original.typed.nodes if _joining(original, node)], sources)


def shared_by(original: Original, nodes: Sequence[TypedNode]) -> Iterator[Proposal]:
    """An edge from each result that a step among ``nodes`` does not see yet, the nearest first."""
    for node in nodes:
        if _joining(original, node) is not None:
            for giver in reversed(to_remember(original.typed, node)):
                yield from (partial(share, original, node, source) for source in outputs(giver)[:1])


def share(original: Original, node: TypedNode, source: NodeOutput) -> Mutation:
    """Bring the result of one earlier step to a step as well."""
    port, last = _joining(original, node), node.incoming[-1] if node.incoming else None
    if node.spec is None or port is None or last is None:
        raise ValueError(f"{node.id} joins nothing")
    link = new_link(source, node.id, node.spec, port.name, original)
    return Mutation(
        original,
        REWIRING,
        f"Let {node.id} read {source.node.id} as well",
        node.flow.range,
        edges={last.flow.index: (as_it_is(last.flow), link)},
        content=(node.id, "reads", source.node.id, source.output),
        doubts=tuple(_unshared(original, node, source, port)),
    )


def _unshared(original: Original, node: TypedNode, source: NodeOutput, port: InputPort) -> Iterator[tuple[str, str]]:
    if source.node.index in arriving(node) or any(edge.source is source.node for edge in node.incoming):
        yield "capacity", f"{node.id} reads {source.node.id} already."
    elif source.node is node or not original.reaches(source.node, node):
        yield "bridge", f"{source.node.id} is not a step before {node.id}."
    elif not fits(original, source.type, port):
        yield "types", f"`{port.name}` of {node.id} takes {port.item}; {source.node.id} gives {source.type}."


def forgetting(original: Original) -> Sequence[Proposal]:
    """Each edge to a step that joins several results, of a source that others read as well, taken away."""
    return Grid(forget, original, [edge for edge in original.typed.edges if can_forget(original, edge)], (None,))


def can_forget(original: Original, edge: TypedEdge) -> bool:
    """Whether an edge brings one of several results, and its source is still read without it."""
    port = _joining(original, edge.target)
    if port is None or edge.port != port.name or edge.source.kind == "decision":
        return False
    beside = sum(other.port == port.name for other in edge.target.incoming)
    return beside > 1 and len(edge.source.outgoing) > 1


def forget(original: Original, edge: TypedEdge, _: None = None) -> Mutation:
    """Take the result of one earlier step from a step that has others."""
    return Mutation(
        original,
        REWIRING,
        f"Let {edge.target.id} no longer read {edge.source.id}",
        edge.flow.range,
        edges={edge.flow.index: ()},
        content=(edge.target.id, "no longer reads", edge.source.id, edge.output, edge.port),
    )


def _joining(original: Original, node: TypedNode) -> InputPort | None:
    """The port at which a step joins any number of results; an ensemble's are votes, which is another matter."""
    spec = node.spec
    if node.kind != "operator" or spec is None or spec.is_ensemble or node.id in original.closed or not node.incoming:
        return None
    port = spec.through
    return port if port is not None and port.many and spec.asks_model else None
