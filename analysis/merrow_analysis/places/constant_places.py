"""Where the constants of a Tool stand: inside the text of its ``with``."""

from __future__ import annotations

from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.graph.nodes import TypedNode
from merrow_analysis.graph.resolve import constants_of
from merrow_analysis.places.node_places import label_range, label_start, metadata_value_range
from merrow_analysis.text import Range, Span

WITH = "with"


def text_offset(node: TypedNode, key: str) -> int | None:
    """The offset in its block at which the text of a parameter begins, without quotes; None where the file does not have it
    literally, since quotes or entities stand for others in it.
    """
    flow, parameter = node.flow, node.resolution.parameters.get(key)
    if parameter is None or not isinstance(parameter.value, str):
        return None
    if parameter.block is not None:
        metadata, block = flow.metadata[parameter.block]
        start, end = metadata.body_span
        if end - start != len(metadata.body):
            return None
        value_start, value_end = parse_metadata(metadata.body).value_span(key)
        at = block.text.find(parameter.value, start + value_start, start + value_end)
        return None if at == -1 else at
    parts, label = node.resolution.label_parts, label_start(flow)
    written = None if parts is None else parts.parameters.get(key)
    if written is None or label is None or flow.label_block is None:
        return None
    value_start, value_end = written.value_span
    at = flow.label_block.text.find(written.text, label + value_start, label + value_end)
    return None if at == -1 else at


def text_range(node: TypedNode, key: str, span: Span) -> Range:
    """Where a part of the text of a parameter stands; all of its value where the file does not have the text literally."""
    parameter = node.resolution.parameters.get(key)
    if parameter is None:
        return node.flow.range
    start = text_offset(node, key)
    if start is not None:
        block = node.flow.label_block if parameter.block is None else node.flow.metadata[parameter.block][1]
        if block is not None:
            return block.range((start + span[0], start + span[1]))
    if parameter.block is not None:
        metadata, block = node.flow.metadata[parameter.block]
        return metadata_value_range(metadata, block, key)
    parts = node.resolution.label_parts
    written = None if parts is None else parts.parameters.get(key)
    return node.flow.range if written is None else label_range(node.flow, written.value_span)


def constant_range(node: TypedNode, name: str, *, on_name: bool = False) -> Range:
    """Where a constant stands with its name; with ``on_name`` where the name alone does."""
    constants = constants_of(node.resolution)
    key, value = constants.keys.get(name, (0, 0)), constants.spans.get(name, (0, 0))
    return text_range(node, WITH, key if on_name else (key[0], value[1]))
