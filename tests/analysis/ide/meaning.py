"""What a workflow means, as far as a refactoring has to keep it: to be compared before and after."""

from __future__ import annotations

from collections import Counter
from typing import Any

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.prompts import Prompt
from merrow_analysis.diagnostics import Severity
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.ide.node_text import prompt_of, role_of

_NAMES_A_PROMPT = ("prompt", "role", "instruction")


def meaning(analysis: Analysis) -> dict[str, Any]:
    """Operators, ports, types, parameters, prompts and edges, by the ids of nodes."""
    assert analysis.typed is not None
    edges = Counter(
        (edge.source.id, edge.target.id, tuple(edge.feeds), edge.case_label) for edge in analysis.typed.edges
    )
    return {"nodes": {node.id: _node(analysis, node) for node in analysis.typed.nodes}, "edges": edges}


def _node(analysis: Analysis, node: TypedNode) -> tuple[Any, ...]:
    prompt = prompt_of(analysis, node)
    text = prompt.text if isinstance(prompt, Prompt) else prompt
    role = role_of(node) if text is None else None
    parameters = {
        key: str(parameter.value) for key, parameter in node.resolution.parameters.items() if key not in _NAMES_A_PROMPT
    }
    ports = [(port.name, port.type, port.required, port.many) for port in node.input_ports]
    return node.kind, node.operator, ports, dict(node.outputs), parameters, text, role


def errors(analysis: Analysis) -> Counter[str]:
    """How often each rule finds an error."""
    return Counter(found.code for found in analysis.diagnostics if found.severity is Severity.ERROR)
