"""From a flowchart to its typed graph."""

from __future__ import annotations

from collections.abc import Mapping

from merrow_analysis.graph.boxes.composites import NO_COMPOSITES, Composites, kind_of, read_composites
from merrow_analysis.graph.drawings.drawing import PROBLEM_ID, RETURN_ID, is_interface, names_operator
from merrow_analysis.graph.flow import Flowchart, Subgraph
from merrow_analysis.graph.infer import read_graph
from merrow_analysis.graph.language import GraphSettings, Language
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.outside import Outside


def is_workflow(flow: Flowchart, settings: GraphSettings, as_workflow: bool = False) -> bool:
    """Whether a flowchart is a workflow, as the language defines it; any other one gets syntax diagnostics only.

    With ``as_workflow`` any flowchart with a node is, whose front matter does not say ``workflow: false``.
    """
    if flow.scenery.undrawn is not None:
        return False
    if settings.declared or settings.opted_out:
        return not settings.opted_out
    nodes = flow.chart.nodes
    if as_workflow and nodes:
        return True
    problem, result = nodes.get(PROBLEM_ID), nodes.get(RETURN_ID)
    if problem is not None and result is not None:
        return True
    if any(node is not None and is_interface(node) for node in (problem, result)):
        return True
    return any(map(names_operator, nodes.values()))


def build(
    flow: Flowchart, settings: GraphSettings, language: Language | None = None, outside: Outside | None = None
) -> TypedGraph:
    """Type a flowchart, read cold. Never raises. ``language`` is used where it is that of the settings and of ``outside``."""
    core = read_graph(flow.chart, settings, language, composites_of(flow), outside, groups_of(flow))
    return TypedGraph(flow, core)


def groups_of(flow: Flowchart) -> Mapping[str, Subgraph]:
    """The boxes of a flowchart, with what is in them."""
    return flow.subgraphs if flow.scenery.subgraphs else {}


def composites_of(flow: Flowchart) -> Composites:
    """The Loops and Maps of a flowchart; the same object for flowcharts with the same subgraphs."""
    scenery = flow.scenery
    # What subgraphs are is true of them even where their members are out of date.
    if not scenery.subgraphs or not any(kind_of(group) is not None for group in scenery.subgraphs.values()):
        return NO_COMPOSITES
    current = flow.subgraphs
    if scenery.boxes is None or scenery.boxes[0] is not scenery.subgraphs:
        scenery.boxes = scenery.subgraphs, read_composites(current)
    known = scenery.boxes[1]
    assert isinstance(known, Composites)  # noqa: S101 (this is the one place that writes it)
    return known
