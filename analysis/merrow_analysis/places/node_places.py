"""From places in what a node's label and metadata say to places in the file."""

from __future__ import annotations

from merrow_analysis.definitions.labels.metadata import parse_metadata
from merrow_analysis.graph.flow import FlowNode
from merrow_analysis.syntax.tree import Block, Metadata
from merrow_analysis.text import Range, Span

_BREAK = "<br/>"
"""What Mermaid writes for a line break inside a quoted metadata text."""


def label_range(node: FlowNode, span: Span) -> Range:
    """Where a part of the node's label stands; the whole label where its text is not the source's own."""
    return label_part(node, span, label_start(node))


def label_start(node: FlowNode) -> int | None:
    """The offset in its block at which the text of the node's label begins; None where it is not the source's own.

    This searches the whole label: ask once for all the parts of one label.
    """
    label, block = node.label, node.label_block
    if label is None or block is None:
        return None
    start, end = label.span
    at = block.text.find(label.text, start, end)
    return None if at == -1 else at


def label_part(node: FlowNode, span: Span, start: int | None) -> Range:
    """As `label_range`, where ``start`` is the node's `label_start`."""
    label, block = node.label, node.label_block
    if label is None or block is None:
        return node.range
    return block.range(label.span) if start is None else block.range((start + span[0], start + span[1]))


def metadata_key_range(metadata: Metadata, block: Block, *path: str | int) -> Range:
    """Where the key at a path of keys stands; the whole block of metadata where there is none."""
    return _metadata_range(metadata, block, 0, path)


def metadata_value_range(metadata: Metadata, block: Block, *path: str | int) -> Range:
    """Where the value at a path of keys stands, with its quotes; the whole block of metadata where there is none."""
    return _metadata_range(metadata, block, 1, path)


def _metadata_range(metadata: Metadata, block: Block, which: int, path: tuple[str | int, ...]) -> Range:
    span = parse_metadata(metadata.body).places(*path)[which]
    if span[0] == span[1] and which == 1:
        span = parse_metadata(metadata.body).places(*path)[0]
    return block.range(source_span(metadata, block, span))


def source_span(metadata: Metadata, block: Block, span: Span) -> Span:
    """The place in the block of a part of the body, which differs from the source where quoted texts run over lines."""
    start, end = metadata.body_span
    if end - start == len(metadata.body):
        return start + span[0], start + span[1]
    source = block.text[start:end]
    return start + _aligned(metadata.body, source, span[0]), start + _aligned(metadata.body, source, span[1])


def _aligned(body: str, source: str, offset: int) -> int:
    """The offset in ``source`` of the character of ``body`` at ``offset``."""
    at = position = 0
    while at < offset and position < len(source):
        if body[at] == source[position]:
            at += 1
            position += 1
        elif source[position] in "\r\n" and body.startswith(_BREAK, at):
            at += len(_BREAK)
            while position < len(source) and source[position].isspace():
                position += 1
        else:
            # A carriage return that Mermaid drops; or a character it rewrites, one for one.
            at += source[position] != "\r"
            position += 1
    return min(position, len(source))
