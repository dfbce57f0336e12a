"""The figures of a workflow file: of its subtasks alone, and of everything it draws."""

from __future__ import annotations

from dataclasses import dataclass

from merrow_analysis.graph.flow import Flow
from merrow_analysis.graph.measures import Measures, measure
from merrow_analysis.graph.nodes import TypedGraph

DEFAULT_FAILURE_PROBABILITY = 0.1


@dataclass(frozen=True, slots=True)
class Metrics:
    """``graph`` measures all nodes and edges, ``workflow`` the subtasks alone: all nodes that are no inputs or outputs.

    ``promises`` is the number of nodes whose author signs for a type by ``returns:``. It and ``workflow`` are None for
    a flowchart that is no workflow.
    """

    graph: Measures
    workflow: Measures | None = None
    promises: int | None = None

    def as_json(self) -> dict[str, object]:
        return {
            "workflow": None if self.workflow is None else self.workflow.as_json(),
            "graph": self.graph.as_json(),
            "promises": self.promises,
        }


def metrics(graph: TypedGraph | Flow, failure_probability: float = DEFAULT_FAILURE_PROBABILITY) -> Metrics:
    """Measure a workflow, or a flowchart that is none. Invisible links carry nothing and don't count.

    Raises ValueError where ``failure_probability`` is not between 0 and 1.
    """
    flow = graph if isinstance(graph, Flow) else graph.flow
    edges = [(edge.source.id, edge.target.id) for edge in flow.edges if not edge.carries_nothing]
    whole = measure(flow.nodes, edges, failure_probability)
    if isinstance(graph, Flow):
        return Metrics(whole)
    subtasks = {node.id for node in graph.nodes if node.kind not in ("input", "output")}
    among = [(source, target) for source, target in edges if source in subtasks and target in subtasks]
    promises = sum(1 for node in graph.nodes if node.kind == "operator" and node.resolution.declared is not None)
    return Metrics(
        whole, measure((node for node in flow.nodes if node in subtasks), among, failure_probability), promises
    )
