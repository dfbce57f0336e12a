"""What is live after a change, worked out anew only downstream of the nodes that differ.

It says what `merrow_analysis.graph.plan` and the rules about liveness say of the whole graph; the conditions of all
other nodes are those that they had before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from merrow_analysis.graph.conditions import ALWAYS, NEVER, Condition, TooManyCombinationsError
from merrow_analysis.graph.liveness import Liveness
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.plan import Combinations, waiting_for
from merrow_analysis.graph.together import fed_at_once, voices_alone

if TYPE_CHECKING:
    from merrow_optimizer.mutations.subject import Subject


def does_harm(subject: Subject, nodes: Mapping[str, TypedNode], placed_at: Callable[[str], float]) -> bool:
    """Whether a port is fed twice at once, an ensemble lacks voices, or something stays empty in some case.

    ``nodes`` are those that differ, ``placed_at`` orders nodes by id. Only for workflows without such findings before.
    Raises `TooManyCombinationsError`.
    """
    before = subject.liveness
    if before.live is None or before.cases is None:
        return any(_is_wrong(node, before) for node in nodes.values())
    live = Liveness(before.cases, before.live.runs.copy(), before.live.values.copy())
    after = Combinations(before.plan, before.cases, live)
    try:
        return any(
            _is_wrong(node, after) or _is_empty(node, after) for node in _settled(subject, nodes, placed_at, live)
        )
    except TooManyCombinationsError:
        subject.forget_liveness()
        raise


def _settled(
    subject: Subject,
    nodes: Mapping[str, TypedNode],
    placed_at: Callable[[str], float],
    live: Liveness[Condition],
) -> Iterator[TypedNode]:
    """The nodes that differ, and those that run in other cases for it, each once that is known."""
    old = subject.typed.by_id
    queue = [(placed_at(name), name) for name in nodes]
    heapify(queue)
    queued = set(nodes)
    readers: dict[str, list[str]] = {}
    for node in nodes.values():
        for edge in node.incoming:
            readers.setdefault(edge.source.id, []).append(node.id)
    while queue:
        _, name = heappop(queue)
        queued.discard(name)
        node = nodes.get(name) or old[name]
        was = live.runs.get(node.index), live.values.get(node.index)
        live.settle(waiting_for(node, live))
        yield node
        if (live.runs[node.index], live.values.get(node.index)) == was:
            continue
        unchanged = (
            [edge.target.id for edge in old[name].outgoing if edge.target.id not in nodes] if name in old else []
        )
        for reader in (*readers.get(name, ()), *unchanged):
            if reader not in queued:
                queued.add(reader)
                heappush(queue, (placed_at(reader), reader))


def _is_empty(node: TypedNode, combinations: Combinations) -> bool:
    runs = combinations.runs(node)
    return runs == NEVER or (node.kind == "output" and runs != ALWAYS)


def _is_wrong(node: TypedNode, combinations: Combinations) -> bool:
    if any(fed_at_once(node, port, combinations) is not None for port in node.placement.crowded):
        return True
    spec = node.spec
    return spec is not None and spec.is_ensemble and voices_alone(node, spec.inputs[0].name, combinations) is not None
