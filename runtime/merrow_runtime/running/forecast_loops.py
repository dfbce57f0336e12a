"""What happens when the turns of a Loop run out, said before a run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from merrow_analysis.graph.boxes.composites import Composite, loop_settings
from merrow_analysis.graph.boxes.edge_words import OVER
from merrow_analysis.graph.nodes import TypedGraph
from merrow_runtime.records import record
from merrow_runtime.workflow import Workflow


@record(frozen=True, slots=True)
class PlannedLoop:
    """A Loop of a workflow, or of a ``file`` that it calls. ``members`` are the nodes of one that a drawing implies.

    ``decides`` says that something may end it before its ``turns`` run out; ``over`` are the nodes where the run continues when
    they do, as far as edges say so, with the values of the ``best`` turn or the last one. ``budget``: it has one of its own.
    """

    loop: str
    turns: int
    decides: bool
    over: tuple[str, ...] = ()
    best: bool = False
    budget: bool = False
    file: str = ""
    members: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As a dry run tells it; ``text`` says all of it."""
        file = {"file": self.file} if self.file else {}
        then = {"over": list(self.over), "result": "best" if self.best else "last"}
        return {"loop": self.loop, **file, "turns": self.turns, "decides": self.decides, **then, "text": self.text}

    @property
    def text(self) -> str:
        """A sentence; ids are in it as they are."""
        name = f"the cycle of {_listed(self.members)}" if self.members else f"Loop {self.loop}"
        if self.file:
            name += f" in {self.file}"
        turns = "1 turn" if self.turns == 1 else f"{self.turns:,} turns"
        turn = "the best turn" if self.best else "the last turn"
        budget = " or when its budget is used up" if self.budget else ""
        if not self.decides:
            most = "at most " if self.budget else ""
            return f"{name[0].upper()}{name[1:]} makes {most}{turns}: nothing else ends it. The result is from {turn}."
        goes_on = f" at {_listed(self.over)}" if self.over else ""
        return f"If {name} still wants another turn after {turns}{budget}, the run continues{goes_on} with the result of {turn}."


def planned_loops(workflow: Workflow) -> tuple[PlannedLoop, ...]:
    """The Loops of a workflow that may make several turns, then those of the files that it calls."""
    return tuple(loop for reached in workflow.reached() for loop in _of(reached.graph, reached.place))


def _of(graph: TypedGraph, file: str) -> Iterator[PlannedLoop]:
    again = {edge.border.scope for edge in graph.again}
    over: dict[str, dict[str, None]] = {}
    for edge in (graph.edge(edge_record) for edge_record in graph.core.chart.edges if not edge_record.carries_nothing):
        if edge.word == OVER and edge.left:
            over.setdefault(edge.left[0], {})[edge.target.id] = None
    for box in graph.composites:
        if box.kind == "loop" and box.id in again:
            yield _planned(graph, box, tuple(over.get(box.id, ())), file)


def _planned(graph: TypedGraph, box: Composite, over: tuple[str, ...], file: str) -> PlannedLoop:
    settings = loop_settings(box)
    members = graph.composites.members(box.id)
    fixed = graph.combinations.always_goes_on(box.id, [graph.by_id[member] for member in members])
    best, budget = settings.best is not None, settings.budget is not None
    return PlannedLoop(
        box.id, settings.most, not fixed, over, best, budget, file, tuple(members) if box.implied else ()
    )


def _listed(names: tuple[str, ...]) -> str:
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
