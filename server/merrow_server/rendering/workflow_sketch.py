"""A workflow as a small SVG, without a browser: its nodes in layers, with what a change added and removed."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from merrow_analysis.check import Analysis
from merrow_optimizer.mutations.base import GraphEdge, WorkflowDifference, workflow_difference
from merrow_optimizer.suggestions.describing import settings_changed
from merrow_server.rendering.evaluation_charts import figure, label

_WIDE, _HIGH, _ACROSS, _DOWN, _MARGIN = 120, 34, 20, 30, 10
_LONGEST, _LONGEST_PROMPT = 18, 300
_MOST = 60
"""Nodes above which nothing is drawn."""


def difference_words(before: Analysis, after: Analysis) -> list[str]:
    """What changed, a line for each node, edge, prompt, `samples`, `temperature` and `memory`."""
    difference = workflow_difference(before, after)
    lines = [f"+ {node.id} ({node.operator})" for node in difference.added_nodes]
    lines += [f"- {node.id} ({node.operator})" for node in difference.removed_nodes]
    lines += [f"~ {new.id}: {old.operator} becomes {new.operator}" for old, new in difference.changed_nodes]
    lines += [f"+ {_edge(edge)}" for edge in difference.added_edges]
    lines += [f"- {_edge(edge)}" for edge in difference.removed_edges]
    lines += [f"+ prompt {name}" for name in difference.added_prompts]
    lines += [f"- prompt {name}" for name in difference.removed_prompts]
    for node, what, old, new in settings_changed(before, after):
        if what == "prompt":
            words = " ".join(new.split())
            lines.append(f"~ prompt of {node}: {_cut(words, _LONGEST_PROMPT) or 'none'}")
        else:
            lines.append(f"~ {what} of {node}: {old or 'as usual'} becomes {new or 'as usual'}")
    return lines


def _edge(edge: GraphEdge) -> str:
    return f"{edge.source} -> {edge.target}" + (f" ({edge.port})" if edge.port else "")


def sketch(name: str, analysis: Analysis, before: Analysis | None = None) -> str:
    """A workflow, marked with what it has that ``before`` hasn't; empty where it is not a workflow or too large to be read."""
    graph = analysis.typed
    if graph is None or len(graph.nodes) > _MOST:
        return ""
    change = WorkflowDifference()
    if before is not None and before.typed is not None:
        change = workflow_difference(before, analysis)
    layer: dict[str, int] = {}
    for handle in graph.order:
        node = graph.node(handle)
        above = [layer[edge.source.id] for edge in node.incoming if edge.source.id in layer]
        layer[node.id] = 1 + max(above, default=-1)
    layers: list[list[str]] = [[] for _ in range(1 + max(layer.values(), default=0))]
    for node_id, depth in layer.items():
        layers[depth].append(node_id)
    widest = max(map(len, layers))
    wide = 2 * _MARGIN + widest * _WIDE + (widest - 1) * _ACROSS
    place: dict[str, tuple[float, float]] = {}
    for depth, row in enumerate(layers):
        left = (wide - len(row) * _WIDE - (len(row) - 1) * _ACROSS) / 2
        for number, node_id in enumerate(row):
            place[node_id] = left + number * (_WIDE + _ACROSS), _MARGIN + depth * (_HIGH + _DOWN)
    new_edges = {(edge.source, edge.target) for edge in change.added_edges}
    drawn = {(edge.source.id, edge.target.id) for node in graph.nodes for edge in node.incoming}
    parts = [_arrow(place[a], place[b], (a, b) in new_edges) for a, b in sorted(drawn) if a in place and b in place]
    added = {node.id for node in change.added_nodes} | {node.id for _, node in change.changed_nodes}
    added.update(entry[0] for entry in (() if before is None else settings_changed(before, analysis)))
    for node_id, (x, y) in place.items():
        node = graph.by_id[node_id]
        parts.append(_box(x, y, [node_id, node.operator or node.kind], node_id in added))
    return figure(name, parts, 2 * _MARGIN + len(layers) * _HIGH + (len(layers) - 1) * _DOWN, wide)


def _box(x: float, y: float, lines: Sequence[str], is_new: bool) -> str:
    text = " ".join(lines)
    texts = "".join(
        label(x + _WIDE / 2, y + 14 + 13 * number, _cut(line), "middle") for number, line in enumerate(lines)
    )
    return (
        f'<g><title>{escape(text)}</title><rect class="node{" new" if is_new else ""}" x="{x:.1f}" y="{y:.1f}"'
        f' width="{_WIDE}" height="{_HIGH}" rx="5"/>{texts}</g>'
    )


def _arrow(start: tuple[float, float], end: tuple[float, float], is_new: bool) -> str:
    x1, y1 = start[0] + _WIDE / 2, start[1] + _HIGH
    x2, y2 = end[0] + _WIDE / 2, end[1]
    style = "edge new" if is_new else "edge"
    head = f"M{x2 - 4:.1f},{y2 - 7:.1f} L{x2:.1f},{y2:.1f} L{x2 + 4:.1f},{y2 - 7:.1f}"
    bend = (y1 + y2) / 2
    return (
        f'<path class="{style}" d="M{x1:.1f},{y1:.1f} C{x1:.1f},{bend:.1f} {x2:.1f},{bend:.1f} {x2:.1f},{y2:.1f}"/>'
        f'<path class="{style}" d="{head}"/>'
    )


def _cut(text: str, most: int = _LONGEST) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
