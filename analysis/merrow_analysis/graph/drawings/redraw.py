"""The flowchart after an edit, from the one before: only what the edited statements name is read again.

Handles statements with a local effect: chains of nodes and arrows, class statements, styles, comments, and unreadable
statements. Anything else (a subgraph, the header, ids of edges) is left to `fold`; the result is the same in either case.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from typing import NamedTuple

from merrow_analysis.document import BlockChange
from merrow_analysis.graph.drawings.bodies import innermost, read_again, with_members
from merrow_analysis.graph.drawings.fold import MOST_EDGES_READ, edges_of
from merrow_analysis.graph.drawings.metadata_label import metadata_label
from merrow_analysis.graph.flow import NO_BLOCK, ClassDefUse, Flowchart, Scenery, SubgraphBody
from merrow_analysis.graph.records import Chart, ClassRecord, Delta, EdgeRecord, MentionRecord, Splice, WrittenNode
from merrow_analysis.syntax.parser import Diagram
from merrow_analysis.syntax.tree import (
    AccDescription,
    AccTitle,
    Block,
    Broken,
    Chain,
    ClassAssign,
    ClassDef,
    Click,
    Comment,
    EmptyStatement,
    LinkStyle,
    Style,
    Vertex,
)

_LOCAL = (
    Chain,
    ClassAssign,
    ClassDef,
    Comment,
    Broken,
    EmptyStatement,
    Style,
    LinkStyle,
    Click,
    AccTitle,
    AccDescription,
)
_Place = tuple[int, int]


class Redrawn(NamedTuple):
    """A flowchart after an edit, and the differences.

    ``lines`` are those of the new statements. ``references_only`` says that the edited statements only name nodes that
    are first mentioned elsewhere, so that what is written at nodes stays the same; ``nodes_only`` that they draw no edge.
    """

    flow: Flowchart
    delta: Delta
    lines: frozenset[int]
    references_only: bool
    nodes_only: bool


def redraw(flow: Flowchart, diagram: Diagram, changes: Iterable[BlockChange]) -> Redrawn | None:
    """The flowchart of ``diagram``, where ``changes`` lead to it from the text of ``flow``.

    None where the whole must be folded.
    """
    gone, come = _net(changes)
    new = sum(edges_of(statement) for block in come for statement in block.statements if type(statement) is Chain)
    if flow.scenery.undrawn is not None or len(flow.chart.edges) + new > MOST_EDGES_READ:
        return None
    if flow.scenery.edge_ids or not all(_is_local(block) for block in (*gone, *come)):
        return None
    work = _Redrawing(flow, diagram, gone, come)
    if not flow.scenery.subgraphs.keys().isdisjoint(work.names):
        return None
    delta = work.delta()
    scenery = work.scenery
    if scenery.bodies:
        bodies, known = work.bodies(flow, diagram.blocks), scenery.subgraphs
        if bodies is None:
            return None
        if bodies is not scenery.bodies:
            scenery = replace(scenery, bodies=bodies, read_subgraphs=lambda: with_members(bodies, known))
    chart = flow.chart.apply(delta, work.edge_line) if delta.nodes or delta.edges else flow.chart
    return Redrawn(
        Flowchart(chart, scenery, diagram.moved, diagram.blocks[-1] if diagram.blocks else NO_BLOCK),
        delta,
        frozenset(
            line for block in map(diagram.here, work.come) for line in range(block.line, block.line + block.line_count)
        ),
        work.references_only and not delta.before and None not in delta.nodes.values(),
        not delta.edges,
    )


def _net(changes: Iterable[BlockChange]) -> tuple[set[Block], list[Block]]:
    """The blocks that several successive changes removed and added, as they were first read."""
    gone: set[Block] = set()
    come: dict[Block, None] = {}
    for old, new in changes:
        for block in old:
            first = block.origin or block
            if first in come:
                del come[first]
            else:
                gone.add(first)
        come.update(dict.fromkeys(block.origin or block for block in new))
    return gone, list(come)


def _is_local(block: Block) -> bool:
    return all(
        isinstance(statement, _LOCAL)
        and not (type(statement) is Chain and any(arrow.edge_id is not None for arrow in statement.arrows))
        for statement in block.statements
    )


class _Redrawing:
    """Applies one edit to a flowchart."""

    def __init__(self, flow: Flowchart, diagram: Diagram, gone: set[Block], come: list[Block]) -> None:
        self.chart: Chart = flow.chart
        self.here: Callable[[Block], Block] = diagram.here
        self.before: Callable[[Block], Block] = flow.here
        self.gone = gone
        self.come = sorted(come, key=self.line)
        self.scenery = flow.scenery
        self.names: dict[str, None] = {}
        self.references_only = True
        assigned = False
        for block in (*gone, *self.come):
            for statement in block.statements:
                if isinstance(statement, Chain):
                    for group in statement.groups:
                        for vertex in group:
                            self.names[vertex.name.text] = None
                            if vertex.shape is not None or vertex.metadata is not None or vertex.classes:
                                self.references_only = False
                elif isinstance(statement, ClassAssign):
                    self.names.update((name.text, None) for name in statement.ids)
                    assigned = True
                elif isinstance(statement, ClassDef):
                    assigned = True
        if assigned:
            self.references_only = False
            self.scenery = self._with_classes(flow.scenery)

    def bodies(self, flow: Flowchart, blocks: Sequence[Block]) -> list[SubgraphBody] | None:
        """The bodies of the subgraphs, of which those around edited statements are read again: the same list where all mention
        what they did. None where one can't be told from others.
        """
        known = self.scenery.bodies
        if self._names_the_same(flow):
            return known
        edited = {innermost(known, flow.here(block).line, flow.here) for block in self.gone}
        edited |= {innermost(known, self.line(block), self.here) for block in self.come}
        changed: dict[int, SubgraphBody] = {}
        for number in edited:
            if number is not None:
                body = read_again(known[number], known, blocks, self.here)
                if body is None:
                    return None
                if body != known[number]:
                    changed[number] = body
        return [changed.get(number, body) for number, body in enumerate(known)] if changed else known

    def _names_the_same(self, flow: Flowchart) -> bool:
        """Whether one block came in the place of one that names the same nodes: most often a word was typed."""
        if len(self.gone) != 1 or len(self.come) != 1:
            return False
        (gone,), (come,) = self.gone, self.come
        return flow.here(gone).line == self.line(come) and _named(gone) == _named(come)

    def line(self, block: Block) -> int:
        return self.here(block).line

    def edge_line(self, edge: EdgeRecord) -> int:
        return self.here(edge.block).line

    # Classes

    def _with_classes(self, old: Scenery) -> Scenery:
        assigns = [(assign, block) for assign, block in old.class_assigns if block not in self.gone]
        defs = {name: [use for use in uses if use.block not in self.gone] for name, uses in old.class_defs.items()}
        for block in self.come:
            for statement in block.statements:
                if isinstance(statement, ClassAssign):
                    insort(assigns, (statement, block), key=lambda pair: self.line(pair[1]))
                elif isinstance(statement, ClassDef):
                    for name in statement.names:
                        uses = defs.setdefault(name.text, [])
                        insort(uses, ClassDefUse(name, statement, block), key=lambda use: self.line(use.block))
        ordered = sorted(
            ((name, uses) for name, uses in defs.items() if uses), key=lambda item: self._first_use(item[1])
        )
        return replace(old, class_assigns=assigns, class_defs=dict(ordered), _assigned=None)

    def _first_use(self, uses: Sequence[ClassDefUse]) -> _Place:
        return self.line(uses[0].block), uses[0].name.span[0]

    # Nodes

    def delta(self) -> Delta:
        """What differs."""
        nodes: dict[str, WrittenNode | None] = {}
        placed: list[WrittenNode] = []
        new: dict[str, list[MentionRecord]] = {}
        for vertex, block in self._vertices(self.come):
            new.setdefault(vertex.name.text, []).append(MentionRecord(vertex, block))
        for name in self.names:
            old = self.chart.nodes.get(name)
            mentions = [] if old is None else [use for use in old.mentions if use.block not in self.gone]
            for mention in new.get(name, ()):
                insort(mentions, mention, key=self._mention_line)
            if not mentions:
                if old is not None:
                    nodes[name] = None
                continue
            record = self._record(name, mentions)
            if old is not None and old.mentions[0] is mentions[0]:
                nodes[name] = record
            else:
                placed.append(record)
        if placed:
            self.references_only = False
        before = self._placed(placed, nodes)
        return Delta(nodes, before, self._splices())

    def _mention_line(self, mention: MentionRecord) -> int:
        return self.line(mention.block)

    @staticmethod
    def _vertices(blocks: Iterable[Block]) -> Iterable[tuple[Vertex, Block]]:
        """The nodes that blocks name, in the order in which Mermaid makes them."""
        return (
            (vertex, block)
            for block in blocks
            for statement in block.statements
            if isinstance(statement, Chain)
            for group in statement.groups
            for vertex in group
        )

    def _record(self, name: str, mentions: list[MentionRecord]) -> WrittenNode:
        """What these mentions and the class statements say together."""
        record = WrittenNode(name, mentions)
        metadata = []
        inline = []
        for vertex, block in mentions:
            if vertex.shape is not None:
                record.shape, record.label, record.label_block = vertex.shape, vertex.label, block
            if vertex.metadata is not None:
                metadata.append((vertex.metadata, block))
                label = metadata_label(vertex.metadata)
                if label is not None:
                    record.label, record.label_block = label, block
            if vertex.classes:
                inline += [ClassRecord(given, block, None) for given in vertex.classes]
        record.metadata = metadata
        statements = self.scenery.assigned.get(name)
        if statements is None:
            record.classes = inline
            return record
        first = self._place(mentions[0])
        given = [
            ClassRecord(assign.class_name, block, assign)
            for assign, block, written in statements
            if (self.line(block), written.span[0]) > first
        ]
        record.classes = (
            sorted((*given, *inline), key=lambda mention: (self.line(mention.block), mention.name.span))
            if inline
            else given
        )
        return record

    def _place(self, mention: MentionRecord) -> _Place:
        return self.line(mention.block), mention.vertex.name.span[0]

    def _first_place(self, name: str) -> _Place:
        return self._place(self.chart.nodes[name].mentions[0])

    def _placed(self, placed: list[WrittenNode], nodes: dict[str, WrittenNode | None]) -> dict[str, str | None]:
        """Before which node each of ``placed`` is first mentioned; those that keep their place are not in the answer."""
        if not placed:
            return {}
        placed.sort(key=lambda record: self._place(record.mentions[0]))
        away = {record.id for record in placed}
        away.update(name for name, record in nodes.items() if record is None)
        names = list(self.chart.nodes)
        order = [name for name in names if name not in away]
        before: dict[str, str | None] = {}
        for record in placed:
            place = bisect_left(order, self._place(record.mentions[0]), key=self._first_place)
            follower = order[place] if place < len(order) else None
            nodes[record.id] = record
            # Most often a node that was declared there still is.
            if (
                len(placed) > 1
                or record.id not in self.chart.nodes
                or self._follower(names, record.id, away) != follower
            ):
                before[record.id] = follower
        return before

    @staticmethod
    def _follower(names: list[str], name: str, away: Collection[str]) -> str | None:
        """The first node behind another one that keeps its place."""
        return next((other for other in islice(names, names.index(name) + 1, None) if other not in away), None)

    # Edges

    def _splices(self) -> list[Splice]:
        """Which edges go and come, by the numbers that edges have so far."""
        edges, before = self.chart.edges, self.before
        runs: list[list[int]] = []
        drawing = [(before(block).line, block) for block in self.gone if _draws(block)]
        for line, block in sorted(drawing, key=itemgetter(0)):
            # All edges of a block stand together.
            start = end = bisect_left(edges, line, key=lambda edge: before(edge.block).line)
            while end < len(edges) and edges[end].block is block:
                end += 1
            if runs and sum(runs[-1]) == start:
                runs[-1][1] += end - start
            elif end > start:
                runs.append([start, end - start])
        left = self.chart.edges.copy()
        for start, count in reversed(runs):
            del left[start : start + count]
        # By where they come among the edges that stay.
        added: dict[int, list[EdgeRecord]] = {}
        for block in self.come:
            edges = _edges(block)
            if edges:
                place = bisect_right(left, self.line(block), key=self.edge_line)
                added.setdefault(place, []).extend(edges)
        splices = []
        shift = 0
        for place in sorted({*added, *(start for start, _ in _shifted(runs))}):
            count = next((count for start, count in _shifted(runs) if start == place), 0)
            splices.append(Splice(place + shift, count, added.get(place, ())))
            shift += count
        return splices


def _named(block: Block) -> list[tuple[str, bool]]:
    """The nodes that a block names, in order, and whether they stand alone or are declared there."""
    return [
        (vertex.name.text, vertex.shape is not None or not statement.arrows)
        for statement in block.statements
        if isinstance(statement, Chain)
        for group in statement.groups
        for vertex in group
    ]


def _draws(block: Block) -> bool:
    """Whether there are edges in a block."""
    return any(type(statement) is Chain and statement.arrows for statement in block.statements)


def _shifted(runs: Iterable[Sequence[int]]) -> list[tuple[int, int]]:
    """Runs of removed edges by the number of edges before them that stay."""
    shifted = []
    shift = 0
    for start, count in runs:
        shifted.append((start - shift, count))
        shift += count
    return shifted


def _edges(block: Block) -> list[EdgeRecord]:
    return [
        EdgeRecord(source.name.text, target.name.text, arrow, block, source, target)
        for chain in block.statements
        if isinstance(chain, Chain)
        for number, arrow in enumerate(chain.arrows)
        for source in chain.groups[number]
        for target in chain.groups[number + 1]
    ]
