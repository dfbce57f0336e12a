"""What a flowchart means, for tests that compare two texts."""

from __future__ import annotations

from merrow_analysis.check import Analysis
from merrow_analysis.diagnostics import Severity
from merrow_analysis.graph.instructions import memory_of, prompt_of
from merrow_runtime.program.titles import title_of


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
            node.resolution.ask
            if node.asks
            else prompt_of(node, analysis.prompts)
            if node.kind == "operator"
            else None,
            memory_of(node, analysis.settings) if node.kind == "operator" or node.asks else None,
            title_of(node) if node.kind == "operator" else None,
            None if node.cases is None else node.cases.labels,
            [(edge.source.id, edge.feeds, edge.case) for edge in node.incoming],
            node.outputs,
        )
        for node in graph.nodes
    ]
