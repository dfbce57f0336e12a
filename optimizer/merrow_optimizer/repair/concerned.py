"""Which nodes and edges of a workflow a finding is about."""

from __future__ import annotations

import re
from itertools import islice
from typing import NamedTuple

from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.rules.registry import Scope, find_rule

MOST_NODES = 6
MOST_EDGES = 16
"""A finding that speaks of more is repaired at the first of them."""
_WORD = re.compile(r"[^\W]+")


class Concerned(NamedTuple):
    """Nodes, and edges: those on the lines of the finding first, then the others of the nodes."""

    nodes: list[TypedNode]
    edges: list[TypedEdge]


def concerned(graph: TypedGraph, finding: Diagnostic) -> Concerned:
    """What a finding is about: what stands where it and its related places are, and the nodes that its message names."""
    ranges = [finding.range, *(related.range for related in finding.related if related.file is None)]
    lines = {line for place in ranges for line in (place.start.line, place.end.line)}
    names: dict[str, None] = {}
    by_id = graph.by_id
    words = [word for word in _WORD.findall(finding.message) if word in by_id]
    names.update(dict.fromkeys(words))
    edges: dict[TypedEdge, None] = {}
    for edge in graph.edges:
        if edge.implied:
            continue
        block = edge.flow.block
        if block.line in lines or (block.line_count > 1 and _within(lines, block.line, block.line_count)):
            edges[edge] = None
    for written in () if words else graph.flow.nodes.values():
        if any(mention.range.start.line in lines for mention in written.mentions):
            names[written.id] = None
    nodes = [node for name in islice(names, MOST_NODES) if not (node := by_id[name]).implied]
    if words:
        edges = {edge: None for edge in edges if edge.source.id in names or edge.target.id in names}
    for node in nodes:
        edges.update(dict.fromkeys(edge for edge in (*node.incoming, *node.outgoing) if not edge.implied))
    return Concerned(nodes, list(islice(edges, MOST_EDGES)))


def is_about_graph(finding: Diagnostic) -> bool:
    """Whether a change of the graph may repair what a finding is about, rather than other words alone."""
    rule = find_rule(finding.code)
    return rule is not None and rule.scope is not Scope.TEXT


def is_about_edges(finding: Diagnostic) -> bool:
    """Whether other edges may repair what a finding is about: it is not about what a single node is."""
    rule = find_rule(finding.code)
    return rule is not None and rule.scope in (Scope.GRAPH, Scope.EDGE)


def _within(lines: set[int], first: int, count: int) -> bool:
    return any(first <= line < first + count for line in lines)
