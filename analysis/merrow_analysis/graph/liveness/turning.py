"""Turns of Loops without a box: what a later turn begins with, and what is closed in the last one.

In a later turn edges from outside of the Loop only supply, so that a turn begins at the heads of the arrows back that were
taken. In the last turn the arrows back are closed, and with them each way behind which all is closed: it is not taken, and an
answer that leads there counts as its Decision's first other one that leads on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

from merrow_analysis.graph.arrows.starting import Starting
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.boxes.edge_words import AGAIN, OVER
from merrow_analysis.graph.liveness.live_nodes import LiveNode
from merrow_analysis.graph.liveness.waiting import PlanEdge, PlanGraph, PlanNode, order_of, starting, waiting_alone


class Turn(NamedTuple):
    """How things are in a frame. ``later`` is the innermost Loop around it that is in a later turn than its first, ``closed`` are
    those in their last turn; ``begins`` are the nodes that a later turn of its own begins with, by handle.
    """

    later: str | None = None
    closed: frozenset[str] = frozenset()
    begins: frozenset[int] = frozenset()


FIRST_TURN = Turn()


class Turning:
    """What turns do in one graph. Answers are kept."""

    def __init__(self, graph: PlanGraph) -> None:
        core = graph.core
        self._graph = graph
        asks = {record.id for node in core.marks.decisions if (record := core.records[node]) is not None}
        places = {record.id: core.shape.places[node] for node, record in enumerate(core.records) if record is not None}
        self.starts = Starting(core.chart.outgoing, asks, frozenset(graph.again_records), places)
        composites = core.composites
        self._members = {
            box.id: frozenset(core.handles[name] for name in composites.members(box.id)) for box in composites
        }
        self._loops = [box.id for box in composites if box.implied]
        self._dead: dict[frozenset[str], bytearray] = {}
        self._known: dict[tuple[int, Turn], LiveNode] = {}

    def waiting(self, node: PlanNode, turn: Turn) -> LiveNode:
        """What a node waits for in a frame."""
        key = node.index, turn
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._waiting(node, turn)
        return known

    def _waiting(self, node: PlanNode, turn: Turn) -> LiveNode:
        alone = waiting_alone(node, self.starts)
        if node.index in turn.begins:
            return replace(alone, required=(), gates=(), others=())
        if turn.closed and not self._is_open(node.index, turn.closed):
            return replace(alone, required=((),), gates=(), others=())
        if turn.later is None or node.index not in self._members[turn.later]:
            return alone
        inside = self._members[turn.later]
        own = [edge for edge in node.incoming if edge.source.index in inside]
        begun = tuple([order_of(edge) for edge in starting(own, self.starts)])
        return replace(alone, required=(*alone.required, begun), gates=(), others=())

    def closed_over(self, loops: Iterable[str]) -> frozenset[str]:
        """Those of some Loops whose arrows back can be closed."""
        return frozenset(loop for loop in loops if loop in self._loops)

    def _is_open(self, node: int, closed: frozenset[str]) -> bool:
        """Whether a way leads from a node to an output while the arrows back of some Loops are closed."""
        return bool(self._leading(closed)[node])

    def _leading(self, closed: frozenset[str]) -> bytearray:
        known = self._dead.get(closed)
        if known is None:
            core = self._graph.core
            composites, handles, shape = core.composites, core.handles, core.shape
            before = [list(row) for row in shape.before]
            for record in self._graph.again_records:
                if composites.scope(record.source, record.target) not in closed:
                    before[handles[record.target]].append(handles[record.source])
            known = self._dead[closed] = reach(before, [*shape.outputs, *core.ending])
        return known

    def runs_last(self, node: PlanNode, loop: str) -> bool:
        """Whether a node may run in the last turn of a Loop."""
        return self._is_open(node.index, frozenset({loop}))

    def instead(self, node: PlanNode, case: int, closed: frozenset[str]) -> int:
        """The case that counts where a Decision has chosen one: itself unless all its ways are closed, else the first other one
        that leads on without an arrow back, else the first that is open.
        """
        ways = self._ways(node)
        if self._any_open(ways.get(case, ()), closed):
            return case
        everything = frozenset(self._loops)
        for shut in (everything, closed):
            for other, edges in ways.items():
                if self._any_open(edges, shut):
                    return other
        return case

    def _ways(self, node: PlanNode) -> Mapping[int, list[PlanEdge]]:
        by_case: dict[int, list[PlanEdge]] = {}
        for edge in node.ways:
            if edge.case is not None:
                by_case.setdefault(edge.case, []).append(edge)
        return by_case

    def _any_open(self, edges: Iterable[PlanEdge], closed: frozenset[str]) -> bool:
        """Whether some of these ways may be taken; one for when the turns have run out may."""
        composites = self._graph.core.composites
        for edge in edges:
            if edge.word == OVER:
                return True
            if edge.word == AGAIN:
                scope = composites.scope(edge.record.source, edge.record.target)
                if scope in closed:
                    continue
            if self._is_open(edge.target.index, closed):
                return True
        return False

    def always_instead(self, decisions: Iterable[PlanNode]) -> dict[int, dict[int, int]]:
        """By Decision in Loops the cases that never count in a last turn of all of these, with those that count instead."""
        composites = self._graph.core.composites
        instead: dict[int, dict[int, int]] = {}
        for node in decisions:
            closed = self.closed_over(composites.around(node.id))
            changed = self.changed(node, closed) if closed else {}
            if changed:
                instead[node.index] = changed
        return instead

    def changed(self, node: PlanNode, closed: frozenset[str]) -> dict[int, int]:
        """The cases of a Decision that are closed in the last turns of some Loops, with those that count instead."""
        return {case: now for case in self._ways(node) if (now := self.instead(node, case, closed)) != case}
