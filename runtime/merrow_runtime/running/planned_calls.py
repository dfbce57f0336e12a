"""Calls of workflows that were planned: what later turns of a Loop take over, and what a Call says of how it stands."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from merrow_analysis.graph.nodes import TypedGraph
from merrow_runtime.operators.prompts.prompting import Section, render_section
from merrow_runtime.program.definitions import Steps
from merrow_runtime.store.contract import NodeRecord
from merrow_runtime.values import Value, as_text
from merrow_runtime.visit import Visit

_LONGEST_SHOWN = 1_000
"""Characters of a result that the state of a planned workflow has; `result` has it whole."""


class Pool:
    """The executions of the earlier turns of one planned Call, each of which one node of the next turn may take over."""

    def __init__(self) -> None:
        self._by_key: dict[str, list[NodeRecord]] = {}

    def end_turn(self, records: Iterable[NodeRecord]) -> None:
        """Add what a turn has finished. What it had reused stays as one execution."""
        for record in sorted(records, key=lambda candidate: candidate.started):
            if record.key is None or record.outputs is None:
                continue
            known = self._by_key.setdefault(record.key, [])
            if record.status == "reused":
                taken = [number for number, other in enumerate(known) if other.outputs == record.outputs]
                if taken:
                    known.pop(taken[0])
            known.append(record)

    def stands_on(self, key: str) -> str:
        """The key of the Call itself in the next turn: what it gives follows from what is finished, too."""
        if not self._by_key:
            return key
        finished = sorted(other for other, records in self._by_key.items() for _ in records)
        return hashlib.sha256("\n".join([key, *finished]).encode()).hexdigest()

    def next_turn(self) -> LoopTurn:
        """What the next turn may take over."""
        return LoopTurn({key: list(records) for key, records in self._by_key.items()})


@dataclass(slots=True, eq=False)
class LoopTurn:
    """What one turn may take over, each once: by the node of the same id where there is one."""

    left: dict[str, list[NodeRecord]]
    _taken: dict[Visit, NodeRecord] = field(default_factory=dict)

    def take(self, visit: Visit, key: str, usable: Callable[[NodeRecord], bool]) -> NodeRecord | None:
        """The execution that a visit takes over, always the same one; None where there is none that is ``usable``."""
        record = self._taken.get(visit)
        if record is None:
            several = [candidate for candidate in self.left.get(key, ()) if usable(candidate)]
            record = next(
                (candidate for candidate in several if candidate.node == visit.node), several[0] if several else None
            )
            if record is not None:
                self.left[key].remove(record)
                self._taken[visit] = record
        return record


class Pools:
    """The pools of all planned Calls of a run."""

    def __init__(self) -> None:
        self._pools: dict[tuple[str, str], Pool] = {}

    def of(self, graph: TypedGraph, visit: Visit) -> Pool:
        """The pool of a Call in its frame: one for all turns of the Loops around it, and one for each item of a Map."""
        boxes = graph.composites.around(visit.node)[::-1]
        parts = visit.path.split("/") if visit.path else []
        for number, box in enumerate(boxes, len(parts) - len(boxes)):
            if number >= 0 and graph.composites.boxes[box].kind == "loop":
                parts[number] = parts[number].partition("[")[0]
        return self._pools.setdefault(("/".join(parts), visit.node), Pool())


def standing(graph: TypedGraph, steps: Steps, records: Collection[NodeRecord], frame: str, *, done: bool) -> Value:
    """How each node of a planned workflow stands that asks or computes something, in the order of the graph.

    ``frame`` is the path of its frame. Nodes in Loops and Maps are there once for each turn and item.
    """
    told: list[Value] = []
    for handle, ended in _by_step(graph, steps, records):
        step = steps[handle]
        entry: dict[str, Value] = {"id": step.definition.id, "task": step.definition.title}
        if not ended:
            told.append({**entry, "status": "waiting"})
        told += [{**entry, "id": str(record.visit)[len(frame) + 1 :], **_ended(record)} for record in ended]
    return {"done": done, "nodes": told}


def results_so_far(graph: TypedGraph, steps: Steps, records: Collection[NodeRecord]) -> str:
    """What the nodes have given that are finished, each under its title; empty where none is."""
    sections = [
        render_section(Section(steps[handle].definition.title, _result(record.outputs)))
        for handle, ended in _by_step(graph, steps, records)
        for record in ended
        if record.outputs is not None and not graph.node(handle).asks
    ]
    return "\n\n".join(sections)


def _by_step(
    graph: TypedGraph, steps: Steps, records: Collection[NodeRecord]
) -> list[tuple[int, Sequence[NodeRecord]]]:
    ended: dict[str, list[NodeRecord]] = {}
    for record in sorted(records, key=lambda other: (len(other.path), other.path)):
        ended.setdefault(record.node, []).append(record)
    return [(handle, ended.get(graph.node(handle).id, [])) for handle in graph.order if handle in steps]


def _ended(record: NodeRecord) -> dict[str, Value]:
    if record.outputs is None:
        return {"status": record.status, "reason": record.error or ""}
    result = _result(record.outputs)
    cut = result if len(result) <= _LONGEST_SHOWN else f"{result[:_LONGEST_SHOWN]}…"
    return {"status": "finished", "result": cut}


def _result(outputs: Mapping[str, Value] | None) -> str:
    """What a node gave by its first output."""
    return as_text(next(iter((outputs or {}).values()), ""))
