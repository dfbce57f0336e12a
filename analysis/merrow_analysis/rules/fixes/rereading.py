"""What is found in the text that a fix leaves, read again."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from merrow_analysis.consequences import unexplained
from merrow_analysis.definitions.settings import NO_SETTINGS, WorkflowSettings, read_settings
from merrow_analysis.diagnostics import Diagnostic
from merrow_analysis.graph.drawings.fold import fold
from merrow_analysis.graph.language import GraphSettings
from merrow_analysis.graph.typed import build
from merrow_analysis.rules.context import GRAPH_SCOPES, GraphContext, TextContext, check_graph, check_text
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import Block, FrontMatter


def found_in(diagram: Diagram, context: GraphContext) -> tuple[Counter[str], Counter[str]] | None:
    """The codes of what is found in a workflow: those that are told, and all. None where its front matter names other files
    or prompts than that of ``context``: what they say is not known here.
    """
    known = _settings(diagram.front_matter, context)
    if known is None:
        return None
    own, settings = known
    core = context.graph.core
    flow = fold(diagram.blocks, diagram.moved)
    graph = build(flow, settings, core.language, core.language.outside)
    here = GraphContext(graph, diagram.header, diagram.front_matter, own, context.book, diagram, context.permissions)
    text = TextContext(diagram, flow, diagram.blocks, own, graph, (), here)
    findings: list[Diagnostic] = [*check_text(text, reading=True), *check_text(text, reading=False)]
    for scope in GRAPH_SCOPES:
        findings += check_graph(here, scope)
    return Counter(finding.code for finding in unexplained(findings)), Counter(finding.code for finding in findings)


def _settings(
    front: tuple[FrontMatter, Block] | None, context: GraphContext
) -> tuple[WorkflowSettings, GraphSettings] | None:
    """What a front matter says, and that with the libraries of ``context``."""
    before, shared = context.settings, context.graph.settings
    if _text(front) == _text(context.front):
        return before, shared
    own = NO_SETTINGS if front is None else read_settings(front[0].body, front[0].indent)
    named = own.prompts, own.prompt_file, own.libraries, own.opted_out
    if named != (before.prompts, before.prompt_file, before.libraries, before.opted_out):
        return None
    types = {name: body for name, body in shared.types.items() if name not in before.types}
    operators = {name: body for name, body in shared.operators.items() if name not in before.operators}
    return own, replace(own, types={**types, **own.types}, operators={**operators, **own.operators})


def _text(front: tuple[FrontMatter, Block] | None) -> str | None:
    return None if front is None else front[1].text
