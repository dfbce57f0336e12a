"""What the changes of a repair weigh. Of two repairs the lighter one is the smaller.

Labels and ports come before edges, and edges before nodes: a wrong word is the most common slip and says nothing about what its
author wanted to build, an edge changes what one node reads, and a node is work that somebody meant to be done. What goes weighs
more than what comes, for it is the author's, an edge or a box as much as a node; what comes is easily seen and taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping

from merrow_analysis.check import Analysis
from merrow_analysis.edits.change import GraphChange, label_of
from merrow_analysis.graph.flow import Flowchart
from merrow_analysis.graph.measures.siblings import edges_into_siblings, edges_out_of_siblings, siblings_before
from merrow_analysis.graph.nodes import TypedGraph, TypedNode
from merrow_analysis.text import TextEdit, split_lines

WORDS = 10
"""Words that change: a label, a port, a class, a parameter, a bracket, the front matter. The lightest step there is."""
RENAMED = 20
"""A node gets another id: all places that name it change, and the graph stays as it is."""
EDGE_MOVES = 35
"""An edge starts at another node, leads to another one, or is turned around."""
EDGE_COMES = 30
UNLIKE_OTHERS = 5
"""What a new edge weighs besides where those of similar steps come from elsewhere and lead elsewhere, or where another case of
the same Decision leads to the same node already.
"""
FIRST_AT_ITS_NODE = 12
"""What an edge weighs besides for each of its ends that no edge led to or from: it draws a node in that took no part."""
EDGE_GOES = 100
"""An edge goes: what it carried is lost, as with a node."""
BACK_EDGE_GOES = 25
"""An edge of a cycle goes that runs against the order of the text. Nothing could follow it."""
BOX_CHANGES = 38
"""A node moves into a Loop or Map or out of one, and so runs as often as it did not before."""
OPERATOR = 50
"""A node gets another operator and keeps its place, or a Loop or Map becomes a mere group."""
UNREAD = 60
"""A statement that can't be read and has no fix becomes a comment. Nobody knows what it was, and nothing of it is lost."""
NODE_COMES = 80
"""A node or a subgraph comes; its edges count as well."""
NODE_GOES = 100
"""A node or a subgraph goes; edges that led to it or from it go with it and count as part of it."""
LONELY_GOES = 50
"""A node goes to which and from which no edge led: nothing ran differently for it. To connect it is a guess, and two edges."""
LATER_FIX = 30
"""What a fix weighs besides for each one that its rule offers before it: these are ordered by what was probably meant."""
MADE_UP = 30
"""What a change weighs besides that no rule offers."""
UNASKED = 60
"""What other words on an edge weigh besides with which nothing is wrong."""
MOST_SIZE = 9
"""Of changes that are alike, the one that writes and removes fewer characters is lighter: 1 for each eight, so that this never
outweighs a difference in kind.
"""
_CHARACTERS = 8


def weight_of_change(change: GraphChange, graph: TypedGraph) -> int:
    """What a change of the graph weighs, besides its size in the text."""
    flow = graph.flow
    weight = NODE_COMES * (len(change.added) + len(change.wrapped)) + _of_gone(change.removed, flow)
    weight += OPERATOR * len(change.substituted) + NODE_GOES * len(change.unwrapped) + WORDS * len(change.turns)
    for index, put in change.edges.items():
        edge = flow.edges[index]
        ends = edge.source.id, edge.target.id
        if not put:
            weight += 0 if change.removed.intersection(ends) else _of_gone_edge(graph, *ends)
            continue
        kept = next((link for link in put if link.kept), put[0])
        if (kept.source, kept.target) != ends:
            weight += EDGE_MOVES
        elif kept.label != label_of(edge):
            weight += WORDS
        weight += sum(_of_new_edge(graph, link.source, link.target) for link in put if link is not kept)
    return weight


def _of_new_edge(graph: TypedGraph | None, source: str, target: str) -> int:
    """What an edge weighs that comes; more where those beside it tell another story."""
    if graph is None:
        return EDGE_COMES
    start, end = graph.by_id.get(source), graph.by_id.get(target)
    weight = EDGE_COMES + FIRST_AT_ITS_NODE * (_takes_no_part(start) + _takes_no_part(end))
    return weight if start is None or end is None or _is_like_others(start, end) else weight + UNLIKE_OTHERS


def _takes_no_part(node: TypedNode | None) -> bool:
    return node is not None and node.kind == "operator" and not (node.ways or node.incoming)


def _is_like_others(start: TypedNode, end: TypedNode) -> bool:
    """Whether nothing beside it tells against an edge."""
    if start.kind == "decision":
        return not any(edge.target is end for edge in start.ways)
    before = [edge.source for edge in edges_into_siblings(end)]
    behind = [edge.target for edge in edges_out_of_siblings(start)]
    if start in before or end in behind:
        return True
    return not (before or behind) and start not in siblings_before(end)


def _of_gone_edge(graph: TypedGraph | None, source: str, target: str) -> int:
    """What an edge weighs that goes."""
    if graph is None or source not in graph.by_id or target not in graph.by_id:
        return EDGE_GOES
    start, end = graph.core.handles[source], graph.core.handles[target]
    runs_back = start >= end and (start == end or any(start in cycle and end in cycle for cycle in graph.cycles))
    return BACK_EDGE_GOES if runs_back else EDGE_GOES


def weight_of_difference(before: Analysis, after: Analysis, edits: Iterable[TextEdit]) -> int:
    """What edits weigh whose outcome is known, besides their size: at least `WORDS`.

    Nodes and edges of a statement that could not be read before don't count: nobody knows what they were.
    """
    lines = {line for edit in edits for line in range(edit.range.start.line, edit.range.end.line + 1)}
    if any(refusal.range.start.line in lines or refusal.range.end.line in lines for refusal in before.refusals):
        return WORDS
    old, new = before.flow, after.flow
    gone = [name for name in old.chart.nodes if name not in new.chart.nodes]
    come = [name for name in new.chart.nodes if name not in old.chart.nodes]
    renamed = dict(zip(gone, come, strict=False))
    lost = set(gone[len(come) :])
    weight = RENAMED * len(renamed) + _of_gone(lost, old) + NODE_COMES * max(0, len(come) - len(gone))
    weight += NODE_COMES * max(0, len(new.subgraphs) - len(old.subgraphs))
    weight += NODE_GOES * max(0, len(old.subgraphs) - len(new.subgraphs))
    weight += _of_changed_edges(before, after, renamed, lost)
    if before.typed is not None and after.typed is not None:
        weight += _of_changed_boxes(before.typed, after.typed)
    return weight or WORDS


def _of_changed_edges(before: Analysis, after: Analysis, renamed: Mapping[str, str], lost: Collection[str]) -> int:
    """What the edges weigh that come, go and move, but for those of nodes that went; and the labels that change with them."""
    labels = Counter[tuple[str, str, str | None]]()
    for edge in before.flow.chart.edges:
        if edge.source not in lost and edge.target not in lost:
            ends = renamed.get(edge.source, edge.source), renamed.get(edge.target, edge.target)
            labels[(*ends, edge.label_text)] += 1
    labels.subtract((edge.source, edge.target, edge.label_text) for edge in after.flow.chart.edges)
    edges = Counter[tuple[str, str]]()
    for (source, target, _), count in labels.items():
        edges[source, target] += count
    gone = sorted(_of_gone_edge(before.typed, *ends) for ends in (+edges).elements())
    come = sorted(_of_new_edge(before.typed, *ends) for ends in (-edges).elements())
    moved = min(len(gone), len(come))
    weight = EDGE_MOVES * moved + sum(gone[moved:]) + sum(come[moved:])
    is_relabelled = any(count and not edges[source, target] for (source, target, _), count in labels.items())
    return weight + WORDS if weight and is_relabelled else weight


def _of_changed_boxes(before: TypedGraph, after: TypedGraph) -> int:
    """What it weighs that Loops and Maps become mere groups; where none came or went, that nodes move between them."""
    old, new = before.composites, after.composites
    if old.boxes.keys() != new.boxes.keys():
        return OPERATOR * sum(name not in new.boxes and name in after.flow.subgraphs for name in old.boxes)
    kept = before.by_id.keys() & after.by_id.keys()
    return BOX_CHANGES * sum(old.inside.get(name) != new.inside.get(name) for name in kept)


def _of_gone(names: Collection[str], flow: Flowchart) -> int:
    """What nodes weigh that go."""
    chart = flow.chart
    lonely = [
        name for name in names if name in chart.nodes and not (chart.incoming.get(name) or chart.outgoing.get(name))
    ]
    return NODE_GOES * (len(names) - len(lonely)) + LONELY_GOES * len(lonely)


def _alike_for(first: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    differing = (number for number, (a, b) in enumerate(zip(first, other, strict=False)) if a != b)
    return next(differing, min(len(first), len(other)))


def size_of(text: str, edits: Iterable[TextEdit]) -> int:
    """What the characters weigh that edits of ``text`` write and remove, but for those that an edit only writes again."""
    lines = split_lines(text)
    count = 0
    for edit in edits:
        (first, start), (last, end) = edit.range
        old, new = "".join([*lines[first:last], lines[last][:end] if last < len(lines) else ""])[start:], edit.new_text
        same = _alike_for(old, new)
        same += _alike_for(old[same:][::-1], new[same:][::-1])
        count += len(old) + len(new) - 2 * same
    return min(MOST_SIZE, count // _CHARACTERS)
