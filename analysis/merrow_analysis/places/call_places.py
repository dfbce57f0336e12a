"""Where a file that calls another one names it, and where in the called file a name of an edge is declared."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.definitions.callees import Callee
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.graph.nodes import TypedEdge, TypedGraph, TypedNode
from merrow_analysis.graph.resolve import called_path
from merrow_analysis.places.node_places import label_range, metadata_value_range
from merrow_analysis.syntax.tree import Span
from merrow_analysis.text import Position, Range


def calls_of(graph: TypedGraph) -> Iterator[tuple[TypedNode, str, Range]]:
    """The nodes that call a file, in the order of first mention, with its path and the place of that."""
    for index in graph.ranked:
        path = called_path(graph.resolutions[index])
        if path is not None:
            node = graph.node(index)
            yield node, path, _path_range(node, path)


def _path_range(node: TypedNode, path: str) -> Range:
    parameter, parts = node.resolution.parameters["workflow"], node.resolution.label_parts
    if parameter.block is not None:
        metadata, block = node.flow.metadata[parameter.block]
        place = metadata_value_range(metadata, block, "workflow")
    elif parts is not None:
        place = label_range(node.flow, parts.parameters["workflow"].value_span)
    else:
        return node.flow.range
    (line, start), (last, end) = place
    if line == last and end - start == len(path) + 2:
        return Range(Position(line, start + 1), Position(line, end - 1))
    return place


def named_in_callee(edge: TypedEdge, offset: int) -> tuple[Span, Callee, str] | None:
    """What the label of an edge names at an offset in its block that a called file declares: the place of the name, the file
    and the name.
    """
    found = _word_at(edge.flow, offset)
    if found is None:
        return None
    span, word = found
    for node, name in ((edge.target, edge.port), (edge.source, edge.output)):
        callee = node.resolution.callee
        if callee is not None and name == word and word in callee.places:
            return span, callee, word
    return None


def _word_at(edge: FlowEdge, offset: int) -> tuple[Span, str] | None:
    label = edge.arrow.label
    if label is None:
        return None
    start, end = label.span
    at = edge.block.text.find(label.text, start, end)
    if at == -1:
        return None
    for part in label.text.split(":"):
        word = part.strip()
        first = at + len(part) - len(part.lstrip())
        if word and first <= offset <= first + len(word):
            return (first, first + len(word)), word
        at += len(part) + 1
    return None
