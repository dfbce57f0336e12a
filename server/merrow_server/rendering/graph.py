"""The typed graph of a workflow for machines (``docs/graph-format.md``) and for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from merrow_analysis.definitions.settings import WorkflowSettings
from merrow_analysis.graph.boxes.composites import Composite
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.remembering import readers
from merrow_analysis.places.box_places import range_of
from merrow_analysis.text import Range
from merrow_server.positions import WireRange
from merrow_server.rendering.snippet import visible

SCHEMA_VERSION = 2
Place = Callable[[Range], WireRange]


def graph_object(graph: TypedGraph, settings: WorkflowSettings, file: str, place: Place, errors: int) -> dict[str, Any]:
    """The graph as an object for JSON; ``place`` turns a range of the diagram into one of the file, in UTF-16."""
    remembers = readers(graph, settings)
    edges = [graph.edge(record) for record in graph.core.chart.edges if not record.carries_nothing]
    index = {id(edge): number for number, edge in enumerate(edges)}
    return {
        "schema": SCHEMA_VERSION,
        "file": file,
        "errors": errors,
        "direction": graph.flow.direction,
        "inputs": [node.id for node in graph.inputs],
        "outputs": [node.id for node in graph.outputs],
        "composites": [_composite(box, graph, place) for box in graph.composites],
        "nodes": [
            {
                **_node(node, graph.composites.inside.get(node.id), index, place),
                "remembers": remembers.get(node.id, []),
            }
            for node in graph.nodes
        ],
        "edges": [_edge(edge, place) for edge in edges],
        "order": [graph.node(number).id for number in graph.order],
        "cycles": [[graph.node(number).id for number in cycle] for cycle in graph.cycles],
    }


def _composite(box: Composite, graph: TypedGraph, place: Place) -> dict[str, Any]:
    return {
        "id": box.id,
        "operator": box.operator,
        "parent": box.parent,
        "parameters": {name: _plain(parameter.value) for name, parameter in box.parameters.items()},
        "nodes": list(box.nodes),
        "range": place(_first(box, graph).flow.range if box.implied else range_of(graph.flow.subgraphs[box.id])),
    }


def _first(box: Composite, graph: TypedGraph) -> TypedNode:
    """The first node of a composite; all of its nodes may be in composites in it."""
    return min((graph.by_id[name] for name in graph.composites.members(box.id)), key=lambda node: node.index)


def _by_port(edges: Iterable[TypedEdge], index: dict[int, int]) -> dict[str, list[int]]:
    """The numbers of the edges that feed each port."""
    by_port: dict[str, list[int]] = {}
    for edge in edges:
        for port in dict.fromkeys(feed.port for feed in edge.feeds):
            by_port.setdefault(port, []).append(index[id(edge)])
    return by_port


def _node(node: TypedNode, composite: str | None, index: dict[int, int], place: Place) -> dict[str, Any]:
    edges, again = (_by_port(row, index) for row in (node.incoming, node.again_in))
    written: dict[str, Any] = {
        "id": node.id,
        "kind": node.kind,
        "operator": node.operator,
        "how": [claim.place for claim in node.resolution.claims],
        "composite": composite,
        "label": node.flow.label.text if node.flow.label is not None else None,
        "parameters": {name: _plain(parameter.value) for name, parameter in node.resolution.parameters.items()},
        "inputs": [
            {
                "name": port.name,
                "type": port.type,
                "required": port.required,
                "edges": edges.get(port.name, []),
                "again": again.get(port.name, []),
            }
            for port in node.input_ports
        ],
        "outputs": [{"name": name, "type": type_} for name, type_ in node.outputs.items()],
        "range": place(node.flow.range),
    }
    if node.cases is not None:
        written["cases"] = list(node.cases.labels)
    if node.resolution.plain is not None:
        written["text"] = node.resolution.plain
    if node.asks:
        written["asks"] = node.resolution.ask
    if node.implied:
        written["implied"] = True
    return written


def _edge(edge: TypedEdge, place: Place) -> dict[str, Any]:
    label = edge.flow.arrow.label
    return {
        "source": edge.source.id,
        "target": edge.target.id,
        "label": label.text if label is not None else None,
        "output": edge.output,
        "port": edge.port,
        "type": edge.type,
        "feeds": [{"output": feed.output, "port": feed.port, "type": feed.type} for feed in edge.feeds],
        "word": edge.word,
        "left": list(edge.left),
        "entered": list(edge.entered),
        "raised": edge.raised,
        "lowered": edge.lowered,
        "case": edge.case_label,
        "order_only": edge.order_only,
        "inferred": edge.inferred,
        "range": place(edge.flow.range),
    }


def _plain(value: object) -> object:
    """``value`` where JSON can hold it, else its text."""
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return str(value)
    return value


def graph_text(graph: TypedGraph) -> Iterator[str]:
    """The graph in lines: Loops and Maps, then the nodes in the order they run, each with what enters it and what it gives."""
    for box in graph.composites:
        values = ", ".join(f"{name}: {parameter.value}" for name, parameter in box.parameters.items())
        parts = [*box.nodes, *(inner.id for inner in graph.composites if inner.parent == box.id)]
        yield f"{visible(box.id)}: {box.operator} ({visible(values)}) of {', '.join(map(visible, parts))}"
    for number in graph.order:
        node = graph.node(number)
        yield f"{visible(node.id)}: {node.operator or 'unknown'}{_signature(node)}"
        for edge in (*node.incoming, *node.again_in):
            yield f"  <- {visible(edge.source.id)}{_carried(edge)}"


def _signature(node: TypedNode) -> str:
    outputs = ", ".join(f"{visible(name)}: {type_}" if type_ else visible(name) for name, type_ in node.outputs.items())
    return f" -> {outputs}" if outputs else ""


def _carried(edge: TypedEdge) -> str:
    """How an edge is described behind the name of its source: ``.code -> solution: Code``."""
    case = f" [{visible(edge.case_label)}]" if edge.case_label else ""
    case += f" {edge.word}" if edge.word is not None else ""
    if not edge.feeds:
        return f"{case} (order only)" if edge.order_only else f"{case} (no port)"
    feeds = ", ".join(
        f"{'.' + feed.output if feed.output else ''} -> {visible(feed.port)}: {feed.type or '?'}" for feed in edge.feeds
    )
    return f"{case}{feeds}{' (inferred)' if edge.inferred else ''}"
