"""Where a subgraph is named, titled and described in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator

from merrow_analysis.definitions.labels.parameters import LabelParameter, parse_label
from merrow_analysis.graph.flow import Subgraph
from merrow_analysis.places.edge_names import Word
from merrow_analysis.syntax.tree import Block, Label
from merrow_analysis.text import Range, Span

EXPRESSIONS = ("until", "best")
"""Parameters of Loops whose values name nodes."""

_PATH = re.compile(r"(?<![\w.])[^\W\d]\w*(?:[ \t]*\.[ \t]*[^\W\d]\w*)*(?:[ \t]*\.)?")
_NAME = re.compile(r"\w+")
_STRINGS = re.compile(r"(?<=[=<>(,\[ ])'[^']*'|(?<=[=<>(,\[ ])\"[^\"]*\"")


def title_parameters(block: Block, title: Label) -> Iterator[tuple[LabelParameter, Span]]:
    """The parameters of a Loop's or a Map's title, each with its place in the block, key and value."""
    at = block.text.find(title.text, *title.span)
    if at == -1 or "(" not in title.text:
        return
    for parameter in parse_label(title.text).written:
        yield parameter, (at + parameter.key_span[0], at + parameter.value_span[1])


def paths_named(text: str, span: Span) -> Iterator[list[Word]]:
    """The paths that an expression such as ``JUDGE.place.rank > 3`` reads, between two offsets of a text."""
    start, end = span
    expression = _STRINGS.sub(lambda quoted: " " * len(quoted[0]), text[start:end])
    for path in _PATH.finditer(expression):
        names = _NAME.finditer(expression, *path.span())
        yield [Word(name[0], (start + name.start(), start + name.end())) for name in names]


def range_of(group: Subgraph) -> Range:
    """The id of a subgraph where it opens; its whole line where it has none."""
    block = group.block
    if group.name is not None:
        return block.range(group.name.span)
    start = len(block.text) - len(block.text.lstrip())
    return block.range((start, len(block.text.rstrip())))
