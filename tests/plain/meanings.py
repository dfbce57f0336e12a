"""What a flowchart means, for tests that compare two texts."""

from __future__ import annotations

from merrow_analysis.check import Analysis
from merrow_analysis.diagnostics import Severity
from merrow_analysis.graph.instructions import memory_of, prompt_of
from merrow_analysis.graph.nodes import TypedNode
from merrow_runtime.program.titles import title_of


def _is_told(node: TypedNode) -> bool:
    """Whether a model is told something: what passes on or joins values says nothing."""
    return node.kind == "operator" and node.operator not in ("Pass", "Assemble")


def codes(analysis: Analysis) -> list[str]:
    """Errors and warnings."""
    return [one.code for one in analysis.diagnostics if one.severity is not Severity.HINT]


def meaning(analysis: Analysis) -> object:
    """Operators, prompts, memory, ways and edges."""
    graph = analysis.typed
    assert graph is not None
    return [
        (
            node.id,
            node.kind,
            node.operator,
            node.asks,
            node.resolution.ask if node.asks else prompt_of(node, analysis.prompts) if _is_told(node) else None,
            memory_of(node, analysis.settings) if _is_told(node) or node.asks else None,
            title_of(node) if _is_told(node) else None,
            None if node.cases is None else node.cases.labels,
            [(edge.source.id, edge.feeds, edge.case) for edge in node.incoming],
            node.outputs,
        )
        for node in graph.nodes
    ]
