"""Where a file that calls another one names it."""

from __future__ import annotations

from collections.abc import Iterator

from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.graph.resolve import called_path
from merrow_analysis.places.node_places import label_range, metadata_value_range
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
