"""The figures of a workflow file: of its subtasks alone, and of everything it draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from merrow_analysis.graph.flow import Flowchart
from merrow_analysis.graph.measures.call_bounds import CallBounds, call_bounds
from merrow_analysis.graph.measures.measures import Measures, measure
from merrow_analysis.graph.nodes import TypedGraph

DEFAULT_FAILURE_PROBABILITY = 0.1


@dataclass(frozen=True, slots=True)
class Metrics:
    """``graph`` measures all nodes and edges, ``workflow`` the subtasks alone: all nodes that are neither inputs nor outputs.

    ``promises`` is the number of nodes whose author signs for a type by ``returns:``, ``calls`` how many calls a run makes. These
    and ``workflow`` are None for a flowchart that is not a workflow. Edges that run back in a Loop or a Map (``again``) are not
    among those measured.
    """

    graph: Measures
    workflow: Measures | None = None
    promises: int | None = None
    calls: CallBounds | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "workflow": None if self.workflow is None else self.workflow.as_json(),
            "graph": self.graph.as_json(),
            "promises": self.promises,
            "calls": None if self.calls is None else self.calls.as_json(),
        }


def metrics(graph: TypedGraph | Flowchart, failure_probability: float = DEFAULT_FAILURE_PROBABILITY) -> Metrics:
    """Measure a workflow, or a flowchart that is not one. Invisible links carry nothing and don't count.

    What was measured is kept with the graph until it changes. Raises ValueError where ``failure_probability`` is not
    between 0 and 1.
    """
    if isinstance(graph, Flowchart):
        return Metrics(measure(graph.nodes, _edges(graph), failure_probability))
    if failure_probability not in graph.measured:
        graph.measured[failure_probability] = _measured(graph, failure_probability)
    measured = graph.measured[failure_probability]
    assert isinstance(measured, Metrics)  # noqa: S101 - nobody else puts anything there
    return measured


def metrics_with(graph: TypedGraph, failure_probability: float, failures: Mapping[str, float]) -> Metrics:
    """The same where some nodes have failure rates of their own."""
    known = metrics(graph, failure_probability)
    return replace(known, workflow=measure(*subtasks_of(graph), failure_probability, failures))


def all_of(flow: Flowchart) -> tuple[list[str], list[tuple[str, str]]]:
    """All nodes of a flowchart, and its edges without those that carry nothing."""
    return list(flow.nodes), _edges(flow)


def _edges(flow: Flowchart) -> list[tuple[str, str]]:
    return [(edge.source.id, edge.target.id) for edge in flow.edges if not edge.carries_nothing]


def subtasks_of(graph: TypedGraph) -> tuple[list[str], list[tuple[str, str]]]:
    """The subtasks of a workflow, and the edges among them."""
    subtasks = {node.id for node in graph.nodes if node.kind not in ("input", "output")}
    among = [(source, target) for source, target in _flat_edges(graph) if source in subtasks and target in subtasks]
    return [node for node in graph.flow.nodes if node in subtasks], among


def _flat_edges(graph: TypedGraph) -> list[tuple[str, str]]:
    return [(edge.source.id, edge.target.id) for edge in graph.flow.edges if graph.core.is_flat(edge.record)]


def _measured(graph: TypedGraph, failure_probability: float) -> Metrics:
    flow = graph.flow
    promises = sum(1 for node in graph.nodes if node.is_promise)
    return Metrics(
        measure(flow.nodes, _flat_edges(graph), failure_probability),
        measure(*subtasks_of(graph), failure_probability),
        promises,
        call_bounds(graph),
    )
