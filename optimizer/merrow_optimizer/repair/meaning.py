"""What a workflow means as one word, without ids, places and layout: equal where two texts describe the same work."""

from __future__ import annotations

import hashlib

from merrow_analysis.check import Analysis
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode


def meaning_of(analysis: Analysis) -> str:
    """The meaning of a text as a hash.

    A node is its operator with its parameters and what each of its ports reads: in order where a port takes several values,
    but for the voices of an ensemble. A workflow is its nodes and its front matter. What is not a workflow means what is written.
    """
    front = analysis.diagram.front_matter
    settings = "" if front is None else "\n".join(line.strip() for line in front[0].body.splitlines())
    graph = analysis.typed
    if graph is None:
        return _hash(settings, *(block.text.strip() for block in analysis.diagram.blocks))
    keys: dict[int, str] = {}
    for handle in graph.order:
        node = graph.node(handle)
        keys[handle] = _hash(*_own(graph, node), *_reads(node, keys))
    return _hash(settings, *sorted(keys.values()))


def _own(graph: TypedGraph, node: TypedNode) -> list[str]:
    resolution = node.resolution
    parts = [f"{key}={parameter.value!r}" for key, parameter in sorted(resolution.parameters.items())]
    if resolution.plain is not None or node.kind in ("decision", "unknown"):
        label = node.flow.label
        parts.append("" if label is None else label.text)
    for name in graph.composites.around(node.id):
        box = graph.composites.boxes[name]
        parts.append(f"{box.kind} {sorted((key, parameter.value) for key, parameter in box.parameters.items())!r}")
    return [node.kind, node.operator or "", *parts]


def _reads(node: TypedNode, keys: dict[int, str]) -> list[str]:
    ordered = {port.name for port in node.input_ports if port.many and not (node.spec and node.spec.is_ensemble)}
    read: dict[str, list[str]] = {}
    for edge in (*node.incoming, *node.again_in):
        read.setdefault(edge.feeds[0].port if edge.feeds else "", []).append(_line(edge, keys))
    return [line for port in sorted(read) for line in (read[port] if port in ordered else sorted(read[port]))]


def _line(edge: TypedEdge, keys: dict[int, str]) -> str:
    """What an edge brings; a source that comes later, on a cycle, is known by its operator alone."""
    source = keys.get(edge.source.index) or f"cycle {edge.source.operator}"
    feeds = [(feed.output, feed.port) for feed in edge.feeds]
    return f"{source} {edge.case_label} {edge.word} {feeds!r}"


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]
