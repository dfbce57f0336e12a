"""Where a workflow begins and ends: its inputs and outputs, what is missing of them, and what is probably meant to be them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from merrow_analysis.graph.drawings.drawing import ENTRY_POINT_ID, PROBLEM_ID, RETURN_ID
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.suggest import closest

_START_WORDS = frozenset({"start", "begin", "input", "question", "task", "in", "query"})
_END_WORDS = frozenset({"end_", "finish", "output", "result", "answer", "done", "out", "stop", "response"})


@dataclass(frozen=True, slots=True)
class Boundary:
    """Where a workflow begins and ends. ``missing`` are the ids that should be there; ``stand_ins`` maps some to
    the nodes that are probably meant to be them. ``starts`` and ``ends`` are indices, empty where nothing may be
    said of paths.
    """

    missing: tuple[str, ...]
    stand_ins: dict[str, TypedNode]
    starts: list[int]
    ends: list[int]

    @property
    def stand_in_ids(self) -> frozenset[str]:
        return frozenset(node.id for node in self.stand_ins.values())


def find_boundary(graph: TypedGraph) -> Boundary:
    """Find the inputs and outputs, and what is missing of them."""
    settings, nodes = graph.settings, graph.core.chart.nodes
    if graph.core.reading.drawn:
        # Its ends were found or implied; without any, all of it is a cycle, which has a finding of its own.
        return Boundary((), {}, list(graph.shape.inputs), [*graph.shape.outputs, *graph.core.ending])
    wanted_inputs = [PROBLEM_ID] if settings.inputs is None else settings.inputs
    wanted_outputs = [RETURN_ID] if settings.outputs is None else settings.outputs
    lost_inputs = [name for name in wanted_inputs if name not in nodes]
    lost_outputs = [name for name in wanted_outputs if name not in nodes]
    stand_ins: dict[str, TypedNode] = {}
    wanted = {*wanted_inputs, *wanted_outputs}
    if lost_inputs:
        roots = (node for node in graph.at(graph.shape.roots) if node.id not in wanted)
        first = _stand_in(lost_inputs[0], roots, "input", _START_WORDS)
        if first is not None:
            stand_ins[lost_inputs[0]] = first
    if lost_outputs:
        taken = set(stand_ins.values())
        last = [node for node in graph.at(graph.shape.sinks) if node not in taken and node.id not in wanted]
        stand_in = _stand_in(lost_outputs[0], last, "output", _END_WORDS)
        if stand_in is not None:
            stand_ins[lost_outputs[0]] = stand_in
    starts, ends = list(graph.shape.inputs), [*graph.shape.outputs, *graph.core.ending]
    for name, node in stand_ins.items():
        (starts if name in lost_inputs else ends).append(node.index)
    if any(name not in stand_ins for name in lost_inputs):
        starts = []
    if any(name not in stand_ins for name in lost_outputs):
        ends = []
    return Boundary((*lost_inputs, *lost_outputs), stand_ins, starts, ends)


def _stand_in(name: str, candidates: Iterable[TypedNode], kind: str, words: frozenset[str]) -> TypedNode | None:
    """The node that was probably meant to be called ``name``: an Interface node on that side, or one named like it."""
    known = [node for node in candidates if node.id not in (PROBLEM_ID, ENTRY_POINT_ID, RETURN_ID)]
    interface = [node for node in known if node.kind == kind]
    if interface:
        near = closest(name, [node.id for node in interface])
        return next((node for node in interface if node.id == near), interface[0])
    unclear = [
        node
        for node in known
        if (node.kind == "unknown" or node.resolution.plain is not None) and node.incoming + node.outgoing
    ]
    near = closest(name, [node.id for node in unclear])
    return next((node for node in unclear if node.id == near or node.id.casefold() in words), None)
