"""Code actions that bind a step of a drawing to a pinned tool. The analysis that they need is loaded when first needed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from merrow_analysis.text import line_ending, with_line_ending
from merrow_server.lsp.documents import OpenDiagram
from merrow_server.lsp.offers.offer import Offer

if TYPE_CHECKING:
    from lsprotocol import types

    from merrow_analysis.check import Analysis

BIND = "refactor.rewrite.tool"
_MOST_NODES = 300
"""Nodes of a drawing that is read again for each tool that is offered."""


def tool_bindings(diagram: OpenDiagram, place: types.Range) -> Iterator[Offer]:
    """What the selected step of a diagram can be bound to."""
    within = diagram.range_from_lsp(place)
    if within is None or len(diagram.analysis.flow.chart.nodes) > _MOST_NODES:
        return
    from merrow_analysis.check import analyse
    from merrow_analysis.ide.actions.binding import bind_to_tool

    context = diagram.document.context

    def read(text: str) -> Analysis:
        return analyse(text, path=context.path, provider=context.provider, config=context.config)

    analysis = diagram.as_drawn().analysis if diagram.analysis.may_be_drawn else diagram.analysis
    ending = line_ending(diagram.lines)
    for action in bind_to_tool(analysis, within, read):
        edits = [with_line_ending(edit, ending) for edit in action.edits() or ()]
        yield Offer(action.title, BIND, partial(diagram.edits_to_lsp, edits), ready=True)
