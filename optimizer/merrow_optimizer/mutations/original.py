"""A workflow that changes are proposed for, with what all of them need to know of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import Any, TypeVar

from merrow_analysis.check import Analyser, Analysis
from merrow_analysis.consequences import unexplained
from merrow_analysis.diagnostics import Diagnostic, Severity
from merrow_analysis.edits.workflow_text import WorkflowText
from merrow_analysis.graph.bare.reach import reach
from merrow_analysis.graph.flow import Flowchart, FlowEdge
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.rules.context import GraphContext, check_graph
from merrow_analysis.rules.drawn.plain_rules import PLAIN_STEPS
from merrow_analysis.rules.registry import Flags, Scope, flags_of
from merrow_analysis.suppressions import has_suppression
from merrow_analysis.syntax.tree import Broken
from merrow_analysis.text import Range

_Made = TypeVar("_Made")
_MEANING = (Scope.NODE, Scope.GRAPH, Scope.EDGE)


def why_unchangeable(analysis: Analysis) -> str | None:
    """Why nothing can be changed in a text, as the end of a sentence about it; None where it is a workflow in full notation.

    A mutation writes operators, classes and ports, which a drawing with plain steps doesn't have.
    """
    typed = analysis.typed
    if typed is None:
        return f"is not a workflow: {analysis.why_no_workflow}"
    if typed.core.reading.drawn or any(resolution.plain is not None for resolution in typed.resolutions):
        remedy = f"write them out first (the fix of {PLAIN_STEPS.code})"
        return f"names no operators at some steps, or no inputs and outputs; {remedy}"
    return None


class Original:
    """A workflow that changes are proposed for, with what all of them need to know of it.

    ``troubles`` are given where they are known. Raises `ValueError` for an analysis of something that is not a workflow.
    """

    def __init__(self, analysis: Analysis, troubles: Counter[tuple[str, str]] | None = None) -> None:
        if analysis.typed is None or why_unchangeable(analysis) is not None:
            raise ValueError("only a workflow whose operators are written can be changed")
        self.analysis = analysis
        self.typed: TypedGraph = analysis.typed
        self.flow: Flowchart = analysis.flow
        self._remembered: dict[Any, Any] = {}
        self.unsafe: dict[Any, set[int]] = {}
        self.newest: tuple[str, Analyser] | None = None
        """The text of the mutant that was read last, with what read it."""
        if troubles is not None:
            self.__dict__["troubles"] = troubles

    def remembered(self, make: Callable[[Original], _Made]) -> _Made:
        """What ``make`` says of this workflow, asked once."""
        if make not in self._remembered:
            self._remembered[make] = make(self)
        made: _Made = self._remembered[make]
        return made

    @cached_property
    def workflow_text(self) -> WorkflowText:
        """Its text, to be written in."""
        return WorkflowText(self.analysis.diagram, self.typed)

    @cached_property
    def troubles(self) -> Counter[tuple[str, str]]:
        """Errors and warnings of the graph as it is, by code and node."""
        return troubles(self.typed)

    @cached_property
    def is_sound(self) -> bool:
        """Whether nothing is wrong with the graph but what single nodes are fed, so that a change can only do harm where
        it reaches.
        """
        shape = self.typed.shape
        return bool(shape.inputs and shape.outputs) and all(Flags.PORTS in flags_of(code) for code, _ in self.troubles)

    @cached_property
    def needs_reading(self) -> bool:
        """Whether the text has comments that silence rules, statements that can't be read, or Loops and Maps.

        Only a whole analysis tells what such a comment silences, which findings follow from a broken statement, and which
        subgraph claims a node that a line in it names; so only mutants of such files are read before they are offered.
        """
        return bool(self.typed.composites) or any(
            has_suppression(block) or any(type(statement) is Broken for statement in block.statements)
            for block in self.analysis.diagram.blocks
        )

    @property
    def is_read_whole(self) -> bool:
        """Whether a look at one mutant takes time linear in the workflow's size: it can't stay at what the change touches."""
        return not self.is_sound or self.needs_reading

    @cached_property
    def names_bulk(self) -> bool:
        """Whether the file says the name of a port that needs none (``|input|``), for operators other than
        ensembles.
        """
        named = plain = 0
        for edge in self.typed.edges:
            spec = edge.target.spec
            if spec is None or spec.bulk is None or spec.is_ensemble or edge.source.kind == "decision":
                continue
            if edge.port == spec.bulk:
                named, plain = (named, plain + 1) if edge.inferred else (named + 1, plain)
        return named > plain

    @cached_property
    def names(self) -> frozenset[str]:
        """Ids that are taken, casefolded: nodes, subgraphs, edges and classes."""
        flow = self.flow
        taken = [*flow.nodes, *flow.subgraphs, *flow.edge_ids, *flow.class_defs]
        return frozenset(name.casefold() for name in taken)

    @cached_property
    def closed(self) -> frozenset[str]:
        """Nodes that no change may take away or put another operator to: their own errors would be lost or moved."""
        return frozenset(node.id for node in self.typed.nodes if node.kind == "unknown" or node.resolution.problems)

    @cached_property
    def _is_lower(self) -> bool:
        own = [node.id for node in self.typed.nodes if node.kind == "operator"]
        return bool(own) and sum(name == name.lower() for name in own) * 2 > len(own)

    def cased(self, name: str) -> str:
        """A name in the case that the file's own ids have."""
        return name.lower() if self._is_lower else name

    def free_name(self, wanted: str, taken: Iterable[str] = ()) -> str:
        """``wanted``, or the first of wanted_2, wanted_3, ... that names nothing yet."""
        busy = {*self.names, *(name.casefold() for name in taken)}
        name, number = wanted, 1
        while name.casefold() in busy:
            number += 1
            name = f"{wanted}_{number}"
        return name

    @cached_property
    def downstream(self) -> dict[int, bytearray]:
        """For each node by number, filled when asked by `reaches`, what it leads to."""
        return {}

    def reaches(self, start: TypedNode, end: TypedNode) -> bool:
        """Whether a path leads from one node to another, or they are the same."""
        marks = self.downstream.get(start.index)
        if marks is None:
            marks = self.downstream[start.index] = reach(self.typed.shape.following, [start.index])
        return bool(marks[end.index])

    def edges_between(self, source: str, target: str) -> list[FlowEdge]:
        node = self.flow.nodes.get(source)
        return [edge for edge in node.outgoing if edge.target.id == target] if node is not None else []


def troubles(graph: TypedGraph, *, skipped: Flags = Flags.NONE) -> Counter[tuple[str, str]]:
    """Errors and warnings of a graph by code and node; those on an edge count for the node it leads into.

    Rules with one of the flags ``skipped`` are not asked.
    """
    context = GraphContext(graph)
    told = unexplained(
        [finding for scope in _MEANING for finding in check_graph(context, scope, without=skipped, hints=False)]
    )
    findings = [finding for finding in told if finding.severity is not Severity.HINT]
    if not findings:
        return Counter()
    where = _owners(graph.flow, {finding.range.start.line for finding in findings})
    return Counter(
        (finding.code, _owner(finding, where)) for finding in findings if Flags.SPELLING not in flags_of(finding.code)
    )


def _owners(flow: Flowchart, lines: set[int]) -> Mapping[Range, str]:
    """The node of each place on some lines (or in a block of several): where it is written, or an edge leads into it.

    Read off the records: of a large graph each look would leave objects for all nodes and edges behind.
    """
    here = flow.here
    where: dict[Range, str] = {}
    for edge in flow.chart.edges:
        block = here(edge.block)
        if block.line in lines or block.line_count > 1:
            where.setdefault(block.range(edge.arrow.span), edge.target)
            if edge.arrow.label is not None:
                where.setdefault(block.range(edge.arrow.label.span), edge.target)
    for name, record in flow.chart.nodes.items():
        for vertex, first in record.mentions:
            block = here(first)
            if block.line in lines or block.line_count > 1:
                where[block.range(vertex.name.span)] = name
    return where


def _owner(finding: Diagnostic, where: Mapping[Range, str]) -> str:
    return where.get(finding.range, "")
