"""What is found in the text that a fix leaves, read again."""

from __future__ import annotations

from collections import Counter

from merrow_analysis.consequences import unexplained
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.graph.drawings.fold import fold
from merrow_analysis.graph.typed import build
from merrow_analysis.rules.context import GRAPH_SCOPES, GraphContext, TextContext, check_graph, check_text
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block, FrontMatter


def found_in(diagram: Diagram, context: GraphContext) -> tuple[Counter[str], Counter[str]] | None:
    """The codes of what is found in a workflow: those that are told, and all. None where its front matter is not that of
    ``context``, whose settings hold here.
    """
    if _front(diagram.front_matter) != _front(context.front):
        return None
    core = context.graph.core
    flow = fold(diagram.blocks, diagram.moved)
    graph = build(flow, context.graph.settings, core.language, core.language.callees)
    here = GraphContext(graph, diagram.header, diagram.front_matter, context.settings, context.book, diagram)
    text = TextContext(diagram, flow, (), context.settings, graph, (), here)
    found: list[Diagnostic] = check_text(text, reading=False)
    for scope in GRAPH_SCOPES:
        found += check_graph(here, scope)
    return Counter(one.code for one in unexplained(found)), Counter(one.code for one in found)


def _front(found: tuple[FrontMatter, Block] | None) -> str | None:
    return None if found is None else found[1].text
