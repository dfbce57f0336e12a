"""Where a subgraph is named, titled and described in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from merrow_analysis.definitions.parameters import LabelParameter, parse_label
from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.syntax.tree import Block, Label, Span
from merrow_analysis.text import Range

EXPRESSIONS = ("until", "best")
"""Parameters of Loops whose values name nodes."""

_NODE = re.compile(r"(?<![\w.])([^\W\d]\w*)(?=[ \t]*\.)")
_STRINGS = re.compile(r"(?<=[=<>(,\[ ])'[^']*'|(?<=[=<>(,\[ ])\"[^\"]*\"")


def title_parameters(block: Block, title: Label) -> Iterator[tuple[LabelParameter, Span]]:
    """The parameters of a Loop's or a Map's title, each with its place in the block, key and value."""
    at = block.text.find(title.text, *title.span)
    if at == -1 or "(" not in title.text:
        return
    parts = parse_label(title.text)
    for parameter in (*parts.parameters.values(), *parts.repeated):
        yield parameter, (at + parameter.key_span[0], at + parameter.value_span[1])


def nodes_named(text: str, span: Span) -> Iterator[tuple[str, Span]]:
    """The ids that an expression such as ``REVIEW.result`` may name, with their places, between two offsets of a text."""
    start, end = span
    expression = _STRINGS.sub(lambda quoted: " " * len(quoted[0]), text[start:end])
    for match in _NODE.finditer(expression):
        yield match[1], (start + match.start(1), start + match.end(1))


def range_of(group: Subgraph) -> Range:
    """The id of a subgraph where it opens; its whole line where it has none."""
    block = group.block
    if group.name is not None:
        return block.range(group.name.span)
    start = len(block.text) - len(block.text.lstrip())
    return block.range((start, len(block.text.rstrip())))
