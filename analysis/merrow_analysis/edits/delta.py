"""A change of a flowchart as the `Delta` of its records, with nodes and edges as if they were written."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace

from merrow_analysis.definitions.settings import Memory
from merrow_analysis.edits.change import GraphChange, NewNode, WantedEdge, label_of
from merrow_analysis.graph.boxes.composites import NO_COMPOSITES, Composites
from merrow_analysis.graph.flow import Flowchart, Scenery, Subgraph
from merrow_analysis.graph.infer import infer
from merrow_analysis.graph.nodes import TypedGraph
from merrow_analysis.graph.records import Chart, Delta, EdgeRecord, MentionRecord, Splice, WrittenNode
from merrow_analysis.syntax.tree import Arrow, Block, Label, Metadata, Name, Vertex

_NOWHERE = (0, 0)


def graph_after(change: GraphChange, typed: TypedGraph) -> TypedGraph:
    """The typed graph that follows from a change, worked out only where the change reaches."""
    flow = typed.flow
    core = infer(typed.core, delta_of(change, flow.chart), composites=_composites(change, typed.composites))
    return typed.after(Flowchart(core.drawn, _scenery(change, flow), flow.moved, flow.last_block), core)


def _scenery(change: GraphChange, flow: Flowchart) -> Scenery:
    """What there is besides nodes and edges, with the subgraphs that a change draws."""
    if not change.wrapped:
        return flow.scenery
    groups = dict(flow.subgraphs)
    for name, box in change.wrapped.items():
        inside = [box.around, *(new.id for new in change.added if new.beside == box.around)]
        around = next((group for group in groups.values() if box.around in group.nodes), None)
        if around is not None:
            others = [node for node in around.nodes if node not in inside]
            groups[around.id] = replace(around, nodes=[*others, name])
        parent = None if around is None else around.id
        groups[name] = Subgraph(name, box.title, inside, None, Block(-1, "", ()), Name(name, _NOWHERE), parent)
    return replace(flow.scenery, subgraphs=groups, read_subgraphs=None)


def _composites(change: GraphChange, before: Composites) -> Composites:
    """The Loops and Maps that are written after a change: a new node is in that of the node that it is written beside. Those that
    a drawing implies are none of them: they follow from its arrows, which a change may add or remove.
    """
    if any(box.implied for box in before):
        before = NO_COMPOSITES
    beside = {new.id: new.beside for new in change.added}
    added: dict[str, str] = {}
    for name in beside:
        place = _beside(name, beside)
        if place in before.inside:
            added[name] = before.inside[place]
    after = before.changed(change.removed, added)
    for name, (title, node) in change.wrapped.items():
        inside = [node, *(new for new in beside if _beside(new, beside) == node)]
        after = after.with_box(name, title, inside)
    for name, most in change.turns.items():
        after = after.with_value(name, "max", most)
    for name in change.unwrapped:
        after = after.without(name)
    return after


def _beside(name: str, beside: Mapping[str, str]) -> str:
    """The node of the flowchart as it is that a new one is written beside."""
    while name in beside:
        name = beside[name]
    return name


def delta_of(change: GraphChange, chart: Chart) -> Delta:
    """The way from a chart to what a change makes of it. Made-up records have lines below zero, each its own, which tell
    their findings from others.
    """
    written = change.written
    records = {node.id: _record(node, -number) for number, node in enumerate(written, 1)}
    nodes: dict[str, WrittenNode | None] = dict.fromkeys(sorted(change.removed))
    nodes.update((name, records[name]) for name in change.substituted)
    nodes.update(
        (name, _remembering(chart.nodes[name], memory, -len(written) - number))
        for number, (name, memory) in enumerate(sorted(change.memories.items()), 1)
    )
    before = _places(change, chart)
    nodes.update((name, records[name]) for name in before)
    line = -len(written) - len(change.memories)
    splices = []
    for index in sorted(change.edges):
        put = []
        for link in change.edges[index]:
            line -= 1
            edge = _edge(link, chart.edges[index] if link.kept else None, line)
            put.append(edge)
            for vertex in (edge.source_vertex, edge.target_vertex):
                # An edge declares a node that nothing has written yet: the implied PROBLEM or RETURN of a drawing.
                if (name := vertex.name.text) not in chart.nodes and name not in nodes:
                    nodes[name], before[name] = WrittenNode(name, [MentionRecord(vertex, edge.block)]), None
        splices.append(Splice(index, 1, put))
    return Delta(nodes, before, splices)


def _places(change: GraphChange, chart: Chart) -> dict[str, str | None]:
    """Before which node each new one comes: behind the one that it is written beside, in the order of the change."""
    if not change.added:
        return {}
    beside: dict[str, list[NewNode]] = {}
    for new in change.added:
        beside.setdefault(new.beside, []).append(new)
    following = chart.following
    places: dict[str, str | None] = {}
    for name in [name for name in beside if name in following]:
        place = following[name]
        while place is not None and place in change.removed:
            place = following[place]
        _place(name, place, beside, places)
    for new in change.added:
        if new.id not in places:
            places[new.id] = None
            _place(new.id, None, beside, places)
    return places


def _place(
    name: str, place: str | None, beside: Mapping[str, Iterable[NewNode]], places: dict[str, str | None]
) -> None:
    waiting = list(beside.get(name, ()))
    while waiting:
        new = waiting.pop(0)
        if new.id not in places:
            places[new.id] = place
            waiting = [*beside.get(new.id, ()), *waiting]


def _record(new: NewNode, line: int) -> WrittenNode:
    """A node as if it were written with metadata; its line tells its findings from others."""
    body = "\n".join(f"{key}: {json.dumps(value)}" for key, value in new.values().items())
    metadata = Metadata(body, _NOWHERE, _NOWHERE)
    block = Block(line, "", ())
    vertex = Vertex(Name(new.id, _NOWHERE), metadata=metadata)
    return WrittenNode(new.id, [MentionRecord(vertex, block)], metadata=[(metadata, block)])


def _remembering(node: WrittenNode, memory: Memory, line: int) -> WrittenNode:
    """A node with a memory, as if further metadata said it."""
    metadata = Metadata(f"memory: {json.dumps(memory.text)}", _NOWHERE, _NOWHERE)
    return replace(node, metadata=[*node.metadata, (metadata, Block(line, "", ()))])


def _edge(link: WantedEdge, kept: EdgeRecord | None, line: int) -> EdgeRecord:
    """An edge as if it were written; ``kept`` is the one whose arrow it keeps."""
    if kept is not None and label_of(kept) == link.label:
        if (kept.source, kept.target) == (link.source, link.target):
            return kept
        return EdgeRecord(link.source, link.target, kept.arrow, kept.block, kept.source_vertex, kept.target_vertex)
    written = None if link.label is None else Label(link.label, "text", _NOWHERE)
    stroke = "normal" if kept is None else kept.arrow.stroke
    arrow = Arrow("arrow_point", stroke, 1, written, None, _NOWHERE)
    ends = Vertex(Name(link.source, _NOWHERE)), Vertex(Name(link.target, _NOWHERE))
    return EdgeRecord(link.source, link.target, arrow, Block(line, "", ()), *ends)
