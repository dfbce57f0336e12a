"""Edges in the text: a chain is edited in place where that can be, else written again edge by edge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from merrow_analysis.edits.change import GraphChange, WantedEdge, as_it_is, label_of
from merrow_analysis.edits.labels import between_bars
from merrow_analysis.edits.replacements import CannotWriteError, Replacement
from merrow_analysis.edits.workflow_text import WorkflowText, WrittenStatement
from merrow_analysis.graph.flow import FlowEdge
from merrow_analysis.syntax.tree import Arrow, Block, Chain, LinkStyle, Vertex

_Order = list[tuple[WantedEdge, FlowEdge | None]]


@dataclass(slots=True)
class EdgeEdits:
    """Edits of chains, and the edges that follow in the order of the text, each with the one it was; only where the text
    counts edges (``linkStyle``) those of chains that stay are among them.
    """

    replacements: list[Replacement] = field(default_factory=list)
    order: _Order = field(default_factory=list)


class _Spot(NamedTuple):
    """A node's place in a chain: its group, and its number in that."""

    group: int
    number: int


def write_edges(workflow_text: WorkflowText, change: GraphChange) -> EdgeEdits:
    """Edit the chains whose edges a change concerns. Raises `CannotWriteError`."""
    edits = EdgeEdits()
    touched = {workflow_text.chain_of_edge[index] for index in change.edges}
    # The order of all edges is asked for only by what counts them.
    counted = bool(workflow_text.statements(LinkStyle))
    for number in range(len(workflow_text.chains)) if counted else sorted(touched):
        chain, edges = workflow_text.chains[number], workflow_text.edges_of_chain.get(number, [])
        if number not in touched:
            edits.order += ((as_it_is(edge), edge) for edge in edges)
            continue
        done = _InPlace(workflow_text, change, chain, edges).edits() or _anew(workflow_text, change, chain, edges)
        edits.replacements += done.replacements
        edits.order += done.order
    return edits


def _wanted(change: GraphChange, edge: FlowEdge) -> tuple[WantedEdge, ...]:
    put = change.edges.get(edge.index)
    return (as_it_is(edge),) if put is None else put


def _refuse_dropped_id(change: GraphChange, edge: FlowEdge) -> None:
    name = edge.arrow.edge_id
    if name is not None and not any(link.kept for link in _wanted(change, edge)):
        raise CannotWriteError(f"The edge {edge.source.id} --> {edge.target.id} has the id {name.text} of its own.")


class _InPlace:
    """Editing a chain by the names and labels in it, with new lines around it."""

    def __init__(
        self, workflow_text: WorkflowText, change: GraphChange, chain: WrittenStatement, edges: Sequence[FlowEdge]
    ) -> None:
        self.workflow_text, self.change, self.chain, self.edges = workflow_text, change, chain, edges
        self.statement: Chain = chain.statement
        self.wanted: list[WantedEdge] = []
        self.before: list[WantedEdge] = []
        self.after: list[WantedEdge] = []
        self.kept: list[tuple[FlowEdge, WantedEdge | None]] = []

    def edits(self) -> EdgeEdits | None:
        """None where the chain has to be written again."""
        for edge in self.edges:
            _refuse_dropped_id(self.change, edge)
            wanted = _wanted(self.change, edge)
            self.wanted += wanted
            kept = [number for number, link in enumerate(wanted) if link.kept]
            if len(kept) > 1:
                return None
            at = kept[0] if kept else len(wanted)
            self.before += wanted[:at]
            self.after += wanted[at + 1 :]
            self.kept.append((edge, wanted[at] if kept else None))
        order: _Order = [(link, None) for link in self.before]
        order += ((link, edge) for edge, link in self.kept if link is not None)
        order += ((link, None) for link in self.after)
        if not self._keeps_order(order):
            return None
        replacements = self._chain_replacements()
        if replacements is None:
            return None
        lines_before = [self._line(link) for link in self.before]
        lines_after = [self._line(link) for link in self.after]
        if (
            len(replacements) == 1
            and replacements[0].start <= self.chain.start
            and replacements[0].end >= self.chain.end
        ):
            lines = [*lines_before, *lines_after]
            self.workflow_text.refuse_suppressed(self.chain)
            return EdgeEdits([self.workflow_text.instead(self.chain, lines)], order)
        if lines_before:
            self.workflow_text.refuse_suppressed(self.chain)
            replacements.append(self.workflow_text.above(self.chain, lines_before))
        if lines_after:
            replacements.append(self.workflow_text.below(self.chain, lines_after))
        return EdgeEdits(replacements, order)

    def _line(self, link: WantedEdge) -> str:
        return self.workflow_text.edge_line(link.source, link.target, link.label)

    def _keeps_order(self, order: _Order) -> bool:
        """Whether each node is reached in the order that the change wants, and left in it by the cases of Decisions."""
        written = [link for link, _ in order]
        return all(_at_ends(written, end) == _at_ends(self.wanted, end) for end in (0, 1))

    def _chain_replacements(self) -> list[Replacement] | None:
        """Edits inside the chain; one that covers it all where nothing of it stays."""
        if all(link is None for _, link in self.kept):
            return [Replacement(self.chain.start, self.chain.end, "")] if self._is_bare() else None
        names: dict[_Spot, set[str | None]] = {}
        labels: dict[int, set[str | None]] = {}
        ends: list[tuple[FlowEdge, WantedEdge | None, _Spot, _Spot]] = []
        for (edge, link), (arrow, source, target) in zip(self.kept, self._spots(), strict=True):
            names.setdefault(source, set()).add(None if link is None else link.source)
            names.setdefault(target, set()).add(None if link is None else link.target)
            if link is not None:
                labels.setdefault(arrow, set()).add(link.label)
            ends.append((edge, link, source, target))
        gone = {spot for spot, wanted in names.items() if wanted == {None}}
        for _, link, source, target in ends:
            if (link is None) != (source in gone or target in gone):
                return None
        replacements: list[Replacement] = []
        if not (
            self._remove(gone, replacements)
            and self._rename(names, gone, replacements)
            and self._relabel(labels, gone, replacements)
        ):
            return None
        return replacements

    def _is_bare(self) -> bool:
        return all(_is_bare(vertex) for group in self.statement.groups for vertex in group)

    def _spots(self) -> Iterator[tuple[int, _Spot, _Spot]]:
        """The arrow and both ends of each edge, in the order of the edges."""
        flow = self.workflow_text.flow
        groups = self.statement.groups
        for number in range(len(self.statement.arrows)):
            for i, source in enumerate(groups[number]):
                for j, target in enumerate(groups[number + 1]):
                    if source.name.text in flow.nodes and target.name.text in flow.nodes:
                        yield number, _Spot(number, i), _Spot(number + 1, j)

    def _remove(self, gone: set[_Spot], replacements: list[Replacement]) -> bool:
        """Take nodes out of groups, and whole groups off the ends."""
        groups = self.statement.groups
        first, last = 0, len(groups) - 1
        while first < last and all(_Spot(first, number) in gone for number in range(len(groups[first]))):
            first += 1
        while last > first and all(_Spot(last, number) in gone for number in range(len(groups[last]))):
            last -= 1
        if first == last:
            return False
        offset = self.workflow_text.offset
        block = self.chain.block
        if first > 0:
            if not all(_is_bare(vertex) for group in groups[:first] for vertex in group):
                return False
            replacements.append(Replacement(self.chain.start, offset(block, groups[first][0].span[0]), ""))
        if last < len(groups) - 1:
            if not all(_is_bare(vertex) for group in groups[last + 1 :] for vertex in group):
                return False
            end = self.workflow_text.vertex_end(groups[last][-1])
            replacements.append(Replacement(offset(block, end), self.chain.end, ""))
        for group in range(first, last + 1):
            out = [number for number in range(len(groups[group])) if _Spot(group, number) in gone]
            if len(out) == len(groups[group]) or not all(_is_bare(groups[group][number]) for number in out):
                return False
            stay = [number for number in range(len(groups[group])) if number not in out]
            for number in out:
                vertex = groups[group][number]
                if number < stay[0]:
                    end = groups[group][number + 1].span[0]
                    replacements.append(Replacement(offset(block, vertex.span[0]), offset(block, end), ""))
                else:
                    start = self.workflow_text.vertex_end(groups[group][number - 1])
                    replacements.append(Replacement(offset(block, start), offset(block, vertex.span[1]), ""))
        return True

    def _rename(self, names: dict[_Spot, set[str | None]], gone: set[_Spot], replacements: list[Replacement]) -> bool:
        for spot, wanted in sorted(names.items()):
            if spot in gone:
                continue
            vertex = self.statement.groups[spot.group][spot.number]
            named = wanted - {None}
            if len(named) != 1:
                return False
            name = named.pop()
            if name == vertex.name.text:
                continue
            if not _is_bare(vertex) or name is None:
                return False
            offset = self.workflow_text.offset
            start, end = vertex.name.span
            replacements.append(Replacement(offset(self.chain.block, start), offset(self.chain.block, end), name))
        return True

    def _relabel(self, labels: dict[int, set[str | None]], gone: set[_Spot], replacements: list[Replacement]) -> bool:
        for number, wanted in sorted(labels.items()):
            arrow = self.statement.arrows[number]
            written = None if arrow.label is None else arrow.label.text
            if wanted == {written}:
                continue
            if len(wanted) != 1:
                return False
            groups = self.statement.groups
            # The space around the arrow is written with it; so it must not touch a node that is taken out.
            if any(spot in gone for spot in (_Spot(number, len(groups[number]) - 1), _Spot(number + 1, 0))):
                return False
            replacement = self._label_replacement(arrow, groups[number][-1], groups[number + 1][0], wanted.pop())
            if replacement is None:
                return False
            replacements.append(replacement)
        return True

    def _label_replacement(self, arrow: Arrow, source: Vertex, target: Vertex, label: str | None) -> Replacement | None:
        offset, block = self.workflow_text.offset, self.chain.block
        if arrow.label is not None and label is not None:
            start, end = arrow.label.span
            inside = block.text[start:end]
            at = inside.find(arrow.label.text)
            if at == -1 or between_bars(label) != label:
                return None
            return Replacement(offset(block, start + at), offset(block, start + at + len(arrow.label.text)), label)
        if arrow.edge_id is not None or arrow.stroke != "normal" or arrow.type != "arrow_point":
            return None
        style = self.workflow_text.plain_style if label is None else self.workflow_text.labelled_style
        start, end = self.workflow_text.vertex_end(source), target.span[0]
        return Replacement(
            offset(block, start), offset(block, end), style.text("", "", None if label is None else between_bars(label))
        )


def _at_ends(links: Iterable[WantedEdge], end: int) -> dict[str, list[WantedEdge]]:
    """The links at each node, in order: by their sources for ``end`` 0, by their targets for 1."""
    by_end: dict[str, list[WantedEdge]] = {}
    for link in links:
        by_end.setdefault(link[:2][end], []).append(link)
    return by_end


def _is_bare(vertex: Vertex) -> bool:
    return vertex.shape is None and vertex.metadata is None and not vertex.classes


def _anew(
    workflow_text: WorkflowText, change: GraphChange, chain: WrittenStatement, edges: Sequence[FlowEdge]
) -> EdgeEdits:
    """Write a chain again, edge by edge in their order; what its nodes declare is said where each is named first.

    Edges of the old chain that follow on each other stay chains.
    """
    workflow_text.refuse_suppressed(chain)
    statement: Chain = chain.statement
    if any(arrow.edge_id is not None for arrow in statement.arrows):
        raise CannotWriteError("An edge of the chain has an id of its own, which can't be shared out.")
    declared = {
        vertex.name.text: workflow_text.vertex_text(vertex, chain.block)
        for group in statement.groups
        for vertex in group
        if not _is_bare(vertex)
    }
    for name in change.removed:
        declared.pop(name, None)
    # A node that no edge of the chain names any more is still declared where the chain stood.
    order: _Order = []
    lines: list[str] = []

    def declared_once(name: str) -> str:
        return declared.pop(name, name)

    open_end: str | None = None
    for edge in edges:
        for link in _wanted(change, edge):
            follows = link.kept and link.source == open_end and link.source not in declared
            source = "" if follows else declared_once(link.source)
            target = declared_once(link.target) if link.target != link.source else link.target
            if link.kept and link.label == label_of(edge):
                line = f"{source}{_between(workflow_text, edge, chain.block)}{target}"
            else:
                line = workflow_text.edge_line(source, target, link.label)
            if follows:
                lines[-1] += line
            else:
                lines.append(line)
            open_end = link.target if link.kept else None
            order.append((link, edge if link.kept else None))
    lines = [*declared.values(), *lines]
    return EdgeEdits([workflow_text.instead(chain, lines)], order)


def _between(workflow_text: WorkflowText, edge: FlowEdge, block: Block) -> str:
    """An arrow with the space around it, as it is in a chain."""
    style = workflow_text.plain_style if edge.arrow.label is None else workflow_text.labelled_style
    return f"{style.before or ' '}{block.text[edge.arrow.span[0] : edge.arrow.span[1]].strip()}{style.after or ''}"
