"""Which of several answers of a reviser is used: the one that keeps most, or the one that Flow's Algorithm 1 picks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from merrow_analysis.definitions.settings import Refine
from merrow_analysis.graph.nodes import TypedGraph
from merrow_optimizer.planning.ranking import RULES, ranked
from merrow_optimizer.planning.task_graph import PlannedTask, TaskGraph
from merrow_optimizer.revising.making import GraphChanges
from merrow_runtime.revising.difference import RevisionDifference, difference, is_task
from merrow_runtime.revising.reviser import RevisedWorkflow
from merrow_runtime.workflow import Workflow, restore


def chosen(proposals: Sequence[GraphChanges | BaseException], workflow: Workflow, refine: Refine) -> GraphChanges:
    """The answer to use, with the figures of all as its ``candidates``; ``proposals`` has one that can be used. An answer that
    changes something takes precedence over one that doesn't, and of equals the earlier one is used.
    """
    usable = [
        (number, proposal) for number, proposal in enumerate(proposals) if not isinstance(proposal, BaseException)
    ]
    revised = {number: _revised(proposal, workflow, refine) for number, proposal in usable}
    kept = {
        number: len(difference_of(version, workflow).kept) for number, version in revised.items() if version is not None
    }
    graphs = [_task_graph(_restored(revised[number], workflow).graph) for number, _ in usable]
    by_paper = ranked(graphs, RULES["paper"])
    figures = {usable[place][0]: plan.shown for place, plan in by_paper}
    if refine.rank == "paper":
        order = [usable[place][0] for place, _ in by_paper]
    else:
        order = sorted((number for number, _ in usable), key=lambda number: -kept.get(number, 0))
    changing = [number for number in order if revised[number] is not None] or order
    shown = [
        {
            "candidate": number + 1,
            **_shown(proposal, kept.get(number), figures.get(number)),
            "chosen": number == changing[0],
        }
        for number, proposal in enumerate(proposals)
    ]
    return replace(dict(usable)[changing[0]], candidates=tuple(shown))


def difference_of(revised: RevisedWorkflow, workflow: Workflow) -> RevisionDifference:
    """What a workflow keeps that becomes another one, if all of it has finished."""
    return difference(workflow, _restored(revised, workflow), renamed=revised.renamed)


def _revised(changes: GraphChanges, workflow: Workflow, refine: Refine) -> RevisedWorkflow | None:
    return None if changes.is_empty else changes.on(workflow, refine.max_nodes)


def _restored(revised: RevisedWorkflow | None, workflow: Workflow) -> Workflow:
    return workflow if revised is None else restore({**workflow.snapshot(), "text": revised.text})


def _shown(
    changes: GraphChanges | BaseException, kept: int | None, figures: Mapping[str, float] | None
) -> dict[str, Any]:
    if isinstance(changes, BaseException):
        return {"refused": str(changes)}
    return {"kept": kept, **(figures or {})}


def _task_graph(graph: TypedGraph) -> TaskGraph:
    """The tasks of a workflow, each after those that give it something."""
    tasks = [node for node in (graph.node(handle) for handle in graph.order) if is_task(node)]
    known = {node.id for node in tasks}
    return TaskGraph(tuple(PlannedTask(node.id, "", after=_before(graph, node.id, known)) for node in tasks))


def _before(graph: TypedGraph, task: str, known: set[str]) -> tuple[str, ...]:
    """The tasks that a task waits for directly, also across Decisions and what only combines results."""
    sources: dict[str, None] = {}
    waiting, seen = [task], {task}
    while waiting:
        for edge in graph.by_id[waiting.pop()].incoming:
            source = edge.record.source
            if source in seen:
                continue
            seen.add(source)
            if source in known:
                sources[source] = None
            else:
                waiting.append(source)
    return tuple(sources)
