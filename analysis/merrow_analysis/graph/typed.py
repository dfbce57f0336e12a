"""From a flowchart to its typed graph."""

from __future__ import annotations

from merrow_analysis.definitions.metadata import parse_metadata
from merrow_analysis.definitions.operators import BUILT_IN_TABLE, OperatorTable
from merrow_analysis.graph.flow import Flow
from merrow_analysis.graph.infer import read_graph
from merrow_analysis.graph.language import Language, Settings
from merrow_analysis.graph.model import PROBLEM_ID, RETURN_ID, is_interface
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.records import NodeRecord


def is_workflow(flow: Flow, settings: Settings) -> bool:
    """Whether a flowchart is a workflow, as the language defines it; any other one gets syntax diagnostics only."""
    if settings.declared or settings.opted_out:
        return not settings.opted_out
    nodes = flow.chart.nodes
    problem, result = nodes.get(PROBLEM_ID), nodes.get(RETURN_ID)
    if problem is not None and result is not None:
        return True
    if any(node is not None and is_interface(node) for node in (problem, result)):
        return True
    return any(_names_operator(node, BUILT_IN_TABLE) for node in nodes.values())


def _names_operator(node: NodeRecord, table: OperatorTable) -> bool:
    if any(table.by_class(use.name.text) is not None for use in node.classes):
        return True
    return any("op" in parse_metadata(metadata.body).values for metadata, _ in node.metadata)


def build(flow: Flow, settings: Settings, language: Language | None = None) -> TypedGraph:
    """Type a flowchart, read cold. Never raises. ``language`` is used where it is that of the settings."""
    return TypedGraph(flow, read_graph(flow.chart, settings, language))
