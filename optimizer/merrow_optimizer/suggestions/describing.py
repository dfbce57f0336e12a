"""A workflow, its operators and its changes as plain data: what a model is shown of them."""

from __future__ import annotations

from typing import Any

from merrow_analysis.check import Analysis
from merrow_analysis.definitions.operators import OperatorSpec
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_optimizer.mutations.base import WorkflowDifference, workflow_difference
from merrow_optimizer.mutations.effects import structure
from merrow_optimizer.suggestions.allowed import FREE, may_be_new
from merrow_optimizer.suggestions.node_edits import prompt_text

_LONGEST = 4_000
"""Characters of a prompt or a text that are shown."""


def graph_data(analysis: Analysis, graph: TypedGraph) -> dict[str, Any]:
    """The typed graph: nodes with what they tell their models, edges with ports and types, Loops and Maps."""
    return {
        "nodes": [_node(analysis, graph, node) for node in graph.nodes],
        "edges": [
            {
                "from": edge.source.id,
                "to": edge.target.id,
                **({} if edge.case_label is None else {"case": edge.case_label}),
                **({} if edge.word is None else {"word": edge.word}),
                "feeds": [{"output": feed.output or "", "port": feed.port, "type": feed.type} for feed in edge.feeds],
            }
            for edge in (*graph.edges, *graph.again)
        ],
        "loops_and_maps": [
            {
                "id": box.id,
                "kind": box.operator,
                "nodes": list(box.nodes),
                "parameters": {key: str(parameter.value) for key, parameter in box.parameters.items()},
            }
            for box in graph.composites
        ],
    }


def _node(analysis: Analysis, graph: TypedGraph, node: TypedNode) -> dict[str, Any]:
    shown: dict[str, Any] = {"id": node.id, "kind": node.kind}
    if node.operator is not None and node.kind == "operator":
        shown["operator"] = node.operator
    if node.kind == "decision" and node.flow.label is not None:
        shown["question"] = node.flow.label.text[:_LONGEST]
    prompt = prompt_text(analysis, node) if node.kind == "operator" else None
    if prompt is not None:
        shown["prompt"] = prompt[:_LONGEST]
    for key, parameter in node.resolution.parameters.items():
        if key not in ("op", "prompt"):
            shown.setdefault("parameters", {})[key] = str(parameter.value)[:_LONGEST]
    box = graph.composites.inside.get(node.id)
    if box is not None:
        shown["inside"] = box
    return shown


def operators_data(graph: TypedGraph) -> list[dict[str, Any]]:
    """The operators that a new node may have, with their signatures and what they do."""
    return [_operator(spec) for spec in graph.operators.specs.values() if may_be_new(spec)]


def _operator(spec: OperatorSpec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "inputs": {
            port.name: f"{port.type}{'' if port.required else ', optional'}{', several edges' if port.many else ''}"
            for port in spec.inputs
        },
        "outputs": {port.name: port.type for port in spec.outputs},
        "does": spec.note or (spec.prompt or "")[:200],
    }


def change_data(before: Analysis, after: Analysis) -> dict[str, Any]:
    """How one workflow differs from another: nodes, edges, prompts and the parameters that may differ."""
    difference = workflow_difference(before, after)
    return {
        "adds": [
            {"id": node.id, "operator": node.operator, **_told(after, node.id)} for node in difference.added_nodes
        ],
        "removes": [{"id": node.id, "operator": node.operator} for node in difference.removed_nodes],
        "replaces": [{"id": new.id, "from": old.operator, "to": new.operator} for old, new in difference.changed_nodes],
        "adds_edges": [_edge(*edge) for edge in difference.added_edges],
        "removes_edges": [_edge(*edge) for edge in difference.removed_edges],
        "sets": [
            {"node": node, "what": what, "before": old, "after": new}
            for node, what, old, new in settings_changed(before, after)
        ],
    }


def _told(analysis: Analysis, name: str) -> dict[str, str]:
    graph = analysis.typed
    prompt = None if graph is None else prompt_text(analysis, graph.by_id[name])
    return {} if prompt is None else {"prompt": prompt[:_LONGEST]}


def _edge(source: str, output: str, target: str, port: str) -> str:
    return f"{source}{f'.{output}' if output else ''} -> {target}{f'.{port}' if port else ''}"


def settings_changed(before: Analysis, after: Analysis) -> list[tuple[str, str, str, str]]:
    """Nodes of both workflows whose prompt, `samples` or `temperature` differs: the node, which, and what it was and is."""
    old, new = before.typed, after.typed
    changes: list[tuple[str, str, str, str]] = []
    for node in () if old is None or new is None else old.nodes:
        other = None if new is None else new.by_id.get(node.id)
        if other is None or node.kind != "operator" or other.kind != "operator":
            continue
        was, now = prompt_text(before, node), prompt_text(after, other)
        if was != now:
            changes.append((node.id, "prompt", (was or "")[:_LONGEST], (now or "")[:_LONGEST]))
        for key in sorted(FREE - {"prompt"}):
            values = [side.resolution.parameters.get(key) for side in (node, other)]
            texts = ["" if value is None else str(value.value) for value in values]
            if texts[0] != texts[1]:
                changes.append((node.id, key, texts[0], texts[1]))
    return changes


def effect_text(before: Analysis, after: Analysis, difference: WorkflowDifference) -> str:
    """What a suggestion changes, as one line: "Adds CHECK and 2 edges; new prompt of SOLVE"."""
    pieces = [structure(difference)]
    for node, what, _, now in settings_changed(before, after):
        pieces.append(f"new prompt of {node}" if what == "prompt" else f"{what} {now or 'as usual'} at {node}")
    text = "; ".join(piece for piece in pieces if piece)
    return text[:1].upper() + text[1:]
