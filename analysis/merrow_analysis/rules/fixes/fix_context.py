"""What fixes are made of when someone asks for them, and whether a change of the graph repairs more than it breaks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count

from merrow_analysis.consequences import unexplained
from merrow_analysis.diagnostics import Applicability, Fix, Severity
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge, as_it_is
from merrow_analysis.edits.delta import graph_after
from merrow_analysis.edits.front_entries import add_entry
from merrow_analysis.edits.lines import insert_lines_after
from merrow_analysis.edits.parameters import Moved, rewrite
from merrow_analysis.edits.replacements import edits_of
from merrow_analysis.edits.workflow_text import WorkflowText
from merrow_analysis.edits.write import write
from merrow_analysis.edits.yaml_write import word
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.rules.context import GraphContext, check_graph
from merrow_analysis.rules.fixes.near_names import labelled
from merrow_analysis.rules.fixes.rereading import found_in
from merrow_analysis.rules.registry import Flags, Rule, Scope, all_rules
from merrow_analysis.syntax.parser import parse_diagram
from merrow_analysis.text import TextEdit, apply_edits

_MOST_NODES = 300
"""Nodes and boxes up to which the graph after a change is checked by the rules: a menu is to come within 50 ms."""
_MOST_LOOKED_AT = 20_000
"""Nodes and boxes, times boxes and nodes with findings, up to which it is checked so: a file may ask for the fixes of all of
its findings.
"""
_MOST_REREAD = 150
"""Nodes and boxes up to which the text that a fix leaves is read again: a menu is to come within 50 ms."""
_MOST_TO_READ = 5_000
"""Nodes and boxes, times boxes and nodes with findings, up to which it is."""
_MOST_AT_ONE = 40_000
"""Edges into one node, times edges and nodes with findings, up to which a change is looked at: each looks at all these edges."""
_SCOPES = (Scope.NODE, Scope.GRAPH, Scope.EDGE)
_MOST_TRIED = 100
"""Edges at the end of a text below which a new one may be written."""
NOTHING = GraphChange()
Reveals = Callable[[Rule], bool]
"""Whether a fix may bring findings of a rule, since what they are about was not checked before."""


def nothing(rule: Rule) -> bool:
    """No finding was held back."""
    del rule
    return False


def what_edges_bring(rule: Rule) -> bool:
    """Findings about edges and ports, which are not looked for where an operator or a label is not known."""
    return rule.scope in (Scope.GRAPH, Scope.EDGE)


def what_feeding_brings(node: TypedNode) -> Reveals:
    """What an edge into a node may bring: the cases of a Decision are only looked at when something arrives, so that the first
    edge may bring findings about them.
    """
    return what_edges_bring if node.kind == "decision" and not node.incoming else nothing


def what_operators_bring(rule: Rule) -> bool:
    """Findings about edges, ports, parameters and prompts, which are not looked for where an operator is not known."""
    return what_edges_bring(rule) or rule.scope is Scope.PARAMETER


class FixContext:
    """A workflow for which fixes are asked. What several of them need is made once."""

    def __init__(self, context: GraphContext) -> None:
        self.context, self.graph = context, context.graph
        self.left: int | None = None
        """How many findings the fix made last leaves; None where that was not looked at."""

    @cached_property
    def workflow_text(self) -> WorkflowText:
        """The text. Raises ValueError for a graph without one."""
        if self.context.diagram is None:
            raise ValueError("fixes are for the graph of a text")
        return WorkflowText(self.context.diagram, self.graph)

    @cached_property
    def labelled(self) -> list[str]:
        """The ids of the nodes that have a label."""
        return list(labelled(self.graph))

    @cached_property
    def in_subgraphs(self) -> frozenset[str]:
        """The ids of what lies in a subgraph."""
        return frozenset(name for group in self.graph.flow.subgraphs.values() for name in group.nodes)

    @cached_property
    def loop_ids(self) -> dict[str, str]:
        """By the first node of each cycle, and by each node that leads to itself, the id of a Loop around it.

        Each has another one, so that the Loops of several cycles may be drawn at once.
        """
        flow, shape = self.graph.flow, self.graph.shape
        taken = {*flow.chart.nodes, *flow.groups, *flow.scenery.edge_ids}
        free = (name for number in count(1) if (name := f"LOOP{number if number > 1 else ''}") not in taken)
        ids = [self.graph.node(cycle[0]).id for cycle in self.graph.cycles]
        wrong = [self.graph.node(handle).id for handle in shape.by_rank(shape.wrong)]
        ids += [name for name in wrong if any(edge.source == name for edge in self.graph.core.into(name))]
        return dict(zip(dict.fromkeys(ids), free, strict=False))

    # Fixes

    def changed(
        self,
        rule: Rule,
        title: str,
        change: GraphChange,
        *,
        safe: bool = False,
        sure: bool = False,
        reveals: Reveals = nothing,
    ) -> Iterator[Fix]:
        """The fix that makes a change of the graph; none where the text can't say it, or where the graph that follows has as many
        findings of ``rule``, or errors or warnings that were not there. ``reveals`` says of which rules
        findings may come, ``sure`` that neither ever happens: then the title alone needs no proof.
        """
        self.left = None
        if self._only_title(safe=safe, sure=sure):
            yield Fix(title, (), Applicability.UNSAFE)
            return
        edits = self.written(change)
        if edits and self.improves(rule, change, reveals) and self._holds(rule, edits, reveals):
            yield Fix(title, edits, Applicability.SAFE if safe else Applicability.UNSAFE)

    def drawn(
        self,
        rule: Rule,
        title: str,
        links: Sequence[WantedEdge],
        *,
        kept: GraphChange = NOTHING,
        reveals: Reveals = nothing,
    ) -> Iterator[Fix]:
        """The fix that draws edges, and makes the change ``kept`` of others."""
        self.left = None
        if self._only_title():
            yield Fix(title, (), Applicability.UNSAFE)
            return
        edges: dict[int, tuple[WantedEdge, ...]] = dict(kept.edges)
        lines: list[str] = []
        for link in links:
            beside = self._place_for(link, kept)
            if beside is None:
                lines.append(self.workflow_text.body_indent + self.workflow_text.edge_line(*link[:3]))
            else:
                edges[beside.index] = (*edges.get(beside.index, (as_it_is(beside),)), link)
        edits = self.written(replace(kept, edges=edges)) if edges else ()
        if edits is None:
            return
        if lines:
            edits = (*edits, insert_lines_after(self.graph.flow.last_block, lines))
            # For the graph it makes no difference below which edge they are.
            last = len(self.graph.flow.chart.edges) - 1
            if last >= 0:
                here = edges.get(last, (as_it_is(self.graph.flow.edges[last]),))
                far = [link for link in links if self._place_for(link, kept) is None]
                edges[last] = (*here, *far)
        improves = not edges or self.improves(rule, replace(kept, edges=edges), reveals)
        if improves and self._holds(rule, edits, reveals):
            yield Fix(title, edits, Applicability.UNSAFE)

    def sound(self, rule: Rule, fixes: Iterable[Fix], reveals: Reveals = nothing) -> Iterator[Fix]:
        """Of fixes those after which a finding of ``rule`` less is in the text, and no error or
        warning that was not; all of them in a large workflow.
        """
        for fix in fixes:
            safe = fix.applicability is Applicability.SAFE
            if self._only_title(safe=safe) or self._holds(rule, fix.edits, reveals):
                yield fix

    def declared(
        self, rule: Rule, title: str, section: str, name: str, value: object, reveals: Reveals = nothing
    ) -> Iterator[Fix]:
        """The fix that declares something in the front matter; see `changed`."""
        if self._only_title():
            yield Fix(title, (), Applicability.UNSAFE)
            return
        edit = add_entry(self.context.front, section, name, value)
        if edit is not None and self._holds(rule, [edit], reveals):
            yield Fix(title, (edit,), Applicability.UNSAFE)

    def with_parameter(self, rule: Rule, title: str, node: TypedNode, key: str, value: object) -> Iterator[Fix]:
        """The fix that writes a parameter of a node with an operator, or takes it away for None."""
        edits = rewrite(node, Moved(frozenset({key}), {} if value is None else {key: word(value) or ""}))
        if edits is None or node.spec is None:
            return
        if self._only_title():
            yield Fix(title, edits, Applicability.UNSAFE)
            return
        parameters = {name: parameter.value for name, parameter in node.resolution.parameters.items() if name != "op"}
        parameters.pop(key, None)
        if value is not None:
            parameters[key] = value
        new = NewNode(node.id, node.spec, node.id, parameters=tuple(parameters.items()))
        if self.improves(rule, GraphChange(substituted={node.id: new})) and self._holds(rule, edits, nothing):
            yield Fix(title, edits, Applicability.UNSAFE)

    def clearest(self, fixes: Iterable[Fix]) -> Iterator[Fix]:
        """Fixes in their order, but those after which nothing is left come first where there is more than one finding: what
        explains all of them was meant.
        """
        if self._size > _MOST_REREAD or self._codes_of_text[0].total() < 2:
            yield from fixes
            return
        made = [(self.left != 0, fix) for fix in fixes]
        yield from (fix for _, fix in sorted(made, key=lambda ranked: ranked[0]))

    def _only_title(self, *, safe: bool = False, sure: bool = False) -> bool:
        """Whether nobody wants more of a fix than its title, and that is true without a proof: whoever makes the fix is ``sure``,
        or the workflow is so large that a proof looks at little. The title of a safe fix says that it will be applied.
        """
        return self.context.titles and not safe and (sure or (self._size > _MOST_NODES and not self._is_crowded))

    def written(self, change: GraphChange) -> tuple[TextEdit, ...] | None:
        """The edits that make a change; None where the text can't say it; implied edges of drawings have no text."""
        if any(index >= len(self.graph.flow.chart.edges) for index in change.edges):
            return None
        try:
            return edits_of(self.workflow_text.places, write(self.workflow_text, change))
        except ValueError:  # `CannotWriteError`, or places inside each other
            return None

    def improves(self, rule: Rule, change: GraphChange, reveals: Reveals = nothing) -> bool:
        """Whether a change takes a finding of ``rule`` away and brings no error or warning. In a large workflow only the nodes
        that it touches are looked at; where hundreds of edges into one node, or in a drawing, are wrong, none is.
        """
        graph = self.graph
        if self._is_crowded:
            return False
        follows = graph_after(change, graph)
        if self._size > _MOST_NODES or self._many:
            return not _hurts(graph, follows)
        return self._is_better(rule, self._codes, self._found(follows), reveals, is_found=rule.scope in _SCOPES)

    def _holds(self, rule: Rule, edits: Sequence[TextEdit], reveals: Reveals) -> bool:
        """Whether the text says what the graph promised: what is no delta, such as Loops and Maps, is read off it."""
        large = self._size > _MOST_REREAD or self._size * (self._wrong + 1) > _MOST_TO_READ
        return large or self._reads_better(rule, edits, reveals)

    def _reads_better(self, rule: Rule, edits: Sequence[TextEdit], reveals: Reveals) -> bool:
        after = found_in(parse_diagram(apply_edits(self.workflow_text.text, edits)), self.context)
        return after is None or self._is_better(rule, self._codes_of_text, after, reveals)

    def _is_better(
        self,
        rule: Rule,
        before: tuple[Counter[str], Counter[str]],
        after: tuple[Counter[str], Counter[str]],
        reveals: Reveals,
        *,
        is_found: bool = True,
    ) -> bool:
        """Whether there is a finding of a rule less, where these are looked for, and no error or warning has come."""
        if is_found and after[1][rule.code] >= before[1][rule.code]:
            return False
        self.left = after[0].total()
        come = [self._rules[code] for code in after[0] - before[0]]
        return all(
            Flags.SPELLING in finding.flags
            or finding.severity is Severity.HINT
            or (Flags.LEFT_BY_FIXES in finding.flags and rule.severity is Severity.ERROR)
            or reveals(finding)
            for finding in come
        )

    @cached_property
    def _codes_of_text(self) -> tuple[Counter[str], Counter[str]]:
        return found_in(self.workflow_text.diagram, self.context) or (Counter(), Counter())

    @cached_property
    def _size(self) -> int:
        """Nodes and boxes; with more than two edges at each node, half of the edges."""
        nodes = len(self.graph.core.records) + len(self.graph.composites.boxes)
        return max(nodes, len(self.graph.flow.chart.edges) // 2)

    @cached_property
    def _wrong(self) -> int:
        """Nodes with findings, and boxes, which may all have some; of a node into which many edges lead each edge may."""
        graph = self.graph
        extra = sum(max(1, edges - 1) for edges in self._edges_into)
        return extra + len(graph.marks.problems) + len(graph.shape.wrong) + len(graph.composites.boxes)

    @cached_property
    def _many(self) -> bool:
        """Whether much would be looked at, if the rules looked at all that follows from the fixes of all findings."""
        return self._size * (self._wrong + 1) > _MOST_LOOKED_AT

    @cached_property
    def _is_crowded(self) -> bool:
        """Whether no change is looked at: what a node of a drawing is depends on all of it, so that the graph after a change is
        read as a whole.
        """
        return self._crowd > _MOST_AT_ONE or (self._many and self.graph.core.reading.drawn)

    @cached_property
    def _crowd(self) -> int:
        """The most edges that lead into one node with findings, times how many fixes may look at all of them."""
        return max(self._edges_into, default=0) * self._wrong

    def is_crowded_at(self, name: str) -> bool:
        """Whether so many edges lead into a node that nothing is offered for each of them."""
        return len(self.graph.core.chart.incoming.get(name, ())) ** 2 > _MOST_AT_ONE

    @cached_property
    def _edges_into(self) -> list[int]:
        """How many edges lead into each node with findings about its edges."""
        graph = self.graph
        return [len(graph.core.chart.incoming.get(graph.node(handle).id, ())) for handle in graph.marks.found]

    @cached_property
    def _codes(self) -> tuple[Counter[str], Counter[str]]:
        return self._found(self.graph)

    @cached_property
    def _rules(self) -> dict[str, Rule]:
        return {rule.code: rule for rule in all_rules()}

    def _found(self, graph: TypedGraph) -> tuple[Counter[str], Counter[str]]:
        """The codes that are found in a graph: without findings that follow from others, and all."""
        context = self.context
        other = GraphContext(
            graph, context.header, context.front, context.settings, context.book, permissions=context.permissions
        )
        findings = [finding for scope in _SCOPES for finding in check_graph(other, scope)]
        return Counter(finding.code for finding in unexplained(findings)), Counter(finding.code for finding in findings)

    def _place_for(self, link: WantedEdge, kept: GraphChange) -> FlowEdge | None:
        """The edge below which another one is written: the last one at the same nodes, at a place where naming these nodes puts
        them into no subgraph. None where there is none.
        """
        chart = self.graph.flow.chart
        near = [*reversed(chart.outgoing.get(link.source, ())), *reversed(chart.edges[-_MOST_TRIED:])]
        for record in (*reversed(chart.incoming.get(link.target, ())), *near):
            edge = self.workflow_text.edges_of_chain[self.workflow_text.chain_of_edge[chart.numbers[record]]][-1]
            if edge.index not in kept.edges and self._may_name(edge.block.line, (link.source, link.target)):
                return edge
        return None

    def _may_name(self, line: int, names: tuple[str, ...]) -> bool:
        for group in self.graph.flow.subgraphs.values():
            last = line if group.end is None else group.end.line
            if group.block.line <= line <= last and not set(names) <= self._claimed(group.id):
                return False
        return True

    def _claimed(self, group: str) -> set[str]:
        """The nodes of a subgraph and of those in it, whose ids are among them."""
        groups, members, waiting = self.graph.flow.subgraphs, set[str](), [group]
        while waiting:
            inside = groups[waiting.pop()].nodes
            waiting += [name for name in inside if name in groups and name not in members]
            members.update(inside)
        return members


def _hurts(before: TypedGraph, after: TypedGraph) -> bool:
    """Whether there are more cycles or misplaced edges after a change, or more is wrong with a node that it touches."""
    if len(after.cycles) > len(before.cycles) or len(after.shape.wrong) > len(before.shape.wrong):
        return True
    old, new = before.core, after.core
    for handle in new.touched or ():
        if new.records[handle] is None:
            continue
        known = handle < len(old.records) and old.records[handle] is not None
        earlier = old.placements[handle].findings if known else ()
        if Counter(finding.kind for finding in new.placements[handle].findings) - Counter(
            finding.kind for finding in earlier
        ):
            return True
    return False


def asked(context: GraphContext) -> FixContext:
    """What the fixes of a workflow's findings are made of."""
    if context.fixing is None:
        context.fixing = FixContext(context)
    fixing: FixContext = context.fixing
    return fixing
