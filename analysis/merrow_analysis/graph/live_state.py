"""What runs and what is skipped in one run, given what its Decisions have chosen so far."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from merrow_analysis.graph.liveness import Chosen, Liveness, spread
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.plan import feed_of, waiting_alone


@dataclass(slots=True, eq=False)
class LiveState:
    """Where one run stands, given what its Decisions have chosen so far."""

    graph: TypedGraph
    _live: Liveness[bool | None]

    def runs(self, node: TypedNode) -> bool | None:
        """True: it runs or ran; False: it is skipped; None: some Decision before it hasn't chosen yet."""
        return self._live.runs.get(node.index, True)

    def sources(self, node: TypedNode, port: str) -> Iterator[TypedEdge]:
        """The edges whose values are for this port, in prompt order; only to be asked when nothing before ``node``
        is open.
        """
        return (edge for edge in node.sources(port) if self._live.alive(feed_of(edge, port)))


def live_state(graph: TypedGraph, chosen: Mapping[str, int], skipped: Collection[str] = ()) -> LiveState:
    """Say what runs and what is skipped, for a scheduler.

    ``chosen`` has the case number (`Cases.choose`) of each Decision that has chosen, by node id; ``skipped`` the
    ids of nodes that failed and count as skipped (``on_error: skip``). A run asks again whenever one of them grows.
    Only for graphs without errors.
    """
    plan = graph.combinations.plan or [waiting_alone(graph.node(index)) for index in graph.order]
    by_id = graph.by_id
    cases = {by_id[node].index: case for node, case in chosen.items()}
    return LiveState(graph, spread(plan, Chosen(cases, {by_id[node].index for node in skipped})))
